mod counting;

use crate::harness::*;
use crate::{Config, EcnMode, Isn, State, Tcb};
use std::sync::Arc;
use wire::tcp::{AccEcn, Flags, Header};
use wire::{Instant, Parts, Seq};

const CE: u8 = wire::ipv4::CE;
const ECT_0: u8 = wire::ipv4::ECT_0;
const ECT_1: u8 = wire::ipv4::ECT_1;

fn asking() -> Config {
    Config { ecn: EcnMode::AskAccurate, ..sack() }
}

fn ace(mut h: Header, ace: u32) -> Header {
    h.flags = h.flags.without(Flags::ACE).with(Flags::of_ace(ace));
    h
}

/// The answers that a client's SYN may get, as in tables 2 and 3.
fn client(answer: u32, bits: u8) -> Peer {
    let mut p = Peer::connecting(asking());
    let syn = p.outgoing().remove(0);
    assert_eq!(syn.header.flags, Flags::SYN.with(Flags::ACE));
    assert!(syn.header.options.acc_ecn.is_none() && !syn.ect);
    let answer = ace(Peer::syn("S.", 1, &asking()), answer);
    p.tcb.input_coalesced(&answer, Parts::new(), 0, bits, p.now);
    p
}

/// A server whose SYN says `syn`, its SYN-ACK still to be polled.
fn server(mode: EcnMode, syn: u32, bits: u8) -> Peer {
    server_of(Config { ecn: mode, ..sack() }, syn, bits)
}

fn server_of(config: Config, syn: u32, bits: u8) -> Peer {
    let syn = ace(Peer::syn("S", 0, &config), syn);
    let isn = Isn { seq: Seq(ISS), timestamp_offset: 0 };
    let now = Instant::from_millis(1000);
    let mut tcb = Tcb::accept(&Arc::new(config), isn, MSS, &syn, now);
    tcb.syn_came(bits);
    let mut p = Peer::accepting(sack());
    p.tcb = tcb;
    p
}

/// How many flags of ECN say, of what goes out.
fn aces(p: &mut Peer) -> Vec<u8> {
    p.outgoing().iter().map(|o| o.header.flags.ace()).collect()
}

/// What both ends have agreed on: nothing, the echo, or counters.
fn mode(p: &Peer) -> (bool, bool) {
    let info = p.tcb.info();
    (info.ecn, info.accurate_ecn.is_some())
}

const NOTHING: (bool, bool) = (false, false);
const ECHO: (bool, bool) = (true, false);
const COUNTERS: (bool, bool) = (true, true);

#[test]
fn a_client_agrees_by_the_table() {
    // RFC 9768 3.1.1/2, 3.1.2/1, 3.1.2/4, 3.1.3/2, 3.2.2.3/1
    for (answer, agreed, capable) in [
        (0b010, COUNTERS, true),
        (0b011, COUNTERS, false),
        (0b100, COUNTERS, false),
        (0b110, COUNTERS, false),
        (0b101, COUNTERS, true),
        (0b001, ECHO, true),
        (0b000, NOTHING, false),
        (0b111, NOTHING, false),
    ] {
        let mut p = client(answer, 0);
        assert_eq!(mode(&p), agreed, "{answer:03b}");
        p.out();
        p.send(1000);
        let data = p.outgoing().remove(0);
        // A SYN that has arrived with other bits than it was sent with: the path mangles them.
        assert_eq!(data.ect, capable, "{answer:03b}");
        let cwnd = p.tcb.info().cwnd;
        assert_eq!(cwnd < 10_000, answer == 0b110, "told of a mark, it sends less");
        // It goes on to tell of what comes.
        p.say_with(header("P.", 1, 1, 50_000), 100, CE);
        let told = p.outgoing().first().map_or(0, |o| o.header.flags.ace());
        let expected = match agreed {
            COUNTERS => 6,
            ECHO => 1,
            _ => 0,
        };
        assert_eq!(told, expected, "{answer:03b}");
    }
}

