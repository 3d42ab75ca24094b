use super::{Link, input};
use crate::config::{Config, InterfaceConfig, Unit};
use crate::{Counters, Egress};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::arp::{self, Message, Operation};
use wire::ethernet::{Header, LEN, ethertype};
use wire::{Address, EthernetAddress, Instant, Packet};

const OURS: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
const PEER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);

fn link(unit: Unit) -> Link {
    let interface = InterfaceConfig {
        is_ethernet: true,
        ethernet: OURS,
        vlan: None,
        addresses: vec![(Address::from(Ipv4Addr::new(10, 0, 0, 1)), 24)],
        mtu: 1500,
        transmit_checksum: false,
        segmentation: 0,
    };
    Link::new(Arc::new(Config::new(vec![interface], 1)), unit)
}

fn request(target: [u8; 4]) -> Packet {
    let mut packet = Packet::new();
    Message {
        operation: Operation::Request,
        sender: PEER,
        sender_ip: [10, 0, 0, 2].into(),
        target: EthernetAddress::default(),
        target_ip: target.into(),
    }
    .emit(packet.push(arp::LEN));
    let (destination, ethertype) = (EthernetAddress::BROADCAST, ethertype::ARP);
    Header { destination, source: PEER, vlan: None, ethertype }.emit(packet.push(LEN));
    packet
}

#[test]
fn all_units_learn_from_a_request_and_one_answers() {
    for (index, answers) in [(0, 1), (1, 0), (127, 0)] {
        let mut link = link(Unit { index, count: 128 });
        let (mut counters, mut egress) = (Counters::default(), Egress::new(1));
        let now = Instant::ZERO;
        let frame = request([10, 0, 0, 1]);
        assert!(input(frame, &mut link, now, &mut counters, &mut egress).is_none());
        assert_eq!((egress.len(), link.neighbours.len()), (answers, 1), "{index}");
    }
}
