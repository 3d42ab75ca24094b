//! Addresses and routes that change while stacks run, in each organization.

use crate::{CLIENT, PATIENCE, SERVER};
use anabranch::device::{EthernetAddress, memory};
use anabranch::host::{Event, Host, NeighbourState};
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

/// Two stacks under an organization, the server without any address.
fn pair(organization: Organization) -> (Stack, Stack) {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device| Stack::builder().device(device).organization(organization);
    let server = start(left).drain(Duration::ZERO).start().expect("a stack");
    let client = start(right).address(format!("{CLIENT}/24")).start().expect("a stack");
    (server, client)
}

fn echo(server: &mut TcpStream, client: &mut TcpStream, byte: u8) {
    client.write_all(&[byte]).expect("written");
    let mut got = [0];
    server.read_exact(&mut got).expect("read");
    assert_eq!(got, [byte]);
}

/// An address that comes is used by the next call, one that goes takes nobody's connection
/// with it, and what was sent in the meantime comes when it is back.
#[test]
fn an_address_comes_goes_and_comes_back() {
    for organization in Organization::all() {
        let (server, client) = pair(organization);
        let at = format!("{SERVER}:80");
        let error = TcpListener::bind(&server, &*at).expect_err("no address yet");
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{organization}");
        let address = format!("{SERVER}/24").parse().expect("an address");
        server.host().add_address(0, address).expect("added");
        let listener = TcpListener::bind(&server, &*at).expect("bind");
        let mut there = TcpStream::connect(&client, &*at).expect("connect");
        let (mut here, _) = listener.accept().expect("accept");
        here.set_read_timeout(Some(PATIENCE)).expect("an option");
        echo(&mut here, &mut there, 1);

        server.host().remove_address(address.address()).expect("removed");
        let error = UdpSocket::bind(&server, format!("{SERVER}:53")).expect_err("not ours");
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{organization}");
        there.write_all(&[2]).expect("written");
        here.set_nonblocking(true).expect("an option");
        while server.counters().dropped(anabranch::DropReason::IpNotOurs) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(here.read(&mut [0]).expect_err("nothing").kind(), ErrorKind::WouldBlock);

        server.host().add_address(0, address).expect("added");
        here.set_nonblocking(false).expect("an option");
        let mut got = [0];
        here.read_exact(&mut got).expect("sent again");
        assert_eq!(got, [2], "{organization}");
        echo(&mut here, &mut there, 3);
    }
}

/// What goes beyond the link finds a router as soon as there is one.
#[test]
fn a_route_is_used_by_the_next_call() {
    for organization in Organization::all() {
        let (server, client) = pair(organization);
        let far = "192.168.7.1/32".parse().expect("an address");
        server.host().add_address(0, format!("{SERVER}/24").parse().expect("one")).expect("added");
        server.host().add_address(0, far).expect("added");
        let listener = TcpListener::bind(&server, "192.168.7.1:80").expect("bind");
        let error = TcpStream::connect(&client, "192.168.7.1:80").expect_err("no route");
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{organization}");
        let good = format!("default via {SERVER} metric 5").parse().expect("a route");
        client.host().add_route(good).expect("added");
        TcpStream::connect(&client, "192.168.7.1:80").expect("by the router");
        listener.accept().expect("accept");
        client.host().remove_route(good).expect("removed");
        let error = TcpStream::connect(&client, "192.168.7.1:80").expect_err("no route");
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{organization}");
    }
}

/// Neighbours are shown, given and forgotten, of both families.
#[test]
fn neighbours_are_shown_given_and_forgotten() {
    for organization in Organization::all() {
        for (ours, theirs) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let (left, right) = memory::pair(memory::Config::default());
            let start = |device, address| {
                let prefix = if ours.contains(':') { 64 } else { 24 };
                let builder = Stack::builder().device(device).dad(anabranch::host::Dad::Off);
                let builder = builder.address(format!("{address}/{prefix}"));
                builder.organization(organization).drain(Duration::ZERO).start().expect("a stack")
            };
            let (server, client) = (start(left, ours), start(right, theirs));
            let host = client.host();
            let us: IpAddr = ours.parse().expect("an address");
            let find = || host.neighbours().into_iter().find(|known| known.address == us);
            assert_eq!(find(), None, "{organization}");
            let listener = TcpListener::bind(&server, (us, 80)).expect("bind");
            let connect = || TcpStream::connect(&client, (us, 80));
            let mut there = connect().expect("connect");
            let (mut here, _) = listener.accept().expect("accept");
            let known = find().expect("it has answered");
            let station = server.host().interfaces()[0].ethernet.expect("Ethernet");
            assert_eq!((known.ethernet, known.interface), (station, 0), "{organization}");
            assert_eq!(known.state, NeighbourState::Reachable, "{organization}");

            // Forgotten, it is asked for again, and the connection goes on.
            host.forget_neighbours();
            assert_eq!(find(), None, "{organization}");
            echo(&mut here, &mut there, 1);
            echo(&mut there, &mut here, 2);
            assert_eq!(find().map(|known| known.ethernet), Some(station), "{organization}");

            // Given by hand, it counts before what is known: nothing reaches a station that there
            // is not.
            let nobody = EthernetAddress([2, 9, 9, 9, 9, 9]);
            host.set_neighbour(0, us, nobody).expect("a neighbour");
            let known = find().expect("given");
            assert_eq!((known.ethernet, known.state), (nobody, NeighbourState::Given));
            let before = server.counters().dropped(anabranch::DropReason::EthernetNotOurs);
            there.write_all(&[3]).expect("written");
            while server.counters().dropped(anabranch::DropReason::EthernetNotOurs) == before {
                std::thread::yield_now();
            }
            host.set_neighbour(0, us, station).expect("it is changed");
            let mut got = [0];
            here.set_read_timeout(Some(PATIENCE)).expect("an option");
            here.read_exact(&mut got).expect("sent again");
            assert_eq!(got, [3], "{organization}");
            host.forget_neighbour(0, us).expect("it is known");
            let error = host.forget_neighbour(0, us).expect_err("no longer");
            assert_eq!(error.kind(), ErrorKind::NotFound, "{organization}");
            echo(&mut here, &mut there, 4);
        }
    }
}