#[test]
fn a_server_agrees_by_the_table() {
    // RFC 9768 3.1.1/1, 3.1.2/2, 3.1.2/3, 3.1.3/1
    for (mode_, syn, bits, answer, agreed) in [
        (EcnMode::AcceptAccurate, 0b111, 0, 0b010, COUNTERS),
        (EcnMode::AcceptAccurate, 0b111, ECT_1, 0b011, COUNTERS),
        (EcnMode::AcceptAccurate, 0b111, ECT_0, 0b100, COUNTERS),
        (EcnMode::AcceptAccurate, 0b111, CE, 0b110, COUNTERS),
        (EcnMode::AskAccurate, 0b111, 0, 0b010, COUNTERS),
        (EcnMode::AcceptAccurate, 0b011, CE, 0b001, ECHO),
        (EcnMode::AcceptAccurate, 0b000, CE, 0b000, NOTHING),
        // What is not in use yet counts as the wish for counters.
        (EcnMode::AcceptAccurate, 0b001, 0, 0b010, COUNTERS),
        (EcnMode::AcceptAccurate, 0b010, 0, 0b010, COUNTERS),
        (EcnMode::AcceptAccurate, 0b100, 0, 0b010, COUNTERS),
        (EcnMode::AcceptAccurate, 0b101, ECT_0, 0b100, COUNTERS),
        (EcnMode::AcceptAccurate, 0b110, 0, 0b010, COUNTERS),
        // RFC 3168 sees two flags of three.
        (EcnMode::Accept, 0b111, CE, 0b001, ECHO),
        (EcnMode::Accept, 0b101, 0, 0b000, NOTHING),
        (EcnMode::Off, 0b111, 0, 0b000, NOTHING),
    ] {
        let mut p = server(mode_, syn, bits);
        let out = p.outgoing().remove(0);
        assert_eq!(out.header.flags.ace(), answer, "{mode_:?} {syn:03b}");
        assert_eq!(mode(&p), agreed, "{mode_:?} {syn:03b}");
        let option = out.header.options.acc_ecn.map(|o| o.counters());
        let expected = (agreed == COUNTERS).then_some([Some(1), Some(0), Some(1)]);
        assert_eq!(option, expected, "RFC 9768 3.2.3.2.1");
        assert!(!out.ect);
    }
}

#[test]
fn a_socket_may_want_something_else() {
    let mut p = Peer::connecting(sack());
    p.tcb.set_ecn(EcnMode::AskAccurate);
    assert_eq!(aces(&mut p), [7]);
    p.tcb.set_ecn(EcnMode::Off);
    let answer = ace(Peer::syn("S.", 1, &sack()), 2);
    p.input(answer, 0);
    assert_eq!(mode(&p), COUNTERS, "it was too late");
    for (wish, answer) in [(EcnMode::Off, 0), (EcnMode::Accept, 1), (EcnMode::AskAccurate, 2)] {
        let mut p = server(EcnMode::AcceptAccurate, 7, 0);
        p.tcb.set_ecn(wish);
        assert_eq!(aces(&mut p), [answer]);
    }
}

#[test]
fn syns_that_are_lost_ask_for_less() {
    // RFC 9768 3.1.4.1/1, 3.1.4.1/2
    let mut p = Peer::connecting(asking());
    assert_eq!(aces(&mut p), [7]);
    let mut again = Vec::new();
    for _ in 0..3 {
        p.timeout();
        again.extend(aces(&mut p));
    }
    assert_eq!(again, [7, 0, 0]);
    // The answer to the first counts all the same.
    p.input(ace(Peer::syn("S.", 1, &asking()), 2), 0);
    assert_eq!(mode(&p), COUNTERS);
    p.out();
    p.send(1000);
    assert!(p.outgoing()[0].ect, "a client may go on");
}

