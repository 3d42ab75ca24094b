use super::*;
use device::Batch;
use std::sync::atomic::AtomicBool;
use wire::Packet;

/// Takes nothing, or all.
struct Gate(Arc<AtomicBool>);

impl Transmit for Gate {
    fn transmit(&mut self, batch: &mut Batch) {
        if self.0.load(Ordering::Relaxed) {
            batch.clear();
        }
    }
}

#[test]
fn room_that_comes_before_a_thread_sleeps_is_seen() {
    let open = Arc::new(AtomicBool::new(false));
    let transmitter = Transmitter::new(vec![Box::new(Gate(open.clone()))]);
    let mut timer = ThreadTimer::off();
    let mut egress = Egress::new(1);
    egress.batch(0).extend((0..BACKLOG).map(|_| Packet::copy_of(&[0; 60])));
    transmitter.begin().send(&mut egress, &mut timer);
    let parker = Arc::new(Parker::default());
    parker.enlist();
    assert!(transmitter.wait_for_room(&parker, Interfaces::ALL) && !parker.has_room());
    // The device has room before the thread has said that it sleeps.
    open.store(true, Ordering::Relaxed);
    assert!(!transmitter.flush(&mut timer));
    let mut seen = false;
    parker.sleep(|| {
        seen = parker.has_room();
        true
    });
    assert!(seen, "it would sleep for ever");
    assert!(!transmitter.wait_for_room(&parker, Interfaces::ALL), "there is room");
}
