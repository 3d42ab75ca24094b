use crate::harness::*;
use crate::{Config, Pressure, State};

#[test]
fn what_came_out_of_order_goes_and_comes_again() {
    // RFC 2018 8/1
    let mut p = Peer::established(sack());
    p.say(".", 1001, 1, 5000);
    assert_eq!(p.tcb.info().out_of_order, 5000);
    p.out();
    p.tcb.set_pressure(Pressure::up_to(16 << 10));
    assert_eq!(p.tcb.info().out_of_order, 5000, "there is still some");
    p.say(".", 7001, 1, 1000);
    assert_eq!(p.tcb.info().out_of_order, 6000, "it is near");
    p.say(".", 17_001, 1, 1000);
    assert_eq!(p.tcb.info().out_of_order, 6000, "it is far");
    p.out();
    p.tcb.set_pressure(Pressure::FULL);
    assert_eq!(p.tcb.info().out_of_order, 0);
    p.say(".", 2001, 1, 1000);
    let ack = p.outgoing().remove(0).header;
    assert!(ack.options.sack.is_empty(), "it is not kept");
    p.say(".", 1, 1, 1000);
    assert_eq!(p.tcb.received(), 1000, "and it comes again, in order");
    p.out();
    p.tcb.set_pressure(Pressure::NONE);
    p.say(".", 2001, 1, 1000);
    assert_eq!(p.tcb.info().out_of_order, 1000);
}

#[test]
fn a_window_stops_opening_and_a_little_always_goes() {
    let mut p = Peer::established(bare());
    let edge = 1 + p.tcb.info().receive_window;
    p.tcb.set_pressure(Pressure::up_to(1));
    // What was told stays true; what is read opens nothing beyond.
    let (mut seq, mut last) = (1, 0);
    while seq < edge {
        p.say(".", seq, 1, 1000);
        p.tcb.receive(&mut [0; 1000]).expect("a segment");
        seq += 1000;
        for o in p.outgoing() {
            last = o.header.ack.distance_from(wire::Seq(IRS)) + u32::from(o.header.window);
            assert!(last >= edge && last <= (seq + 4000).max(edge), "{last} at {seq}");
        }
    }
    assert!(last > seq, "nothing is unread, so it goes on with {}", last - seq);
    p.tcb.set_pressure(Pressure::up_to(20 << 10));
    assert_eq!(p.window(), 16 << 10, "it opens as far as it may");
    p.tcb.set_pressure(Pressure::NONE);
    assert!(p.window() > 30_000, "and it hears of it when there is enough again");
}

/// Whoever reads goes on at once: the peer has heard that it may not send, so it does not wait for
/// a time-out that became longer with each segment that was refused.
#[test]
fn data_is_refused_where_there_is_no_memory_though_its_window_was_told() {
    // RFC 9293 SHLD-14
    let mut p = Peer::established(sack());
    p.tcb.set_pressure(Pressure::FULL);
    let mut seq = 1;
    while seq < 20_000 {
        p.say(".", seq, 1, 1000);
        seq += 1000;
    }
    assert_eq!(p.tcb.unread(), 4000, "four segments may always come");
    let told = p.outgoing().pop().expect("an acknowledgment").header;
    assert_eq!((told.ack.distance_from(wire::Seq(IRS)), told.window), (4001, 0));
    // What was refused comes again, and probes: both are answered, none is taken.
    for seq in [4001, 8001] {
        p.say(".", seq, 1, 1000);
        assert_eq!((p.tcb.unread(), p.tcb.info().out_of_order, p.outgoing().len()), (4000, 0, 1));
    }
    // A FIN behind it is not the next either.
    p.say("F.", 4001, 1, 1000);
    assert_eq!((p.tcb.state(), p.outgoing().len()), (State::Established, 1));
    p.tcb.receive(&mut [0; 4000]).expect("what came");
    let told = p.outgoing().pop().expect("the window opens").header;
    assert_eq!((told.ack.distance_from(wire::Seq(IRS)), told.window), (4001, 4000));
    p.say(".", 4001, 1, 1000);
    assert_eq!(p.tcb.unread(), 1000);
    p.out();
    p.tcb.set_pressure(Pressure::NONE);
    assert!(p.window() > 30_000);
}

#[test]
fn what_is_queued_is_bounded() {
    let mut p = Peer::established(Config { send_buffer: 1 << 20, ..bare() });
    assert!(p.tcb.send_buffer() > 64 * 1024);
    p.tcb.set_pressure(Pressure::up_to(64 << 10));
    assert_eq!(p.tcb.send_buffer(), 64 * 1024);
    p.tcb.set_pressure(Pressure::FULL);
    assert_eq!((p.tcb.send_buffer(), p.tcb.send_room()), (4000, 4000));
    p.tcb.set_pressure(Pressure::NONE);
    assert!(p.tcb.send_room() > 1 << 19);
}

#[test]
fn what_is_known_of_what_is_in_flight_counts() {
    let mut p = Peer::established(Config { send_buffer: 1 << 20, ..bare() });
    let mut flight = |n: u32| {
        for _ in 0..n {
            p.send(10);
            p.now += std::time::Duration::from_micros(1);
            p.out();
        }
        (p.tcb.memory() - size_of::<crate::Tcb>(), p.tcb.info().footprint)
    };
    let (few, many) = (flight(1), flight(1000));
    assert_eq!(few.0, few.1, "one needs nothing");
    let out = p.tcb.in_flight() as u32;
    assert!(many.0 - many.1 > 50 * 990 && out > 9900, "{many:?} {out}");
    p.say(".", 1, 1 + out, 0);
    assert!(p.tcb.memory() < many.0 / 2, "{}", p.tcb.memory());
}

#[test]
fn who_is_an_orphan() {
    for (state, orphan) in [
        (State::Established, true),
        (State::FinWait1, true),
        (State::CloseWait, true),
        (State::TimeWait, false),
    ] {
        let mut p = Peer::at(state, bare());
        assert!(!p.tcb.is_orphan(), "{state:?}");
        p.tcb.release();
        assert_eq!(p.tcb.is_orphan(), orphan, "{state:?}");
        p.tcb.abort();
        assert!(!p.tcb.is_orphan());
    }
}
