use super::*;
use proptest::prelude::*;

fn v4(protocol: u8, source: [u8; 4], destination: [u8; 4], inside: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes.extend(source);
    bytes.extend(destination);
    bytes.extend(inside);
    bytes
}

fn framed(kind: u16, tag: bool, datagram: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    if tag {
        frame.extend([0x81, 0, 0, 7]);
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(datagram);
    frame
}

fn wants(text: &str, frame: &[u8]) -> bool {
    let filter: Filter = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    filter.wants(Medium::Ethernet, frame, frame.len(), true)
}

/// From 10.0.0.1:40000 to 10.0.0.2:80.
fn tcp() -> Vec<u8> {
    let ports = [0x9c, 0x40, 0, 80];
    framed(0x0800, false, &v4(6, [10, 0, 0, 1], [10, 0, 0, 2], &ports))
}

#[test]
fn words_mean_what_they_mean_to_tcpdump() {
    let frame = tcp();
    for yes in [
        "",
        "ip",
        "tcp",
        "host 10.0.0.1",
        "src host 10.0.0.1 and dst host 10.0.0.2",
        "src 10.0.0.1",
        "net 10.0.0.0/8",
        "src net 10.0.0.0/31",
        "src and dst net 10.0.0.0/24",
        "port 80",
        "tcp port 80",
        "tcp dst port 80",
        "ip host 10.0.0.2",
        "portrange 79-81",
        "portrange 81-79",
        "src or dst port 40000",
        "not udp",
        "! udp",
        "!udp && !(icmp||arp)",
        "port 81 or 80",
        "host 10.0.0.9 or 10.0.0.1",
        "outbound",
        "less 38",
        "greater 38",
        // From the left: (udp and tcp) or tcp.
        "udp and tcp or tcp",
        // (tcp or udp) and tcp, which would be tcp or (udp and …) by precedence.
        "not (tcp or tcp and udp)",
    ] {
        assert!(wants(yes, &frame), "{yes}");
    }
    for no in [
        "ip6",
        "arp",
        "udp",
        "icmp",
        "icmp6",
        "host 10.0.0.3",
        "dst host 10.0.0.1",
        "src net 10.0.0.2/31",
        "dst port 40000",
        "udp port 80",
        "src and dst port 80",
        "host ::1",
        "inbound",
        "less 37",
        "greater 39",
        "tcp or tcp and udp",
    ] {
        assert!(!wants(no, &frame), "{no}");
    }
}

#[test]
fn tags_fragments_and_other_protocols() {
    let ports = [0, 53, 0, 99];
    let datagram = v4(17, [10, 0, 0, 1], [10, 0, 0, 2], &ports);
    assert!(wants("udp src port 53", &framed(0x0800, true, &datagram)));
    let mut later = datagram.clone();
    later[7] = 1;
    let later = framed(0x0800, false, &later);
    assert!(wants("udp and host 10.0.0.1", &later) && !wants("port 53", &later));
    let icmp = framed(0x0800, false, &v4(1, [10, 0, 0, 1], [10, 0, 0, 2], &[8, 0, 0, 53]));
    assert!(wants("icmp", &icmp) && !wants("port 53", &icmp));
    let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1];
    arp.extend([[2; 6].as_slice(), &[10, 0, 0, 1], &[0; 6], &[10, 0, 0, 2]].concat());
    let arp = framed(0x0806, false, &arp);
    assert!(wants("arp and src 10.0.0.1", &arp) && !wants("ip", &arp));
    let bare: Filter = "udp port 53".parse().expect("a filter");
    assert!(bare.wants(Medium::Ip, &datagram, datagram.len(), false));
}

#[test]
fn ip6_and_its_extension_headers() {
    let mut datagram = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
    datagram.extend("fe80::1".parse::<std::net::Ipv6Addr>().expect("one").octets());
    datagram.extend("fe80::2".parse::<std::net::Ipv6Addr>().expect("one").octets());
    // Hop-by-hop options, then a fragment header of the first, then TCP.
    datagram.extend([44, 0, 1, 4, 0, 0, 0, 0]);
    datagram.extend([6, 0, 0, 1, 0, 0, 0, 9]);
    datagram.extend([0x9c, 0x40, 0, 80]);
    let frame = framed(0x86dd, false, &datagram);
    for yes in ["ip6", "tcp", "ip6 host fe80::2", "src net fe80::/10", "dst port 80"] {
        assert!(wants(yes, &frame), "{yes}");
    }
    assert!(!wants("ip", &frame) && !wants("host 10.0.0.1", &frame));
    let mut later = frame;
    later[14 + 40 + 8 + 3] = 9;
    assert!(wants("tcp", &later) && !wants("port 80", &later));
}

#[test]
fn what_is_wrong_is_said() {
    for (text, said) in [
        ("prot 80", "`prot` is no word of a filter"),
        ("port http", "`http` is no port"),
        ("port 65536", "`65536` is no port"),
        ("host", "ends where an address"),
        ("host server", "`server` is no address"),
        ("host fe80::1%1", "write host fe80::1"),
        ("net 10.0.0.0/33", "no network: write it like 10.0.0.0/8"),
        ("portrange 5", "no range"),
        ("tcp and", "the filter ends"),
        ("tcp udp", "`udp` is one too much"),
        ("(tcp", "not closed"),
        ("less much", "no length"),
    ] {
        let error = text.parse::<Filter>().expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let long = vec!["tcp"; 200].join(" or ");
    assert!(long.parse::<Filter>().is_err());
}

proptest! {
    #[test]
    fn no_text_and_no_packet_does_harm(
        text in "[(!]{0,9}(tcp|not|and|or|src|dst|host|net|port|10\\.0\\.0\\.1|80|\\)|\\(| |x){0,30}",
        packet in proptest::collection::vec(any::<u8>(), 0..LOOKS_AT),
    ) {
        let filter = text.parse::<Filter>();
        let filters = [filter.unwrap_or_default(), "tcp port 80 or net ::/0".parse().expect("one")];
        for filter in filters {
            filter.wants(Medium::Ethernet, &packet, packet.len(), false);
            filter.wants(Medium::Ip, &packet, packet.len(), true);
        }
    }
}
