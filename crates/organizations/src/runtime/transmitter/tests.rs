use super::*;
use device::Batch;
use net::BACKLOG;
use std::sync::atomic::AtomicBool;
use wire::{Packet, protocol};

/// Takes nothing, or all.
struct Gate(Arc<AtomicBool>);

impl Transmit for Gate {
    fn transmit(&mut self, batch: &mut Batch) {
        if self.0.load(Ordering::Relaxed) {
            batch.clear();
        }
    }
}

/// Takes so many, all together.
struct Slow(Arc<AtomicUsize>);

impl Transmit for Slow {
    fn transmit(&mut self, batch: &mut Batch) {
        let room = self.0.load(Ordering::Relaxed).min(batch.len());
        self.0.fetch_sub(room, Ordering::Relaxed);
        batch.drain(..room);
    }
}

/// Frames of connections.
fn frames(count: usize) -> impl Iterator<Item = Packet> {
    (0..count).map(|_| {
        let mut frame = Packet::copy_of(&[0; 60]);
        frame.meta_mut().protocol = protocol::TCP;
        frame
    })
}

fn datagrams(count: usize) -> impl Iterator<Item = Packet> {
    (0..count).map(|_| Packet::copy_of(&[0; 60]))
}

/// Sends so much of a share as it has room for. Returns how much that was.
fn fill(transmitter: &Transmitter, share: &Arc<Share>) -> usize {
    let mut egress = Egress::new(1);
    transmitter.note(share, &mut egress);
    let room = egress.room_by(0);
    egress.batch(0).extend(frames(room));
    transmitter.begin().send(share, &mut egress, &mut ThreadTimer::off());
    room
}

/// Anything.
const ANY: Blocked = Blocked { connections: Interfaces::ALL, datagrams: Interfaces::ALL };

#[test]
fn a_device_that_takes_nothing_holds_up_no_other_and_not_all_waits_for_it() {
    let (closed, open) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let transmitter = Transmitter::new(vec![Box::new(Gate(closed.clone())), Box::new(Gate(open))]);
    let share = Share::new(2, None);
    let mut egress = Egress::new(2);
    for _ in 0..2 {
        egress.batch(0).extend(frames(BACKLOG));
        egress.batch(1).extend(frames(BACKLOG));
        transmitter.begin().send(&share, &mut egress, &mut ThreadTimer::off());
    }
    transmitter.note(&share, &mut egress);
    assert_eq!((egress.room_by(0), egress.room_by(1)), (0, BACKLOG));
    let full = egress.without_room();
    assert!(!full.connections.none() && full.datagrams.none(), "sockets have room of their own");
    assert!(!transmitter.has_room(&share, full) && transmitter.has_room(&share, ANY));
    egress.batch(0).extend(datagrams(BACKLOG));
    transmitter.begin().send(&share, &mut egress, &mut ThreadTimer::off());
    transmitter.note(&share, &mut egress);
    assert_eq!(egress.without_room().datagrams, full.connections);
    // Answers that nobody holds back.
    let most = 65_536;
    egress.batch(0).extend(datagrams(most));
    transmitter.begin().send(&share, &mut egress, &mut ThreadTimer::off());
    assert_eq!(transmitter.dropped(), 3 * BACKLOG as u64);
    closed.store(true, Ordering::Relaxed);
    assert!(transmitter.any_wait() && !transmitter.flush(&mut ThreadTimer::off()));
    transmitter.note(&share, &mut egress);
    assert!(!transmitter.any_wait() && egress.without_room().none());
    assert_eq!(share.backlog(0), net::Backlog::default());
}

#[test]
fn each_share_has_its_part_of_what_waits_whoever_looks_first() {
    let room = Arc::new(AtomicUsize::new(0));
    let transmitter = Transmitter::new(vec![Box::new(Slow(room.clone()))]);
    let shares: Vec<Arc<Share>> = (0..4).map(|_| Share::new(1, None)).collect();
    let mut sent = [0; 4];
    for round in 0..4000 {
        for (share, sent) in shares.iter().zip(&mut sent) {
            let filled = fill(&transmitter, share);
            *sent += filled;
            if round > 0 && filled > 0 {
                break;
            }
        }
        room.store(1, Ordering::Relaxed);
        transmitter.flush(&mut ThreadTimer::off());
    }
    assert!(sent.iter().all(|sent| sent.abs_diff(1000) <= 2 * BACKLOG), "{sent:?}");
}

#[test]
fn many_shares_keep_little_waiting_and_all_may_go_on() {
    let room = Arc::new(AtomicUsize::new(0));
    let transmitter = Transmitter::new(vec![Box::new(Slow(room.clone()))]);
    let parker = |_| {
        let parker = Arc::new(Parker::default());
        parker.enlist();
        (Share::new(1, Some(parker.clone())), parker)
    };
    let shares: Vec<_> = (0..1000).map(parker).collect();
    for (share, _) in &shares {
        fill(&transmitter, share);
        transmitter.wait_for_room(share, ANY_CONNECTION);
    }
    // The first had more, while there were few.
    assert!(transmitter.state.lock().egress.len() < 1000 * LEAST + 4 * BACKLOG);
    assert!(shares.iter().all(|(share, _)| !transmitter.takes_more(share)));
    room.store(usize::MAX, Ordering::Relaxed);
    assert!(!transmitter.flush(&mut ThreadTimer::off()));
    assert!(
        shares.iter().all(|(share, parker)| transmitter.takes_more(share) && parker.has_room())
    );
    assert_eq!(transmitter.state.lock().lines[0].active(), 0);
}

#[test]
fn what_waits_for_the_device_is_lost_when_it_is_closed_and_nobody_waits_for_it() {
    let transmitter = Transmitter::new(vec![Box::new(Slow(Arc::default()))]);
    let parker = Arc::new(Parker::default());
    parker.enlist();
    let share = Share::new(1, Some(parker.clone()));
    fill(&transmitter, &share);
    assert!(transmitter.wait_for_room(&share, ANY_CONNECTION) && !parker.has_room());
    transmitter.close(|| false);
    assert!(parker.has_room() && transmitter.takes_more(&share) && !transmitter.any_wait());
    assert_eq!(fill(&transmitter, &share), BACKLOG);
    assert!(transmitter.takes_more(&share), "it goes nowhere");
}

#[test]
fn room_that_comes_before_a_thread_sleeps_is_seen() {
    let open = Arc::new(AtomicBool::new(false));
    let transmitter = Transmitter::new(vec![Box::new(Gate(open.clone()))]);
    let mut timer = ThreadTimer::off();
    let parker = Arc::new(Parker::default());
    parker.enlist();
    let share = Share::new(1, Some(parker.clone()));
    fill(&transmitter, &share);
    assert!(!transmitter.wait_for_room(&share, Blocked::default()), "it waits for nothing");
    assert!(!transmitter.wait_for_room(&share, ANY), "datagrams have room");
    assert!(transmitter.wait_for_room(&share, ANY_CONNECTION) && !parker.has_room());
    // The device has room before the thread has said that it sleeps.
    open.store(true, Ordering::Relaxed);
    assert!(!transmitter.flush(&mut timer));
    let mut seen = false;
    parker.sleep(None, || {
        seen = parker.has_room();
        true
    });
    assert!(seen, "it would sleep for ever");
    assert!(!transmitter.wait_for_room(&share, ANY_CONNECTION), "there is room");
}
