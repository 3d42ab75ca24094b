//! A device that takes nothing for long: connections that have something to send wait for it, and
//! cost no processor.

use crate::App;
use device::{Batch, Medium, Transmit, memory};
use organizations::Running;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::Endpoint;

/// Takes nothing, and counts how often it was asked.
struct Full(Arc<AtomicU64>);

impl Transmit for Full {
    fn transmit(&mut self, _: &mut Batch) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn room(&self) -> usize {
        0
    }
}

/// A stack whose device takes nothing; how often it was asked, and how many processors it has.
fn start(name: &str, processors: usize) -> (Arc<dyn Running<App>>, Arc<AtomicU64>) {
    let (mut device, _peer) = memory::pair(memory::Config::default().with_queues(processors));
    let asked = Arc::<AtomicU64>::default();
    for queue in &mut device.queues {
        queue.transmit = Box::new(Full(asked.clone()));
    }
    // Without addresses of a link, nobody has to be asked for one first.
    device.capabilities.medium = Medium::Ip;
    let running = crate::start(name, device, processors);
    (running, asked)
}

/// Before, a thread asked it again and again for as long as that lasted, if a connection had
/// something to send: more than there was room for before the device.
#[test]
fn a_full_device_is_left_alone_though_connections_have_more_for_it() {
    // The link's thread of layer-parallel asks for as long as it takes.
    for organization in organizations::CATALOG.iter().filter(|o| o.name != "layer-parallel") {
        let (running, asked) = start(organization.name, 1);
        let remote = Endpoint { address: Ipv4Addr::new(10, 0, 0, 2).into(), port: 80 };
        for _ in 0..2_000 {
            running.connect(remote, None, ());
        }
        let since = Instant::now();
        // It is asked 100 times a second in the end; more often if what waits is sent again.
        loop {
            let before = asked.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(500));
            let times = asked.load(Ordering::Relaxed) - before;
            println!("{}: {times}", organization.name);
            if times < 1_000 {
                break;
            }
            let name = organization.name;
            assert!(since.elapsed() < Duration::from_secs(3), "{name} asks it {times} times");
        }
        running.stop();
    }
}
