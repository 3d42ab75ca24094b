use crate::harness::*;
use crate::{Config, Error, Events, State};
use State::*;
use wire::Slice;

#[test]
fn what_send_and_receive_say_in_each_state() {
    let would_block = Err(Error::WouldBlock);
    let table = [
        (SynReceived, Ok(3), would_block),
        (Established, Ok(3), would_block),
        (FinWait1, Err(Error::Shutdown), would_block),
        (FinWait2, Err(Error::Shutdown), would_block),
        (CloseWait, Ok(3), Ok(0)),
        (Closing, Err(Error::Shutdown), Ok(0)),
        (LastAck, Err(Error::Shutdown), Ok(0)),
        (TimeWait, Err(Error::Shutdown), Ok(0)),
    ];
    for (state, send, receive) in table {
        let mut p = Peer::at(state, bare());
        assert_eq!(p.tcb.send(b"abc"), send, "{state:?}");
        assert_eq!(p.tcb.receive(&mut [0; 9]), receive, "{state:?}");
        assert_eq!(p.tcb.receive(&mut []), Ok(0));
        p.tcb.abort();
        assert_eq!(p.tcb.send(b"abc"), Err(Error::Aborted));
        assert!(p.tcb.take_events().has(Events::CLOSED));
    }
}

#[test]
fn the_send_buffer_is_bounded() {
    let mut p = Peer::established(Config { send_buffer: 2000, ..bare() });
    assert_eq!(p.tcb.send(&[1; 1500]), Ok(1500));
    assert_eq!(p.tcb.send(&[1; 1500]), Ok(500));
    assert_eq!(p.tcb.send(&[1; 1500]), Err(Error::WouldBlock));
    assert_eq!(p.tcb.send(&[]), Ok(0));
    assert_eq!((p.tcb.queued(), p.tcb.unsent(), p.tcb.send_room()), (2000, 2000, 0));
    assert_eq!(p.tcb.send_slice(Slice::copy_of(b"over"), None), Ok(()), "the caller's affair");
    p.out();
    assert_eq!((p.tcb.queued(), p.tcb.unsent(), p.tcb.in_flight()), (2004, 0, 2004));
}

#[test]
fn many_small_writes_do_not_take_much_more_memory_than_bytes() {
    let mut p = Peer::established(Config { send_buffer: 10_000, ..bare() });
    p.input(header(".", 1, 1, 0), 0);
    while p.tcb.send(b"x").is_ok() {}
    assert_eq!(p.tcb.queued(), 10_000);
    assert!(p.tcb.info().footprint < 30_000, "{}", p.tcb.info().footprint);
}

#[test]
fn an_abort_resets_where_there_is_something_to_reset() {
    for (state, resets) in [
        (SynReceived, true),
        (Established, true),
        (FinWait1, true),
        (FinWait2, true),
        (CloseWait, true),
        (TimeWait, false),
    ] {
        let mut p = Peer::at(state, bare());
        p.tcb.abort();
        assert_eq!(p.out().len(), usize::from(resets), "{state:?}");
        assert_eq!(p.tcb.state(), Closed);
        p.tcb.abort();
        p.tcb.release();
        assert!(p.out().is_empty());
    }
    let mut p = Peer::connecting(bare());
    p.out();
    p.tcb.abort();
    assert!(p.out().is_empty());
}

#[test]
fn release_resets_if_something_was_not_read() {
    // RFC 9293 SHLD-3
    for (unread, outside) in [(5, 0), (0, 5), (0, 0)] {
        let mut p = Peer::established(bare());
        if unread > 0 {
            p.say(".", 1, 1, unread);
        }
        p.tcb.set_unread_outside(outside);
        p.tcb.release();
        let letters = if unread + outside > 0 { "R." } else { "F." };
        assert_eq!(p.out(), [s(letters, 1, 0, 1 + unread as u32)]);
    }
}

