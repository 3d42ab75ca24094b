use super::*;
use crate::icmpv4::{self, Message};
use crate::{Endpoint, EthernetAddress, Seq, ipv4, tcp, udp};
use proptest::prelude::*;
use std::net::Ipv4Addr;

pub(crate) fn flow() -> impl Strategy<Value = FlowKey> {
    let end = any::<(u32, u16)>()
        .prop_map(|(bits, port)| Endpoint { address: Ipv4Addr::from_bits(bits).into(), port });
    (end.clone(), end).prop_map(|(local, remote)| FlowKey { local, remote })
}

/// An IPv4 datagram between two addresses.
fn datagram(source: Address, destination: Address, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (source.v4().unwrap(), destination.v4().unwrap());
    let header = ipv4::Header::new(source, destination, protocol, payload.len());
    let mut bytes = vec![0; ipv4::LEN];
    header.emit(&mut bytes);
    bytes.extend(payload);
    bytes
}

pub(crate) fn frame(vlan: Option<u16>, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let (destination, source) = (EthernetAddress([2; 6]), EthernetAddress([4; 6]));
    let header = ethernet::Header { destination, source, vlan, ethertype };
    let mut bytes = vec![0; header.len()];
    header.emit(&mut bytes);
    bytes.extend(payload);
    bytes
}

/// What `from.local` sends to `from.remote`.
pub(crate) fn sent_by(from: &FlowKey, protocol: u8) -> Vec<u8> {
    let (source_port, destination_port) = (from.local.port, from.remote.port);
    let mut payload = vec![0; if protocol == protocol::TCP { tcp::LEN } else { udp::LEN }];
    if protocol == protocol::TCP {
        let header = tcp::Header {
            source_port,
            destination_port,
            seq: Seq(1),
            ack: Seq(2),
            flags: tcp::Flags::ACK,
            window: 100,
            urgent: 0,
            options: tcp::Options::NONE,
        };
        header.emit(&mut payload);
    } else {
        let header = udp::Header { source_port, destination_port, length: 8, checksum: 0 };
        header.emit(&mut payload);
    }
    datagram(from.local.address, from.remote.address, protocol, &payload)
}

pub(crate) fn icmp_error(about: &[u8], message: Message, to: Address) -> Vec<u8> {
    let mut payload = vec![0; icmpv4::LEN];
    message.emit(&mut payload);
    payload.extend(about);
    datagram(Ipv4Addr::new(10, 9, 8, 7).into(), to, protocol::ICMP, &payload)
}

proptest! {
    #[test]
    fn frames_go_where_their_flow_is(
        flow in flow(), seed: u64, vlan: Option<u16>, tcp: bool,
    ) {
        let steering = Steering::new(seed);
        let protocol = if tcp { protocol::TCP } else { protocol::UDP };
        let bytes = frame(vlan, 0x0800, &sent_by(&flow.reversed(), protocol));
        prop_assert_eq!(steering.frame(&bytes), Steered::Flow(steering.flow(&flow)));
    }

    /// RFC 792: an error quotes the header and 8 bytes of what we sent.
    #[test]
    fn errors_go_where_the_flow_is_that_they_are_about(
        flow in flow(), seed: u64, tcp: bool, kind in 0usize..3,
    ) {
        let steering = Steering::new(seed);
        let sent = sent_by(&flow, if tcp { protocol::TCP } else { protocol::UDP });
        let message = [
            Message::Unreachable(icmpv4::Unreachable::Port),
            Message::TimeExceeded(0),
            Message::ParameterProblem(3),
        ][kind];
        let error = icmp_error(&sent[..28], message, flow.local.address);
        let bytes = frame(None, 0x0800, &error);
        prop_assert_eq!(steering.frame(&bytes), Steered::Flow(steering.flow(&flow)));
        // An error about that error goes nowhere in particular.
        let nested = icmp_error(&error, message, flow.local.address);
        prop_assert_eq!(steering.datagram(&nested), Steered::Any);
    }

    #[test]
    fn both_families_have_a_hash(seed: u64, a: u128, b: u128, ports: (u16, u16)) {
        let end = |bits: u128, port| {
            Endpoint { address: std::net::Ipv6Addr::from_bits(bits).into(), port }
        };
        let flow = FlowKey { local: end(a, ports.0), remote: end(b, ports.1) };
        prop_assert_eq!(Steering::new(seed).flow(&flow), Steering::new(seed).flow(&flow));
    }
}

