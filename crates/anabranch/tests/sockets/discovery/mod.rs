//! Addresses that are checked and that come by themselves, in each organization. Routers and
//! other stations are played by hand, at the other end of the link.

mod link;

use super::{PATIENCE, block_on};
use anabranch::device::memory;
use anabranch::host::{Dad, Event, Events};
use anabranch::{Cidr, Organization, Stack, TcpListener, TcpStream, UdpSocket};
use link::{Other, prefix, servers};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

const HOUR: u32 = 3600;
const ROUTER: &str = "fe80::99";

fn address(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

/// A stack under an organization, and the other end of its link.
fn stack(
    organization: Organization,
    tune: impl FnOnce(anabranch::Builder) -> anabranch::Builder,
) -> (Stack, Other) {
    let (left, right) = memory::pair(memory::Config::default());
    let builder = Stack::builder().device(left).organization(organization);
    (tune(builder).start().expect("a stack"), Other::new(right))
}

/// The largest segment that a connection to a host beyond fd00::9 announces. Ends the stack.
fn mss(stack: &Stack, other: &mut Other) -> u16 {
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| TcpStream::connect(stack, "[fd01::5]:80"));
        let mss = other.hears_mss(address("fd00::9"));
        stack.stop();
        connecting.join().expect("no panic").expect_err("nobody answers");
        mss
    })
}

/// The next event that is `wanted`.
fn next<T>(events: &Events, wanted: impl Fn(&Event) -> Option<T>) -> T {
    loop {
        let event = events.next(PATIENCE).expect("an event");
        if let Some(found) = wanted(&event) {
            return found;
        }
    }
}

fn is(wanted: Event) -> impl Fn(&Event) -> Option<()> {
    move |event| (*event == wanted).then_some(())
}

/// A stack without any address finds a router, and is a host of its network.
#[test]
fn a_stack_configures_itself_by_what_a_router_says() {
    // RFC 4862 5.3/1, 5.5.3/2
    for organization in Organization::all() {
        let (stack, mut other) = stack(organization, |b| b.slaac().stable_secret("a secret"));
        let (host, events) = (stack.host(), stack.host().watch());
        assert_eq!(other.asked_routers(), "ff02::2", "{organization}");
        let dns = address("2001:db8::53");
        let network = address("2001:db8:7::");
        let mtu = vec![5, 1, 0, 0, 0, 0, 5, 0x14];
        let options = [prefix(network, HOUR, HOUR), mtu, servers(60, dns)];
        other.advertise(ROUTER, 1800, &options);
        next(&events, is(Event::DnsServers));
        let route = host.routes()[0];
        assert_eq!(route.to_string(), format!("default via {ROUTER}%1 metric 1024"));
        assert_eq!(host.dns_servers(), [SocketAddr::from((dns, 53))], "{organization}");
        let addresses = host.interfaces().remove(0).addresses;
        let ours = addresses.iter().map(|cidr| cidr.address());
        let ours: Vec<_> = ours.filter(|a| a.to_string().starts_with("2001:db8:7:")).collect();
        assert_eq!((addresses.len(), ours.len()), (2, 1), "{addresses:?}");

        // It is answered, and answers; what goes beyond the link goes by the router.
        let IpAddr::V6(us) = ours[0] else { panic!("{ours:?}") };
        assert!(other.pings(address("2001:db8:7::9"), us), "{organization}");
        let socket = UdpSocket::bind(&stack, "[::]:5000").expect("bind");
        socket.send_to(b"far", "[2606:4700::1]:53").expect("send");
        assert_eq!(other.asked_neighbour(), address(ROUTER), "{organization}");
        // All are ours after a second in which nobody said otherwise.
        assert!(host.wait_checked(PATIENCE), "{organization}");
        // It is no router any more.
        other.advertise(ROUTER, 0, &[]);
        next(&events, is(Event::RouteRemoved(route)));
        assert!(host.routes().is_empty());
        assert_eq!(host.interfaces()[0].addresses.len(), 2, "{organization}: addresses stay");
    }
}

