//! Rough paths: whatever is lost, reordered or said twice, with either congestion
//! control, with and without SACK and time stamps, every byte arrives, and nothing
//! stays behind. And what must not take long does not.

extern crate anabranch_tcp as tcp;

mod sim;

use proptest::prelude::*;
use sim::*;
use std::time::Duration;
use tcp::congestion::Algorithm;
use tcp::*;
use wire::Seq;

/// A path, and who speaks over it.
#[derive(Clone, Debug)]
struct Case {
    config: Config,
    mss: u16,
    segments: usize,
    segmentation: usize,
    paths: [Path; 2],
    isn: u32,
    seed: u64,
}

fn path() -> impl Strategy<Value = Path> {
    let loss = prop_oneof![3 => Just(0), 3 => 1..4u8, 1 => 5..20u8];
    let reorder = prop_oneof![2 => Just(0), 1 => 1..50u8];
    let duplicate = prop_oneof![2 => Just(0), 1 => 1..30u8];
    let delay = prop_oneof![0..3000u64, 0..300_000u64];
    (loss, duplicate, reorder, delay).prop_map(|(loss, duplicate, reorder, delay)| Path {
        loss,
        duplicate,
        reorder,
        delay: Duration::from_micros(delay),
    })
}

prop_compose! {
    fn case()(
        (sack, timestamps, nagle) in any::<(bool, bool, bool)>(),
        congestion in prop::sample::select(Algorithm::ALL),
        initial_window in prop_oneof![Just(10), 1..200u32],
        mss in prop_oneof![Just(1460), 48..2000u16],
        segments in 1..150usize,
        segmentation in prop_oneof![Just(0), 0..65_536usize],
        paths in [path(), path()],
        isn in any::<u32>(),
        seed in any::<u64>(),
    ) -> Case {
        // SACK in three of four, as it is what most speak.
        let config = Config::default()
            .with_sack(sack || seed % 2 == 0)
            .with_timestamps(timestamps)
            .with_nagle(nagle)
            .with_congestion(congestion)
            .with_initial_window(initial_window)
            .with_syn_retries(40)
            .with_retries(60)
            .with_max_rto(Duration::from_secs(2));
        Case { config, mss, segments, segmentation, paths, isn, seed }
    }
}

fn run(case: &Case) -> Sim {
    let mut a = End::new(case.config.clone(), case.mss, case.isn);
    let mut b = End::new(case.config.clone(), case.mss, !case.isn);
    a.data = pattern(case.segments * usize::from(case.mss), case.seed);
    b.data = pattern(usize::from(case.mss), case.seed ^ 1);
    a.offload.segmentation = case.segmentation;
    let mut sim = Sim::new(a, b, case.paths[0], case.seed);
    sim.paths = case.paths;
    assert!(sim.finish(200_000), "{}", sim.story());
    sim
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_arrives_and_nothing_stays_behind(case in case()) {
        let mut sim = run(&case);
        for i in 0..2 {
            prop_assert!(sim.ends[i].got == sim.ends[1 - i].data, "{}", sim.story());
            let tcb = sim.ends[i].tcb();
            let info = tcb.info();
            prop_assert_eq!(tcb.next_timeout(), None);
            prop_assert_eq!((info.in_flight, info.sacked, info.lost), (0, 0, 0));
            prop_assert_eq!((info.footprint, info.out_of_order), (0, 0));
        }
    }
}

fn far(config: Config, bytes: usize, delay: u64) -> Sim {
    let mut a = End::new(config.clone(), 1460, 0xffff_f000);
    a.data = pattern(bytes, 1);
    let mut b = End::new(config, 1460, 0x7fff_fff0);
    (a.closes, b.closes) = (false, false);
    Sim::new(a, b, Path { delay: Duration::from_millis(delay), ..Path::GOOD }, 1)
}

/// Runs until the other end has all, without a time-out on the way.
fn without_timeouts(sim: &mut Sim) {
    let all = sim.ends[0].data.len();
    let done = sim.until(1_000_000, |s| {
        assert_eq!(s.ends[0].tcb().info().timeouts, 0, "{}", s.story());
        let e = &s.ends[1];
        e.got.len() + e.tcb.as_ref().map_or(0, Tcb::received) == all
    });
    assert!(done, "{}", sim.story());
}

#[test]
fn a_lost_tail_of_any_length_is_found_in_two_round_trips_and_50_ms() {
    for delay in [1, 10, 50, 125] {
        let rtt = Duration::from_millis(2 * delay);
        for lost in 1..=4 {
            let mut sim = far(Config::default(), 200_000, delay);
            without_timeouts(&mut sim);
            assert!(sim.until(1000, |s| s.ends[0].tcb().queued() == 0));
            // Eight segments, of which the last are lost.
            sim.ends[0].data.extend_from_slice(&pattern(8 * 1448, 2));
            let mut sent = 0;
            sim.drops = Some(Box::new(move |from, _, len| {
                sent += usize::from(from == 0 && len > 0);
                from == 0 && len > 0 && sent > 8 - lost && sent <= 8
            }));
            let start = sim.now;
            without_timeouts(&mut sim);
            // What is lost beside the last is sent when the probe of that was answered,
            // and by PRR: one at first, then two for each that arrives.
            let others = [0, 0, 1, 2, 2][lost] * rtt;
            let most = 2 * rtt + Duration::from_millis(50) + others + rtt / 2;
            let took = sim.now.since(start);
            assert!(took <= most, "{lost} lost, {rtt:?}: {took:?}, not {most:?}");
        }
    }
}

