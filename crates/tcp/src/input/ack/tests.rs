use crate::harness::*;
use crate::{Config, Events};
use std::time::Duration;

#[test]
fn an_ack_of_what_was_never_sent_is_challenged_and_its_data_dropped() {
    // RFC 5961 5.2/1
    let mut p = Peer::established(bare());
    p.send(10);
    p.out();
    for ack in [12, 0xffff_0000u32.wrapping_sub(50_000)] {
        p.say(".", 1, ack, 10);
        assert_eq!(p.out(), [s(".", 11, 0, 1)], "{ack}");
        assert_eq!((p.tcb.received(), p.tcb.in_flight()), (0, 10));
    }
}

#[test]
fn new_acks_free_the_queue_and_wake_the_writer() {
    // RFC 6298 5.2/1
    let mut p = Peer::established(Config { send_buffer: 3000, ..bare() });
    p.send(3000);
    assert_eq!(p.out().len(), 3);
    assert_eq!(p.tcb.send_room(), 0);
    p.say(".", 1, 501, 0);
    assert_eq!((p.tcb.queued(), p.tcb.send_room()), (2500, 500));
    p.say(".", 1, 3001, 0);
    assert!(p.tcb.take_events().has(Events::WRITABLE));
    assert_eq!((p.tcb.queued(), p.tcb.next_timeout()), (0, None), "the timer is off");
}

#[test]
fn the_round_trip_is_measured_but_not_over_retransmissions() {
    // RFC 9293 MUST-18
    // RFC 6298 3/1
    let mut p = Peer::established(bare());
    p.send(1000);
    p.out();
    p.wait(80);
    p.say(".", 1, 1001, 0);
    let srtt = p.tcb.info().srtt;
    assert_eq!(srtt.as_millis(), 10, "an eighth of 80, after 0 of the SYN");
    p.send(1000);
    p.out();
    p.timeout();
    p.out();
    p.wait(500);
    p.say(".", 1, 2001, 0);
    assert_eq!(p.tcb.info().srtt, srtt, "Karn");
}

#[test]
fn with_timestamps_retransmissions_are_measured_too() {
    // RFC 6298 3/1
    let mut p = Peer::established(Config { timestamps: true, ..bare() });
    p.send(900);
    p.out();
    p.timeout();
    p.out();
    let sent = p.tcb.timestamp(p.now);
    p.wait(80);
    let mut h = header(".", 1, 901, 50_000);
    h.options.timestamps = Some((5001, sent));
    p.input(h, 0);
    assert!(p.tcb.info().srtt >= Duration::from_millis(10));
    assert_eq!(p.tcb.info().timeouts, 0);
}

/// The acknowledgment of what was sent first is lost, and that of the retransmission echoes what came first. Before,
/// that was a round trip of the whole time-out, which became longer by as much each time.
#[test]
fn an_acknowledgment_of_what_came_twice_measures_nothing() {
    // RFC 6298 3/1
    let mut p = Peer::established(Config { timestamps: true, ..sack() });
    for round in 0..8 {
        let (from, to) = (1 + round * 900, 901 + round * 900);
        let sent = p.tcb.timestamp(p.now);
        p.send(900);
        p.out();
        while p.out().is_empty() {
            p.timeout();
        }
        p.wait(10);
        let mut h = header(".", 1, to, 50_000);
        h.options.timestamps = Some((5001, sent));
        h.options.sack.push(wire::Seq(ISS) + from, wire::Seq(ISS) + to);
        p.input(h, 0);
        assert!(p.tcb.info().rto < Duration::from_millis(500), "{:?}", p.tcb.info());
    }
}