/// What a router says while the stack starts, before anybody could ask to watch it.
#[test]
fn who_watches_from_the_start_hears_what_comes_at_once() {
    for organization in Organization::all() {
        let (left, right) = memory::pair(memory::Config::default());
        let mut other = Other::new(right);
        other.advertise(ROUTER, 1800, &[prefix(address("2001:db8:7::"), HOUR, HOUR)]);
        let builder = Stack::builder().device(left).organization(organization).slaac();
        let (builder, events) = builder.watched();
        let stack = builder.start().expect("a stack");
        let (host, start) = (stack.host(), Instant::now());
        while host.routes().is_empty() {
            assert!(start.elapsed() < PATIENCE, "{organization}: no router is heard");
            std::thread::sleep(Duration::from_millis(1));
        }
        let late = host.watch();
        next(&events, is(Event::RouteAdded(host.routes()[0])));
        // A task hears of it, too, and of the end.
        block_on(async {
            other.advertise(ROUTER, 0, &[]);
            while !matches!(events.changed().await, Some(Event::RouteRemoved(_))) {}
            drop((host, stack));
            while events.changed().await.is_some() {}
        });
        while let Some(event) = late.next(PATIENCE) {
            assert!(!matches!(event, Event::RouteAdded(_)), "{organization}: it had come before");
        }
    }
}

/// The same secret and network give the same address.
#[test]
fn addresses_are_stable_and_temporary_ones_are_not() {
    // RFC 6724 5/7
    let network = address("2001:db8:7::");
    let form = |secret: &str, temporary: bool| {
        let (stack, mut other) = stack(Organization::default(), |b| match temporary {
            true => b.temporary_addresses().stable_secret(secret),
            false => b.slaac().stable_secret(secret),
        });
        let events = stack.host().watch();
        other.asked_routers();
        other.advertise(ROUTER, 0, &[prefix(network, HOUR, HOUR)]);
        let added = |event: &Event| match event {
            Event::AddressAdded(0, cidr) if cidr.prefix() == 128 => Some(cidr.address()),
            _ => None,
        };
        let first = next(&events, added);
        (first, temporary.then(|| next(&events, added)), stack, other)
    };
    let (one, none, ..) = form("a secret", false);
    let (again, first, stack, mut other) = form("a secret", true);
    let (strange, second, ..) = form("another", true);
    assert_eq!((one, none), (again, None));
    assert_ne!(one, strange);
    assert_ne!(first, second);
    // What goes out goes from the temporary one (RFC 6724 5, rule 7).
    let socket = UdpSocket::bind(&stack, "[::]:0").expect("bind");
    socket.send_to(b"who am I?", "[2001:db8:7::9]:9").expect("send");
    let source = other.answers_and_hears(address("2001:db8:7::9"));
    assert_eq!(Some(IpAddr::V6(source)), first);
}

/// Another station says that it has an address of ours while that is checked.
#[test]
fn an_address_of_another_station_is_told_and_not_kept() {
    // RFC 4862 5.4.5/1
    for organization in Organization::all() {
        for dad in [Dad::Optimistic, Dad::Strict] {
            let (stack, mut other) = stack(organization, |b| b.dad(dad).address("fd00::1/64"));
            let (host, events) = (stack.host(), stack.host().watch());
            let ours = address("fd00::1");
            let is_there = || {
                let addresses = host.interfaces().remove(0).addresses;
                addresses.iter().any(|cidr| cidr.address() == IpAddr::V6(ours))
            };
            assert_eq!(is_there(), dad == Dad::Optimistic, "{organization}");
            other.probed(ours);
            other.claim(ours);
            next(&events, is(Event::Duplicate(0, ours)));
            assert!(!is_there() || dad == Dad::Optimistic);
            if dad == Dad::Optimistic {
                next(&events, |event| matches!(event, Event::AddressRemoved(0, _)).then_some(()));
            }
            let error = TcpListener::bind(&stack, "[fd00::1]:80").expect_err("not ours");
            assert_eq!(error.kind(), std::io::ErrorKind::AddrNotAvailable, "{organization}");
            // One by hand, while it runs, is asked for at once.
            host.add_address(0, "fd00::2/64".parse().expect("one")).expect("added");
            other.probed(address("fd00::2"));
        }
    }
}

/// Two stacks of ours with the same address: who comes later goes without.
#[test]
fn who_comes_later_goes_without() {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device| Stack::builder().device(device).address("fd00::1/64").start();
    let first = start(left).expect("a stack");
    assert!(first.host().wait_checked(PATIENCE));
    let second = start(right).expect("a stack");
    let events = second.host().watch();
    if second.host().tentative().len() == 2 {
        next(&events, |event| matches!(event, Event::Duplicate(..)).then_some(()));
    }
    assert!(second.host().wait_checked(PATIENCE));
    let count = |stack: &Stack| stack.host().interfaces()[0].addresses.len();
    assert_eq!((count(&first), count(&second)), (2, 1));
}

