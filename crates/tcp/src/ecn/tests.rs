use crate::harness::*;
use crate::{Config, EcnMode};
use wire::tcp::{Flags, Header};

const CE: u8 = wire::ipv4::CE;
const ECT_0: u8 = wire::ipv4::ECT_0;

fn asking() -> Config {
    Config { ecn: EcnMode::Ask, ..sack() }
}

fn with(mut h: Header, flags: Flags) -> Header {
    h.flags = h.flags.with(flags);
    h
}

/// An open connection whose peer has agreed.
fn agreed() -> Peer {
    agreed_by(asking())
}

fn agreed_by(config: Config) -> Peer {
    let mut p = Peer::connecting(config);
    let syn = p.outgoing().remove(0);
    assert_eq!(syn.header.flags, Flags::SYN.with(Flags::ECE).with(Flags::CWR));
    assert!(!syn.ect, "RFC 3168 6.1.1: a SYN is not ECN-capable");
    p.input(with(Peer::syn("S.", 1, &asking()), Flags::ECE), 0);
    let ack = p.outgoing().remove(0);
    assert!(!ack.ect && p.tcb.info().ecn);
    p
}

impl Peer {
    /// The peer sends `len` bytes in a segment whose IP header has these bits.
    fn say_marked(&mut self, h: Header, len: usize, bits: u8) {
        self.tcb.input_coalesced(&h, payload(len), 0, bits, self.now);
        self.tcb.check_invariants();
    }
}

#[test]
fn both_must_want_it() {
    // RFC 9293 SHLD-8
    // RFC 3168 6.1.1/2
    let ask = Flags::ECE.with(Flags::CWR);
    for (mode, syn, answer) in [
        (EcnMode::Off, ask, Flags::default()),
        (EcnMode::Accept, ask, Flags::ECE),
        (EcnMode::Ask, ask, Flags::ECE),
        (EcnMode::Ask, Flags::default(), Flags::default()),
        // RFC 3168 6.1.1: one of the two alone asks for nothing.
        (EcnMode::Accept, Flags::ECE, Flags::default()),
    ] {
        let config = Config { ecn: mode, ..sack() };
        let syn = with(Peer::syn("S", 0, &config), syn);
        let isn = crate::Isn { seq: wire::Seq(ISS), timestamp_offset: 0 };
        let now = wire::Instant::from_millis(1);
        let mut tcb = crate::Tcb::accept(&std::sync::Arc::new(config), isn, MSS, &syn, now);
        let out = tcb.poll_transmit(now, Default::default()).expect("a SYN-ACK");
        assert_eq!(out.header.flags, Flags::SYN.with(Flags::ACK).with(answer), "{mode:?}");
        assert_eq!(tcb.info().ecn, answer == Flags::ECE);
    }
    for (answer, on) in [(Flags::ECE, true), (ask, false), (Flags::default(), false)] {
        let mut p = Peer::connecting(asking());
        p.out();
        p.input(with(Peer::syn("S.", 1, &asking()), answer), 0);
        assert_eq!(p.tcb.info().ecn, on);
    }
}

#[test]
fn a_syn_that_is_lost_goes_without() {
    // RFC 3168 6.1.1.1/1
    let mut p = Peer::connecting(asking());
    p.out();
    p.timeout();
    assert_eq!(p.outgoing().remove(0).header.flags, Flags::SYN);
}

#[test]
fn only_new_data_can_be_marked() {
    // RFC 3168 5/1, 6.1.1/1, 6.1.4/1, 6.1.5/1
    let mut p = agreed();
    p.send(3000);
    assert!(p.outgoing().iter().all(|o| o.ect));
    p.say(".", 1, 1, 1000);
    p.say(".", 1001, 1, 1000);
    assert!(p.outgoing().iter().all(|o| !o.ect), "acknowledgments");
    p.rto();
    let again = p.outgoing();
    assert!(!again.is_empty() && again.iter().all(|o| !o.ect), "sent again");
}

