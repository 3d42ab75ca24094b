use crate::filter::{self, FiveTuple};
use crate::icmpv4::{Message, Unreachable};
use crate::protocol;
use crate::steering::tests::{flow, frame, icmp_error, sent_by};
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_filter_knows_the_flow(flow in flow(), vlan: Option<u16>, tcp: bool) {
        let protocol = if tcp { protocol::TCP } else { protocol::UDP };
        let bytes = frame(vlan, 0x0800, &sent_by(&flow.reversed(), protocol));
        prop_assert_eq!(filter::frame(&bytes), Some(FiveTuple { protocol, flow }));
    }

    #[test]
    fn errors_are_their_flows(flow in flow(), tcp: bool) {
        let protocol = if tcp { protocol::TCP } else { protocol::UDP };
        let sent = sent_by(&flow, protocol);
        let message = Message::Unreachable(Unreachable::Port);
        let error = icmp_error(&sent[..28], message, flow.local.address);
        prop_assert_eq!(filter::datagram(&error), Some(FiveTuple { protocol, flow }));
        prop_assert_eq!(filter::datagram(&icmp_error(&error, message, flow.local.address)), None);
    }

    #[test]
    fn the_rest_is_nobodys(flow in flow(), cut in 0usize..24, bytes: Vec<u8>) {
        let whole = sent_by(&flow.reversed(), protocol::TCP);
        prop_assert_eq!(filter::datagram(&whole[..cut]), None);
        prop_assert_eq!(filter::frame(&frame(None, 0x0806, &whole)), None);
        for (more, offset) in [(0x20, 0), (0, 1), (0x20, 9)] {
            let mut fragment = whole.clone();
            (fragment[6], fragment[7]) = (more, offset);
            prop_assert_eq!(filter::datagram(&fragment), None);
        }
        // Whatever it says, it says it without a panic.
        let _ = (filter::frame(&bytes), filter::datagram(&bytes));
    }
}