#[test]
fn syn_acks_that_are_lost_say_less() {
    // RFC 9768 3.1.5/8, 3.2.3.2.2/1
    let mut p = server(EcnMode::AcceptAccurate, 7, ECT_0);
    let mut said = Vec::new();
    for n in 0..3 {
        if n > 0 {
            p.timeout();
        }
        let out = p.outgoing().remove(0);
        said.push((out.header.flags.ace(), out.header.options.acc_ecn.is_some()));
    }
    assert_eq!(said, [(4, true), (4, false), (0, false)]);
    // It counts on, but nothing of its own may be marked.
    p.input(ace(header(".", 1, 1, 50_000), 2), 0);
    assert_eq!((p.tcb.state(), mode(&p)), (State::Established, COUNTERS));
    p.send(1000);
    assert!(!p.outgoing()[0].ect);
}

#[test]
fn a_syn_again_does_not_change_the_mode() {
    // RFC 9768 3.1.5/1, 3.1.5/3, 3.1.5/4, 3.1.5/5, 3.1.5/7
    let again = |p: &mut Peer, wish: u32, bits: u8| {
        p.wait(600);
        let syn = ace(Peer::syn("S", 0, &sack()), wish);
        p.tcb.input_coalesced(&syn, Parts::new(), 0, bits, p.now);
        p.outgoing()
    };
    let mut p = server(EcnMode::AcceptAccurate, 7, 0);
    p.out();
    let out = again(&mut p, 7, CE).remove(0);
    assert_eq!(out.header.flags.ace(), 6, "of the latest SYN");
    assert!(out.header.options.acc_ecn.is_none());
    let out = again(&mut p, 0, 0).remove(0);
    assert_eq!((out.header.flags.ace(), mode(&p)), (2, COUNTERS));
    p.input(ace(header(".", 1, 1, 50_000), 2), 0);
    p.send(1000);
    let data = p.outgoing().remove(0);
    assert!(!data.ect, "the client may not speak of it");
    // RFC 9768 3.2.2.2/3
    assert_eq!(data.header.flags.ace(), 5, "a mark of a SYN is not counted");
    // Who began without stays without.
    let mut p = server(EcnMode::AcceptAccurate, 0, 0);
    p.out();
    assert_eq!(again(&mut p, 7, 0).remove(0).header.flags.ace(), 0);
    // RFC 3168 and counters in one handshake: nobody knows what the other has heard.
    for (first, second) in [(7, 3), (3, 7)] {
        let mut p = server(EcnMode::AcceptAccurate, first, 0);
        p.out();
        let out = again(&mut p, second, 0).remove(0);
        assert!(out.header.flags.has(Flags::RST.with(Flags::ACK)), "{first} {second}");
        assert_eq!(p.tcb.state(), State::Closed);
    }
}

#[test]
fn a_client_says_how_the_syn_ack_came_before_anything_else() {
    // RFC 9768 3.1.5/2, 3.2.2.1/1, 3.2.2.1/3, 3.2.2.1/4, 3.2.2.2/4, 3.2.3.2.1/2
    for (bits, code, packets) in [(0, 2, 5), (ECT_1, 3, 5), (ECT_0, 4, 5), (CE, 6, 6)] {
        let mut p = Peer::connecting(asking());
        p.out();
        p.send(100);
        let answer = ace(Peer::syn("S.", 1, &asking()), 2);
        p.tcb.input_coalesced(&answer, Parts::new(), 0, bits, p.now);
        let out = p.outgoing();
        let flags: Vec<u8> = out.iter().map(|o| o.header.flags.ace()).collect();
        assert_eq!(flags, [code, packets], "alone, and then data");
        assert!(out[0].payload.is_empty() && out[0].header.options.acc_ecn.is_some());
        // The SYN-ACK again, with a mark: it is counted once, whatever comes.
        p.wait(600);
        for _ in 0..2 {
            p.tcb.input_coalesced(&answer, Parts::new(), 0, CE, p.now);
            assert_eq!(aces(&mut p), [6]);
        }
        p.send(100);
        assert_eq!(aces(&mut p), [6], "5 and one");
    }
}

