//! Checks of every frame that leaves.

use crate::flows::Flow;
use net::InterfaceConfig;
use wire::packet::ChecksumState;
use wire::{Address, Endpoint, FlowKey, Packet, arp, checksum, ethernet, icmpv4, ipv4, protocol};
use wire::{tcp, udp};

/// Checks `frame`, and updates the flow that it belongs to.
///
/// # Panics
/// If the frame is invalid.
pub fn egress(frame: &Packet, interface: &InterfaceConfig, flows: &mut [Flow]) {
    let mut bytes = frame.to_vec();
    let mut link = 0;
    if interface.is_ethernet {
        let (header, len) = ethernet::Header::parse(&bytes).expect("an Ethernet header");
        assert_eq!(header.source, interface.ethernet);
        assert_eq!(header.vlan, interface.vlan);
        link = len;
        if header.ethertype == ethernet::ethertype::ARP {
            let message = arp::Message::parse(&bytes[len..]).expect("an ARP message");
            assert_eq!(message.sender, interface.ethernet);
            return;
        }
        assert_eq!(header.ethertype, ethernet::ethertype::IPV4);
    }
    let datagram = &mut bytes[link..];
    let header = ipv4::Header::parse(datagram).expect("an IP header");
    assert_eq!(usize::from(header.total_len), datagram.len());
    let most = if frame.meta().gso_size > 0 { interface.segmentation } else { interface.mtu };
    assert!(datagram.len() <= most, "{} bytes over {most}", datagram.len());
    assert!(interface.addresses.iter().any(|(a, _)| *a == header.source.into()));
    let payload = &mut datagram[ipv4::LEN..];
    if header.is_fragment() {
        return assert!(!header.dont_fragment && header.protocol != protocol::TCP);
    }
    transport(frame, link + ipv4::LEN, &header, payload, interface);
    if header.protocol == protocol::TCP {
        let (segment, len) = tcp::Header::parse(payload).expect("a TCP header");
        let key = FlowKey {
            local: Endpoint { address: header.source.into(), port: segment.source_port },
            remote: Endpoint { address: header.destination.into(), port: segment.destination_port },
        };
        let data = (payload.len() - len) as u32;
        assert!(!segment.flags.syn() || data == 0);
        assert!(frame.meta().gso_size == 0 || data > u32::from(frame.meta().gso_size));
        if let Some(flow) = flows.iter_mut().find(|f| f.key == key) {
            flow.heard(&segment, data);
        }
    }
}

/// Checks the transport's checksum and lengths; `start` is where it begins.
fn transport(
    frame: &Packet,
    start: usize,
    header: &ipv4::Header,
    payload: &[u8],
    interface: &InterfaceConfig,
) {
    let pseudo = |protocol| {
        let (source, destination) = (Address::from(header.source), header.destination.into());
        checksum::pseudo_header(source, destination, protocol, payload.len() as u32)
    };
    let meta = frame.meta();
    if meta.checksum == ChecksumState::Partial {
        assert!(interface.transmit_checksum);
        assert_eq!(usize::from(meta.csum_start), start);
        // The place of the checksum in the header.
        let at = match header.protocol {
            protocol::TCP => 16,
            protocol::UDP => 6,
            other => panic!("protocol {other} without a sum"),
        };
        assert_eq!(usize::from(meta.csum_offset), at);
        let field = u16::from_be_bytes([payload[at], payload[at + 1]]);
        return assert_eq!(field, pseudo(header.protocol));
    }
    assert_eq!(meta.gso_size, 0, "a train without Partial");
    let sum = checksum::sum(payload);
    match header.protocol {
        protocol::ICMP => {
            assert!(checksum::is_right(sum));
            icmpv4::Message::parse(payload).expect("an ICMP header");
        }
        protocol::UDP => {
            let udp = udp::Header::parse(payload).expect("a UDP header");
            assert_eq!(usize::from(udp.length), payload.len());
            assert!(checksum::is_right(checksum::add(sum, pseudo(protocol::UDP))));
        }
        protocol::TCP => {
            assert!(checksum::is_right(checksum::add(sum, pseudo(protocol::TCP))), "{header:?}");
        }
        other => panic!("protocol {other} was sent"),
    }
}
