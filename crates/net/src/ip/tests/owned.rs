//! Networks that are ours as a whole.

use super::*;

/// Who owns a network takes what is for any address in it, and answers from there; what
/// cannot be a host's, or comes from ourselves, stays out.
#[test]
fn an_owned_network_is_ours_as_a_whole() {
    let mut host = Host::new(|config| {
        let network = Ipv4Addr::UNSPECIFIED.into();
        config.owned = vec![crate::OwnedPrefix { interface: 0, network, prefix: 0 }];
    });
    let everything = end(Ipv4Addr::UNSPECIFIED, 0);
    host.call(Call::BindUdp(everything, ()));
    let bytes = |port| {
        let mut bytes = udp_bytes(port, b"x");
        bytes[6..8].fill(0);
        bytes
    };
    for (destination, port) in [("8.8.8.8", 53), ("192.0.2.255", 1), ("10.0.0.77", 65535)] {
        let destination: Ipv4Addr = destination.parse().unwrap();
        let header = ipv4::Header { destination, ..ip(protocol::UDP) };
        host.take(&datagram(header, &bytes(port)));
        let got = host.domain.app.datagrams.pop().expect("it was taken");
        assert_eq!(got.local, end(destination, port));
    }
    for destination in ["127.0.0.1", "0.1.2.3", "240.0.0.1"] {
        let header = ipv4::Header { destination: destination.parse().unwrap(), ..ip(17) };
        host.drops(&datagram(header, &bytes(53)), DropReason::IpNotOurs);
    }
    for source in ["127.0.0.1", "0.0.0.0", "224.0.0.5", "10.0.0.1", "10.0.0.255"] {
        let destination = Ipv4Addr::new(8, 8, 8, 8);
        let header =
            ipv4::Header { source: source.parse().unwrap(), destination, ..ip(protocol::UDP) };
        host.drops(&datagram(header, &bytes(53)), DropReason::IpSource);
    }
    // From an address to itself, as in a LAND attack.
    let (source, destination) = ([8, 8, 8, 8].into(), [8, 8, 8, 8].into());
    let header = ipv4::Header { source, destination, ..ip(protocol::UDP) };
    host.drops(&datagram(header, &bytes(53)), DropReason::IpSource);
    // Echo is answered from where it was asked.
    let echo = ipv4::Header { destination: [8, 8, 4, 4].into(), ..ip(protocol::ICMP) };
    let out = host.take(&datagram(echo, &icmp_bytes(8, 0, &[0, 1, 0, 1])));
    assert_eq!(parse(&out[0]).0.source, Ipv4Addr::new(8, 8, 4, 4));
    host.call(Call::UnbindUdp(everything));
    let header = ipv4::Header { destination: [8, 8, 8, 8].into(), ..ip(protocol::UDP) };
    host.take(&datagram(header, &bytes(53)));
    assert_eq!(host.domain.counters.dropped(DropReason::UdpNoPort), 1);
}
