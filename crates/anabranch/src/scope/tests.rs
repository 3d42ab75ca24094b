use super::*;
use crate::{Stack, TcpListener, TcpStream, UdpSocket};
use ::device::memory;
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;
use wire::EthernetAddress;

/// A stack on two links, and one on each of these, all with link-local addresses of their
/// own only.
fn three() -> [Stack; 3] {
    let (left, one) = memory::pair(memory::Config::default());
    let mut config = memory::Config::default();
    config.ethernet = [0x11, 0x12].map(|last| EthernetAddress([2, 0, 0, 0, 0, last]));
    let (right, other) = memory::pair(config);
    let start = |builder: crate::Builder| builder.start().expect("a stack");
    [
        start(
            Stack::builder().device(left).address("fe80::1/64").device(right).address("fe80::2/64"),
        ),
        start(Stack::builder().device(one).address("fe80::9/64")),
        start(Stack::builder().device(other).address("fe80::9/64")),
    ]
}

fn text(address: io::Result<SocketAddr>) -> String {
    address.expect("an end").to_string()
}

/// The peers have the same address: the scope says which is meant.
#[test]
fn two_hosts_of_a_link_talk_by_its_scope() {
    let [both, one, other] = three();
    for (peer, scope, ours) in [(&one, 1, "fe80::1"), (&other, 2, "fe80::2")] {
        let listener = TcpListener::bind(peer, "[fe80::9%1]:80").expect("bind");
        let to = format!("[fe80::9%{scope}]:80");
        let mut there = TcpStream::connect(&both, &*to).expect("connect");
        let (mut here, from) = listener.accept().expect("accept");
        assert_eq!((from.ip().to_string(), text(there.peer_addr())), (ours.into(), to));
        assert_eq!(
            from,
            there
                .local_addr()
                .map(|a| SocketAddrV6::new(
                    match a.ip() {
                        IpAddr::V6(ip) => ip,
                        IpAddr::V4(_) => panic!("{a}"),
                    },
                    a.port(),
                    0,
                    1,
                )
                .into())
                .expect("an end")
        );
        there.write_all(b"there").expect("write");
        let mut bytes = [0; 5];
        here.read_exact(&mut bytes).expect("read");
        assert_eq!(&bytes, b"there");
        // Back, without a word of the scope: there is one link.
        let back = TcpListener::bind(&both, "[::]:81").expect("bind");
        let connected = TcpStream::connect(peer, format!("[{ours}]:81")).expect("connect");
        assert!(
            text(back.accept().expect("accept").0.peer_addr()).ends_with(&format!(
                "%{scope}]:{}",
                connected.local_addr().expect("an end").port()
            ))
        );
    }
}

#[test]
fn datagrams_go_by_the_scope_and_say_it() {
    let [both, one, other] = three();
    let timeout = Some(std::time::Duration::from_secs(60));
    for (peer, scope) in [(&one, 1u32), (&other, 2)] {
        let socket = UdpSocket::bind(&both, "[::]:0").expect("bind");
        socket.set_read_timeout(timeout).expect("a time");
        let echo = UdpSocket::bind(peer, "[fe80::9]:7").expect("bind");
        echo.set_read_timeout(timeout).expect("a time");
        let to = format!("[fe80::9%{scope}]:7");
        socket.send_to(&[scope as u8], &*to).expect("send");
        let mut bytes = [0; 8];
        let (len, from) = echo.recv_from(&mut bytes).expect("it comes");
        assert_eq!(bytes[..len], [scope as u8]);
        echo.send_to(b"back", from).expect("send");
        let (len, from) = socket.recv_from(&mut bytes).expect("it comes");
        assert_eq!((&bytes[..len], from.to_string()), (&b"back"[..], to.clone()));
        socket.connect(from).expect("connect");
        assert_eq!(text(socket.peer_addr()), to);
        socket.send(b"again").expect("send");
        assert_eq!(echo.recv(&mut bytes).expect("it comes"), 5);
    }
}