#[test]
fn stations_that_make_no_sense_or_are_too_many_are_refused() {
    let (_, client) = pair(Organization::default());
    let host = client.host();
    let one = EthernetAddress([2, 0, 0, 0, 0, 1]);
    let set = |interface, address: &str, station| {
        let address: IpAddr = address.parse().expect("an address");
        host.set_neighbour(interface, address, station).map_err(|error| error.kind())
    };
    let wrong = Err(ErrorKind::InvalidInput);
    assert_eq!(set(1, "10.0.0.9", one), wrong);
    assert_eq!(set(0, CLIENT, one), wrong);
    assert_eq!(set(0, "224.0.0.1", one), wrong);
    assert_eq!(set(0, "10.0.0.9", EthernetAddress::BROADCAST), wrong);
    for n in 0..anabranch::host::MAX_STATIONS {
        let address = std::net::Ipv4Addr::from_bits(0x0a00_1000 + n as u32);
        host.set_neighbour(0, address, one).expect("room");
    }
    assert_eq!(set(0, "10.0.0.9", one), Err(ErrorKind::QuotaExceeded));
    assert_eq!(host.neighbours().len(), anabranch::host::MAX_STATIONS);
}

/// An address that is given for a while grows old, and goes, and an event says so; what is said
/// last of it counts.
#[test]
fn addresses_have_lifetimes() {
    // Together, for it takes time.
    thread::scope(|scope| {
        for organization in Organization::all() {
            scope.spawn(move || addresses_have_lifetimes_in(organization));
        }
    });
}

fn addresses_have_lifetimes_in(organization: Organization) {
    let (server, _client) = pair(organization);
    let (host, events) = (server.host(), server.host().watch());
    let next = || events.next(PATIENCE).unwrap_or_else(|| panic!("{organization}: no event"));
    for text in ["10.0.0.1/24", "fd00::1/64"] {
        let cidr: anabranch::Cidr = text.parse().expect("an address");
        let address = cidr.address();
        let missing = host.set_lifetimes(address, None, None).expect_err("not ours yet");
        assert_eq!(missing.kind(), ErrorKind::NotFound, "{organization}");
        host.add_address(0, cidr).expect("added");
        assert_eq!(host.lifetimes(address), (None, None));
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(2));
        host.set_lifetimes(address, Some(PATIENCE), Some(short)).expect("ours");
        host.set_lifetimes(address, Some(short), Some(long)).expect("said again");
        let (preferred, valid) = host.lifetimes(address);
        assert!(preferred <= Some(short) && valid <= Some(long) && valid.is_some());
        let mut told = Vec::new();
        while !told.contains(&Event::AddressRemoved(0, cidr)) {
            told.push(next());
        }
        let old = told.iter().position(|e| *e == Event::Deprecated(address, true));
        assert!(old.is_some(), "{organization}: {told:?}");
        let has = || host.interfaces()[0].addresses.contains(&cidr);
        assert!(!has() && host.deprecated().is_empty(), "{organization}");

        // What was said of it is forgotten with it.
        host.add_address(0, cidr).expect("again");
        assert_eq!(host.lifetimes(address), (None, None));
        host.set_lifetimes(address, Some(Duration::ZERO), None).expect("ours");
        while next() != Event::Deprecated(address, true) {}
        assert_eq!(host.deprecated(), [address], "{organization}");
        host.set_lifetimes(address, None, None).expect("ours");
        while next() != Event::Deprecated(address, false) {}
        assert!(has() && host.deprecated().is_empty(), "{organization}");
    }
}

/// Asks the host where it is woken, and tells what it was told.
struct Asks(Host, Mutex<Sender<bool>>);

impl Wake for Asks {
    fn wake(self: Arc<Self>) {
        let is_checked = self.0.tentative().is_empty();
        self.1.lock().expect("no panic").send(is_checked).expect("the test waits");
    }
}

/// What a unit finds out, here that the time of an address is over, wakes who watches on its thread.
#[test]
fn who_is_woken_may_ask_the_host_at_once() {
    for organization in Organization::all() {
        let (server, _client) = pair(organization);
        let (host, (to, told)) = (server.host(), channel());
        host.add_address(0, format!("{SERVER}/24").parse().expect("one")).expect("added");
        let events = host.watch();
        let waker = Waker::from(Arc::new(Asks(host.clone(), Mutex::new(to))));
        assert!(events.poll_changed(&mut Context::from_waker(&waker)).is_pending());
        let soon = Some(Duration::from_millis(1));
        host.set_lifetimes(SERVER.parse::<IpAddr>().expect("one"), soon, soon).expect("bounded");
        let is_checked = told.recv_timeout(PATIENCE);
        if is_checked.is_err() {
            // Its thread would never end.
            std::mem::forget(server);
        }
        assert_eq!(is_checked, Ok(true), "{organization}: it waits for itself");
    }
}
