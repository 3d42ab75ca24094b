use crate::harness::*;
use crate::{Config, TransmitOffload};

#[test]
fn push_is_on_the_last_segment_of_what_was_queued() {
    // RFC 9293 MUST-61
    let mut p = Peer::established(bare());
    p.send(2500);
    assert_eq!(p.out(), [s(".", 1, 1000, 1), s(".", 1001, 1000, 1), s("P.", 2001, 500, 1)]);
}

#[test]
fn a_device_that_segments_gets_multiples_of_the_segment_size() {
    let mut p = Peer::established(Config { initial_window: 100, chunk: 16_384, ..bare() });
    p.offload = TransmitOffload { segmentation: 10_500, want_sum: false };
    p.send(25_300);
    let out = p.outgoing();
    let sizes: Vec<_> = out.iter().map(|o| (said(o).2, o.gso_size, o.sum)).collect();
    let expected = [(10_000, 1000, None), (10_000, 1000, None), (5300, 1000, None)];
    assert_eq!(sizes, expected);
    assert_eq!(said(&out[2]).0, "P.");
    p.send(700);
    assert_eq!(p.outgoing()[0].gso_size, 0);
}

/// The end of a burst that a device cuts up is pushed, though more is queued.
#[test]
fn push_is_on_the_last_segment_of_a_burst() {
    let mut p = Peer::established(bare());
    p.offload = TransmitOffload { segmentation: 65_535, want_sum: false };
    p.send(25_000);
    assert_eq!(p.out(), [s("P.", 1, 10_000, 1)]);
    p.say(".", 1, 1001, 0);
    assert_eq!(p.out(), [s("P.", 10_001, 2000, 1)]);
}

#[test]
fn sums_are_known_where_segments_are_chunks() {
    let mut p = Peer::established(bare());
    p.send(2500);
    for o in p.outgoing() {
        let bytes: Vec<u8> = o.payload.iter().flat_map(|s| s.to_vec()).collect();
        assert_eq!(o.sum, Some(buffer::sum::sum(&bytes)));
        assert_eq!(o.payload.len(), 1);
    }
    let mut p = Peer::established(Config { checksum: false, ..bare() });
    p.send(10);
    assert_eq!(p.outgoing()[0].sum, None);
}

#[test]
fn a_connection_that_is_idle_is_small() {
    let mut p = Peer::established(Config { nagle: true, ..Config { sack: true, ..bare() } });
    for round in 0..5u32 {
        p.send(3000);
        p.out();
        p.say(".", 1 + round * 2000, 1 + (round + 1) * 3000, 1000);
        p.say(".", 1001 + round * 2000, 1 + (round + 1) * 3000, 1000);
        p.out();
        assert_eq!(p.tcb.receive(&mut [0; 9000]), Ok(2000));
    }
    assert_eq!(p.tcb.info().footprint, 0);
    let heap =
        p.tcb.send.capacity_bytes() + p.tcb.board.footprint() + p.tcb.receive.capacity_bytes();
    // With a place each for a record, a chunk and a slice, which needed memory of their own.
    // Only unit tests count the steps of the scoreboard: `tests/pair.rs` looks at the size without.
    let tcb = size_of::<crate::Tcb>() - size_of::<u64>();
    assert!(tcb <= 768, "{tcb}");
    assert!(tcb + heap < 1024, "{tcb} {heap}");
}

#[test]
fn a_reset_of_an_abort_is_exact() {
    let mut p = Peer::established(bare());
    p.send(100);
    p.out();
    p.say(".", 1, 1, 50);
    p.tcb.abort();
    assert_eq!(p.out(), [s("R.", 101, 0, 51)]);
    assert!(p.out().is_empty());
    assert_eq!(p.tcb.next_timeout(), None);
}

/// What comes out of one that is asked for the next of a kind, `most` at once, wherever
/// there may be some.
fn quickly(p: &mut Peer, most: usize) -> Vec<(Said, Option<u16>)> {
    let mut all = Vec::new();
    while let Some(o) = p.tcb.poll_transmit(p.now, p.offload) {
        all.push((said(&o), o.sum));
        let ack = said(&o).3;
        let full = matches!(o.payload.as_slice(), [part] if part.len() as u32 == p.tcb.mss());
        let mut again = full && o.header.flags == flags(".");
        while again {
            let sent = p.tcb.transmit_alike(p.now, most, |next| {
                let seq = next.seq.distance_from(wire::Seq(ISS));
                all.push((s(".", seq, next.payload.len(), ack), Some(next.sum)));
            });
            p.tcb.check_invariants();
            assert!(sent <= most);
            again = sent == most;
        }
    }
    all
}