#[test]
fn a_server_reads_how_its_syn_ack_came() {
    // RFC 9768 3.2.2.1/2, 3.2.2.2/5, 3.2.2.3/1, 3.2.2.4/1
    for (code, capable, heeds, reduced) in [
        (0, false, false, false),
        (1, true, true, false),
        (2, true, true, false),
        (3, false, true, false),
        (4, false, true, false),
        (5, true, true, false),
        (6, false, true, true),
        (7, true, true, false),
    ] {
        let mut p = server(EcnMode::AcceptAccurate, 7, 0);
        p.out();
        p.input(ace(header(".", 1, 1, 50_000), code), 0);
        assert_eq!(p.tcb.info().cwnd < 10_000, reduced, "{code}");
        p.send(10_000);
        assert_eq!(p.outgoing()[0].ect, capable, "{code}");
        let cwnd = p.tcb.info().cwnd;
        let cep = if code == 6 { 6 } else { 5 };
        p.input(ace(header(".", 1, 2001, 50_000), cep + 1), 0);
        let fewer = p.tcb.info().cwnd < cwnd;
        // Two segments are the least.
        assert_eq!(fewer, heeds && !reduced, "{code}");
        assert_eq!(p.tcb.info().echoed, u32::from(reduced) + u32::from(heeds));
    }
}

#[test]
fn without_the_fallback_bits_that_changed_end_nothing() {
    for (fallback, capable) in [(true, false), (false, true)] {
        let config = Config { ecn_fallback: fallback, ..asking() };
        // A SYN-ACK, and a SYN, that arrived with a mark.
        let mut p = server_of(config.clone(), 7, 0);
        p.out();
        p.input(ace(header(".", 1, 1, 50_000), 6), 0);
        p.send(1000);
        assert_eq!((p.outgoing()[0].ect, p.tcb.info().echoed), (capable, 1));
        let mut p = Peer::connecting(config.clone());
        p.out();
        p.input(ace(Peer::syn("S.", 1, &asking()), 6), 0);
        p.out();
        p.send(1000);
        assert_eq!(p.outgoing()[0].ect, capable);
        // And SYNs that were lost.
        let mut p = Peer::connecting(config);
        p.out();
        p.timeout();
        p.out();
        p.timeout();
        assert_eq!(aces(&mut p), [if fallback { 0 } else { 7 }]);
    }
}

#[test]
fn both_ask_at_once() {
    // RFC 9768 3.1.2/5, 3.2.2/2
    let mut p = Peer::connecting(asking());
    p.out();
    let syn = ace(Peer::syn("S", 0, &asking()), 7);
    p.tcb.input_coalesced(&syn, Parts::new(), 0, ECT_0, p.now);
    assert_eq!(aces(&mut p), [4], "as whoever is asked");
    // The flags of a SYN are no counter.
    let cwnd = p.tcb.info().cwnd;
    p.input(ace(Peer::syn("S.", 1, &asking()), 0), 0);
    assert_eq!((p.tcb.state(), mode(&p)), (State::Established, COUNTERS));
    assert_eq!((p.tcb.info().cwnd, p.tcb.info().echoed), (cwnd, 0));
}

impl Peer {
    /// The peer sends `len` bytes in a segment whose IP header has these bits.
    fn say_with(&mut self, h: Header, len: usize, bits: u8) {
        self.say_run(h, len, 0, bits);
    }
    /// As several segments, put together.
    fn say_run(&mut self, h: Header, len: usize, segment: u16, bits: u8) {
        self.tcb.input_coalesced(&h, payload(len), segment, bits, self.now);
        self.tcb.check_invariants();
    }
}

/// A client that counts, its handshake done.
fn counting() -> Peer {
    let mut p = client(2, 0);
    p.out();
    p
}

/// An option with r.ceb.
fn with_option(mut h: Header, ceb: u32) -> Header {
    h.options.acc_ecn = Some(AccEcn::new(false, 2, [1, ceb, 1]));
    h
}
