//! The time to live of what sockets send, seen on the wire.

use super::watched::{hosts, take};
use anabranch::{Organization, TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, Read, Write};

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
        assert!(!opened.is_empty() && opened.iter().all(|sent| sent.ttl() == 64), "{opened:?}");
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
        let mut data = take(&from_client);
        data.retain(|sent| sent.len > 100);
        assert!(data.len() > 100 && data.iter().all(|sent| sent.ttl() == 9), "{organization:?}");
        let answers = take(&from_server);
        assert!(answers.iter().all(|sent| sent.ttl() == 33), "{organization:?} {answers:?}");
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
            let [sent] = take(&from_client)[..] else { panic!("one datagram") };
            assert_eq!((sent.ttl(), sent.len), (ttl as u8, 20 + 8 + 8));
        }
        // What goes to a group stays on the link, whatever is set.
        there.send_to(b"all", "224.0.0.1:53").expect("send");
        there.send_to(b"question", "10.0.0.1:53").expect("send");
        here.recv_from(&mut [0; 8]).expect("receive");
        assert_eq!(take(&from_client)[0].ttl(), 1);
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
