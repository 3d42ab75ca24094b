//! Paths that carry less than both ends take, and do not say so.

extern crate anabranch_tcp as tcp;

mod sim;

use sim::*;
use std::time::Duration;
use tcp::congestion::Algorithm;
use tcp::*;
use wire::Instant;

/// Bytes of the timestamps option.
const OPTIONS: usize = 12;

/// An end that sends `bytes`, 20 ms from another, by segments of 1,460 bytes with options,
/// or of 1,440 as over IPv6.
fn sim(config: Config, bytes: usize, mss: u16) -> Sim {
    let mut a = End::new(config.clone(), mss, 0xffff_0000);
    let mut b = End::new(config, mss, 5);
    a.data = pattern(bytes, 3);
    (a.closes, b.closes) = (false, false);
    Sim::new(a, b, Path { delay: Duration::from_millis(10), ..Path::GOOD }, 1)
}

/// From now on the path drops what has more than `most` bytes of payload and options.
fn narrow(sim: &mut Sim, most: usize) {
    sim.drops = Some(Box::new(move |from, _, len| from == 0 && len + OPTIONS > most));
}

fn deliver(sim: &mut Sim) {
    let all = sim.ends[0].data.len();
    let done = sim.until(1_000_000, |s| s.ends[1].got.len() == all);
    assert!(done, "{}", sim.story());
    assert!(sim.ends[1].got == sim.ends[0].data);
}

/// `bytes` more, and how long they take.
fn more(sim: &mut Sim, bytes: usize) -> Duration {
    let from = sim.now;
    let more = pattern(bytes, 9);
    sim.ends[0].data.extend_from_slice(&more);
    deliver(sim);
    sim.now.since(from)
}

fn pass(sim: &mut Sim, seconds: u64) {
    sim.now += Duration::from_secs(seconds);
}

fn info(sim: &mut Sim) -> Info {
    sim.ends[0].tcb().info()
}

#[test]
fn a_hole_that_swallows_large_segments_is_found_and_measured() {
    for algorithm in Algorithm::ALL.iter().copied() {
        // IPv4 with 1,500 bytes at both ends and a tunnel between; IPv6 likewise; and a path
        // of IPv6's least MTU.
        for (mss, carries) in [(1460, 1400), (1460, 1452), (1440, 1360), (1440, 1220)] {
            let mut sim = sim(Config::default().with_congestion(algorithm), 3_000_000, mss);
            narrow(&mut sim, carries);
            deliver(&mut sim);
            // A probe a round trip: the search has not ended with the first transfer.
            for _ in 0..15 {
                more(&mut sim, 200_000);
            }
            let after = info(&mut sim);
            let found = usize::from(after.path_mss);
            assert!(found <= carries && carries < found + 8, "{algorithm} {carries}: {found}");
            // What probes have cost: no time-out, and few segments.
            assert!(after.retransmits < 60, "{algorithm} {carries}: {}", after.retransmits);
            let before = info(&mut sim).retransmits;
            more(&mut sim, 1_000_000);
            assert_eq!(info(&mut sim).retransmits, before, "it does not try again at once");
        }
    }
}

#[test]
fn a_path_of_the_least_of_ipv4_is_found_too() {
    let mut sim = sim(Config::default(), 1_000_000, 1460);
    narrow(&mut sim, 800);
    deliver(&mut sim);
    let found = info(&mut sim).path_mss;
    assert!((793..=800).contains(&found), "{found}");
}

#[test]
fn without_probing_nothing_arrives() {
    let mut sim = sim(Config::default().with_path_probing(false).with_retries(6), 100_000, 1460);
    narrow(&mut sim, 1400);
    assert!(!sim.until(10_000, |s| s.ends[1].got.len() == 100_000));
    assert_eq!(sim.ends[0].tcb().error(), Some(Error::TimedOut));
}

#[test]
fn a_path_that_was_broken_for_a_while_gets_its_full_segments_back() {
    let mut sim = sim(Config::default(), 2_000_000, 1460);
    assert!(sim.until(100_000, |s| s.ends[1].got.len() > 200_000));
    sim.drops = Some(Box::new(|_, _, _| true));
    let mended: Instant = sim.now + Duration::from_secs(3);
    assert!(sim.until(1000, |s| s.now >= mended));
    assert!(info(&mut sim).path_mss <= 1220, "it doubts the path");
    sim.drops = None;
    deliver(&mut sim);
    assert_eq!(info(&mut sim).path_mss, 1460);
}

#[test]
fn a_path_that_carries_more_again_is_found_after_ten_minutes() {
    let mut sim = sim(Config::default(), 1_000_000, 1460);
    narrow(&mut sim, 1300);
    deliver(&mut sim);
    let found = info(&mut sim).path_mss;
    assert!((1293..=1300).contains(&found), "{found}");
    narrow(&mut sim, 1440);
    pass(&mut sim, 590);
    more(&mut sim, 300_000);
    assert_eq!(info(&mut sim).path_mss, found, "not yet");
    pass(&mut sim, 11);
    let retransmits = info(&mut sim).retransmits;
    more(&mut sim, 1_000_000);
    let after = info(&mut sim);
    assert!((1433..=1440).contains(&after.path_mss), "{}", after.path_mss);
    // A probe that is lost goes again as two, and its loss is no congestion.
    assert!(after.retransmits - retransmits < 30, "{}", after.retransmits - retransmits);
    assert_eq!(after.timeouts, 0);
}

#[test]
fn a_lost_probe_reduces_no_window() {
    let mut sim = sim(Config::default(), 1_000_000, 1460);
    narrow(&mut sim, 1300);
    deliver(&mut sim);
    pass(&mut sim, 601);
    let mut least = u32::MAX;
    let data = pattern(2_000_000, 9);
    sim.ends[0].data.extend_from_slice(&data);
    let all = sim.ends[0].data.len();
    let begun = info(&mut sim).retransmits;
    assert!(sim.until(1_000_000, |s| {
        let i = s.ends[0].tcb().info();
        if i.retransmits > begun {
            least = least.min(i.cwnd);
            assert!(!i.recovering, "{i:?}");
        }
        s.ends[1].got.len() == all
    }));
    assert!(info(&mut sim).retransmits > begun, "probes were lost");
    assert!(least >= 10 * 1200, "{least}");
}