#[test]
fn a_mark_is_echoed_until_the_peer_has_heard() {
    // RFC 3168 6.1.3/1, 6.1.3/2
    let mut p = agreed();
    p.say_marked(header("P.", 1, 1, 50_000), 100, ECT_0);
    assert!(p.out().is_empty(), "a delayed acknowledgment");
    p.say_marked(header("P.", 101, 1, 50_000), 100, CE);
    let echo = Flags::ACK.with(Flags::ECE);
    assert_eq!(p.outgoing().remove(0).header.flags, echo, "at once");
    p.say_marked(header(".", 201, 1, 50_000), 1000, ECT_0);
    p.say_marked(header(".", 1201, 1, 50_000), 1000, ECT_0);
    assert_eq!(p.outgoing().remove(0).header.flags, echo);
    p.say_marked(with(header(".", 2201, 1, 50_000), Flags::CWR), 1000, ECT_0);
    p.say_marked(header(".", 3201, 1, 50_000), 1000, ECT_0);
    assert_eq!(p.outgoing().remove(0).header.flags, Flags::ACK);
    // A segment that has heard of the last mark may be marked itself.
    p.say_marked(with(header(".", 4201, 1, 50_000), Flags::CWR), 1000, CE);
    assert_eq!(p.outgoing().remove(0).header.flags, echo);
    assert_eq!(p.tcb.info().marked, 2);
}

#[test]
fn the_window_is_reduced_once_for_what_is_in_flight() {
    // RFC 3168 6.1.2/1, 6.1.2/2, 6.1.2/3
    let mut p = agreed();
    p.send(30_000);
    assert_eq!(p.out().len(), 10);
    for ack in [1001, 2001, 3001] {
        p.input(with(header(".", 1, ack, 50_000), Flags::ECE), 0);
        assert_eq!(p.tcb.info().cwnd, 5000);
        assert!(p.out().is_empty(), "more is in flight than may be");
    }
    p.input(with(header(".", 1, 8001, 50_000), Flags::ECE), 0);
    let new = p.outgoing();
    assert!(new[0].header.flags.has(Flags::CWR) && new[0].ect);
    assert!(new[1..].iter().all(|o| !o.header.flags.has(Flags::CWR)), "once");
    assert_eq!(p.tcb.info().retransmits, 0);
    let cwnd = p.tcb.info().cwnd;
    p.input(header(".", 1, 10_001, 50_000), 0);
    p.out();
    assert!(p.tcb.info().cwnd >= cwnd);
    // Another round trip, another reduction.
    p.input(with(header(".", 1, 12_001, 50_000), Flags::ECE), 0);
    assert!(p.tcb.info().cwnd < cwnd);
    assert_eq!(p.tcb.info().echoed, 5);
}

#[test]
fn echoes_of_a_peer_that_has_not_agreed_mean_nothing() {
    // RFC 3168 6.1.1/3
    let mut p = Peer::established(sack());
    p.send(10_000);
    p.out();
    p.input(with(header(".", 1, 1001, 50_000), Flags::ECE), 0);
    assert!(p.tcb.info().cwnd >= 10_000);
    p.say_marked(with(header("P.", 1, 1001, 50_000), Flags::CWR), 100, CE);
    assert!(p.out().iter().all(|(flags, ..)| flags == "."));
    assert_eq!(p.tcb.received(), 100);
}

#[test]
fn a_loss_in_the_same_window_reduces_no_further() {
    // RFC 3168 6.1.2/2
    let mut p = agreed();
    p.send(30_000);
    p.out();
    p.input(with(header(".", 1, 1001, 50_000), Flags::ECE), 0);
    let cwnd = p.tcb.info().ssthresh;
    p.wait(10);
    p.sack(1001, &[(2001, 9001)]);
    let again = p.out();
    assert_eq!(p.tcb.info().ssthresh, cwnd);
    // It was none: what was reduced for the mark stays.
    assert!(again.iter().any(|o| o.1 == 1001));
    p.wait(10);
    p.say(".", 1, 9001, 0);
    p.sack(9001, &[(1001, 2001)]);
    assert_eq!(p.tcb.info().ssthresh, cwnd);
}

/// What had been SACKed when the window was reduced counted twice, and marks behind it not at all.
#[test]
fn a_mark_behind_a_window_with_a_loss_counts() {
    // RFC 3168 6.1.2/2
    let mut p = agreed_by(Config { initial_window: 20, ..asking() });
    p.send(60_000);
    assert_eq!(p.out().len(), 20);
    p.wait(50);
    p.sack(1, &[(1001, 20_001)]);
    assert!(p.out().iter().any(|o| o.1 == 1));
    p.wait(50);
    // All that was in flight at the loss is there, and more leaves.
    p.say(".", 1, 20_001, 0);
    assert!(p.out().iter().any(|o| o.1 >= 20_001));
    let before = p.tcb.info().ssthresh;
    p.wait(50);
    p.input(with(header(".", 1, 22_001, 50_000), Flags::ECE), 0);
    assert!(p.tcb.info().ssthresh < before, "{:?}", p.tcb.info());
}