/// A socket that does not wait for ever.
fn bind(stack: &Stack, at: &str) -> UdpSocket {
    let socket = UdpSocket::bind(stack, at).expect("bind");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a time");
    socket
}

/// Connected to one host, another with the same address on the other link is not heard: neither
/// what it says, before and after, nor its errors.
#[test]
fn who_has_the_peers_address_on_another_link_is_not_heard() {
    let [both, one, other] = three();
    let (socket, witness) = (bind(&both, "[::]:50"), bind(&both, "[::]:51"));
    let (peer, stranger) = (bind(&one, "[fe80::9]:7"), bind(&other, "[fe80::9]:7"));
    let mut bytes = [0; 8];
    // What comes to the witness came behind what is for the socket.
    let mut intrude = || {
        stranger.send_to(b"stranger", "[fe80::2]:50").expect("send");
        stranger.send_to(b"x", "[fe80::2]:51").expect("send");
        assert_eq!(witness.recv(&mut bytes).expect("it comes"), 1);
    };
    intrude();
    socket.connect("[fe80::9%1]:7").expect("connect");
    intrude();
    drop(stranger);
    socket.send_to(b"x", "[fe80::9%2]:7").expect("send");
    witness.connect("[fe80::9%2]:7").expect("connect");
    witness.send(b"x").expect("send");
    let error = witness.recv(&mut bytes).expect_err("nobody is there");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    peer.send_to(b"peer", "[fe80::1]:50").expect("send");
    assert_eq!((socket.recv(&mut bytes).expect("it comes"), &bytes[..4]), (4, &b"peer"[..]));
}

/// A link that gets its address later is another link all the same: the socket neither hears what
/// comes by it, nor forgets which one its own is.
#[test]
fn a_connected_socket_keeps_to_its_link_whatever_comes_later() {
    let (left, one) = memory::pair(memory::Config::default());
    let mut config = memory::Config::default();
    config.ethernet = [0x11, 0x12].map(|last| EthernetAddress([2, 0, 0, 0, 0, last]));
    let (right, other) = memory::pair(config);
    let both = Stack::builder().device(left).address("fe80::1/64").device(right);
    let both = both.start().expect("a stack");
    let start = |device| Stack::builder().device(device).address("fe80::9/64").start();
    let (one, other) = (start(one).expect("a stack"), start(other).expect("a stack"));
    let (socket, witness) = (bind(&both, "[::]:50"), bind(&both, "[::]:51"));
    let (peer, stranger) = (bind(&one, "[fe80::9]:7"), bind(&other, "[fe80::9]:7"));
    // There is one link, so nothing has to be said of it.
    socket.connect("[fe80::9]:7").expect("connect");
    both.host().add_address(1, "fe80::2/64".parse().expect("an address")).expect("added");
    let mut bytes = [0; 8];
    stranger.send_to(b"stranger", "[fe80::2]:50").expect("send");
    stranger.send_to(b"x", "[fe80::2]:51").expect("send");
    assert_eq!(witness.recv(&mut bytes).expect("it comes"), 1);
    assert_eq!(text(socket.peer_addr()), "[fe80::9%1]:7");
    socket.send(b"ask").expect("send");
    let (len, from) = peer.recv_from(&mut bytes).expect("it comes");
    assert_eq!((len, from.ip().to_string()), (3, "fe80::1".into()));
    peer.send_to(b"peer", from).expect("send");
    assert_eq!((socket.recv(&mut bytes).expect("it comes"), &bytes[..4]), (4, &b"peer"[..]));
}

