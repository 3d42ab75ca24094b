//! Two TCBs over a simulated network: whatever it does to segments, both ends
//! get what the other has sent, and close.

extern crate anabranch_tcp as tcp;

mod sim;

use proptest::prelude::*;
use sim::*;
use std::time::Duration;
use tcp::*;

fn ends(config: &Config, mss: u16) -> (End, End) {
    (End::new(config.clone(), mss, 0xffff_f000), End::new(config.clone(), mss, 0x7fff_fff0))
}

fn assert_whole(sim: &mut Sim, steps: usize) {
    assert!(sim.finish(steps), "{}", sim.story());
    for i in 0..2 {
        let (e, other) = (&sim.ends[i], &sim.ends[1 - i]);
        assert!(e.got == other.data, "end {i} got something else: {}", sim.story());
        assert!(e.eof, "{}", sim.story());
        assert_eq!(e.tcb.as_ref().unwrap().error(), None, "{}", sim.story());
    }
}

#[test]
fn a_good_network_needs_no_retransmission() {
    let (mut a, mut b) = ends(&Config::default(), 1460);
    a.data = pattern(3_000_000, 1);
    b.data = pattern(100_000, 2);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    assert_whole(&mut sim, 100_000);
    for e in &mut sim.ends {
        assert_eq!(e.tcb().info().retransmits, 0);
        e.events = e.events | e.tcb().take_events();
        assert!(e.events.has(Events::CONNECTED | Events::READABLE | Events::PEER_CLOSED));
        assert!(e.events.has(Events::CLOSED));
    }
}

#[test]
fn the_one_that_closes_first_is_in_time_wait() {
    let (mut a, mut b) = ends(&Config::default(), 1460);
    (a.closes, b.closes) = (false, false);
    for first in [0, 1] {
        let (a, b) = ends(&Config::default(), 1460);
        let mut sim = Sim::new(a, b, Path::GOOD, 1);
        sim.ends[first].closes = true;
        sim.ends[1 - first].closes = false;
        let states = [State::FinWait2, State::CloseWait];
        assert!(sim.until(100, |s| s.ends[first].state() == states[0]));
        assert_eq!(sim.ends[1 - first].state(), states[1]);
        sim.ends[1 - first].closes = true;
        assert!(sim.until(100, |s| s.ends[first].state() == State::TimeWait));
        let wait = TimeWait::new(sim.ends[first].tcb()).expect("in TIME-WAIT");
        assert!(wait.expires() > sim.now + Duration::from_secs(59));
        assert!(sim.until(100, |s| s.ends[1 - first].state() == State::Closed));
        assert!(sim.finish(100));
    }
}

#[test]
fn both_open_at_once() {
    let (mut a, mut b) = ends(&Config::default(), 1460);
    a.data = pattern(50_000, 1);
    b.data = pattern(50_000, 2);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    sim.connect_both();
    assert!(sim.until(100, |s| s.ends[0].state() == State::SynReceived));
    assert_whole(&mut sim, 10_000);
}

#[test]
fn both_close_at_once() {
    let (a, b) = ends(&Config::default(), 1460);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    (sim.ends[0].closes, sim.ends[1].closes) = (false, false);
    assert!(sim.until(100, |s| s.ends.iter().all(|e| e.state() == State::Established)));
    sim.step();
    (sim.ends[0].closes, sim.ends[1].closes) = (true, true);
    assert!(sim.until(100, |s| s.ends.iter().all(|e| e.state() == State::Closing)));
    assert!(sim.until(100, |s| s.ends.iter().all(|e| e.state() == State::TimeWait)));
    assert!(sim.finish(100));
}

#[test]
fn a_reader_that_pauses_stalls_the_sender_and_nothing_is_lost() {
    let config = Config::default().with_receive_buffer(20_000);
    let (mut a, b) = ends(&config, 1460);
    a.data = pattern(200_000, 1);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    (sim.ends[1].reads, sim.ends[1].closes) = (0, false);
    // Window probes go on for as long as the peer answers.
    let day = sim.now + Duration::from_secs(24 * 3600);
    assert!(sim.until(10_000, |s| s.now > day), "{}", sim.story());
    assert_eq!(sim.ends[0].state(), State::FinWait1);
    // Whole segments.
    assert_eq!(sim.ends[1].tcb().received(), 20_000 / 1460 * 1460);
    let segments = sim.ends[0].segments;
    assert!(segments < 2000, "{segments} segments to a closed window in a day");
    (sim.ends[1].reads, sim.ends[1].closes) = (777, true);
    assert_whole(&mut sim, 100_000);
}

#[test]
fn half_closed_the_other_half_goes_on() {
    let (a, mut b) = ends(&Config::default(), 1460);
    b.closes = false;
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    assert!(sim.until(100, |s| s.ends[1].state() == State::CloseWait));
    sim.ends[1].data = pattern(500_000, 3);
    sim.ends[1].closes = true;
    assert_whole(&mut sim, 10_000);
}

