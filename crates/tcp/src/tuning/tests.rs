use crate::harness::*;
use crate::{Config, Events, Pressure, TransmitOffload};

/// A peer 200 ms away, that sends as much as it may.
fn far(config: Config) -> Peer {
    away(200, config)
}

/// The same of one so many milliseconds away.
fn away(millis: u64, config: Config) -> Peer {
    let answer = Peer::syn("S.", 1, &config);
    let mut p = Peer::connecting(config);
    p.out();
    p.wait(millis);
    p.tcb.input(&answer, wire::Parts::new(), p.now);
    p.out();
    p
}

fn tuned() -> Config {
    Config {
        receive_buffer: 100_000,
        max_receive_buffer: 1_000_000,
        window_scaling: true,
        ..sack()
    }
}

/// The peer fills the window in each of some round trips, `pause` apart; how large the
/// buffer is in the end.
fn filled(p: &mut Peer, rounds: usize, pause: u64, reads: bool) -> u32 {
    let mut seq = 1;
    for _ in 0..rounds {
        let window = p.tcb.info().receive_window;
        for _ in 0..window / 1000 {
            p.say(".", seq, 1, 1000);
            seq += 1000;
        }
        if reads {
            while p.tcb.pop_slice(usize::MAX).is_some() {}
        }
        p.out();
        p.wait(pause);
        p.tcb.on_timeout(p.now);
        p.out();
    }
    p.tcb.info().receive_buffer
}

#[test]
fn a_window_that_limits_the_sender_grows_up_to_its_bound() {
    let mut p = far(tuned());
    assert_eq!(filled(&mut p, 12, 200, true), 1_000_000);
    assert!(p.tcb.info().receive_window > 900_000);
}

#[test]
fn a_window_that_does_not_limit_anybody_stays() {
    let mut p = far(tuned());
    // Six tenths of the buffer come in two round trips.
    for round in 0..40 {
        p.say(".", 1 + round * 30_000, 1, 30_000);
        while p.tcb.pop_slice(usize::MAX).is_some() {}
        p.out();
        p.wait(200);
    }
    assert_eq!(p.tcb.info().receive_buffer, 100_000);
}

#[test]
fn what_nobody_reads_makes_no_larger_window() {
    let mut p = far(tuned());
    assert_eq!(filled(&mut p, 12, 200, false), 100_000);
    let mut p = far(tuned());
    p.tcb.set_pressure(Pressure::up_to(100_000));
    assert_eq!(filled(&mut p, 12, 200, true), 100_000, "nor where memory is scarce");
    let mut p = far(tuned());
    p.tcb.set_receive_buffer(50_000);
    assert_eq!(filled(&mut p, 12, 200, true), 50_000, "nor where the user has said so");
    let mut p = far(Config { window_scaling: false, ..tuned() });
    assert_eq!(filled(&mut p, 12, 200, true), 100_000, "nor where it cannot be told");
}

/// Before, the time in which a hole was waited for counted, and the window stayed too small for
/// what comes until a segment that was lost twice is there.
#[test]
fn what_comes_until_a_hole_is_filled_makes_room_for_more() {
    for (behind, expected) in [(60_000, 200_000), (30_000, 100_000)] {
        let mut p = far(tuned());
        p.say(".", 1, 1, 1000);
        while p.tcb.pop_slice(usize::MAX).is_some() {}
        p.out();
        p.wait(300);
        p.say(".", 2001, 1, behind);
        p.out();
        p.wait(300);
        p.say(".", 1001, 1, 1000);
        while p.tcb.pop_slice(usize::MAX).is_some() {}
        p.out();
        assert_eq!(p.tcb.info().receive_buffer, expected, "{behind}");
    }
}

#[test]
fn what_waits_for_a_hole_to_be_filled_takes_no_room_from_what_follows() {
    let config = Config { send_buffer: 50_000, max_send_buffer: 300_000, ..tuned() };
    let mut p = far(Config { initial_window: 40, ..config });
    while p.tcb.send(&[0; 10_000]).is_ok() {}
    assert_eq!(p.out().len(), 40);
    p.wait(200);
    p.sack(1, &[(1001, 40_001)]);
    let info = p.tcb.info();
    assert_eq!((info.cwnd, info.sacked), (20_000, 39_000));
    assert_eq!(info.send_buffer, 40_000 + 20_000);
}

/// Some rounds of so many milliseconds, in each of which all is sent that goes, and acknowledged. Returns
/// what is acknowledged.
fn rounds(p: &mut Peer, pause: u64) -> u32 {
    let mut una = 1;
    for _ in 0..8 {
        while p.tcb.send(&[0; 10_000]).is_ok() {}
        let sent: usize = p.out().iter().map(|(_, _, len, _)| len).sum();
        p.wait(pause);
        una += sent as u32;
        p.input(header(".", 1, una, 50_000), 0);
    }
    una
}