/// An address of a network that the host owns is on the link of the interface that owns it.
#[test]
fn owned_addresses_are_on_the_link_of_their_owner() {
    let (left, _one) = memory::pair(memory::Config::default());
    // Without Ethernet: nobody asks who has an owned address.
    let bare = || memory::pair(memory::Config::default().with_medium(::device::Medium::Ip));
    let (right, other) = bare();
    let both = Stack::builder().device(left).address("fe80::1/64");
    let both = both.device(right).address("fe80::2/64").owns("fe80::/64").owns("2001:db8::/32");
    let both = both.start().expect("a stack");
    let bound = |at: &str| UdpSocket::bind(&both, at).map(|_| ()).map_err(|e| e.kind());
    assert_eq!(bound("[fe80::5%2]:53"), Ok(()));
    assert_eq!(bound("[fe80::5%1]:53"), Err(ErrorKind::AddrNotAvailable));
    assert_eq!(bound("[fe80::1%2]:53"), Err(ErrorKind::AddrNotAvailable));
    let peer = |device| {
        let builder = Stack::builder().device(device).address("fe80::9/64");
        builder.address("2001:db8::9/64").start().expect("a stack")
    };
    let other = peer(other);
    let listener = TcpListener::bind(&other, "[fe80::9]:80").expect("bind");
    // No scope is needed: the address says which link it is.
    for from in ["2001:db8::5", "fe80::5"] {
        let local = SocketAddr::new(from.parse().expect("an address"), 0);
        let there = TcpStream::connect_from(&both, local, "[fe80::9]:80").expect("connect");
        let (_here, peer) = listener.accept().expect("accept");
        assert_eq!((peer.ip().to_string().as_str(), text(there.peer_addr())), (from, to(2)));
    }
    fn to(scope: u32) -> String {
        format!("[fe80::9%{scope}]:80")
    }
    // The first link is another one.
    let local = "[2001:db8::5]:0".parse().expect("an end");
    let error = TcpStream::connect_from(&both, local, "[fe80::9%1]:80").expect_err("two links");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    // A device without any address, which owns all, is a link, too.
    let (device, far) = bare();
    let all = Stack::builder().device(device).owns("::/0").start().expect("a stack");
    let far = peer(far);
    let listener = TcpListener::bind(&far, "[fe80::9]:80").expect("bind");
    let there = TcpStream::connect_from(&all, local, "[fe80::9%1]:80").expect("connect");
    assert_eq!(text(there.peer_addr()), to(1));
    assert_eq!(listener.accept().expect("accept").1.ip().to_string(), "2001:db8::5");
}

/// What comes to a group does not show its link by our address: it is told, so that it can be
/// answered, and who is connected to one link hears nothing of another.
#[test]
fn who_speaks_to_a_group_is_told_with_the_link() {
    let [both, one, other] = three();
    let group = "ff02::99".parse().expect("a group");
    let sockets = ["[::]:50", "[::]:51"].map(|at| bind(&both, at));
    for (socket, link) in sockets.iter().flat_map(|socket| [(socket, 1), (socket, 2)]) {
        socket.join_multicast_v6(&group, link).expect("join");
    }
    let [socket, connected] = sockets;
    connected.connect("[fe80::9%1]:7").expect("connect");
    let mut bytes = [0; 8];
    for (peer, link) in [(&other, 2), (&one, 1)] {
        let there = bind(peer, "[fe80::9]:7");
        for port in [51, 50] {
            there.send_to(&[link], (group, port)).expect("send");
        }
        let (len, from) = socket.recv_from(&mut bytes).expect("it comes");
        assert_eq!((&bytes[..len], from.to_string()), (&[link][..], format!("[fe80::9%{link}]:7")));
        socket.send_to(b"back", from).expect("send");
        assert_eq!(there.recv(&mut bytes).expect("it comes"), 4);
    }
    // The first that it hears is of its own link.
    assert_eq!((connected.recv(&mut bytes).expect("it comes"), bytes[0]), (1, 1));
}