#[test]
fn an_abort_resets_the_peer() {
    for who in [0, 1] {
        let (mut a, b) = ends(&Config::default(), 1460);
        a.data = pattern(100_000, 1);
        let mut sim = Sim::new(a, b, Path::GOOD, 1);
        (sim.ends[0].closes, sim.ends[1].closes) = (false, false);
        assert!(sim.until(1000, |s| s.ends[1].got.len() == 100_000));
        sim.ends[who].tcb().abort();
        assert_eq!(sim.ends[who].tcb().error(), Some(Error::Aborted));
        assert!(sim.until(100, |s| s.ends[1 - who].state() == State::Closed));
        assert_eq!(sim.ends[1 - who].tcb().error(), Some(Error::Reset));
        assert_eq!(sim.ends[1 - who].tcb().receive(&mut [0; 9]), Err(Error::Reset));
        assert_eq!(sim.ends[1 - who].tcb().send(b"x"), Err(Error::Reset));
    }
}

#[test]
fn release_with_unread_data_resets_and_without_it_closes() {
    let (mut a, b) = ends(&Config::default(), 1460);
    a.data = pattern(1000, 1);
    a.closes = false;
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    (sim.ends[1].reads, sim.ends[1].closes) = (0, false);
    assert!(sim.until(100, |s| s.ends[1].state() == State::Established
        && s.ends[1].tcb().received() == 1000));
    sim.ends[1].tcb().release();
    assert!(sim.until(100, |s| s.ends[0].state() == State::Closed));
    assert_eq!(sim.ends[0].tcb().error(), Some(Error::Reset));

    let (a, b) = ends(&Config::default(), 1460);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    (sim.ends[0].closes, sim.ends[1].closes) = (false, false);
    assert!(sim.until(100, |s| s.ends[1].state() == State::Established));
    sim.ends[1].tcb().release();
    assert!(sim.until(100, |s| s.ends[1].state() == State::FinWait2));
    // The peer stays half open; FIN-WAIT-2 ends, and what comes then is reset.
    assert!(sim.until(100, |s| s.ends[1].state() == State::Closed));
    assert_eq!(sim.ends[0].state(), State::CloseWait);
    sim.ends[0].data = pattern(10, 1);
    assert!(sim.until(100, |s| s.ends[0].state() == State::Closed));
    // As on Linux, whose CLOSE-WAIT makes EPIPE of a reset.
    assert_eq!(sim.ends[0].tcb().error(), Some(Error::Shutdown));
}

#[test]
fn data_for_an_application_that_is_gone_is_reset() {
    let (a, b) = ends(&Config::default(), 1460);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    (sim.ends[0].closes, sim.ends[1].closes) = (false, false);
    assert!(sim.until(100, |s| s.ends[1].state() == State::Established));
    sim.ends[1].tcb().release();
    assert!(sim.until(100, |s| s.ends[1].state() == State::FinWait2));
    sim.ends[0].data = pattern(10, 1);
    assert!(sim.until(100, |s| s.ends[0].state() == State::Closed));
    assert_eq!(sim.ends[0].tcb().error(), Some(Error::Shutdown));
}

#[test]
fn nobody_there_times_out_and_a_closed_port_refuses() {
    let (a, b) = ends(&Config::default(), 1460);
    let mut sim = Sim::new(a, b, Path { loss: 100, ..Path::GOOD }, 1);
    assert!(sim.until(100, |s| s.ends[0].state() == State::Closed));
    assert_eq!(sim.ends[0].tcb().error(), Some(Error::TimedOut));
    assert_eq!(sim.ends[0].segments, 7, "a SYN and 6 more");
    assert!(sim.now > wire::Instant::from_millis(127_000));

    let (a, b) = ends(&Config::default(), 1460);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    let now = sim.now;
    let e = &mut sim.ends[0];
    let syn = e.tcb().poll_transmit(now, TransmitOffload::default()).unwrap().header;
    let reset = input::closed::reply(&syn, 0).unwrap();
    e.tcb().input(&reset, Default::default(), now);
    assert_eq!((e.state(), e.tcb().error()), (State::Closed, Some(Error::Refused)));
}

#[test]
fn a_peer_that_falls_silent_is_given_up() {
    let (mut a, b) = ends(&Config::default(), 1460);
    a.closes = false;
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    assert!(sim.until(100, |s| s.ends[0].state() == State::Established));
    sim.paths = [Path { loss: 100, ..Path::GOOD }; 2];
    sim.ends[0].data = pattern(10_000, 1);
    let start = sim.now;
    assert!(sim.until(1000, |s| s.ends[0].state() == State::Closed));
    assert_eq!(sim.ends[0].tcb().error(), Some(Error::TimedOut));
    // As long as Linux with tcp_retries2 = 15.
    let took = sim.now.since(start).as_secs();
    assert!((900..1000).contains(&took), "{took} s");
}

