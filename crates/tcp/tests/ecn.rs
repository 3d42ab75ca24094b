//! A queue that marks instead of dropping: nothing is sent again, and the link is full.

extern crate anabranch_tcp as tcp;

mod sim;

use sim::*;
use std::time::Duration;
use tcp::congestion::Algorithm;
use tcp::*;

const MIB: usize = 1 << 20;

/// Sends 8 MiB through 10 Mbyte/s with a queue of 100 kB, 20 ms away.
fn transfer(algorithm: Algorithm, ecn: EcnMode, marks: bool) -> (Sim, Duration) {
    transfer_by(algorithm, ecn, marks, 100_000)
}

/// As [`transfer`], with a queue of so many bytes.
fn transfer_by(algorithm: Algorithm, ecn: EcnMode, marks: bool, queue: u64) -> (Sim, Duration) {
    let config = Config::default().with_congestion(algorithm).with_ecn(ecn);
    let mut a = End::new(config.clone(), 1460, 1);
    let b = End::new(config, 1460, 2);
    a.data = pattern(8 * MIB, 1);
    let path = Path { delay: Duration::from_millis(10), ..Path::GOOD };
    let mut sim = Sim::new(a, b, path, 1);
    sim.bottlenecks[0] = Some(Bottleneck::new(10_000_000, queue, marks));
    let began = sim.now;
    let arrived = sim.until(2_000_000, |sim| sim.ends[1].got.len() == 8 * MIB);
    assert!(arrived, "{}", sim.story());
    assert!(sim.ends[1].got == sim.ends[0].data);
    let took = sim.now.since(began);
    (sim, took)
}

#[test]
fn marks_instead_of_losses_cost_nothing_twice() {
    for algorithm in Algorithm::ALL.iter().copied() {
        let (mut sim, took) = transfer(algorithm, EcnMode::Ask, true);
        let info = sim.ends[0].tcb().info();
        assert!(info.ecn && info.echoed > 0, "{algorithm}: {info:?}");
        assert_eq!((info.retransmits, info.timeouts), (0, 0), "{algorithm}");
        let goodput = 8.0 * MIB as f64 / took.as_secs_f64() / 10_000_000.0;
        assert!(goodput > 0.85, "{algorithm}: {goodput} of the link");
        // Without marks the same queue has to drop.
        let (mut sim, _) = transfer(algorithm, EcnMode::Ask, false);
        assert!(sim.ends[0].tcb().info().retransmits > 0, "{algorithm}");
        // And what did not ask for it is dropped by the same queue, too.
        let (mut sim, _) = transfer(algorithm, EcnMode::Off, true);
        let info = sim.ends[0].tcb().info();
        assert!(!info.ecn && info.retransmits > 0, "{algorithm}");
    }
}

/// CUBIC by counters (RFC 9768) fills a link nearly as by the echo of RFC 3168. It is 4 %
/// slower, and New Reno 10 %: why is not known.
#[test]
fn counters_fill_the_link_as_the_echo_does() {
    // RFC 9768 3.1.5/9
    let [echo, counters] = [EcnMode::Ask, EcnMode::AskAccurate].map(|ecn| {
        let seconds = |queue| transfer_by(Algorithm::Cubic, ecn, true, queue).1.as_secs_f64();
        [60_000, 100_000].map(seconds).iter().sum::<f64>()
    });
    println!("{echo:.3} s by the echo, {counters:.3} s by counters");
    assert!(counters < 1.05 * echo, "{counters} instead of {echo}");
}

/// As above, by counters (RFC 9768), also where every fifth acknowledgment is lost: what one
/// end has counted the other knows in the end.
#[test]
fn counters_agree_whatever_is_lost() {
    for (algorithm, loses) in Algorithm::ALL.iter().flat_map(|a| [(*a, false), (*a, true)]) {
        let config = Config::default().with_congestion(algorithm).with_ecn(EcnMode::AskAccurate);
        let mut a = End::new(config.clone(), 1460, 1);
        let b = End::new(config, 1460, 2);
        a.data = pattern(8 * MIB, 1);
        let path = Path { delay: Duration::from_millis(10), ..Path::GOOD };
        let mut sim = Sim::new(a, b, path, 1);
        sim.bottlenecks[0] = Some(Bottleneck::new(10_000_000, 100_000, true));
        let mut acks = 0;
        sim.drops = Some(Box::new(move |from, _, len| {
            acks += u32::from(from == 1 && len == 0);
            loses && from == 1 && (10..2000).contains(&acks) && acks.is_multiple_of(5)
        }));
        let done = |sim: &mut Sim| sim.ends[0].tcb().info().delivered > 8 * MIB as u64;
        assert!(sim.until(2_000_000, done), "{}", sim.story());
        assert!(sim.ends[1].got == sim.ends[0].data);
        let (sender, receiver) = (sim.ends[0].tcb().info(), sim.ends[1].tcb().info());
        assert_eq!((sender.retransmits, sender.timeouts), (0, 0), "{algorithm}");
        assert!(sender.echoed > 0, "{algorithm}");
        assert_eq!(sender.echoed, receiver.marked, "{algorithm}, {loses}");
        let [sent, came] = [sender, receiver].map(|info| info.accurate_ecn.expect("counters"));
        assert_eq!(sent.delivered_ce, came.received_ce, "{algorithm}, {loses}");
        assert_eq!(came.received_ce + came.received_ect_0, 8 * MIB as u64);
    }
}

/// A queue that marks above 40 kB, where the path holds 200 kB: how much of it is used, and
/// the most that has waited, once the start is over.
fn shallow(algorithm: Algorithm, ecn: EcnMode) -> (f64, u64) {
    let config = Config::default().with_congestion(algorithm).with_ecn(ecn);
    let mut a = End::new(config.clone(), 1460, 1);
    let b = End::new(config, 1460, 2);
    a.data = pattern(24 * MIB, 1);
    let path = Path { delay: Duration::from_millis(10), ..Path::GOOD };
    let mut sim = Sim::new(a, b, path, 1);
    sim.bottlenecks[0] = Some(Bottleneck::new(10_000_000, 40_000, true));
    assert!(sim.until(4_000_000, |sim| sim.ends[1].got.len() >= 8 * MIB));
    let (from, before) = (sim.now, sim.ends[1].got.len());
    if let Some(bottleneck) = &mut sim.bottlenecks[0] {
        bottleneck.most = 0;
    }
    assert!(sim.until(4_000_000, |sim| sim.ends[1].got.len() == 24 * MIB), "{}", sim.story());
    assert_eq!(sim.ends[0].tcb().info().retransmits, 0, "{algorithm}");
    let passed = (sim.ends[1].got.len() - before) as f64;
    let used = passed / sim.now.since(from).as_secs_f64() / 10_000_000.0;
    (used, sim.bottlenecks[0].map_or(0, |b| b.most))
}

#[test]
fn few_marks_leave_a_shallow_queue_that_is_never_empty() {
    let mut used = 0.0;
    for ecn in [EcnMode::Ask, EcnMode::AskAccurate] {
        let most;
        (used, most) = shallow(Algorithm::Dctcp, ecn);
        println!("dctcp, {ecn:?}: {used:.3} used, at most {most} bytes wait");
        assert!(used > 0.95 && most < 100_000, "{used} {most}");
    }
    let (reno, _) = shallow(Algorithm::NewReno, EcnMode::Ask);
    println!("newreno: {reno:.3} used");
    assert!(reno < used, "who halves at each mark leaves it empty: {reno}");
}