/// What a socket wants of a group is by link: that another socket of the host is a member on the other
/// one, or that the same sender is heard there, changes nothing.
#[test]
fn who_is_in_a_group_on_one_link_hears_it_there_only() {
    // RFC 3810 4.1/1
    let [both, one, other] = three();
    let group: Ipv6Addr = "ff02::99".parse().expect("a group");
    let (first, second, all) =
        (bind(&both, "[::]:50"), bind(&both, "[::]:51"), bind(&both, "[::]:52"));
    first.join_multicast_v6(&group, 1).expect("join");
    second.join_multicast_v6(&group, 2).expect("join");
    for link in [1, 2] {
        all.join_multicast_v6(&group, link).expect("join");
    }
    let theirs: Ipv6Addr = "fe80::9".parse().expect("an address");
    all.leave_source_v6(&group, &theirs, 2).expect("block");
    let [by_first, by_second] = [&one, &other].map(|peer| bind(peer, "[fe80::9]:7"));
    let mut bytes = [0; 8];
    for port in [50, 52, 51] {
        by_second.send_to(&[2], (group, port)).expect("send");
    }
    // It came behind the others.
    assert_eq!((second.recv(&mut bytes).expect("it comes"), bytes[0]), (1, 2));
    for port in [51, 50, 52] {
        by_first.send_to(&[1], (group, port)).expect("send");
    }
    for socket in [&first, &all] {
        assert_eq!((socket.recv(&mut bytes).expect("it comes"), bytes[0]), (1, 1));
    }
    by_second.send_to(&[3], (group, 51)).expect("send");
    assert_eq!((second.recv(&mut bytes).expect("it comes"), bytes[0]), (1, 3));
}

/// A scope says by which link a datagram to a group goes, before what the socket has chosen; else
/// the link-local address says it that the socket is bound to.
#[test]
fn a_group_is_reached_by_its_scope() {
    let [both, one, other] = three();
    let group = "ff02::99".parse().expect("a group");
    let mut bytes = [0; 8];
    let members = [&one, &other].map(|peer| bind(peer, "[::]:7"));
    members.iter().for_each(|member| member.join_multicast_v6(&group, 1).expect("join"));
    let sender = bind(&both, "[::]:0");
    for (member, number) in members.iter().zip(1..=2u8) {
        // Neither this, nor that members of this host hear what goes by their link, is in the way.
        sender.set_multicast_interface(u32::from(3 - number)).expect("an interface");
        let here = bind(&both, "[::]:7");
        here.join_multicast_v6(&group, number.into()).expect("join");
        sender.send_to(b"not you", format!("[ff02::99%{}]:7", 3 - number)).expect("send");
        sender.send_to(&[number], format!("[ff02::99%{number}]:7")).expect("send");
        assert_eq!((here.recv(&mut bytes).expect("it comes"), bytes[0]), (1, number));
        let (len, from) =
            std::iter::repeat_with(|| member.recv_from(&mut bytes).expect("it comes"))
                .find(|(len, _)| *len == 1)
                .expect("it comes");
        assert_eq!((len, from.ip().to_string()), (1, format!("fe80::{number}")));
        let bound = bind(&both, &format!("[fe80::{number}]:0"));
        bound.send_to(b"bound", (group, 7)).expect("send");
        let (len, from) = member.recv_from(&mut bytes).expect("it comes");
        assert_eq!((len, from.ip().to_string()), (5, format!("fe80::{number}")));
        // Or what this host hears of it reaches the next socket here.
        assert_eq!(here.recv(&mut bytes).expect("it comes"), 5);
    }
    sender.connect("[ff02::99%2]:7").expect("connect");
    assert_eq!(text(sender.peer_addr()), "[ff02::99%2]:7");
    assert_eq!(sender.path_mtu("[ff02::99%2]:7").expect("a link"), 1500);
    sender.send(b"x").expect("send");
    let bound = bind(&both, "[fe80::1]:0");
    for (socket, to) in [(&sender, "3"), (&sender, "255"), (&sender, "70000"), (&bound, "2")] {
        let error = socket.send_to(b"x", format!("[ff02::99%{to}]:7")).expect_err("no such link");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}

/// Both ends are ours, each on its own link.
#[test]
fn our_own_addresses_are_told_with_their_own_link() {
    let [both, ..] = three();
    let listener = TcpListener::bind(&both, "[fe80::2%2]:80").expect("bind");
    let from = "[fe80::1%1]:0".parse().expect("an end");
    let there = TcpStream::connect_from(&both, from, "[fe80::2%2]:80").expect("connect");
    let (here, peer) = listener.accept().expect("accept");
    assert_eq!(text(there.peer_addr()), "[fe80::2%2]:80");
    assert_eq!(text(here.local_addr()), "[fe80::2%2]:80");
    assert!(peer.to_string().starts_with("[fe80::1%1]:"), "{peer}");
    // Who has that address on the other link is not this stack.
    let error = TcpStream::connect(&both, "[fe80::2%1]:80").expect_err("somebody else");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("on interface 2"), "{error}");
}

