use crate::harness::*;
use crate::{Config, Error, Events, State};
use std::sync::Arc;
use wire::tcp::FastOpen;

/// A connection of a client whose cookie was good, with `len` bytes behind its SYN.
fn early(config: Config, len: usize) -> Peer {
    let mut p = Peer::accepting(config);
    p.tcb.open_early(payload(len), p.now);
    p.tcb.check_invariants();
    p
}

#[test]
fn what_came_with_the_syn_is_read_and_answered_before_the_handshake_is_over() {
    // RFC 7413 4.2.2/1, 4.2.2/2
    let mut p = early(sack(), 10);
    assert!(p.tcb.take_events().has(Events::CONNECTED | Events::READABLE | Events::WRITABLE));
    assert!(p.tcb.is_open() && !p.tcb.is_synchronized());
    assert_eq!(p.tcb.receive(&mut [0; 99]), Ok(10));
    assert_eq!(p.out(), [s("S.", 0, 0, 11)]);
    p.send(100);
    assert_eq!(p.out(), [s("P.", 1, 100, 11)]);
    assert_eq!(p.tcb.state(), State::SynReceived);
    p.say(".", 11, 101, 0);
    assert_eq!(p.tcb.state(), State::Established);
    assert_eq!((p.tcb.queued(), p.tcb.next_timeout()), (0, None));
    assert!(p.tcb.info().syn_data && !p.tcb.info().srtt.is_zero());
    p.say("P.", 11, 101, 20);
    assert_eq!(p.tcb.receive(&mut [0; 99]), Ok(20));
}

#[test]
fn a_syn_without_data_opens_early_too() {
    let mut p = early(bare(), 0);
    assert_eq!(p.out(), [s("S.", 0, 0, 1)]);
    p.send(5);
    assert_eq!(p.out(), [s("P.", 1, 5, 1)]);
    assert!(!p.tcb.info().syn_data);
    p.say("P.", 1, 6, 3);
    assert_eq!(p.tcb.receive(&mut [0; 9]), Ok(3));
}

#[test]
fn windows_bound_what_goes_out_beside_the_syn_ack() {
    let mut p = early(Config { initial_window: 3, ..bare() }, 10);
    p.send(9000);
    let out = p.out();
    assert_eq!(
        out,
        [s("S.", 0, 0, 11), s(".", 1, 1000, 11), s(".", 1001, 1000, 11), s(".", 2001, 1000, 11)]
    );
    // Only the handshake is acknowledged: nothing more may go, and there is a time-out.
    p.say(".", 11, 1, 0);
    assert!(p.out().is_empty());
    assert_eq!(p.tcb.info().retransmits, 0);
    p.rto();
    assert_eq!(p.out(), [s(".", 1, 1000, 11)]);
    p.say(".", 11, 3001, 0);
    assert!(!p.out().is_empty());
}

#[test]
fn the_first_acknowledgment_of_data_alone_is_no_duplicate() {
    let mut p = early(bare(), 10);
    p.send(9000);
    p.out();
    for _ in 0..3 {
        p.say(".", 11, 1, 0);
    }
    // Two duplicates, not three: the first was that of the SYN-ACK.
    assert_eq!(p.tcb.info().lost, 0);
    p.say(".", 11, 1, 0);
    assert!(p.tcb.info().lost > 0);
}

#[test]
fn the_syn_ack_goes_again_and_nothing_else() {
    // RFC 7413 4.2.2/5
    let mut p = early(bare(), 10);
    p.send(100);
    assert_eq!(p.out(), [s("S.", 0, 0, 11), s("P.", 1, 100, 11)]);
    assert_eq!(p.timeout(), 1000);
    assert_eq!(p.out(), [s("S.", 0, 0, 11)]);
    assert_eq!(p.timeout(), 2000);
    assert_eq!(p.out(), [s("S.", 0, 0, 11)]);
    // The SYN again, as the client sends it then: without its data.
    let syn = Peer::syn("S", 0, &bare());
    p.wait(600);
    p.input(syn, 0);
    assert_eq!(p.out(), [s("S.", 0, 0, 11)]);
    p.input(syn, 0);
    assert!(p.out().is_empty(), "not for each that anybody can send");
    p.say(".", 11, 1, 0);
    p.rto();
    assert_eq!(p.out(), [s("P.", 1, 100, 11)]);
}

/// Before, the time since the first SYN-ACK was a round trip, although that was sent again.
#[test]
fn an_acknowledgment_of_a_syn_ack_before_the_last_is_not_measured() {
    // RFC 6298 3/1
    let config = Config { timestamps: true, ..sack() };
    for (nth, srtt) in [(1, 30), (0, 0)] {
        let mut p = early(config.clone(), 10);
        let first = p.tcb.timestamp(p.now);
        p.out();
        p.timeout();
        let stamps = [first, p.tcb.timestamp(p.now)];
        p.out();
        p.wait(30);
        let mut ack = header(".", 11, 1, 50_000);
        ack.options.timestamps = Some((5001, stamps[nth]));
        p.input(ack, 0);
        assert_eq!(p.tcb.state(), State::Established);
        assert_eq!(p.tcb.info().srtt.as_millis(), srtt);
    }
}

