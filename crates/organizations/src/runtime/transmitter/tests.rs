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

fn frames(count: usize) -> impl Iterator<Item = Packet> {
    (0..count).map(|_| Packet::copy_of(&[0; 60]))
}

#[test]
fn a_device_that_takes_nothing_holds_up_no_other_and_not_all_waits_for_it() {
    let (closed, open) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let transmitter = Transmitter::new(vec![Box::new(Gate(closed.clone())), Box::new(Gate(open))]);
    let mut egress = Egress::new(2);
    for _ in 0..2 {
        egress.batch(0).extend(frames(BACKLOG));
        egress.batch(1).extend(frames(BACKLOG));
        transmitter.begin().send(&mut egress, &mut ThreadTimer::off());
    }
    transmitter.note(&mut egress);
    assert_eq!((egress.room_by(0), egress.room_by(1)), (0, BACKLOG));
    assert!(!transmitter.has_room(egress.without_room()) && transmitter.has_room(Interfaces::ALL));
    // Answers that nobody holds back.
    let most = 65_536;
    egress.batch(0).extend(frames(most));
    transmitter.begin().send(&mut egress, &mut ThreadTimer::off());
    assert_eq!(transmitter.dropped(), 2 * BACKLOG as u64);
    closed.store(true, Ordering::Relaxed);
    assert!(transmitter.any_wait() && !transmitter.flush(&mut ThreadTimer::off()));
    transmitter.note(&mut egress);
    assert!(!transmitter.any_wait() && egress.without_room().none());
}

#[test]
fn room_that_comes_before_a_thread_sleeps_is_seen() {
    let open = Arc::new(AtomicBool::new(false));
    let transmitter = Transmitter::new(vec![Box::new(Gate(open.clone()))]);
    let mut timer = ThreadTimer::off();
    let mut egress = Egress::new(1);
    egress.batch(0).extend(frames(BACKLOG));
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
