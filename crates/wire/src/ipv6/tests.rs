use super::*;
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn header() -> impl Strategy<Value = Header> {
    let numbers = (any::<u8>(), 0u32..1 << 20, any::<u16>(), any::<u8>(), any::<u8>());
    (numbers, any::<u128>(), any::<u128>()).prop_map(|(n, source, destination)| Header {
        traffic_class: n.0,
        flow_label: n.1,
        payload_len: n.2,
        next_header: n.3,
        hop_limit: n.4,
        source: source.into(),
        destination: destination.into(),
    })
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(header in header()) {
        let mut bytes = [0x5a; LEN];
        header.emit(&mut bytes);
        prop_assert_eq!(Header::parse(&bytes), Ok(header));
        prop_assert_eq!(Header::parse(&bytes[..LEN - 1]), Err(Malformed::Truncated));
        bytes[0] ^= 0x20;
        prop_assert_eq!(Header::parse(&bytes), Err(Malformed::Field));
    }

    #[test]
    fn fragments_too(next_header: u8, units in 0u16..0x2000, more: bool, identification: u32) {
        let fragment = Fragment { next_header, offset: units * 8, more, identification };
        let mut bytes = [0x5a; FRAGMENT_LEN];
        fragment.emit(&mut bytes);
        prop_assert_eq!(Fragment::parse(&bytes), Ok(fragment));
    }
}

#[test]
fn a_header_of_rfc_8200() {
    let header = Header {
        traffic_class: 0xb8,
        flow_label: 0x12345,
        ..Header::new("2001:db8::1".parse().unwrap(), "ff02::2".parse().unwrap(), 17, 0x0102)
    };
    let mut bytes = [0; LEN];
    header.emit(&mut bytes);
    assert_eq!(bytes[..8], [0x6b, 0x81, 0x23, 0x45, 1, 2, 17, 64]);
    assert_eq!(bytes[8..12], [0x20, 0x01, 0x0d, 0xb8]);
    assert_eq!((bytes[23], bytes[24], bytes[39]), (1, 0xff, 2));
}

#[test]
fn addresses_made_from_others() {
    // RFC 4291 2.7.1 and appendix A, RFC 2464 7.
    let host = "4037::01:800:200e:8c6c".parse().unwrap();
    assert_eq!(solicited_node(host), "ff02::1:ff0e:8c6c".parse::<Ipv6Addr>().unwrap());
    let station = EthernetAddress([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]);
    let ours = link_local(station);
    assert_eq!(ours, "fe80::3656:78ff:fe9a:bcde".parse::<Ipv6Addr>().unwrap());
    let group = ethernet_group(solicited_node(ours));
    assert_eq!(group, EthernetAddress([0x33, 0x33, 0xff, 0x9a, 0xbc, 0xde]));
}

#[test]
fn a_view_passes_over_extension_headers() {
    let mut bytes = vec![0; LEN];
    let end = |n: u16| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n);
    Header::new(end(1), end(2), 0, 30).emit(&mut bytes);
    bytes.extend([60, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend([44, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend([17, 0, 0, 1, 0, 0, 0, 9]);
    bytes.extend([0, 53, 0, 54, 0, 8]);
    let view = View::new(&bytes).expect("a view");
    assert!(view.is_fragment() && !view.is_later_fragment());
    assert_eq!((view.protocol(), view.ports()), (17, Some((53, 54))));
    // An atomic fragment is none (RFC 6946).
    bytes[LEN + 19] = 0;
    assert!(!View::new(&bytes).expect("a view").is_fragment());
    // The ports of a later one are elsewhere, whatever its bytes say.
    bytes[LEN + 19] = 9;
    assert_eq!(View::new(&bytes).expect("a view").ports(), None);
    // Headers without end.
    let mut endless = bytes[..LEN].to_vec();
    endless.extend([0, 0, 1, 4, 0, 0, 0, 0].repeat(9));
    assert!(View::new(&endless).is_none());
}

#[test]
fn a_view_of_mapped_addresses_is_none() {
    let (mapped, real) = (Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped(), Ipv6Addr::LOCALHOST);
    for (source, destination, is_view) in
        [(mapped, real, false), (real, mapped, false), (mapped, mapped, false), (real, real, true)]
    {
        let mut bytes = [0; LEN];
        Header::new(source, destination, 17, 8).emit(&mut bytes);
        assert_eq!(View::new(&bytes).is_some(), is_view, "{source} {destination}");
    }
}