#[test]
fn strict_addresses_are_there_when_they_were_checked() {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address: &str| {
        Stack::builder().device(device).dad(Dad::Strict).address(address).start().expect("a stack")
    };
    let (server, client) = (start(left, "fd00::1/64"), start(right, "fd00::2/64"));
    TcpListener::bind(&server, "[fd00::1]:80").expect_err("it is still checked");
    let error = server.host().add_address(0, "fd00::1/64".parse().expect("one"));
    assert_eq!(error.expect_err("it is").kind(), std::io::ErrorKind::AlreadyExists);
    assert!(server.host().wait_checked(PATIENCE) && client.host().wait_checked(PATIENCE));
    let listener = TcpListener::bind(&server, "[fd00::1]:80").expect("bind");
    TcpStream::connect(&client, "[fd00::1]:80").expect("connect");
    listener.accept().expect("accept");
    // What is not checked yet can be taken back.
    let new = "fd00::7/64".parse().expect("one");
    server.host().add_address(0, new).expect("added");
    assert_eq!(server.host().tentative(), [new.address()]);
    server.host().remove_address(new.address()).expect("it was ours to be");
    assert!(server.host().tentative().is_empty());
}

/// A router says that a datagram was too large: the next ones to this host are smaller.
#[test]
fn a_smaller_path_is_told_to_sockets_and_to_new_connections() {
    // RFC 8201 4/2, 5.2/1, 5.5/1
    for organization in Organization::all() {
        let (stack, mut other) = stack(organization, |b| {
            b.dad(Dad::Off).address("fd00::1/64").route("default via fd00::9")
        });
        let far = "[fd01::5]:9";
        let socket = UdpSocket::bind(&stack, "[fd00::1]:5000").expect("bind");
        socket.set_dont_fragment(true);
        socket.connect(far).expect("connect");
        assert_eq!(socket.path_mtu(far).expect("a route"), 1500);
        socket.send(&[7; 1452]).expect("as large as the link");
        let error = socket.send(&[7; 1453]).expect_err("larger");
        assert_eq!(error.raw_os_error(), Some(90), "{error}: EMSGSIZE");
        let datagram = other.hears_udp(address("fd00::9"));
        other.too_big(address("fd00::9"), &datagram, 1400);
        socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        let error = socket.recv(&mut [0]).expect_err("told");
        assert_eq!(error.raw_os_error(), Some(90), "{organization}: {error}");
        assert_eq!(socket.path_mtu(far).expect("a route"), 1400, "{organization}");
        assert_eq!(socket.path_mtu("[fd01::6]:9").expect("a route"), 1500);
        let known = stack.host().paths();
        assert_eq!((known.len(), known[0].mtu, known[0].neighbour), (1, Some(1400), None));
        assert_eq!(known[0].destination, IpAddr::V6(address("fd01::5")));
        socket.send(&[7; 1352]).expect("it fits");
        socket.send(&[7; 1353]).expect_err("it does not");
        // Who does not mind sends fragments.
        socket.set_dont_fragment(false);
        socket.send(&[7; 1452]).expect("in two pieces");
        assert_eq!(other.hears_udp(address("fd00::9")).len(), 1400);
        // A new connection takes it into account.
        assert_eq!(mss(&stack, &mut other), 1400 - 60, "{organization}");
    }
}

/// A route may say how large datagrams are.
#[test]
fn a_route_has_an_mtu() {
    let (stack, mut other) = stack(Organization::default(), |b| {
        b.dad(Dad::Off).address("fd00::1/64").route("default via fd00::9 mtu 1300")
    });
    let socket = UdpSocket::bind(&stack, "[fd00::1]:5000").expect("bind");
    assert_eq!(socket.path_mtu("[fd01::5]:9").expect("a route"), 1300);
    assert_eq!(socket.path_mtu("[fd00::7]:9").expect("a neighbour"), 1500);
    let error = stack.host().forget_path(address("fd01::5").into()).expect_err("nothing is known");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert_eq!(mss(&stack, &mut other), 1300 - 60);
}

