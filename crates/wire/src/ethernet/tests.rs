use super::*;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = Header> {
    let ethertype = any::<u16>().prop_filter("a tag is not a type", |&t| t != ethertype::VLAN);
    (any::<[u8; 6]>(), any::<[u8; 6]>(), any::<Option<u16>>(), ethertype).prop_map(
        |(destination, source, vlan, ethertype)| Header {
            destination: EthernetAddress(destination),
            source: EthernetAddress(source),
            vlan,
            ethertype,
        },
    )
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(header in header(), payload: [u8; 3]) {
        // RFC 1122 2.3.3/1
        let mut bytes = vec![0x5a; header.len()];
        header.emit(&mut bytes);
        bytes.extend(payload);
        prop_assert_eq!(Header::parse(&bytes), Ok((header, header.len())));
        for short in 0..header.len() {
            prop_assert_eq!(Header::parse(&bytes[..short]), Err(Malformed::Truncated));
        }
    }
}

#[test]
fn a_tagged_arp_broadcast() {
    let bytes = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, // addresses
        0x81, 0x00, 0xa0, 0x2a, // priority 5, VLAN 42
        0x08, 0x06,
    ];
    let (header, len) = Header::parse(&bytes).unwrap();
    assert_eq!(len, 18);
    assert_eq!(header.destination, EthernetAddress::BROADCAST);
    assert_eq!(header.source.to_string(), "02:00:00:00:00:01");
    assert_eq!(header.vlan, Some(5 << 13 | 42));
    assert_eq!(header.ethertype, ethertype::ARP);
}
