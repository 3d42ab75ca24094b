use crate::harness::*;
use crate::recovery::Phase;
use crate::{Config, State};
use wire::tcp::Header;

/// ESTABLISHED, with a round trip of 100 ms that was measured often.
fn far(config: Config) -> (Peer, u32) {
    let mut p = Peer::established(config);
    let mut una = 1;
    for _ in 0..40 {
        p.send(2000);
        p.out();
        p.wait(100);
        una += 2000;
        p.say(".", 1, una, 0);
    }
    p.out();
    (p, una)
}

/// Lets timers go off until something is to be sent.
fn probe(p: &mut Peer) {
    while !p.tcb.wants_transmit() {
        p.timeout();
    }
}

#[test]
fn a_lost_tail_is_sent_again_after_two_round_trips() {
    // RFC 8985 7.2/2, 7.3/1
    let (mut p, una) = far(sack());
    p.send(5000);
    assert_eq!(p.out().len(), 5);
    p.wait(100);
    p.say(".", 1, una + 3000, 0);
    assert!(p.out().is_empty());
    let before = p.now;
    probe(&mut p);
    let after = p.now.since(before).as_millis();
    assert!((95..=105).contains(&after), "two round trips after it was sent: {after}");
    assert_eq!(p.out(), [s("P.", una + 4000, 1000, 1)], "the last, once");
    let cwnd = p.tcb.info().cwnd;
    // The one before it is missing, too: now that shows.
    p.wait(100);
    p.sack(una + 3000, &[(una + 4000, una + 5000)]);
    assert_eq!(p.out(), [s(".", una + 3000, 1000, 1)]);
    assert_eq!(p.tcb.recovery.phase, Phase::Fast);
    assert!(p.tcb.info().cwnd < cwnd && p.tcb.info().timeouts == 0);
    p.wait(100);
    p.say(".", 1, una + 5000, 0);
    assert_eq!((p.tcb.info().queued, p.tcb.next_timeout()), (0, None));
}

#[test]
fn what_is_left_of_more_has_50_ms_more_for_a_delayed_acknowledgment() {
    // RFC 8985 7.2/3, 7.3/2
    let (mut p, una) = far(sack());
    p.send(2700);
    assert_eq!(p.out().len(), 3);
    let before = p.now;
    p.wait(100);
    p.say(".", 1, una + 2000, 0);
    assert_eq!(p.out(), []);
    probe(&mut p);
    let after = p.now.since(before).as_millis();
    assert!((245..=255).contains(&after), "{after}");
    assert_eq!(p.out(), [s("P.", una + 2000, 700, 1)]);
    // Then the time-out, and no second probe.
    p.timeout();
    assert_eq!((p.out().len(), p.tcb.info().timeouts), (1, 1));
}

/// As on Linux: its acknowledgment may be delayed by 200 ms.
#[test]
fn what_is_alone_is_probed_for_in_place_of_the_time_out() {
    // RFC 8985 7.2/3, 7.3/3
    let (mut p, una) = far(sack());
    p.send(700);
    p.out();
    let cwnd = p.tcb.info().cwnd;
    let after = p.timeout();
    assert!((290..=310).contains(&after), "one timer, for the time-out: {after}");
    assert_eq!(p.out(), [s("P.", una, 700, 1)]);
    assert_eq!((p.tcb.info().cwnd, p.tcb.info().timeouts), (cwnd, 0), "it was a probe");
    p.timeout();
    assert_eq!(p.out(), [s("P.", una, 700, 1)]);
    assert_eq!((p.tcb.info().cwnd, p.tcb.info().timeouts), (1000, 1));
}

#[test]
fn a_probe_that_is_due_after_the_time_out_goes_in_its_place() {
    // RFC 8985 7.2/4
    let mut p = Peer::established(sack());
    let mut una = 1;
    for _ in 0..40 {
        p.send(3000);
        p.out();
        p.wait(600);
        una += 3000;
        p.say(".", 1, una, 0);
    }
    p.out();
    p.send(3000);
    assert_eq!(p.out().len(), 3);
    let before = p.now;
    probe(&mut p);
    let after = p.now.since(before).as_millis();
    assert!((795..=810).contains(&after), "SRTT and 200 ms, not two round trips: {after}");
    assert_eq!(p.out(), [s("P.", una + 2000, 1000, 1)]);
    assert_eq!(p.tcb.info().timeouts, 0);
}

