use crate::harness::*;
use crate::{Config, Error, Events, State};
use State::*;

const SYNCHRONIZED: [State; 8] =
    [SynReceived, Established, FinWait1, FinWait2, CloseWait, Closing, LastAck, TimeWait];

/// RCV.NXT in `state`, as [`Peer::at`] reaches it.
fn rcv_nxt(state: State) -> u32 {
    if matches!(state, CloseWait | Closing | LastAck | TimeWait) { 2 } else { 1 }
}

#[test]
fn a_reset_counts_only_at_rcv_nxt() {
    // RFC 9293 MUST-12
    // RFC 5961 3.2/1, 3.2/2, 3.2/3
    for state in SYNCHRONIZED {
        for offset in [0, 1, 1000, 100_000, u32::MAX] {
            let mut p = Peer::at(state, bare());
            p.say("R", rcv_nxt(state).wrapping_add(offset), 0, 0);
            let window = offset < 50_000;
            match offset {
                0 if state != TimeWait => {
                    let error = match state {
                        SynReceived | Closing | LastAck => None,
                        CloseWait => Some(Error::Shutdown),
                        _ => Some(Error::Reset),
                    };
                    assert_eq!((p.tcb.state(), p.tcb.error()), (Closed, error), "{state:?}");
                    assert!(p.out().is_empty());
                }
                _ => {
                    assert_eq!(p.tcb.state(), state, "{offset}");
                    let challenged = window && offset > 0;
                    assert_eq!(p.out().len(), usize::from(challenged), "{state:?} {offset}");
                }
            }
        }
    }
}

#[test]
fn a_syn_is_challenged_wherever_it_is() {
    // RFC 5961 4.2/1
    for state in SYNCHRONIZED {
        for seq in [2, 500, 100_000, 0xffff_0000] {
            let mut p = Peer::at(state, bare());
            let nxt = p.tcb.snd.nxt.distance_from(p.tcb.snd.iss);
            p.say("S", seq, 0, 0);
            assert_eq!(p.out(), [s(".", nxt, 0, rcv_nxt(state))], "{state:?} {seq}");
            assert_eq!(p.tcb.state(), state);
        }
    }
}

#[test]
fn challenges_are_limited_per_second() {
    // RFC 5961 7/1, 7/2
    let mut p = Peer::established(Config { challenge_acks_per_second: 3, ..bare() });
    let mut count = 0;
    for _ in 0..100 {
        p.say("S", 500, 0, 0);
        count += p.out().len();
    }
    assert_eq!(count, 3);
    p.wait(1000);
    p.say("S", 500, 0, 0);
    assert_eq!(p.out().len(), 1);
}

#[test]
fn what_is_not_acceptable_is_answered_and_changes_nothing() {
    // SEQ, payload; with a window of 50,000 and RCV.NXT 1.
    let mut p = Peer::established(Config { receive_buffer: 50_000, ..bare() });
    p.send(5);
    p.out();
    for (seq, len) in [(0, 1), (50_002, 1), (50_002, 0), (0, 0), (u32::MAX - 9, 10)] {
        p.say(".", seq, 6, len);
        assert_eq!(p.out(), [s(".", 6, 0, 1)], "{seq} {len}");
        assert_eq!(p.tcb.in_flight(), 5, "its ACK does not count");
    }
    for (seq, len) in [(0, 2), (1, 1), (50_000, 1), (50_001, 0), (u32::MAX, 70_000)] {
        let mut p = Peer::established(Config { receive_buffer: 50_000, ..bare() });
        p.send(5);
        p.out();
        p.say(".", seq, 6, len);
        assert_eq!(p.tcb.in_flight(), 0, "{seq} {len} is acceptable");
    }
}

#[test]
fn without_ack_nothing_counts() {
    let mut p = Peer::established(bare());
    p.say("", 1, 0, 10);
    p.say("F", 1, 0, 0);
    assert_eq!((p.tcb.received(), p.tcb.state(), p.out().len()), (0, Established, 0));
}

#[test]
fn syn_received_wants_its_syn_acknowledged() {
    for (ack, state, reply) in [
        (1, Established, None),
        (0, SynReceived, Some(s("R", 0, 0, 0))),
        (2, SynReceived, Some(s("R", 2, 0, 0))),
    ] {
        let mut p = Peer::at(SynReceived, bare());
        p.say(".", 1, ack, 0);
        assert_eq!(p.tcb.state(), state);
        assert_eq!(p.out(), Vec::from_iter(reply));
        assert_eq!(p.tcb.take_events().has(Events::CONNECTED), state == Established);
    }
}

#[test]
fn syn_received_answers_the_syn_again_and_gives_up() {
    let mut p = Peer::at(SynReceived, bare());
    p.wait(500);
    p.say("S", 0, 0, 0);
    assert_eq!(p.out(), [s("S.", 0, 0, 1)]);
    for _ in 0..6 {
        p.timeout();
        assert_eq!(p.out(), [s("S.", 0, 0, 1)]);
    }
    p.timeout();
    assert_eq!((p.tcb.state(), p.tcb.error()), (Closed, Some(Error::TimedOut)));
}

