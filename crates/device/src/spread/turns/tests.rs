use super::*;
use std::collections::VecDeque;

/// Takes what it has room for.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<(usize, VecDeque<Packet>)>>);

impl Slow {
    /// Lets it take so many, and returns whose the ones are that it takes.
    fn takes(&self, room: usize) {
        self.0.lock().0 = room;
    }
    fn taken(&self) -> Vec<u8> {
        self.0.lock().1.drain(..).map(|packet| packet.front()[0]).collect()
    }
}

impl Transmit for Slow {
    fn transmit(&mut self, batch: &mut Batch) {
        let mut state = self.0.lock();
        while state.0 > 0
            && let Some(packet) = batch.pop_front()
        {
            state.0 -= 1;
            state.1.push_back(packet);
        }
    }
    fn room(&self) -> usize {
        self.0.lock().0
    }
}

fn packets(of: u8, count: usize) -> Batch {
    (0..count).map(|_| Packet::copy_of(&[of; 100])).collect()
}

#[test]
fn who_comes_more_often_gets_no_more_of_a_device_that_is_slow() {
    let device = Slow::default();
    let shared = Shared::new(Box::new(device.clone()), 3);
    let mut turns: Vec<Turn> = (0..3).map(|index| shared.turn(index)).collect();
    let mut batches: Vec<Batch> = (0..3).map(|of| packets(of, 1000)).collect();
    let mut got = [0; 3];
    for _ in 0..600 {
        // The device gets room when the first looks, who looks ten times as often.
        device.takes(1);
        for _ in 0..10 {
            turns[0].transmit(&mut batches[0]);
        }
        turns[1].transmit(&mut batches[1]);
        turns[2].transmit(&mut batches[2]);
        device.taken().iter().for_each(|of| got[usize::from(*of)] += 1);
    }
    assert_eq!(got.iter().sum::<usize>(), 600, "the device is never left without");
    assert!(got.iter().all(|n| n.abs_diff(200) <= 2 * AHEAD as usize), "{got:?}");
}

#[test]
fn who_has_one_packet_now_and_then_does_not_wait_behind_who_has_many() {
    let device = Slow::default();
    let shared = Shared::new(Box::new(device.clone()), 2);
    let (mut greedy, mut modest) = (shared.turn(0), shared.turn(1));
    let mut many = packets(0, 100_000);
    for _ in 0..20 {
        let mut one = packets(1, 1);
        let mut before = 0;
        while !one.is_empty() {
            device.takes(1);
            greedy.transmit(&mut many);
            modest.transmit(&mut one);
            before += device.taken().len();
            assert!(before <= 3 * AHEAD as usize, "it waits for ever");
        }
    }
}

#[test]
fn who_sleeps_or_is_gone_is_not_waited_for() {
    let device = Slow::default();
    let shared = Shared::new(Box::new(device.clone()), 2);
    let (mut awake, mut asleep) = (shared.turn(0), shared.turn(1));
    let (mut many, mut others) = (packets(0, 10_000), packets(1, 10));
    asleep.transmit(&mut others);
    let start = Instant::now();
    let mut sent = 0;
    while sent < 1000 {
        assert!(start.elapsed() < Duration::from_secs(20), "{sent} of 1000");
        device.takes(1);
        awake.transmit(&mut many);
        sent += device.taken().len();
    }
    // Its turn is not lost.
    device.takes(10);
    awake.transmit(&mut many);
    device.taken();
    device.takes(1);
    let came = Instant::now();
    asleep.transmit(&mut others);
    assert_eq!(device.taken(), [1]);
    device.takes(usize::MAX);
    awake.transmit(&mut many);
    assert!(!many.is_empty() || came.elapsed() > FRESH, "the other is awake");
    drop(asleep);
    awake.transmit(&mut many);
    assert!(many.is_empty());
    assert_eq!(shared.0.lock().waiting, 0);
}

#[test]
fn packets_that_a_device_segments_count_for_more() {
    let device = Slow::default();
    let shared = Shared::new(Box::new(device.clone()), 2);
    let (mut large, mut small) = (shared.turn(0), shared.turn(1));
    let long = |_| Packet::copy_of(&[0; 60_000]);
    let (mut large_ones, mut small_ones) = ((0..1000).map(long).collect(), packets(1, 10_000));
    let mut got = [0; 2];
    for _ in 0..2000 {
        device.takes(1);
        large.transmit(&mut large_ones);
        small.transmit(&mut small_ones);
        device.taken().iter().for_each(|of| got[usize::from(*of)] += 1);
    }
    let per_large = got[1] / got[0].max(1);
    assert!((20..45).contains(&per_large), "{got:?}");
}