#[test]
fn data_after_release_is_reset() {
    // RFC 9293 SHLD-3
    let mut p = Peer::established(bare());
    p.tcb.release();
    p.out();
    p.say(".", 1, 2, 0);
    assert_eq!(p.tcb.state(), FinWait2);
    p.say(".", 1, 2, 7);
    assert_eq!(p.out(), [s("R", 2, 0, 0)]);
    assert_eq!(p.tcb.state(), Closed);
    // While our FIN is on its way the peer expects it; a RST behind it would be challenged
    // (RFC 5961 3.2).
    let mut p = Peer::established(bare());
    p.tcb.release();
    assert_eq!(p.out(), [s("F.", 1, 0, 1)]);
    p.say(".", 1, 1, 7);
    assert_eq!((p.out(), p.tcb.state()), (vec![s("R", 1, 0, 0)], Closed));
}

#[test]
fn received_data_outlives_the_connection() {
    let mut p = Peer::established(bare());
    p.say(".", 1, 1, 10);
    p.say("R", 11, 0, 0);
    assert_eq!(p.tcb.receive(&mut [0; 20]), Ok(10));
    assert_eq!(p.tcb.receive(&mut [0; 20]), Err(Error::Reset));
}

#[test]
fn the_send_buffer_follows_the_congestion_window() {
    let mut p = Peer::established(Config { send_buffer: 1 << 20, ..bare() });
    let first = p.tcb.send_buffer();
    assert_eq!(first, 128 * 1024, "whatever the window is");
    p.send(1 << 19);
    let mut acked = 1;
    for _ in 0..8 {
        acked += p.out().iter().map(|said| said.2 as u32).sum::<u32>();
        p.say(".", 1, acked, 0);
    }
    let later = p.tcb.send_buffer();
    assert!(later > first && later <= 1 << 20, "{later}");
    let small = Peer::established(Config { send_buffer: 1000, ..bare() });
    assert_eq!(small.tcb.send_buffer(), 1000);
}

#[test]
fn unread_data_is_charged_by_the_memory_it_holds() {
    let limit = 100_000;
    let frame = |len: usize| -> wire::Parts {
        let mut buf = buffer::Buf::with_capacity(2048);
        buf.get_mut().unwrap().fill(7);
        [Slice::new(buf, 54, len)].into_iter().collect()
    };
    // In order, out of order behind a hole, and beside what a socket layer holds.
    for (first, outside) in [(1, 0), (2, 0), (1, 60_000), (2, 60_000)] {
        let mut p = Peer::established(Config { receive_buffer: limit, ..sack() });
        p.tcb.set_unread_outside(outside / 10);
        p.tcb.set_memory_outside(outside);
        let mut seq = first;
        while seq < 45_000 {
            for len in [1, 1025] {
                p.tcb.input(&header(".", seq, 1, 50_000), frame(len), p.now);
                seq += len as u32;
            }
            p.out();
        }
        p.tcb.check_invariants();
        let footprint = p.tcb.footprint();
        assert_eq!(footprint + outside, p.tcb.info().footprint);
        assert!(footprint + outside <= 2 * limit + 64 * 1024, "{first} {outside}: {footprint}");
    }
}

#[test]
fn whatever_is_new_after_release_is_reset_and_nothing_else() {
    // In FIN-WAIT-1 with data queued, in order and not, with a FIN; old data and a
    // FIN alone are nothing that is lost.
    for (letters, seq, len, resets) in [
        (".", 6, 7, true),
        (".", 100, 7, true),
        ("FP.", 6, 7, true),
        (".", 3, 7, true),
        (".", 1, 5, false),
        ("F.", 6, 0, false),
    ] {
        let mut p = Peer::established(bare());
        p.say(".", 1, 1, 5);
        p.tcb.receive(&mut [0; 5]).unwrap();
        p.send(3000);
        p.tcb.release();
        p.out();
        p.say(letters, seq, 1, len);
        let reset = p.out().iter().any(|said| said.0 == "R");
        assert_eq!(reset, resets, "{letters} {seq} {len}");
        assert_eq!(p.tcb.state() == Closed, resets);
    }
}
