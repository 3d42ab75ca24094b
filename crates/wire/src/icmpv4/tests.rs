use super::*;
use crate::checksum;
use proptest::prelude::*;

fn message() -> impl Strategy<Value = Message> {
    use Unreachable::*;
    prop_oneof![
        any::<(u16, u16)>().prop_map(|(id, seq)| Message::EchoRequest(id, seq)),
        any::<(u16, u16)>().prop_map(|(id, seq)| Message::EchoReply(id, seq)),
        prop::sample::select(vec![Network, Host, Protocol, Port, Prohibited])
            .prop_map(Message::Unreachable),
        any::<u16>().prop_map(|mtu| Message::Unreachable(FragmentationNeeded(mtu))),
        (0u8..=1).prop_map(Message::TimeExceeded),
        any::<u8>().prop_map(Message::ParameterProblem),
        (13u8.., any::<u8>()).prop_map(|(kind, code)| Message::Other(kind, code)),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(message in message()) {
        let mut bytes = [0x5a; LEN];
        message.emit(&mut bytes);
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
        prop_assert_eq!(&bytes[2..4], &[0, 0][..]);
    }

    #[test]
    fn what_is_parsed_is_emitted_with_its_type(bytes: [u8; LEN]) {
        let message = Message::parse(&bytes).unwrap();
        let mut again = [0; LEN];
        message.emit(&mut again);
        prop_assert_eq!(Message::parse(&again), Ok(message));
        prop_assert_eq!(again[0], bytes[0]);
    }
}

#[test]
fn an_echo_request_is_read() {
    let mut bytes = *b"\x08\x00\x54\x35\x12\x34\x00\x01abcdefgh";
    assert!(checksum::is_right(checksum::sum(&bytes)));
    assert_eq!(Message::parse(&bytes), Ok(Message::EchoRequest(0x1234, 1)));
    let (header, _) = bytes.split_first_chunk_mut::<LEN>().unwrap();
    Message::EchoRequest(0x1234, 1).emit(header);
    assert_eq!(!checksum::sum(&bytes), 0x5435);
}

/// RFC 1191 section 4.
#[test]
fn the_mtu_of_the_next_hop_is_read() {
    let bytes = [3, 4, 0, 0, 0, 0, 0x05, 0x78];
    let expected = Message::Unreachable(Unreachable::FragmentationNeeded(1400));
    assert_eq!(Message::parse(&bytes), Ok(expected));
}

#[test]
fn short_messages_are_refused() {
    assert_eq!(Message::parse(&[8, 0, 0, 0, 0, 0, 0]), Err(Malformed::Truncated));
}
