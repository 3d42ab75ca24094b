use crate::harness::*;
use crate::{Config, Tcb, TransmitOffload};
use wire::{Instant, Parts};

#[test]
fn the_right_edge_moves_by_worthwhile_steps_only() {
    // RFC 9293 MUST-39
    let mut p = Peer::established(Config { receive_buffer: 10_000, ..bare() });
    p.say(".", 1, 1, 5000);
    assert_eq!(p.window(), 5000);
    let mut buf = [0; 999];
    p.tcb.receive(&mut buf).unwrap();
    assert!(p.out().is_empty());
    p.say(".", 5001, 1, 2000);
    assert_eq!(p.window(), 3000, "999 more are not worth telling");
    p.tcb.receive(&mut buf[..1]).unwrap();
    p.say(".", 7001, 1, 2000);
    assert_eq!(p.window(), 2000, "1000 more are");
}

#[test]
fn reading_tells_a_sender_that_is_short_of_window() {
    let mut p = Peer::established(Config { receive_buffer: 10_000, ..bare() });
    p.say(".", 1, 1, 10_000);
    assert_eq!(p.window(), 0);
    p.tcb.receive(&mut [0; 1999]).unwrap();
    assert!(p.out().is_empty());
    p.tcb.receive(&mut [0; 1]).unwrap();
    assert_eq!(p.window(), 2000);
    p.tcb.receive(&mut [0; 1900]).unwrap();
    assert!(p.out().is_empty());
}

#[test]
fn a_sender_with_plenty_of_window_is_not_bothered() {
    let mut p = Peer::established(Config { receive_buffer: 50_000, ..bare() });
    for i in 0..5 {
        p.say(".", 1 + i * 1000, 1, 1000);
        p.tcb.receive(&mut [0; 1000]).unwrap();
    }
    assert_eq!(p.out().len(), 1, "the acknowledgment of every second segment");
}

#[test]
fn bytes_read_early_count_until_they_are_read() {
    let mut p = Peer::established(Config { receive_buffer: 10_000, ..bare() });
    p.say(".", 1, 1, 8000);
    p.tcb.set_unread_outside(8000);
    let slices = p.tcb.receive_slices(usize::MAX);
    assert_eq!(slices.iter().map(|s| s.len()).sum::<usize>(), 8000);
    assert_eq!(p.window(), 2000);
    p.tcb.set_unread_outside(5000);
    assert_eq!(p.window(), 5000);
}

#[test]
fn rounding_never_takes_back_what_there_is_room_for() {
    // RFC 9293 SHLD-14
    let config = Config { window_scaling: true, receive_buffer: 1 << 20, ..bare() };
    let mut p = Peer::established(config);
    let mut edge = 0;
    for i in 0..1000 {
        p.say(".", 1 + i * 7, 1, 7);
        p.tcb.ack_now();
        let now = 1 + (i + 1) * 7 + p.window();
        assert!(now >= edge, "{now} {edge}");
        edge = now;
        p.tcb.receive(&mut [0; 7]).unwrap();
    }
}

#[test]
fn a_window_that_cannot_grow_in_the_field_is_not_told() {
    let mut p = Peer::established(Config { receive_buffer: 4 << 20, ..bare() });
    for i in 0..20 {
        p.tcb.set_unread_outside(0);
        assert_eq!(p.out(), [], "{i}");
    }
    p.say(".", 1, 1, 1000);
    p.tcb.receive(&mut [0; 1000]).unwrap();
    assert_eq!(p.out(), [], "delayed");
}

#[test]
fn acknowledgments_stand_inside_a_window_that_shrank() {
    // RFC 9293 MUST-34
    // RFC 7323 2.4/1
    let mut p = Peer::established(bare());
    p.send(3000);
    assert_eq!(p.out().len(), 3);
    p.input(header(".", 2, 1, 0), 0);
    p.input(header(".", 2, 1001, 500), 0);
    p.out();
    p.say(".", 1, 1001, 100);
    p.tcb.ack_now();
    assert_eq!(p.out(), [s(".", 1501, 0, 101)], "not at 3001, which the peer does not accept");
    assert!(!p.tcb.acks.now, "once");
    p.input(header(".", 201, 1001, 5000), 0);
    p.tcb.ack_now();
    assert_eq!(p.out(), [s(".", 3001, 0, 101)]);
}

#[test]
fn no_window_update_right_behind_a_handshake_unless_the_window_matters() {
    let config = Config { receive_buffer: 1 << 20, window_scaling: true, ..bare() };
    let mut p = Peer::accepting(config);
    p.out();
    p.say(".", 1, 1, 0);
    // The application reads what there is: nothing yet.
    p.tcb.set_unread_outside(0);
    assert_eq!(p.out(), [], "65,535 bytes are told already");
    p.say("P.", 1, 1, 100);
    p.tcb.receive(&mut [0; 100]).unwrap();
    p.tcb.set_unread_outside(0);
    assert_eq!(p.out(), [], "the answer will carry it");
    p.send(50);
    assert_eq!(p.window(), 1 << 20);

    // One segment that takes more than half of the window.
    let mut p = Peer::accepting(Config { receive_buffer: 1 << 20, window_scaling: true, ..bare() });
    p.out();
    p.say(".", 1, 1, 0);
    p.tcb.acks.now = false;
    p.tcb.rcv.full = u16::MAX;
    p.say(".", 1, 1, 40_000);
    assert_eq!(p.out(), []);
    p.tcb.receive(&mut [0; 40_000]).unwrap();
    assert_eq!(p.window(), 1 << 20, "now it matters");
}

/// 28 bytes of payload and options are what IPv4's least MTU leaves. Before, acknowledgments with two SACK
/// blocks had 32 of options, and none of them arrived: each retransmission was answered by the next.
#[test]
fn what_waits_behind_holes_is_told_within_the_least_mtu() {
    for timestamps in [true, false] {
        let config = std::sync::Arc::new(Config { timestamps, ..sack() });
        let (now, offload) = (Instant::from_millis(1000), TransmitOffload::default());
        let mut a = Tcb::connect(&config, Peer::isn(), 28, now);
        let syn = a.poll_transmit(now, offload).expect("a SYN").header;
        let mut b = Tcb::accept(&config, Peer::isn(), 28, &syn, now);
        let answer = b.poll_transmit(now, offload).expect("a SYN-ACK").header;
        a.input(&answer, Parts::new(), now);
        let ack = a.poll_transmit(now, offload).expect("an ACK").header;
        b.input(&ack, Parts::new(), now);
        a.send(&[0; 160]).unwrap();
        let segments: Vec<_> = std::iter::from_fn(|| a.poll_transmit(now, offload)).collect();
        assert!(segments.len() > 5, "{segments:?}");
        for segment in segments.into_iter().skip(1).step_by(2) {
            b.input(&segment.header, segment.payload, now);
            let ack = b.poll_transmit(now, offload).expect("an ACK").header;
            assert!(!ack.options.sack.is_empty());
            assert!(ack.options.len() <= 28, "{ack:?}");
        }
    }
}
