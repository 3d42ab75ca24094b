use super::*;
use proptest::prelude::*;
use wire::tcp::Options;
use wire::{Endpoint, Parts, Seq, Slice};

fn flow() -> FlowKey {
    let end =
        |last, port| Endpoint { address: std::net::Ipv4Addr::new(10, 0, 0, last).into(), port };
    FlowKey { local: end(1, 4000), remote: end(2, 80) }
}

fn segment(seq: u32, timestamps: Option<(u32, u32)>, payload: &[u8]) -> Outgoing {
    let header = Header {
        source_port: 0,
        destination_port: 0,
        seq: Seq(seq),
        ack: Seq(99),
        flags: Flags::ACK,
        window: 500,
        urgent: 0,
        options: Options { timestamps, ..Options::NONE },
    };
    let slice = Slice::copy_of(payload);
    let sum = Some(checksum::sum(&slice));
    Outgoing { header, payload: Parts::from_iter([slice]), sum, gso_size: 0, ect: false }
}

proptest! {
    #[test]
    fn a_repeated_frame_is_the_one_that_would_have_been_built(
        seq: u32,
        distance: u32,
        timestamps: Option<(u32, u32)>,
        first in prop::collection::vec(any::<u8>(), 100),
        second in prop::collection::vec(any::<u8>(), 100),
    ) {
        // RFC 9293 MUST-2
        let mut model = segment(seq, timestamps, &first);
        let repeat = SegmentTemplate::new(&model, 100, &PLAIN).expect("full and plain");
        let (mut last, base) = packet(&flow(), &mut model, &PLAIN);
        last.push(34).fill(7);
        let mut wanted = segment(seq.wrapping_add(distance), timestamps, &second);
        let next = Next {
            seq: wanted.header.seq,
            payload: wanted.payload[0].clone(),
            sum: wanted.sum.expect("known"),
        };
        let (mut expected, _) = packet(&flow(), &mut wanted, &PLAIN);
        expected.push(34).fill(7);
        let frame = repeat.frame(&last, base.into(), next);
        prop_assert_eq!(frame.to_vec(), expected.to_vec());
        prop_assert_eq!(frame.meta().source, expected.meta().source);
    }
}

#[test]
fn only_full_segments_of_nothing_but_data_are_models() {
    let of = |segment: &Outgoing, interface: InterfaceConfig| {
        SegmentTemplate::new(segment, 100, &interface).is_some()
    };
    let good = segment(1, None, &[1; 100]);
    assert!(of(&good, PLAIN));
    assert!(!of(&segment(1, None, &[1; 99]), PLAIN));
    let mut pushed = good.clone();
    pushed.header.flags = Flags::ACK.with(Flags::PSH);
    assert!(!of(&pushed, PLAIN));
    assert!(!of(&good, InterfaceConfig { transmit_checksum: true, ..PLAIN }));
    assert!(!of(&good, InterfaceConfig { segmentation: 65_000, ..PLAIN }));
}
