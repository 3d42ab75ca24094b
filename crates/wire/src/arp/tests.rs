use super::*;
use proptest::prelude::*;

fn message() -> impl Strategy<Value = Message> {
    let address = any::<([u8; 6], u32)>();
    (any::<bool>(), address, address).prop_map(|(request, sender, target)| Message {
        operation: if request { Operation::Request } else { Operation::Reply },
        sender: EthernetAddress(sender.0),
        sender_ip: sender.1.into(),
        target: EthernetAddress(target.0),
        target_ip: target.1.into(),
    })
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(message in message(), padding in 0usize..20) {
        let mut bytes = vec![0x5a; LEN + padding];
        message.emit(&mut bytes[..LEN]);
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
        for short in 0..LEN {
            prop_assert_eq!(Message::parse(&bytes[..short]), Err(Malformed::Truncated));
        }
    }
}

const REQUEST: [u8; LEN] = [
    0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, // Ethernet, IPv4, request
    0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 10, 0, 0, 1, // sender
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 10, 0, 0, 2, // target
];

#[test]
fn a_request_is_read() {
    let message = Message::parse(&REQUEST).unwrap();
    assert_eq!(message.operation, Operation::Request);
    assert_eq!(message.sender.to_string(), "02:00:00:00:00:01");
    assert_eq!(message.sender_ip, Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(message.target_ip, Ipv4Addr::new(10, 0, 0, 2));
}

/// RFC 826, "Packet Reception": each field is checked.
#[test]
fn other_hardware_protocols_and_operations_are_refused() {
    for (at, value) in [(1, 6), (2, 0x86), (4, 8), (5, 16), (6, 1), (7, 0), (7, 3)] {
        let mut bytes = REQUEST;
        bytes[at] = value;
        assert_eq!(Message::parse(&bytes), Err(Malformed::Field), "byte {at} = {value}");
    }
}