#[test]
fn a_loss_behind_a_reduction_that_was_undone_counts() {
    let mut p = agreed_by(Config { initial_window: 20, ..asking() });
    p.send(40_000);
    p.out();
    p.wait(50);
    p.sack(1, &[(3001, 8001)]);
    let again = p.out().iter().filter(|o| o.1 < 3000).count();
    p.wait(10);
    // What was sent first comes late, and once more what was sent again.
    p.say(".", 1, 20_001, 0);
    p.out();
    (0..again as u32).for_each(|n| p.sack(20_001, &[(1 + 1000 * n, 1001 + 1000 * n)]));
    let before = p.tcb.info();
    assert!(before.cwnd >= 20_000 && before.ssthresh > 20_000, "undone: {before:?}");
    p.out();
    p.wait(50);
    p.sack(20_001, &[(23_001, 26_001)]);
    // What came late has shown how long to wait.
    p.timeout();
    assert!(p.tcb.info().recovering);
    assert!(p.tcb.info().ssthresh < before.cwnd, "{:?}", p.tcb.info());
}

/// RFC 8257 3.2: whoever counts marks is told of each, whatever comes in one batch.
#[test]
fn each_change_of_marks_is_acknowledged_by_itself() {
    let congestion = crate::congestion::Algorithm::Dctcp;
    let config = Config { congestion, ecn: EcnMode::Accept, ..sack() };
    let mut p = Peer::connecting(config.clone());
    let syn = p.outgoing().remove(0);
    assert_eq!(syn.header.flags, Flags::SYN.with(Flags::ECE).with(Flags::CWR), "it asks");
    p.input(with(Peer::syn("S.", 1, &config), Flags::ECE), 0);
    p.outgoing();
    for (seq, bits) in [(1, ECT_0), (101, CE), (201, CE), (301, ECT_0), (401, CE)] {
        p.say_marked(header(".", seq, 1, 50_000), 100, bits);
    }
    let told = |p: &mut Peer| -> Vec<(u32, bool)> {
        let acks = p.outgoing();
        acks.iter().map(|o| (said(o).3, o.header.flags.has(Flags::ECE))).collect()
    };
    assert_eq!(told(&mut p), [(101, false), (301, true), (401, false), (501, true)]);
    // CWR changes nothing: what is marked is told of, and what is not, is not.
    p.say_marked(with(header(".", 501, 1, 50_000), Flags::CWR), 100, CE);
    p.say_marked(header(".", 601, 1, 50_000), 100, ECT_0);
    assert_eq!(told(&mut p), [(601, true), (701, false)]);
    p.say_marked(header(".", 701, 1, 50_000), 100, ECT_0);
    p.say_marked(header(".", 801, 1, 50_000), 100, ECT_0);
    assert!(told(&mut p).iter().all(|(_, marked)| !marked));
}

/// What would be copied straight to a waiting reader has to be looked at if each mark counts.
#[test]
fn where_each_mark_counts_nothing_passes_by() {
    let congestion = crate::congestion::Algorithm::Dctcp;
    let config = Config { congestion, ecn: EcnMode::Accept, ..sack() };
    let mut p = Peer::connecting(config.clone());
    p.outgoing();
    p.input(with(Peer::syn("S.", 1, &config), Flags::ECE), 0);
    p.outgoing();
    for bits in [ECT_0, CE] {
        assert!(!p.tcb.takes_at_once(&header(".", 1, 1, 50_000), 100, bits));
    }
    let p = agreed();
    assert!(p.tcb.takes_at_once(&header(".", 1, 1, 50_000), 100, ECT_0));
    assert!(!p.tcb.takes_at_once(&header(".", 1, 1, 50_000), 100, CE));
}

/// A mark counts for what was in use, as a loss does.
#[test]
fn a_mark_of_a_window_that_was_not_used_counts_for_what_was() {
    // RFC 7661 4.4.1/1
    let (mut p, mut una) = (agreed(), 1);
    let mut round = |p: &mut Peer, segments: u32, echo: Flags| {
        p.send(1000 * segments as usize);
        assert_eq!(p.out().len(), segments as usize);
        p.wait(100);
        una += 1000 * segments;
        p.input(with(header(".", 1, una, 50_000), echo), 0);
        p.out();
    };
    [10, 20, 40].into_iter().for_each(|n| round(&mut p, n, Flags::default()));
    (0..20).for_each(|_| round(&mut p, 5, Flags::default()));
    round(&mut p, 20, Flags::default());
    assert_eq!(p.tcb.info().cwnd, 80_000);
    round(&mut p, 5, Flags::ECE);
    let cwnd = p.tcb.info().cwnd;
    assert!((10_000..=11_000).contains(&cwnd), "half of 20 in a round trip, not of 5: {cwnd}");
}
