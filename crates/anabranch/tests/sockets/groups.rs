//! Groups, between two stacks in each organization.

use super::PATIENCE;
use anabranch::device::memory;
use anabranch::{Organization, Stack, UdpSocket};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Barrier;

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 9, 8, 7);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 9, 7);
const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

fn pair(organization: Organization) -> [Stack; 2] {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, v4: &str, v6: &str| {
        let stack = Stack::builder().organization(organization).device(device);
        stack.address(v4).address(v6).start().expect("a stack")
    };
    [start(left, "10.0.0.1/24", "fd00::1/64"), start(right, "10.0.0.2/24", "fd00::2/64")]
}

fn socket(stack: &Stack, local: &str) -> UdpSocket {
    let socket = UdpSocket::bind(stack, local).expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    socket
}

/// What comes next.
fn next(socket: &UdpSocket) -> (String, String) {
    let mut bytes = [0; 64];
    let (len, from) = socket.recv_from(&mut bytes).expect("it comes");
    (String::from_utf8_lossy(&bytes[..len]).into(), from.ip().to_string())
}

fn say(socket: &UdpSocket, to: &str, text: &str) {
    socket.send_to(text.as_bytes(), to).expect("send");
}

fn heard(text: &str, from: &str) -> (String, String) {
    (text.into(), from.into())
}

#[test]
fn members_hear_what_is_sent_to_a_group_and_nobody_else_does() {
    for organization in Organization::all() {
        let [server, client] = pair(organization);
        let (here, there) = (socket(&server, "0.0.0.0:5000"), socket(&client, "0.0.0.0:5000"));
        // The host is no member of this group.
        say(&there, "239.9.8.6:5000", "not for us");
        say(&there, "10.0.0.1:5000", "alone");
        assert_eq!(next(&here), heard("alone", "10.0.0.2"), "{organization}");

        here.join_multicast_v4(&GROUP, &ANY).expect("join");
        say(&there, "239.9.8.7:5000", "all");
        assert_eq!(next(&here), heard("all", "10.0.0.2"), "{organization}");
        // Another socket of the host is no member, though it has the port of its own.
        let other = socket(&server, "0.0.0.0:5001");
        say(&there, "239.9.8.7:5001", "not a member");
        say(&there, "10.0.0.1:5001", "alone");
        assert_eq!(next(&other), heard("alone", "10.0.0.2"), "{organization}");
        // Another unit's thread may still have to say so.
        let refused = || server.counters().dropped(anabranch::DropReason::UdpNotMember);
        let start = std::time::Instant::now();
        while refused() == 0 {
            assert!(start.elapsed() < super::PATIENCE, "{organization}");
            std::thread::yield_now();
        }
        assert_eq!(refused(), 1, "{organization}");

        here.leave_source_v4(&GROUP, &Ipv4Addr::new(10, 0, 0, 2), &ANY).expect("block");
        say(&there, "239.9.8.7:5000", "blocked");
        say(&there, "10.0.0.1:5000", "alone");
        assert_eq!(next(&here), heard("alone", "10.0.0.2"), "{organization}");
    }
}

#[test]
fn it_is_so_of_ipv6_and_of_this_host() {
    for organization in Organization::all() {
        let [server, client] = pair(organization);
        let (here, there) = (socket(&server, "[::]:5000"), socket(&client, "[::]:5000"));
        here.join_multicast_v6(&GROUP_V6, 0).expect("join");
        say(&there, "[ff05::9:7]:5000", "all");
        assert_eq!(next(&here), heard("all", "fd00::2"), "{organization}");

        // What a member sends comes back to it, unless it wants that not.
        there.join_multicast_v4(&GROUP, &Ipv4Addr::new(10, 0, 0, 2)).expect("join");
        say(&there, "239.9.8.7:5000", "to ourselves");
        assert_eq!(next(&there), heard("to ourselves", "10.0.0.2"), "{organization}");
        there.set_multicast_loop_v4(false).expect("set");
        say(&there, "239.9.8.7:5000", "not to ourselves");
        say(&there, "10.0.0.2:5000", "alone");
        assert_eq!(next(&there), heard("alone", "10.0.0.2"), "{organization}");
    }
}

#[test]
fn what_makes_no_sense_is_told() {
    let [server, _] = pair(Organization::default());
    let socket = socket(&server, "0.0.0.0:5000");
    let kind = |result: std::io::Result<()>| result.expect_err("no such thing").kind();
    let (us, stranger) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 99));
    assert_eq!(kind(socket.join_multicast_v4(&us, &ANY)), ErrorKind::InvalidInput);
    assert_eq!(kind(socket.join_multicast_v4(&GROUP, &stranger)), ErrorKind::AddrNotAvailable);
    assert_eq!(kind(socket.leave_multicast_v4(&GROUP, &ANY)), ErrorKind::AddrNotAvailable);
    assert_eq!(kind(socket.join_source_v4(&GROUP, &GROUP, &ANY)), ErrorKind::InvalidInput);
    assert_eq!(kind(socket.leave_source_v4(&GROUP, &us, &ANY)), ErrorKind::AddrNotAvailable);
    assert_eq!(kind(socket.join_multicast_v6(&GROUP_V6, 9)), ErrorKind::InvalidInput);
    assert_eq!(kind(socket.set_multicast_ttl_v4(256)), ErrorKind::InvalidInput);
    socket.join_multicast_v4(&GROUP, &us).expect("join");
    assert_eq!(kind(socket.join_multicast_v4(&GROUP, &ANY)), ErrorKind::AddrInUse);
    for n in 0..1023_u32 {
        let group = Ipv4Addr::from_bits(0xe801_0000 + n);
        socket.join_multicast_v4(&group, &ANY).expect("room");
    }
    let one_more = Ipv4Addr::new(239, 1, 1, 1);
    assert_eq!(kind(socket.join_multicast_v4(&one_more, &ANY)), ErrorKind::QuotaExceeded);
}

/// Before, one of two threads that changed what a socket hears of a group could undo what the other did.
#[test]
fn sources_that_two_threads_add_at_once_are_both_heard() {
    let [server, _] = pair(Organization::default());
    let socket = socket(&server, "0.0.0.0:5000");
    let sources = [7, 8].map(|last| Ipv4Addr::new(192, 0, 2, last));
    for round in 0..2000 {
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for source in &sources {
                let (socket, both) = (&socket, &both);
                scope.spawn(move || {
                    both.wait();
                    socket.join_source_v4(&GROUP, source, &ANY).expect("join");
                });
            }
        });
        for source in &sources {
            let left = socket.leave_source_v4(&GROUP, source, &ANY);
            left.unwrap_or_else(|error| panic!("round {round}: {source} was not heard: {error}"));
        }
    }
}