#[test]
fn a_retransmission_that_is_lost_costs_no_timeout() {
    let buffers = 8 << 20;
    let config = Config::default().with_receive_buffer(buffers).with_send_buffer(buffers);
    for times in 1..=4 {
        let mut sim = far(config.clone(), 8_000_000, 50);
        let mut lost = 0;
        // The segment at half a megabyte, whenever it is sent.
        let at = Seq(0xffff_f000) + 1 + 362 * 1448;
        sim.drops = Some(Box::new(move |from, seq, _| {
            let drop = from == 0 && seq == at && lost < times;
            lost += u32::from(drop);
            drop
        }));
        without_timeouts(&mut sim);
        assert!(sim.ends[0].tcb().info().retransmits <= times + 1, "{}", sim.story());
    }
}

#[test]
fn reordering_alone_costs_next_to_nothing() {
    // Every fourth segment is late by up to three delays, and nothing is lost.
    let mut sim = far(Config::default(), 5_000_000, 20);
    sim.paths[0].reorder = 25;
    without_timeouts(&mut sim);
    let info = sim.ends[0].tcb().info();
    assert!(info.reordering);
    assert!(info.retransmits < 150, "of 3,453 segments: {}", sim.story());
}

#[test]
fn a_spurious_timeout_costs_no_window() {
    let config = Config::default().with_receive_buffer(1 << 20).with_send_buffer(1 << 20);
    let mut sim = far(config, 20_000_000, 30);
    assert!(sim.until(100_000, |s| s.ends[1].got.len() > 4_000_000));
    let before = sim.ends[0].tcb().info().cwnd;
    // For a while everything takes half a second longer.
    sim.paths[0].delay = Duration::from_millis(600);
    let mut timed_out = false;
    let until = sim.now + Duration::from_millis(500);
    assert!(sim.until(100_000, |s| s.now >= until));
    sim.paths[0].delay = Duration::from_millis(30);
    let until = sim.now + Duration::from_millis(900);
    assert!(sim.until(100_000, |s| {
        timed_out |= s.ends[0].tcb().info().timeouts > 0;
        s.now >= until
    }));
    assert!(timed_out);
    let info = sim.ends[0].tcb().info();
    assert!(info.cwnd >= before, "{before} before: {}", sim.story());
}

#[test]
fn a_long_fat_path_is_used() {
    // 250 ms and windows of 6 MiB: with one loss in ten thousand, CUBIC keeps the
    // window that the buffers allow most of the time.
    let buffers = 6 << 20;
    let config = Config::default().with_receive_buffer(buffers).with_send_buffer(buffers);
    let bytes = 60 << 20;
    let mut sim = far(config, bytes, 125);
    sim.ends[0].offload.segmentation = 65_536;
    let mut count = 0u32;
    sim.drops = Some(Box::new(move |from, _, len| {
        count += u32::from(from == 0 && len > 0);
        from == 0 && len > 0 && count.is_multiple_of(10_000)
    }));
    let start = sim.now;
    without_timeouts(&mut sim);
    let took = sim.now.since(start);
    // Ten windows, and slow start to it.
    assert!(took < Duration::from_secs(9), "{took:?}: {}", sim.story());
}

#[test]
fn a_spike_of_the_delay_sends_nothing_again_but_one_segment() {
    // With time stamps and without, for then it is F-RTO that finds it out.
    for timestamps in [true, false] {
        let config = Config::default()
            .with_receive_buffer(1 << 20)
            .with_send_buffer(1 << 20)
            .with_timestamps(timestamps);
        let mut sim = far(config, 20_000_000, 30);
        assert!(sim.until(100_000, |s| s.ends[1].got.len() > 4_000_000));
        let (before, cwnd) = {
            let info = sim.ends[0].tcb().info();
            (info.retransmits, info.cwnd)
        };
        let mut timed_out = false;
        // From now on everything takes half a second longer.
        sim.paths[0].delay = Duration::from_millis(530);
        let until = sim.now + Duration::from_secs(2);
        assert!(sim.until(1_000_000, |s| {
            timed_out |= s.ends[0].tcb().info().timeouts > 0;
            s.now >= until
        }));
        assert!(timed_out);
        let info = sim.ends[0].tcb().info();
        let again = info.retransmits - before;
        assert_eq!(again, 1, "{timestamps}: sent again");
        assert!(info.cwnd >= cwnd, "{timestamps}: {cwnd} before: {}", sim.story());
    }
}