#[test]
fn a_probe_is_new_data_where_there_is_some() {
    // RFC 8985 7.3/1
    let (mut p, una) = far(Config { nagle: true, ..sack() });
    p.send(100);
    p.out();
    p.send(100);
    assert!(p.out().is_empty(), "Nagle");
    probe(&mut p);
    assert_eq!(p.out(), [s("P.", una + 100, 100, 1)]);
    assert_eq!(p.tcb.info().retransmits, 0);
    p.say(".", 1, una + 200, 0);
    assert!(p.tcb.recovery.tail.is_none());
}

#[test]
fn a_loss_that_only_the_probe_repaired_reduces_the_window() {
    // RFC 8985 7.4/1
    for (twice, reduced) in [(false, true), (true, false)] {
        let (mut p, una) = far(sack());
        let before = p.tcb.info().cwnd;
        p.send(2000);
        p.out();
        probe(&mut p);
        assert_eq!(p.out(), [s("P.", una + 1000, 1000, 1)]);
        p.wait(100);
        if twice {
            p.sack(una + 2000, &[(una + 1000, una + 2000)]);
        } else {
            p.say(".", 1, una + 2000, 0);
        }
        assert_eq!(p.tcb.info().cwnd, before, "not known yet");
        p.send(1000);
        p.out();
        p.wait(100);
        p.say(".", 1, una + 3000, 0);
        assert_eq!(p.tcb.info().cwnd < before, reduced, "{twice}");
        assert!(p.tcb.recovery.tail.is_none());
    }
}

#[test]
fn a_time_stamp_tells_the_original_from_the_probe() {
    let mut p = Peer::established(Config { timestamps: true, ..sack() });
    let ack = |p: &mut Peer, ack, stamp| {
        let mut h = header(".", 1, ack, 50_000);
        h.options.timestamps = Some((5001, stamp));
        p.input(h, 0);
    };
    p.send(500);
    p.out();
    p.wait(100);
    let stamp = p.tcb.timestamp(p.now) - 100;
    ack(&mut p, 501, stamp);
    p.send(900);
    let first = p.outgoing()[0].header.options.timestamps.unwrap().0;
    probe(&mut p);
    assert_eq!(p.out().len(), 1);
    ack(&mut p, 1401, first);
    assert!(p.tcb.recovery.tail.is_none());
}

#[test]
fn the_fin_is_probed_for_as_well() {
    let (mut p, una) = far(sack());
    p.send(1000);
    p.tcb.shutdown_write();
    assert_eq!(p.out(), [s("FP.", una, 1000, 1)]);
    probe(&mut p);
    assert_eq!(p.out(), [s("FP.", una, 1000, 1)]);
    p.say(".", 1, una + 1001, 0);
    assert_eq!(p.tcb.state(), State::FinWait2);
}

#[test]
fn nothing_is_probed_for_without_sack_or_while_losses_are_repaired() {
    // RFC 8985 3.3/1, 7.2/1
    let (mut p, _) = far(bare());
    p.send(1000);
    p.out();
    assert!(p.timeout() >= 290 && p.tcb.info().timeouts == 1);
    let (mut p, una) = far(sack());
    p.send(5000);
    p.out();
    p.wait(100);
    p.sack(una, &[(una + 1000, una + 5000)]);
    assert_eq!(p.out(), [s(".", una, 1000, 1)]);
    assert!(p.timeout() >= 190 && p.tcb.info().timeouts == 1);
}

/// A peer that does not speak D-SACK says by a duplicate acknowledgment without SACK that it had
/// all that the probe brought, and the window stays.
#[test]
fn a_duplicate_without_sack_says_that_the_probe_was_for_nothing() {
    // RFC 8985 7.4/1
    for (payload, window, stays) in [(0, 0, true), (1, 0, false), (0, 1000, false)] {
        let (mut p, una) = far(sack());
        let before = p.tcb.info().cwnd;
        p.send(2000);
        p.out();
        probe(&mut p);
        assert_eq!(p.out(), [s("P.", una + 1000, 1000, 1)]);
        p.wait(10);
        // Of what was sent first, late.
        p.say(".", 1, una + 2000, 0);
        assert!(p.tcb.recovery.tail.is_some(), "not known yet");
        p.wait(100);
        // Of the probe, or with data, or of a window that has changed.
        let plain = header(".", 1, una + 2000, 50_000);
        p.input(Header { window: plain.window - window, ..plain }, payload);
        assert_eq!(p.tcb.recovery.tail.is_none(), stays);
        p.send(1000);
        p.out();
        p.wait(100);
        p.say(".", 1 + payload as u32, una + 3000, 0);
        assert_eq!(p.tcb.info().cwnd == before, stays, "{payload} {window}");
        assert!(p.tcb.recovery.tail.is_none());
    }
}
