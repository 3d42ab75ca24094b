//! Servers for names by DHCPv6, and a server by hand on another stack.

use super::PATIENCE;
use anabranch::device::memory;
use anabranch::dhcp::Dhcp6;
use anabranch::host::Event;
use anabranch::{Organization, Stack, UdpSocket};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
const NAMES: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x53);

/// The value of an option of a message.
fn option(message: &[u8], wanted: u16) -> &[u8] {
    let mut at = 4;
    loop {
        let word = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
        let end = at + 4 + usize::from(word(at + 2));
        if word(at) == wanted {
            return &message[at + 4..end];
        }
        at = end;
    }
}

#[test]
fn servers_for_names_are_told_and_forgotten() {
    for organization in Organization::all() {
        let (left, right) = memory::pair(memory::Config::default());
        let start = |device, address: &str| {
            let stack = Stack::builder().organization(organization).device(device);
            stack.address(address).start().expect("a stack")
        };
        let (server, client) = (start(left, "fd00::1/64"), start(right, "fd00::2/64"));
        let socket = UdpSocket::bind(&server, "[::]:547").expect("bind");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        socket.join_multicast_v6(&SERVERS, 1).expect("join");

        let events = client.host().watch();
        let dhcp = Dhcp6::start(&client, 0).expect("a client");
        let mut bytes = [0; 1500];
        let (len, from) = socket.recv_from(&mut bytes).expect("it asks");
        let asked = &bytes[..len];
        assert_eq!((asked[0], from.port()), (11, 546), "{organization}");
        let IpAddr::V6(source) = from.ip() else { panic!("{from}") };
        assert_eq!(source.segments()[0], 0xfe80, "{organization}: {source}");
        let client_id = option(asked, 1);
        let mut reply = [&[7], &asked[1..4], &[0, 1, 0, client_id.len() as u8], client_id].concat();
        reply.extend([0, 2, 0, 4, 0, 3, 0, 1, 0, 23, 0, 16]);
        reply.extend(NAMES.octets());
        socket.send_to(&reply, from).expect("send");
        // The client waits for up to a second before it asks (RFC 8415 18.2.6), which is as long as
        // an address takes to be verified.
        let of_names = |patience| loop {
            match events.next(patience) {
                Some(Event::Verified(..)) => {}
                event => return event,
            }
        };
        let news = Some(Event::DnsServers);
        assert_eq!(of_names(PATIENCE), news, "{organization}");
        assert_eq!(dhcp.wait(Duration::ZERO), Some(vec![NAMES]), "{organization}");
        assert_eq!(client.host().dns_servers(), [SocketAddr::from((NAMES, 53))], "{organization}");
        drop(dhcp);
        assert_eq!(of_names(Duration::ZERO), news, "{organization}");
        assert!(client.host().dns_servers().is_empty(), "{organization}");
    }
}

#[test]
fn without_a_link_local_address_nobody_is_asked() {
    let (left, _right) = memory::pair(memory::Config::default());
    let stack = Stack::builder().device(left).address("10.0.0.1/24").start().expect("a stack");
    let error = Dhcp6::start(&stack, 0).expect_err("no address");
    assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
    assert!(error.to_string().contains("give it one of IPv6"), "{error}");
    let error = Dhcp6::start(&stack, 1).expect_err("no interface");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