#[test]
fn closing_in_syn_received_waits_for_the_handshake() {
    let mut p = Peer::at(SynReceived, bare());
    p.send(3);
    p.tcb.shutdown_write();
    assert_eq!(p.tcb.send(b"x"), Err(Error::Shutdown));
    assert_eq!((p.tcb.state(), p.out().len()), (SynReceived, 0));
    p.say(".", 1, 1, 0);
    assert_eq!(p.out(), [s("FP.", 1, 3, 1)]);
    assert_eq!(p.tcb.state(), FinWait1);
}

#[test]
fn both_open_at_once() {
    // RFC 9293 MUST-10
    let mut p = Peer::connecting(bare());
    p.out();
    p.input(Peer::syn("S", 0, &bare()), 0);
    assert_eq!(p.out(), [s("S.", 0, 0, 1)]);
    // RFC 9293 figure 8, line 7: the peer's SYN-ACK has the sequence number of
    // its SYN.
    p.input(Peer::syn("S.", 1, &bare()), 0);
    assert_eq!(p.tcb.state(), Established);
}

#[test]
fn both_open_at_once_and_the_peers_answer_comes_with_its_syn() {
    // Before our SYN-ACK has left: nothing else would tell the peer that its SYN has come.
    let mut p = Peer::connecting(bare());
    p.out();
    p.input(Peer::syn("S", 0, &bare()), 0);
    p.input(Peer::syn("S.", 1, &bare()), 0);
    assert_eq!(p.tcb.state(), Established);
    assert_eq!(p.out(), [s(".", 1, 0, 1)]);
}

#[test]
fn the_ways_to_close() {
    // State, segment, state.
    let table = [
        (Established, "F.", 1, CloseWait),
        (FinWait1, ".", 2, FinWait2),
        (FinWait1, "F.", 1, Closing),
        (FinWait1, "F.", 2, TimeWait),
        (FinWait2, "F.", 2, TimeWait),
        (Closing, ".", 2, TimeWait),
        (LastAck, ".", 2, Closed),
        (CloseWait, ".", 1, CloseWait),
        (SynReceived, "F.", 1, CloseWait),
    ];
    for (from, letters, ack, to) in table {
        let mut p = Peer::at(from, bare());
        p.say(letters, rcv_nxt(from), ack, 0);
        assert_eq!(p.tcb.state(), to, "{from:?} {letters} {ack}");
        assert_eq!(p.tcb.error(), None);
        let fin = letters.contains('F');
        assert_eq!(p.out().len(), usize::from(fin), "a FIN is acknowledged at once");
        let events = p.tcb.take_events();
        assert_eq!(events.has(Events::PEER_CLOSED), fin);
        assert_eq!(events.has(Events::TIME_WAIT), to == TimeWait);
        assert_eq!(events.has(Events::CLOSED), to == Closed);
    }
}

#[test]
fn time_wait_acknowledges_the_fin_again_and_begins_anew() {
    // RFC 9293 MUST-13
    let mut p = Peer::at(TimeWait, bare());
    p.wait(50_000);
    p.say("F.", 1, 2, 0);
    assert_eq!(p.out(), [s(".", 2, 0, 2)]);
    assert_eq!(p.timeout(), 60_000);
    assert_eq!((p.tcb.state(), p.tcb.error()), (Closed, None));
}

mod paws {
    use super::*;
    use std::time::Duration;

    fn stamped(letters: &str, seq: u32, value: u32) -> wire::tcp::Header {
        let mut h = header(letters, seq, 1, 50_000);
        h.options.timestamps = Some((value, 0));
        h
    }
    fn peer() -> Peer {
        Peer::established(Config { timestamps: true, ..bare() })
    }

    #[test]
    fn old_timestamps_are_old_segments() {
        // RFC 7323 5.3/1, 5.3/2
        let mut p = peer();
        p.input(stamped(".", 1, 4999), 10);
        assert_eq!((p.tcb.received(), p.out()), (0, vec![s(".", 1, 0, 1)]));
        p.input(stamped(".", 1, 5000), 10);
        p.input(stamped(".", 11, 5000u32.wrapping_add(1 << 30)), 10);
        assert_eq!(p.tcb.received(), 20);
        p.input(stamped("R", 21, 1), 0);
        assert_eq!(p.tcb.error(), Some(Error::Reset), "a RST is exempt");
    }

    /// 41 to 50 have come behind holes at 1, 21 and 31; what fills the first has a late stamp.
    fn with_holes() -> Peer {
        let mut p = peer();
        p.input(stamped(".", 1, 6000), 10);
        for seq in [21, 41] {
            p.input(stamped(".", seq, 6003), 10);
        }
        p.out();
        p.input(stamped(".", 11, 9000), 10);
        assert_eq!(p.tcb.received(), 30);
        p.out();
        p
    }