/// A queue fills while the first segment is missing: round trips become longer than the time-out that was
/// known when it was sent again. Before, nothing measured them until it had come, and all was sent again.
#[test]
fn round_trips_behind_a_hole_are_measured() {
    // RFC 6298 3/1
    let mut p = Peer::established(Config { initial_window: 60, ..sack() });
    for _ in 0..60 {
        p.send(1000);
        p.out();
        p.wait(100);
        let all = p.tcb.snd.nxt.distance_from(p.tcb.snd.una) + p.tcb.info().delivered as u32;
        p.say(".", 1, all, 0);
    }
    let first = p.tcb.snd.una.distance_from(wire::Seq(ISS));
    let mut rto = p.tcb.info().rto;
    assert!(rto < Duration::from_millis(410), "{rto:?}");
    // One each 10 ms, of which the first is lost; each takes 40 ms longer than the one before.
    let start = p.now;
    let (mut sent, mut came, mut again) = (0u32, 1u32, None);
    while came < 40 {
        let at = p.now.since(start).as_millis() as u32;
        if at == 10 * sent && sent < 40 {
            p.send(1000);
            sent += 1;
        }
        if at == 100 + 50 * came {
            came += 1;
            p.sack(first, &[(first + 1000, first + 1000 * came)]);
        }
        if p.out().iter().any(|said| said.1 == first) && at > 0 {
            assert_eq!(again, None, "sent again, and then once more after {at} ms");
            again = Some(at);
        }
        p.wait(1);
        p.tcb.on_timeout(p.now);
        assert_eq!(p.tcb.info().timeouts, 0, "after {at} ms, sent again at {again:?}");
        rto = p.tcb.info().rto;
        if again.is_some_and(|again| at == again + 900) {
            break;
        }
    }
    assert!(rto > Duration::from_millis(500), "{rto:?}");
}

#[test]
fn windows_are_taken_from_the_latest_segment_only() {
    let mut p = Peer::established(bare());
    let window = |p: &mut Peer, seq, window| {
        p.input(header(".", seq, 1, window), 0);
        p.tcb.info().send_window
    };
    assert_eq!(window(&mut p, 5, 7000), 7000);
    assert_eq!(window(&mut p, 1, 9000), 7000, "an older segment");
    assert_eq!(window(&mut p, 5, 0), 0, "shrinking is endured");
}

#[test]
fn an_older_segment_with_a_new_ack_brings_its_window() {
    let mut p = Peer::established(bare());
    p.send(1000);
    p.out();
    p.input(header(".", 9, 1, 1000), 0);
    p.input(header(".", 1, 1001, 500), 0);
    assert_eq!(p.tcb.info().send_window, 500);
}

#[test]
fn keepalive_and_window_probes_from_the_peer_are_answered() {
    let mut p = Peer::established(bare());
    p.say(".", 0, 1, 0);
    assert_eq!(p.out(), [s(".", 1, 0, 1)]);
    p.say(".", 0, 1, 1);
    assert_eq!(p.out(), [s(".", 1, 0, 1)]);
}

#[test]
fn of_two_windows_with_equal_numbers_the_larger_counts_or_zero() {
    let mut p = Peer::established(bare());
    let window = |p: &mut Peer, window| {
        p.input(header(".", 5, 1, window), 0);
        p.tcb.info().send_window
    };
    assert_eq!(window(&mut p, 9000), 9000);
    assert_eq!(window(&mut p, 7000), 9000, "it may have been overtaken");
    assert_eq!(window(&mut p, 9500), 9500);
    assert_eq!(window(&mut p, 0), 0);
    assert_eq!(window(&mut p, 100), 100);
}

#[test]
fn the_window_is_heard_after_more_than_half_of_the_sequence_space() {
    let mut p = Peer::established(bare());
    let (mut seq, mut got) = (1u32, 0u64);
    while got < (1 << 31) + 100_000 {
        p.say(".", seq, 1, 50_000);
        p.tcb.receive(&mut [0; 60_000]).unwrap();
        p.out();
        (seq, got) = (seq.wrapping_add(50_000), got + 50_000);
    }
    p.send(3000);
    p.out();
    p.input(header(".", seq, 3001, 0), 0);
    p.send(1000);
    p.input(header(".", seq, 3001, 50_000), 0);
    assert_eq!(p.out().len(), 1);
}