#[test]
fn what_makes_no_sense_is_told() {
    let [both, ..] = three();
    let connect = |to: &str| TcpStream::connect(&both, to).expect_err(to);
    for (to, kind) in [
        ("[fe80::9]:80", ErrorKind::InvalidInput),
        ("[fe80::9%3]:80", ErrorKind::InvalidInput),
        ("[fe80::9%70000]:80", ErrorKind::InvalidInput),
        ("[fe80::9%nowhere]:80", ErrorKind::InvalidInput),
    ] {
        let error = connect(to);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.to_string().contains('\n'));
    }
    let bound = |at: &str| UdpSocket::bind(&both, at).map(|_| ()).map_err(|e| e.kind());
    assert_eq!(bound("[fe80::1%2]:53"), Err(ErrorKind::AddrNotAvailable));
    assert_eq!(bound("[fe80::1%1]:53"), Ok(()));
    let from = "[fe80::1%1]:0".parse().expect("an end");
    let error = TcpStream::connect_from(&both, from, "[fe80::9%2]:80").expect_err("two links");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let (left, _one) = memory::pair(memory::Config::default());
    let (right, _other) = memory::pair(memory::Config::default());
    let twice = Stack::builder().device(left).address("fe80::1/64");
    let error = twice.device(right).address("fe80::1/64").start().expect_err("two links");
    assert!(error.to_string().contains("fe80::1"), "{error}");
    let from = "[::1]:0".parse().expect("an end");
    let error = TcpStream::connect_from(&both, from, "[fe80::9%2]:80").expect_err("no link");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("loopback"), "{error}");
}

#[test]
fn names_of_devices_are_scopes() {
    let [both, ..] = three();
    let name = both.host().interfaces()[1].name.clone();
    let names: Vec<_> = both.host().interfaces().into_iter().map(|i| i.name).collect();
    let by = |host: &str| scoped(host, 80, &names).map(|a| a.expect("known").to_string());
    assert_eq!(by("fe80::1%2"), Some("[fe80::1%2]:80".into()));
    assert_eq!(by("[fe80::1%1]"), Some("[fe80::1%1]:80".into()));
    assert_eq!(by("example.org"), None);
    assert_eq!(by("100%"), None);
    let first = both.host().interfaces()[0].name.clone();
    let number = if name == first { 1 } else { 2 };
    assert_eq!(by(&format!("fe80::1%{name}")), Some(format!("[fe80::1%{number}]:80")));
}

#[test]
fn the_number_goes_in_and_comes_out() {
    for text in ["[fe80::1%7]:80", "[fe80::1%65535]:80", "[febf::9%2]:1"] {
        let address: SocketAddr = text.parse().expect("an address");
        let (scope, end) = split(endpoint(address));
        let SocketAddr::V6(v6) = address else { panic!("{address}") };
        assert_eq!(scope.map(u32::from), Some(v6.scope_id()));
        assert_eq!(end.address, Address::from(*v6.ip()));
    }
    for text in ["[ff02::1%7]:80", "[ff01::1%254]:80", "[ff32:ff::9%2]:1"] {
        let address: SocketAddr = text.parse().expect("a group");
        let (scope, end) = split(endpoint(address));
        let SocketAddr::V6(v6) = address else { panic!("{address}") };
        assert_eq!(scope.map(u32::from), Some(v6.scope_id()));
        assert_eq!(end, Endpoint { address: (*v6.ip()).into(), port: v6.port() });
    }
    for text in
        ["[fe80::1]:80", "[2001:db8::1%7]:80", "10.0.0.1:80", "[ff05::1%7]:80", "224.0.0.1:7"]
    {
        let address: SocketAddr = text.parse().expect("an address");
        assert_eq!(split(endpoint(address)), (None, Endpoint::from(address)));
    }
    assert_eq!(router("fe80::1%2"), Some(("fe80::1".parse().expect("one"), Some(1))));
    assert_eq!(router("10.0.0.1"), Some(("10.0.0.1".parse().expect("one"), None)));
    for bad in ["fe80::1%0", "fe80::1%", "2001:db8::1%1", "10.0.0.1%1", "%1"] {
        assert_eq!(router(bad), None, "{bad}");
    }
}

