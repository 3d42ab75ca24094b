//! Buffers that tune themselves to a long path.

extern crate anabranch_tcp as tcp;

mod sim;

use sim::*;
use std::time::Duration;
use tcp::*;

/// 100 Mbit/s at 250 ms: 3.1 MB are in flight, three times the buffers of the beginning.
#[test]
fn buffers_grow_with_the_path() {
    let mut a = End::new(Config::default(), 1460, 1);
    let b = End::new(Config::default(), 1460, 2);
    a.data = pattern(60 << 20, 1);
    let path = Path { delay: Duration::from_millis(125), ..Path::GOOD };
    let mut sim = Sim::new(a, b, path, 1);
    sim.bottlenecks[0] = Some(Bottleneck::new(12_500_000, 3_000_000, false));
    assert!(sim.until(4_000_000, |sim| sim.ends[1].got.len() >= 30 << 20), "{}", sim.story());
    let began = sim.now;
    assert!(sim.until(4_000_000, |sim| sim.ends[1].got.len() == 60 << 20), "{}", sim.story());
    let rate = f64::from(30 << 20) / sim.now.since(began).as_secs_f64();
    assert!(rate > 0.9 * 12_500_000.0, "{rate} bytes a second");
    let (sender, receiver) = (sim.ends[0].tcb().info(), sim.ends[1].tcb().info());
    assert!(receiver.receive_buffer > 4 << 20, "{}", receiver.receive_buffer);
    assert!(sender.send_buffer > 4 << 20, "{}", sender.send_buffer);
}