#[test]
fn keepalives_find_a_dead_peer_and_do_not_bother_a_live_one() {
    let keepalive = Keepalive::new(Duration::from_secs(10))
        .with_interval(Duration::from_secs(2))
        .with_probes(3);
    let config = Config::default().with_keepalive(Some(keepalive));
    let (mut a, mut b) = ends(&config, 1460);
    (a.closes, b.closes) = (false, false);
    let mut sim = Sim::new(a, b, Path::GOOD, 1);
    let later = sim.now + Duration::from_secs(1000);
    assert!(sim.until(10_000, |s| s.now > later));
    assert_eq!(sim.ends[0].state(), State::Established);
    assert!(sim.ends[0].segments < 300);
    sim.paths = [Path { loss: 100, ..Path::GOOD }; 2];
    let start = sim.now;
    assert!(sim.until(100, |s| s.ends.iter().any(|e| e.state() == State::Closed)));
    assert!(sim.now.since(start) < Duration::from_secs(20));
}

#[test]
fn losses_are_repaired_without_timeouts() {
    // With a round trip of 40 ms, and percent of loss, Reno needs about
    // 16 s * sqrt(loss) (Mathis et al., with delayed acknowledgments).
    for (sack, loss, most_seconds) in [(true, 1, 20), (false, 1, 25), (true, 3, 35)] {
        let config = Config::default().with_sack(sack);
        let (mut a, b) = ends(&config, 1460);
        a.data = pattern(5_000_000, 1);
        let delay = Duration::from_millis(20);
        let mut sim = Sim::new(a, b, Path { delay, ..Path::GOOD }, 1);
        sim.paths[0].loss = loss;
        let start = sim.now;
        assert!(sim.until(1_000_000, |s| s.ends[1].got.len() == 5_000_000), "{}", sim.story());
        let took = sim.now.since(start);
        assert!(took.as_secs() < most_seconds, "{took:?}");
        assert!(sim.ends[0].tcb().info().retransmits < 2 * (5000 * u32::from(loss) / 100));
    }
}

fn path() -> impl Strategy<Value = Path> {
    (0..25u8, 0..15u8, 0..40u8, 0..30_000u64).prop_map(|(loss, duplicate, reorder, delay)| Path {
        loss,
        duplicate,
        reorder,
        delay: Duration::from_micros(delay),
    })
}

fn config() -> impl Strategy<Value = Config> {
    let buffers = (prop_oneof![1..40usize, 1000..200_000usize], 1..300_000usize);
    let switches = any::<(bool, bool, bool, bool, bool)>();
    (buffers, switches, prop_oneof![Just(0), 1..20_000usize]).prop_map(|(b, s, chunk)| {
        Config::default()
            .with_receive_buffer(b.0)
            .with_send_buffer(b.1)
            .with_nagle(s.0)
            .with_window_scaling(s.1)
            .with_timestamps(s.2)
            .with_sack(s.3)
            .with_checksum(s.4)
            .with_chunk(chunk)
            .with_syn_retries(40)
            .with_retries(60)
            .with_max_rto(Duration::from_secs(2))
    })
}

prop_compose! {
    fn end()(
        config in config(),
        mss in prop_oneof![1..30u16, 500..2000u16, Just(1460), Just(9000)],
        isn in any::<u32>(),
        share in 0..100usize,
        seed in any::<u64>(),
        reads in prop_oneof![1..100usize, Just(100_000)],
        writes in prop_oneof![1..3000usize, Just(usize::MAX)],
        segmentation in prop_oneof![Just(0), 0..80_000usize],
    ) -> End {
        let window = config.receive_buffer.min(2000).min(config.send_buffer);
        let mut end = End::new(config, mss, isn);
        let scale = usize::from(mss).min(1500).min(window.max(4)) * 2;
        end.data = pattern(share * scale, seed);
        (end.reads, end.writes, end.offload.segmentation) = (reads, writes, segmentation);
        end
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_network_delivers_everything(
        mut a in end().no_shrink(), mut b in end().no_shrink(),
        path in path(), seed in any::<u64>(), both in prop::bool::weighted(0.1),
    ) {
        // Tiny windows make many round trips.
        let most = a.config.receive_buffer.min(b.config.receive_buffer).saturating_mul(300);
        let most = most.min(usize::from(a.mss.min(b.mss)).saturating_mul(300));
        a.data.truncate(most);
        b.data.truncate(most);
        let mut sim = Sim::new(a, b, path, seed);
        if both {
            sim.connect_both();
        }
        assert_done(&mut sim);
    }
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "mss {} data {} reads {} writes {} {:?} {:?} {:?}",
            self.mss,
            self.data.len(),
            self.reads,
            self.writes,
            self.offload,
            self.isn,
            self.config
        )
    }
}

/// In a network that loses the last ACK for long enough, the end that waits for
/// it may see a RST instead; the data must be whole all the same.
fn assert_done(sim: &mut Sim) {
    assert!(sim.finish(400_000), "{}", sim.story());
    for i in 0..2 {
        let (e, other) = (&sim.ends[i], &sim.ends[1 - i]);
        assert!(e.got == other.data, "end {i} got something else: {}", sim.story());
    }
}

#[test]
fn sizes() {
    assert!(size_of::<Tcb>() <= 768, "{}", size_of::<Tcb>());
    assert!(size_of::<TimeWait>() <= 64);
}

fn is_send<T: Send>() {}

#[test]
fn a_tcb_can_be_sent() {
    is_send::<Tcb>();
}