/// A server for names with a link-local address, as many routers at home have it, is asked on its
/// link; another host has the same address on the other one.
#[test]
#[cfg(feature = "dns")]
fn a_server_for_names_is_asked_on_its_link() {
    use crate::servers::{Origin, server};
    let [both, _one, other] = three();
    let socket = UdpSocket::bind(&other, "[fe80::9%1]:53").expect("bind");
    std::thread::spawn(move || {
        let mut bytes = [0; 1500];
        while let Ok((len, from)) = socket.recv_from(&mut bytes) {
            // One name of one label and `test`, one question.
            let end = 12 + bytes[12..len].iter().position(|byte| *byte == 0).expect("a root");
            let is_v6 = bytes[end + 2] == 28;
            let head = [0x81, 0x80, 0, 1, 0, is_v6.into(), 0, 0, 0, 0];
            let mut said = [&bytes[..2], &head, &bytes[12..end + 5]].concat();
            if is_v6 {
                said.extend([0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 9, 0, 16, 0xfd]);
                said.extend([0; 14]);
                said.push(7);
            }
            socket.send_to(&said, from).expect("send");
        }
    });
    let router = "fe80::9".parse().expect("an address");
    both.servers().set(Origin::Routers, vec![server(router, 1)]);
    let found = both.resolver().resolve(("there.test", 80)).expect("found");
    let expected: SocketAddr = "[fd00::7]:80".parse().expect("an address");
    assert_eq!(found, [expected.into()]);
}

/// Two interfaces with one station have two link-local addresses, so that it is known which of them
/// something leaves by.
#[test]
fn two_links_of_one_station_are_told_apart() {
    let (left, one) = memory::pair(memory::Config::default());
    let (right, other) = memory::pair(memory::Config::default());
    let ours = EthernetAddress([2, 0, 0, 0, 0, 0x77]);
    let both = Stack::builder().device(left).ethernet(ours).address("fd01::1/64");
    let both = both.device(right).ethernet(ours).address("fd02::1/64").start().expect("a stack");
    let at = |index: usize| {
        let addresses = both.host().interfaces().remove(index).addresses;
        let local = addresses.iter().find(|a| Address::from(a.address()).is_link_local_v6());
        local.expect("a link-local address").address()
    };
    assert_eq!(at(0), IpAddr::V6(wire::ipv6::link_local(ours)));
    assert_ne!(at(0), at(1));
    for (number, device) in [(1, one), (2, other)] {
        let peer = Stack::builder().device(device).address("fe80::9/64").start().expect("a stack");
        let listener = TcpListener::bind(&peer, "[::]:80").expect("bind");
        let _there = TcpStream::connect(&both, format!("[fe80::9%{number}]:80")).expect("connect");
        let (_here, from) = listener.accept().expect("accept");
        assert_eq!(from.ip(), at(number - 1));
    }
    // Also while addresses are still checked.
    let (left, _one) = memory::pair(memory::Config::default());
    let (right, _other) = memory::pair(memory::Config::default());
    let later = Stack::builder().dad(crate::host::Dad::Strict);
    let later = later.device(left).ethernet(ours).device(right).ethernet(ours);
    let later = later.start().expect("a stack");
    let host = later.host();
    for (index, address) in ["fd01::1/64", "fd02::1/64"].into_iter().enumerate() {
        host.add_address(index, address.parse().expect("an address")).expect("added");
    }
    assert!(host.wait_checked(std::time::Duration::from_secs(60)));
    let count = |interface: &crate::host::Interface| interface.addresses.len();
    assert_eq!(host.interfaces().iter().map(count).collect::<Vec<_>>(), [2, 2]);
}
