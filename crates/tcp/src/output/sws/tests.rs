use crate::harness::*;
use crate::{Config, Tcb};

fn nagle() -> Config {
    Config { nagle: true, ..bare() }
}

#[test]
fn a_small_segment_waits_for_the_small_one_before() {
    // RFC 9293 SHLD-7
    let mut p = Peer::established(nagle());
    p.send(100);
    assert_eq!(p.out(), [s("P.", 1, 100, 1)]);
    p.send(100);
    p.send(50);
    assert!(p.out().is_empty());
    p.say(".", 1, 101, 0);
    assert_eq!(p.out(), [s("P.", 101, 150, 1)]);
}

#[test]
fn full_segments_do_not_wait_and_a_small_one_not_for_them() {
    // RFC 9293 SHLD-28
    let mut p = Peer::established(nagle());
    p.send(2500);
    assert_eq!(p.out().len(), 3, "Minshall: the last is the only small one");
    p.send(1100);
    assert_eq!(p.out(), [s(".", 2501, 1000, 1)]);
    p.tcb.set_nagle(false);
    assert_eq!(p.out(), [s("P.", 3501, 100, 1)]);
}

#[test]
fn a_fin_takes_what_is_held_back_along() {
    let mut p = Peer::established(nagle());
    p.send(100);
    p.out();
    p.send(100);
    assert!(p.out().is_empty());
    p.tcb.shutdown_write();
    assert_eq!(p.out(), [s("FP.", 101, 100, 1)]);
}

#[test]
fn a_silly_window_is_not_used() {
    // RFC 9293 MUST-38
    let mut p = Peer::established(bare());
    p.input(header(".", 1, 1, 0), 0);
    p.send(5000);
    assert!(p.out().is_empty());
    p.input(header(".", 1, 1, 300), 0);
    assert!(p.out().is_empty(), "300 is less than a segment and half of 50,000");
    p.input(header(".", 1, 1, 1300), 0);
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
}

#[test]
fn a_peer_with_a_small_buffer_gets_half_of_it() {
    let mut p = Peer::connecting(bare());
    p.out();
    let mut answer = Peer::syn("S.", 1, &bare());
    answer.window = 600;
    p.input(answer, 0);
    p.send(2000);
    assert_eq!(p.out(), [s(".", 1, 600, 1)]);
    p.input(header(".", 1, 601, 100), 0);
    assert!(p.out().is_empty());
    p.input(header(".", 1, 601, 300), 0);
    assert_eq!(p.out(), [s(".", 601, 300, 1)]);
}

#[test]
fn sendable_is_what_goes_out_at_once() {
    let mut p = Peer::established(bare());
    assert_eq!(p.tcb.sendable(), 10_000, "cwnd");
    p.send(4000);
    assert_eq!(p.tcb.sendable(), 6000, "less what waits");
    p.out();
    assert_eq!(p.tcb.sendable(), 6000, "or is in flight");
    p.input(header(".", 2, 1, 5000), 0);
    assert_eq!(p.tcb.sendable(), 1000, "the peer's window");
    p.input(header(".", 3, 1, 100), 0);
    assert_eq!(p.tcb.sendable(), 0);
    let p = Peer::established(Config { send_buffer: 700, ..bare() });
    assert_eq!(Tcb::sendable(&p.tcb), 700);
}

#[test]
fn a_small_segment_long_ago_holds_nothing_back() {
    let mut p = Peer::established(nagle());
    let (mut una, mut sent) = (1u32, 0u64);
    while sent < (1 << 31) + 100_000 {
        p.send(10_000);
        let len: u32 = p.out().iter().map(|said| said.2 as u32).sum();
        (una, sent) = (una.wrapping_add(len), sent + u64::from(len));
        p.say(".", 1, una, 0);
    }
    p.send(100);
    assert_eq!(p.out().len(), 1);
}

#[test]
fn a_tail_that_the_device_cuts_off_is_a_small_segment() {
    let mut p = Peer::established(nagle());
    p.offload.segmentation = 10_000;
    p.send(5300);
    assert_eq!(p.out(), [s("P.", 1, 5300, 1)]);
    p.send(50);
    assert_eq!(p.out(), [], "300 bytes are under way");
    p.say(".", 1, 5301, 0);
    assert_eq!(p.out(), [s("P.", 5301, 50, 1)]);
}