#[test]
fn the_short_way_says_the_same() {
    let plans: [fn(&mut Peer); 8] = [
        |p| p.send(7_000),
        |p| p.send(7_300),
        |p| p.send(50_000),
        |p| (0..9).for_each(|_| p.send(700)),
        |p| {
            // Lost, and sent again, with more behind.
            p.send(30_000);
            p.out();
            p.sack(1, &[(2001, 9001)]);
        },
        |p| {
            p.send(30_000);
            p.out();
            p.say(".", 1, 10_001, 0);
        },
        |p| {
            p.send(6_000);
            p.tcb.shutdown_write();
        },
        |p| {
            p.send(6_000);
            p.input(header(".", 1, 1, 2_500), 0);
            p.say("P.", 1, 1, 100);
        },
    ];
    for config in [bare(), sack(), Config { timestamps: false, ..Config::default() }] {
        for (index, plan) in plans.iter().enumerate() {
            for most in [1, 3, usize::MAX] {
                let (mut a, mut b) =
                    (Peer::established(config.clone()), Peer::established(config.clone()));
                plan(&mut a);
                plan(&mut b);
                let slowly: Vec<_> = a.outgoing().iter().map(|o| (said(o), o.sum)).collect();
                assert_eq!(quickly(&mut b, most), slowly, "plan {index}, {most} at once");
                assert_eq!(a.tcb.info(), b.tcb.info(), "plan {index}, {most} at once");
                assert_eq!(a.tcb.next_timeout(), b.tcb.next_timeout(), "plan {index}");
            }
        }
    }
}

#[test]
fn the_window_grows_by_what_is_acknowledged_however_it_is_batched() {
    // The window was full when ten segments left. Ten acknowledgments come one by
    // one, in one batch, or as one: in slow start and in congestion avoidance.
    for (slow_start, grown) in [(true, 20_000), (false, 11_000)] {
        for batch in [1, 3, 10] {
            let mut p = Peer::established(bare());
            if !slow_start {
                p.tcb.congestion.on_loss(20_000, 1000, p.now);
            }
            p.send(10_000);
            assert_eq!(p.out().len(), 10);
            for i in 1..=10 {
                p.say(".", 1, 1 + i * 1000, 0);
                if i % batch == 0 {
                    p.send(2000);
                    p.out();
                }
            }
            assert_eq!(p.tcb.info().cwnd, grown, "{slow_start} {batch}");
            let mut p = Peer::established(bare());
            if !slow_start {
                p.tcb.congestion.on_loss(20_000, 1000, p.now);
            }
            p.send(10_000);
            p.out();
            p.say(".", 1, 10_001, 0);
            assert_eq!(p.tcb.info().cwnd, grown, "{slow_start}, as one");
        }
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    // RFC 9438 4.6/3
    let mut p = Peer::established(bare());
    for i in 0..20 {
        p.send(2000);
        p.out();
        p.say(".", 1, 1 + i * 2000 + 1000, 0);
        p.say(".", 1, 1 + i * 2000 + 2000, 0);
    }
    assert_eq!(p.tcb.info().cwnd, 10_000, "two segments of ten");
    // Nor one that the peer's window keeps from being used.
    p.input(header(".", 2, 40_001, 3000), 0);
    p.send(30_000);
    for i in 1..=20 {
        p.out();
        p.input(header(".", 2 + i, 40_001 + i * 1000, 3000), 0);
    }
    assert_eq!(p.tcb.info().cwnd, 10_000);
}

#[test]
#[should_panic(expected = "not touched")]
fn output_that_nobody_announces_is_found_out() {
    let mut p = Peer::established(bare());
    p.send(100);
    p.tcb.flags.dirty = false;
    p.tcb.set_memory_outside(0);
    p.tcb.check_touched();
}

#[test]
fn nobody_asks_once_more_when_all_is_sent() {
    let mut p = Peer::established(bare());
    p.send(100);
    assert!(p.tcb.poll_transmit(p.now, p.offload).is_some());
    assert!(!p.tcb.wants_transmit());
    assert!(p.tcb.poll_transmit(p.now, p.offload).is_none());
    p.say(".", 1, 101, 2000);
    assert!(p.tcb.poll_transmit(p.now, p.offload).is_some(), "an acknowledgment of two segments");
    assert!(!p.tcb.wants_transmit());
    p.send(2500);
    let left: Vec<bool> = (0..3)
        .map(|_| {
            assert!(p.tcb.poll_transmit(p.now, p.offload).is_some());
            p.tcb.wants_transmit()
        })
        .collect();
    assert_eq!(left, [true, true, false]);
}
