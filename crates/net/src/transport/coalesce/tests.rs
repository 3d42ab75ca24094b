use super::*;
use crate::connections::ConnId;
use wire::tcp::Options;
use wire::{Address, Endpoint};

fn header(seq: u32, flags: Flags) -> Header {
    let options = Options { timestamps: Some((5, 6)), ..Options::NONE };
    let (source_port, destination_port) = (1, 2);
    let (ack, window, urgent) = (Seq(77), 100, 0);
    Header { source_port, destination_port, seq: Seq(seq), ack, flags, window, urgent, options }
}

fn run(first: Header, len: u32) -> GroBatch {
    let end = Endpoint { address: Address::UNSPECIFIED_V4, port: 1 };
    let id = ConnId { unit: 0, slot: 0, generation: 0 };
    let mut run = GroBatch::new(FlowKey { local: end, remote: end }, id, &first);
    run.next = first.seq + len;
    run
}

#[test]
fn data_in_order_and_alike_continues() {
    let run = run(header(u32::MAX - 99, Flags::ACK), 1000);
    assert!(run.continues(&header(900, Flags::ACK), 0, 1000));
    assert!(run.continues(&header(900, Flags::ACK.with(Flags::PSH)), 0, 1));
    for (seq, len) in [(899, 1000), (901, 1000), (u32::MAX - 99, 1000), (900, MAX_LEN - 999)] {
        assert!(!run.continues(&header(seq, Flags::ACK), 0, len), "{seq}");
    }
    let next = header(900, Flags::ACK);
    assert!(!run.continues(&Header { ack: Seq(78), ..next }, 0, 1000));
    assert!(!run.continues(&Header { window: 101, ..next }, 0, 1000));
    assert!(!run.continues(&next, wire::ipv4::CE, 1000));
    let options = Options { timestamps: Some((6, 6)), ..Options::NONE };
    assert!(!run.continues(&Header { options, ..next }, 0, 1000));
}

/// The flags of ECN may be a counter (RFC 9768): what differs in it stays apart.
#[test]
fn what_says_the_same_of_congestion_continues() {
    let flags = |ace| Flags::ACK.with(Flags::of_ace(ace));
    for first in 0..8 {
        assert!(is_plain(&header(1, flags(first)), 1));
        for next in 0..8 {
            let run = run(header(u32::MAX - 99, flags(first)), 1000);
            assert_eq!(run.continues(&header(900, flags(next)), 0, 1000), first == next);
        }
    }
    let acc_ecn = Some(wire::tcp::AccEcn::new(false, 3, [1, 2, 3]));
    let counted = Header { options: Options { acc_ecn, ..Options::NONE }, ..header(1, flags(5)) };
    assert!(!is_plain(&counted, 1));
}

#[test]
fn only_plain_data_waits() {
    assert!(is_plain(&header(1, Flags::ACK), 1));
    assert!(is_plain(&header(1, Flags::ACK.with(Flags::PSH)), MAX_LEN));
    assert!(!is_plain(&header(1, Flags::ACK), 0));
    assert!(!is_plain(&header(1, Flags::ACK), MAX_LEN + 1));
    let others = [Flags::FIN, Flags::SYN, Flags::RST, Flags::URG];
    for flag in others {
        assert!(!is_plain(&header(1, Flags::ACK.with(flag)), 1), "{flag:?}");
    }
    assert!(!is_plain(&header(1, Flags::PSH), 1));
    let mut sacked = header(1, Flags::ACK);
    sacked.options.sack.push(Seq(1), Seq(2));
    assert!(!is_plain(&sacked, 1));
}

/// What is of one run needs no comparing but of its place; all else is compared.
#[test]
fn the_next_of_a_run_goes_on() {
    let mut batch = run(header(u32::MAX - 99, Flags::ACK), 1000);
    let next = |seq, run| Arriving { header: header(seq, Flags::ACK), run, ..Arriving::EMPTY };
    (batch.run, batch.count) = (7, 1);
    assert!(batch.goes_on(&next(900, 7), 1000));
    assert!(batch.goes_on(&next(900, 7), MAX_LEN - 1000));
    for (seq, run, len) in
        [(900, 8, 1000), (900, 0, 1000), (901, 7, 1), (900, 7, 0), (900, 7, MAX_LEN - 999)]
    {
        assert!(!batch.goes_on(&next(seq, run), len), "{seq} {run} {len}");
    }
    // The first goes to its connection alone.
    batch.count = 0;
    assert!(!batch.goes_on(&next(900, 7), 1000));
    // None of these came by the express way.
    (batch.run, batch.count) = (0, 1);
    assert!(!batch.goes_on(&next(900, 0), 1000));
}
