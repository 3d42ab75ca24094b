//! The time to live of what sockets send, seen on the wire.

use anabranch::device::custom::{self, PacketIo, Wake};
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};

/// A datagram that was sent: its time to live, and how long it was, bytes.
type Sent = (u8, usize);

/// One end of a cable that notes what is sent by it.
struct End {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    peer: Arc<OnceLock<Wake>>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl PacketIo for End {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        self.from.try_iter().for_each(|packet| deliver(&packet));
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        self.sent.lock().expect("no panic").push((packet[8], packet.len()));
        // The other stack may have ended.
        let _ = self.to.send(packet.to_vec());
        self.peer.get().expect("set up").wake();
        true
    }
}

/// A server and a client under `organization`, and what each of them has sent.
fn hosts(organization: Organization) -> [(Stack, Arc<Mutex<Vec<Sent>>>); 2] {
    let ((to_right, from_left), (to_left, from_right)) = (channel(), channel());
    let wakes: [Arc<OnceLock<Wake>>; 2] = Default::default();
    let make = |to, from, own: usize, address: &str| {
        let sent = Arc::default();
        let io = End { to, from, peer: wakes[1 - own].clone(), sent: Arc::clone(&sent) };
        let (device, wake) = custom::open(io, custom::Config::ip()).expect("a device");
        assert!(wakes[own].set(wake).is_ok());
        let stack = Stack::builder().device(device).address(address).organization(organization);
        // The way to groups.
        (stack.gateway([10, 0, 0, 9]), sent)
    };
    let server = make(to_right, from_right, 0, "10.0.0.1/24");
    let client = make(to_left, from_left, 1, "10.0.0.2/24");
    [server, client].map(|(stack, sent)| (stack.start().expect("a stack"), sent))
}

/// Takes what has been sent.
fn take(sent: &Mutex<Vec<Sent>>) -> Vec<Sent> {
    std::mem::take(&mut *sent.lock().expect("no panic"))
}

/// For families that send in different ways.
const ORGANIZATIONS: [&str; 4] =
    ["uniprocessor", "group-locks", "layer-parallel", "thread-per-connection"];

#[test]
fn a_stream_sends_with_its_own() {
    for organization in ORGANIZATIONS {
        let organization = organization.parse().expect("in the catalog");
        let [(server, from_server), (client, from_client)] = hosts(organization);
        let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
        assert_eq!(listener.ttl().expect("a value"), 64);
        listener.set_ttl(33).expect("fits");
        let mut there = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        let (mut here, _) = listener.accept().expect("accept");
        let opened = take(&from_client);
        assert!(!opened.is_empty() && opened.iter().all(|(ttl, _)| *ttl == 64), "{opened:?}");
        assert_eq!((here.ttl().expect("a value"), there.ttl().expect("a value")), (33, 64));

        there.set_ttl(9).expect("fits");
        let bytes = vec![7; 300_000];
        let reader = std::thread::spawn(move || {
            let mut got = vec![0; 300_000];
            here.read_exact(&mut got).expect("read");
            here.write_all(b"done").expect("write");
            here
        });
        there.write_all(&bytes).expect("write");
        there.read_exact(&mut [0; 4]).expect("read");
        let data: Vec<Sent> =
            take(&from_client).into_iter().filter(|(_, len)| *len > 100).collect();
        assert!(data.len() > 100 && data.iter().all(|(ttl, _)| *ttl == 9), "{organization:?}");
        let answers = take(&from_server);
        assert!(answers.iter().all(|(ttl, _)| *ttl == 33), "{organization:?} {answers:?}");
        drop(reader.join().expect("no panic"));
    }
}

#[test]
fn a_datagram_has_that_of_its_socket() {
    for organization in ORGANIZATIONS {
        let organization = organization.parse().expect("in the catalog");
        let [(server, _), (client, from_client)] = hosts(organization);
        let here = UdpSocket::bind(&server, "10.0.0.1:53").expect("bind");
        let there = UdpSocket::bind(&client, "10.0.0.2:0").expect("bind");
        assert_eq!(there.ttl().expect("a value"), 64);
        for ttl in [64, 5, 255] {
            there.set_ttl(ttl).expect("fits");
            assert_eq!(there.ttl().expect("a value"), ttl);
            there.send_to(b"question", "10.0.0.1:53").expect("send");
            here.recv_from(&mut [0; 8]).expect("receive");
            assert_eq!(take(&from_client), [(ttl as u8, 20 + 8 + 8)]);
        }
        // What goes to a group stays on the link, whatever is set.
        there.send_to(b"all", "224.0.0.1:53").expect("send");
        there.send_to(b"question", "10.0.0.1:53").expect("send");
        here.recv_from(&mut [0; 8]).expect("receive");
        assert_eq!(take(&from_client)[0].0, 1);
    }
}

#[test]
fn no_such_time_to_live() {
    let [(server, _), _] = hosts(Organization::default());
    let socket = UdpSocket::bind(&server, "10.0.0.1:53").expect("bind");
    let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
    for ttl in [0, 256, u32::MAX] {
        for error in [socket.set_ttl(ttl), listener.set_ttl(ttl)] {
            let error = error.expect_err("no such thing");
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("1 to 255"), "{error}");
        }
    }
    assert_eq!((socket.ttl().expect("a value"), listener.ttl().expect("a value")), (64, 64));
}