    #[test]
    fn what_fills_a_hole_may_be_as_old_as_what_came_before_it() {
        // RFC 7323 5.3/1
        let mut p = with_holes();
        p.input(stamped(".", 31, 5999), 10);
        assert_eq!(p.tcb.received(), 30, "what came before it is later");
        p.input(stamped(".", 41, 6001), 20);
        assert_eq!(p.tcb.received(), 30, "it goes beyond the hole");
        p.input(stamped("S.", 31, 6001), 10);
        assert_eq!(p.tcb.received(), 30, "a SYN fills none");
        p.out();
        p.input(stamped(".", 31, 6001), 10);
        assert_eq!(p.tcb.received(), 50);
        // TS.Recent does not go back, and with the last hole the rest is as ever.
        let acks = p.outgoing();
        assert_eq!(acks[0].header.options.timestamps.unwrap().1, 9000);
        p.input(stamped(".", 51, 8999), 10);
        assert_eq!(p.tcb.received(), 50);
        p.input(stamped(".", 51, 9000), 10);
        assert_eq!(p.tcb.received(), 60);
    }

    #[test]
    fn ts_recent_is_of_the_segment_that_is_acknowledged_first() {
        // RFC 7323 4.3/1
        let mut p = peer();
        p.input(stamped(".", 1, 6000), 10);
        p.input(stamped(".", 11, 7000), 10);
        p.timeout();
        assert_eq!(p.outgoing()[0].header.options.timestamps.unwrap().1, 6000);
    }

    /// What acknowledges data that was never sent must not make the peer's segments
    /// look old. Before, what acknowledges less than any window ago did, which half of all numbers do.
    #[test]
    fn ts_recent_is_not_of_an_unacceptable_acknowledgment() {
        // RFC 5961 5.2/1
        for ack in [10_000, 1u32.wrapping_sub(50_001), 1 << 31] {
            let mut p = peer();
            let mut forged = stamped(".", 1, 2_000_000);
            forged.ack = wire::Seq(ISS) + ack;
            p.input(forged, 0);
            p.out();
            p.input(stamped(".", 1, 6000), 10);
            assert_eq!(p.tcb.received(), 10, "{ack}");
        }
    }

    #[test]
    fn ts_recent_expires_after_24_days() {
        // RFC 7323 5.5/1
        let mut p = peer();
        p.now += Duration::from_secs(23 * 24 * 3600);
        p.input(stamped(".", 1, 1), 10);
        assert_eq!(p.tcb.received(), 0);
        p.now += Duration::from_secs(2 * 24 * 3600);
        p.input(stamped(".", 1, 1), 10);
        assert_eq!(p.tcb.received(), 10);
    }

    /// Before, the answer to the third SYN echoed the first, which was no round trip ago.
    #[test]
    fn the_answer_to_a_repeated_syn_echoes_that() {
        // RFC 7323 4.3/1
        let mut p = Peer::at(SynReceived, Config { timestamps: true, ..bare() });
        for value in [6000, 8000] {
            p.wait(value - 4000);
            let mut h = header("S", 0, 0, 50_000);
            h.options.timestamps = Some((value as u32, 0));
            p.input(h, 0);
            let answer = p.outgoing();
            assert_eq!(answer.len(), 1);
            let echo = answer[0].header.options.timestamps.map(|(_, echo)| echo);
            assert_eq!(echo, Some(value as u32));
        }
        // One that is older than the last was late on its way.
        let mut h = header("S", 0, 0, 50_000);
        h.options.timestamps = Some((7000, 0));
        p.wait(1000);
        p.input(h, 0);
        let echo = p.outgoing()[0].header.options.timestamps.map(|(_, echo)| echo);
        assert_eq!(echo, Some(8000));
    }

    #[test]
    fn a_segment_without_timestamps_is_dropped() {
        // RFC 7323 3.2/3
        let mut p = peer();
        p.say(".", 1, 1, 10);
        assert_eq!((p.tcb.received(), p.out().len()), (0, 0));
        // Linux takes it.
        let mut p = Peer::established(Config { missing_timestamps: true, ..Config::default() });
        assert!(p.tcb.flags.timestamps);
        p.say(".", 1, 1, 10);
        p.send(10);
        p.out();
        p.say(".", 11, 11, 0);
        assert_eq!((p.tcb.received(), p.tcb.queued()), (10, 0));
    }
}

#[test]
fn repeated_syns_get_few_answers() {
    let mut p = Peer::at(SynReceived, bare());
    let mut answers = 0;
    for _ in 0..100 {
        p.wait(9);
        p.say("S", 0, 0, 0);
        answers += p.out().len();
    }
    assert_eq!(answers, 2, "the first, and one in half a second");
    assert_eq!(p.tcb.info().retransmits, 0, "nothing was found lost");
}