/// A router's network is over, an address in it that was given by hand is not; what the router
/// says of DHCPv6 is told.
#[test]
fn what_was_given_by_hand_stays_when_a_network_goes() {
    let (stack, mut other) =
        stack(Organization::default(), |b| b.dad(Dad::Off).slaac().stable_secret("a secret"));
    let (host, events) = (stack.host(), stack.host().watch());
    other.asked_routers();
    let network = address("2001:db8:7::");
    other.advertise_with(0xc0, ROUTER, 0, &[prefix(network, 2, 1)]);
    next(&events, |event| matches!(event, Event::Dhcp6(0, _)).then_some(()));
    let formed = next(&events, |event| match event {
        Event::AddressAdded(0, cidr) if cidr.prefix() == 128 => Some(*cidr),
        _ => None,
    });
    let flags = host.dhcp6_flags(0);
    assert_eq!((flags.managed, flags.other), (true, true));
    let ours = Cidr::new(formed.address(), 64).expect("an address");
    host.add_address(0, ours).expect("it is kept");
    next(&events, is(Event::AddressRemoved(0, formed)));
    next(&events, is(Event::AddressAdded(0, ours)));
    let error = host.add_address(0, ours).expect_err("it is there");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    // The network is no longer on the link after two seconds; then the address would be gone.
    next(&events, |event| matches!(event, Event::OnLink(0, _, false)).then_some(()));
    assert!(host.interfaces()[0].addresses.contains(&ours));
    assert!(host.deprecated().is_empty());
}

/// An address that there was no room for is counted, and formed once there is room.
#[test]
fn what_had_no_room_is_formed_when_there_is_some() {
    for dad in [Dad::Off, Dad::Optimistic, Dad::Strict] {
        let tune = |b: anabranch::Builder| b.dad(dad).slaac().stable_secret("a secret");
        let (stack, mut other) = stack(Organization::default(), tune);
        let (host, events) = (stack.host(), stack.host().watch());
        other.asked_routers();
        assert!(host.wait_checked(PATIENCE));
        let given = |n: u8| Cidr::new(IpAddr::from([10, 0, 0, n]), 24).expect("one");
        assert!((1..=64).any(|n| host.add_address(0, given(n)).is_err()), "it is full");
        let network = address("2001:db8:7::");
        let full = host.interfaces();
        other.advertise(ROUTER, 0, &[prefix(network, HOUR, 0)]);
        let until = std::time::Instant::now() + PATIENCE;
        while host.turned_away().addresses == 0 {
            assert!(std::time::Instant::now() < until, "{dad:?}: it is counted");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!((host.interfaces(), host.deprecated()), (full, vec![]), "{dad:?}");
        assert!(host.tentative().is_empty(), "{dad:?}");
        host.remove_address(given(1).address()).expect("it is there");
        other.advertise(ROUTER, 0, &[prefix(network, HOUR, HOUR)]);
        next(&events, |event| match event {
            Event::AddressAdded(0, cidr) if cidr.prefix() == 128 => Some(()),
            _ => None,
        });
    }
}

/// An address that was formed while its interface had no room for it is there once it is given.
#[test]
fn what_had_no_room_when_it_was_formed_is_there_by_hand() {
    let (stack, mut other) =
        stack(Organization::default(), |b| b.dad(Dad::Off).slaac().stable_secret("a secret"));
    let (host, events) = (stack.host(), stack.host().watch());
    other.asked_routers();
    let network = address("2001:db8:7::");
    let form = |other: &mut Other| other.advertise(ROUTER, 0, &[prefix(network, HOUR, HOUR)]);
    form(&mut other);
    let formed = next(&events, |event| match event {
        Event::AddressAdded(0, cidr) if cidr.prefix() == 128 => Some(cidr.address()),
        _ => None,
    });
    host.remove_address(formed).expect("it is there");
    let given = |n: u8| Cidr::new(IpAddr::from([10, 0, 0, n]), 24).expect("one");
    let count = (1..=64).take_while(|n| host.add_address(0, given(*n)).is_ok()).count();
    assert!(count < 64, "the interface has no room");
    form(&mut other);
    // What the router says next is heard after what it said before.
    other.advertise_with(0x40, ROUTER, 0, &[]);
    next(&events, |event| matches!(event, Event::Dhcp6(0, _)).then_some(()));
    let ours = Cidr::new(formed, 64).expect("an address");
    host.add_address(0, ours).expect_err("there is no room by hand either");
    form(&mut other);
    other.advertise_with(0xc0, ROUTER, 0, &[]);
    next(&events, |event| matches!(event, Event::Dhcp6(0, _)).then_some(()));
    host.remove_address(given(1).address()).expect("it is there");
    host.add_address(0, ours).expect("there is room");
    assert!(host.interfaces()[0].addresses.contains(&ours));
}