#[test]
fn neighbouring_flows_spread_evenly() {
    for seed in 0..20 {
        let steering = Steering::new(seed);
        let mut counts = [0u32; 4];
        for n in 0..4096u16 {
            let local = Endpoint { address: Ipv4Addr::new(10, 0, 0, 1).into(), port: 80 };
            let host = Ipv4Addr::new(10, 0, 1, (n % 16) as u8);
            let remote = Endpoint { address: host.into(), port: 40_000 + n / 16 };
            // As queues are chosen: by the upper bits of hash times queues.
            let hash = steering.flow(&FlowKey { local, remote });
            counts[((u64::from(hash) * 4) >> 32) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (700..1400).contains(&c)), "seed {seed}: {counts:?}");
    }
}

#[test]
fn what_belongs_to_no_flow() {
    let steering = Steering::new(1);
    let flow = FlowKey {
        local: Endpoint { address: Ipv4Addr::new(10, 0, 0, 1).into(), port: 80 },
        remote: Endpoint { address: Ipv4Addr::new(10, 0, 0, 2).into(), port: 4000 },
    };
    assert_eq!(steering.frame(&frame(None, 0x0806, &[0; 28])), Steered::Broadcast);
    assert_eq!(steering.frame(&frame(None, 0x86dd, &[0; 40])), Steered::Any);
    assert_eq!(steering.frame(&[0; 13]), Steered::Any);
    let whole = sent_by(&flow.reversed(), protocol::TCP);
    for (more, offset) in [(0x20, 0), (0, 1), (0x20, 9)] {
        let mut fragment = whole.clone();
        (fragment[6], fragment[7]) = (more, offset);
        assert_eq!(steering.datagram(&fragment), Steered::Any, "fragments have no ports");
    }
    for short in 0..24 {
        assert_eq!(steering.datagram(&whole[..short]), Steered::Any);
    }
    let echo = icmp_error(&whole, Message::EchoRequest(1, 1), flow.local.address);
    assert_eq!(steering.datagram(&echo), Steered::Any);
}

/// Connections from one host to one port differ in 16 bits only; they have to
/// reach every unit, whatever the key.
#[test]
fn ports_alone_spread_over_many_units() {
    let end = |last, port| Endpoint { address: Ipv4Addr::new(10, 99, 0, last).into(), port };
    for seed in 0..16 {
        let steering = Steering::new(seed);
        let mut counts = [0u32; 128];
        for port in 32768..=60999 {
            let flow = FlowKey { local: end(1, port), remote: end(2, 80) };
            counts[steering.flow(&flow) as usize % counts.len()] += 1;
        }
        // 220 on average.
        assert!(counts.iter().all(|n| (110..440).contains(n)), "seed {seed}: {counts:?}");
    }
}

proptest! {
    /// Who gets what is sent, of both families, is who is asked for by the answers.
    #[test]
    fn answers_are_steered_as_the_frames_that_they_are(flow in flow(), tcp: bool, seed: u64) {
        let protocol = if tcp { protocol::TCP } else { protocol::UDP };
        let steering = Steering::new(seed);
        let answer = Steered::Flow(steering.flow(&flow));
        prop_assert_eq!(steering.answers(&sent_by(&flow, protocol)), Some(steering.flow(&flow)));
        prop_assert_eq!(steering.datagram(&sent_by(&flow.reversed(), protocol)), answer);
    }
}