#[test]
fn who_never_answers_is_given_up() {
    let mut p = early(Config { syn_retries: 2, ..bare() }, 10);
    p.out();
    for _ in 0..3 {
        p.timeout();
        p.out();
    }
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::TimedOut)));
    assert_eq!(p.tcb.receive(&mut [0; 99]), Ok(10), "what came is there");
}

#[test]
fn a_reset_is_told_to_the_user() {
    // RFC 7413 4.2.2/4
    let mut p = early(bare(), 10);
    p.out();
    p.say("R", 12, 0, 0);
    assert_eq!(p.tcb.state(), State::SynReceived, "it is not where we wait for it");
    p.say("R", 11, 0, 0);
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::Reset)));
}

#[test]
fn closing_waits_for_the_handshake_and_unread_data_resets() {
    let mut p = early(bare(), 10);
    p.out();
    p.tcb.receive(&mut [0; 99]).expect("there is data");
    p.send(5);
    p.tcb.release();
    assert_eq!(p.out(), [s("P.", 1, 5, 11)]);
    p.say(".", 11, 6, 0);
    assert_eq!(p.out(), [s("F.", 6, 0, 11)]);
    let mut p = early(bare(), 10);
    p.out();
    p.tcb.release();
    assert_eq!(p.out(), [s("R.", 1, 0, 11)]);
}

#[test]
fn the_syn_announces_what_is_free_behind_its_data() {
    let config = Config { receive_buffer: 1000, ..bare() };
    let mut p = early(config, 400);
    assert_eq!(p.window(), 600);
    // More than fits is cut off, and comes again.
    let mut p = early(Config { receive_buffer: 300, ..bare() }, 400);
    assert_eq!(p.out(), [s("S.", 0, 0, 301)]);
    assert_eq!(p.tcb.receive(&mut [0; 999]), Ok(300));
}

#[test]
fn only_a_syn_that_nothing_was_said_to_opens_early() {
    for mut p in [Peer::at(State::SynReceived, bare()), Peer::established(bare())] {
        let before = p.tcb.state();
        p.tcb.open_early(payload(10), p.now);
        assert_eq!((p.tcb.state(), p.tcb.received()), (before, 0));
        assert!(!p.tcb.is_early());
    }
    let config = Arc::new(bare());
    let connecting = Peer::connecting((*config).clone());
    assert!(!connecting.tcb.is_open());
}

#[test]
fn a_cookie_stands_beside_the_options_of_the_header() {
    // RFC 7413 4.2.1/1
    let mut p = Peer::accepting(bare());
    assert_eq!(p.tcb.syn_option(), None);
    let cookie = FastOpen::new(&[1, 2, 3, 4]).expect("of this length there are");
    p.tcb.offer_cookie(cookie);
    assert_eq!(p.tcb.syn_option(), Some(cookie));
    assert_eq!(p.out(), [s("S.", 0, 0, 1)]);
    assert!(!p.tcb.is_open());
}

#[test]
fn data_that_was_lost_beside_the_syn_ack_is_found_by_sack() {
    let mut p = early(sack(), 10);
    p.send(5000);
    p.out();
    let mut h = header(".", 11, 1, 50_000);
    h.options.sack.push(wire::Seq(ISS) + 2001, wire::Seq(ISS) + 5001);
    p.input(h, 0);
    assert_eq!(p.out(), [s(".", 1, 1000, 11), s(".", 1001, 1000, 11)]);
}

/// A router says that what was sent beside the SYN-ACK is too large, before the client's
/// acknowledgment is there, as it nearly always does.
#[test]
fn a_smaller_path_counts_before_the_handshake_is_over() {
    let mut p = early(sack(), 10);
    p.send(4000);
    assert_eq!(p.out().len(), 5, "the SYN-ACK and all four");
    assert!(p.tcb.on_mss(wire::Seq(ISS) + 1, 500));
    p.tcb.check_invariants();
    p.out();
    p.say(".", 11, 1, 0);
    let mut again = 0;
    for _ in 0..20 {
        for o in p.outgoing() {
            let len: usize = o.payload.iter().map(|s| s.len()).sum();
            assert!(len <= 500 && o.gso_size == 0, "{:?}: {len} bytes", said(&o));
            again += len;
        }
        if again >= 4000 {
            return;
        }
        p.timeout();
    }
    panic!("{again} bytes went again");
}