#[test]
fn on_a_long_path_more_is_queued() {
    let config = Config { send_buffer: 50_000, max_send_buffer: 300_000, ..tuned() };
    let queued = |p: &mut Peer, pause: u64| {
        rounds(p, pause);
        p.tcb.info().send_buffer
    };
    let mut p = far(config.clone());
    assert_eq!(p.tcb.info().send_buffer, 50_000);
    assert_eq!(queued(&mut p, 200), 300_000);
    // Five milliseconds away, and one.
    assert_eq!(queued(&mut away(5, config.clone()), 5), 300_000);
    assert_eq!(queued(&mut Peer::established(config), 1), 50_000);
}

/// What Nagle's algorithm holds back kept the user from hearing of room: there is something unsent, and an
/// acknowledgment of a segment makes little room.
#[test]
fn little_room_is_told_where_a_long_path_waits_for_data() {
    let told = |p: &mut Peer, pause: u64| {
        // The window grows beyond what the buffer has.
        let una = rounds(p, pause);
        while p.tcb.send(&[0; 10_000]).is_ok() {}
        p.out();
        p.wait(pause);
        p.input(header(".", 1, una + 1000, 50_000), 0);
        // A short segment is on its way, so the next is held back.
        assert_eq!(p.tcb.send(&[0; 300]), Ok(300));
        p.out();
        assert_eq!(p.tcb.unsent(), 300);
        p.tcb.take_events();
        p.input(header(".", 1, una + 2000, 50_000), 0);
        p.tcb.take_events().has(Events::WRITABLE)
    };
    let config = Config { send_buffer: 30_500, max_send_buffer: 30_500, nagle: true, ..tuned() };
    assert!(told(&mut far(config.clone()), 200));
    assert!(!told(&mut Peer::established(config), 1));
}

/// Before, a buffer that is smaller than one step of the window's scale announced no window at all,
/// for ever.
#[test]
fn a_buffer_smaller_than_the_scale_of_the_window_takes_something() {
    let config = Config { max_receive_buffer: 6 << 20, ..tuned() };
    let mut p = far(config.clone());
    p.tcb.set_receive_buffer(100);
    let mut seq = 1;
    for round in 0..1000 {
        let window = p.tcb.info().receive_window.min(1000);
        if window == 0 {
            // The peer asks, as long as it may not send.
            p.say(".", seq - 1, 1, 0);
        } else {
            p.say(".", seq, 1, window as usize);
            seq += window;
        }
        p.out();
        assert!(round < 200 || p.tcb.unread() < 300);
        while p.tcb.pop_slice(usize::MAX).is_some() {}
        p.out();
    }
    assert!(p.tcb.info().receive_window > 0, "at {seq}");
    assert!(seq > 100_000, "{seq}");

    // Where memory is scarce, four segments are less than a step of the largest scale.
    let mut p = far(Config { max_receive_buffer: 1 << 30, ..tuned() });
    p.tcb.set_pressure(Pressure::up_to(1));
    let mut seq = 1;
    for _ in 0..1000 {
        let window = p.tcb.info().receive_window.min(1000);
        let at = if window == 0 { seq - 1 } else { seq };
        p.say(".", at, 1, window as usize);
        seq += window;
        while p.tcb.pop_slice(usize::MAX).is_some() {}
        p.out();
    }
    assert!(seq > 100_000, "{seq}");
}

#[test]
fn a_buffer_that_is_chosen_before_the_handshake_has_a_scale_and_a_first_window_of_its_own() {
    for (buffer, scale, first) in [
        (20_700, 0, 20_000),
        (900, 0, 900),
        (1000, 0, 1000),
        (70_000, 1, 65_535),
        (9 << 20, 7, 65_535),
    ] {
        let mut p = Peer::connecting(Config::default());
        p.tcb.set_receive_buffer(buffer);
        let syn = p.tcb.poll_transmit(p.now, TransmitOffload::default()).expect("a SYN").header;
        assert_eq!((syn.window, syn.options.window_scale), (first, Some(scale)));
        let mut p = Peer::accepting(Config::default());
        p.tcb.set_receive_buffer(buffer);
        p.tcb.check_invariants();
        let answer = p.tcb.poll_transmit(p.now, TransmitOffload::default()).expect("a SYN").header;
        assert_eq!((answer.window, answer.options.window_scale), (first, Some(scale)));
        assert_eq!(p.tcb.info().receive_window, first.into());
        // Later it may be another, but the scale stays.
        p.tcb.set_receive_buffer(1 << 20);
        assert_eq!(p.tcb.info().receive_shift, scale);
    }
}

#[test]
fn what_moves_outside_is_not_read_by_that() {
    let mut p = far(tuned());
    let (mut seq, mut outside) = (1, 0);
    // The peer uses the window up, and nobody reads.
    for round in 0..12 {
        let window = p.tcb.info().receive_window;
        for _ in 0..window / 1000 {
            p.say(".", seq, 1, 1000);
            seq += 1000;
        }
        p.out();
        while let Some(slice) = p.tcb.take_out() {
            outside += slice.len();
        }
        p.tcb.set_unread_outside(outside);
        assert!(p.out().is_empty(), "{round}: a window that did not open is not told again");
        p.wait(200);
        p.tcb.on_timeout(p.now);
        p.out();
    }
    assert_eq!((outside, p.tcb.info().receive_buffer), (100_000, 100_000));
    // It is when it is read.
    p.tcb.set_unread_outside(0);
    assert_eq!(p.out().len(), 1);
}
