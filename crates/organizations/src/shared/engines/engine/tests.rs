use super::*;
use crate::mailbox::thread_per_connection::tests::Nobody;
use crate::{Clock, Options};
use device::memory;
use net::{Config, InterfaceConfig};
use platform::atomic::AtomicBool;
use std::net::Ipv4Addr;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Nothing to do. While the engine is still awake, another sets their number to one.
struct Idle {
    engines: Arc<Engines<Nobody>>,
    has_set: AtomicBool,
}

impl Work for Idle {
    fn handle_events(&mut self, _: &mut Vec<Packet>, _: &mut ThreadTimer) -> bool {
        false
    }
    fn process(&mut self, _: Instant, _: &mut Egress, _: &mut ThreadTimer) -> bool {
        false
    }
    fn has_news(&self) -> bool {
        false
    }
    fn is_held_back(&self) -> bool {
        if !self.has_set.swap(true, Ordering::Relaxed) {
            self.engines.control.set(1);
            self.engines.shared.processors.wake_all();
        }
        false
    }
}

fn engines() -> Arc<Engines<Nobody>> {
    let (device, _peer) = memory::pair(memory::Config::default().with_queues(2));
    let interface = InterfaceConfig {
        is_ethernet: true,
        ethernet: device.ethernet,
        vlan: None,
        addresses: vec![(Ipv4Addr::new(10, 0, 0, 1).into(), 24)],
        mtu: device.capabilities.mtu,
        transmit_checksum: false,
        segmentation: 0,
    };
    let setup = Setup {
        config: Arc::new(Config::new(vec![interface], 0)),
        devices: vec![device],
        processors: 2,
        options: Options::default().with_engines((1, 2)),
        application: Box::new(|_| Nobody),
        clock: Clock::start(),
        instruments: None,
    };
    Engines::new(setup, "engines", 1).expect("engines")
}

/// Before, an engine that was awake just then fell asleep with its queue, and the one that the queue
/// was for asked for it again and again, until a packet came by it.
#[test]
fn an_engine_gives_its_queue_back_though_the_number_changes_before_it_sleeps() {
    let engines = engines();
    engines.control.set(2);
    let work = Idle { engines: engines.clone(), has_set: AtomicBool::new(false) };
    let mut engine = Engine::new(engines.clone(), 1, work);
    let thread = std::thread::spawn(move || engine.run(&mut ThreadTimer::off()));
    let (mut first, since) = (Devices::default(), std::time::Instant::now());
    let mut has_all = false;
    while !has_all && since.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
        if engines.control.active() == 1 {
            first.deal(&engines.pool, &engines.control, 0);
            has_all = !first.is_missing();
        }
    }
    engines.shared.stopping.store(true, Ordering::Relaxed);
    engines.wake(1);
    thread.join().expect("it ends");
    assert!(has_all, "the second engine sleeps with a queue of the first");
}
