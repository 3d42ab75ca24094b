//! Whether routers may cut what streams send, seen on the wire.

use super::watched::{hosts, take};
use anabranch::{TcpListener, TcpOptions, TcpStream};
use std::collections::HashSet;
use std::io::{Read, Write};

/// Moves some, and waits until it has come.
fn moved(from: &mut TcpStream, to: &mut TcpStream) {
    from.write_all(&[7; 30_000]).expect("write");
    to.read_exact(&mut [0; 30_000]).expect("read");
    to.write_all(&[8]).expect("write");
    from.read_exact(&mut [0]).expect("read");
}

#[test]
fn a_stream_says_whether_routers_may_cut_what_it_sends() {
    for organization in ["uniprocessor", "group-locks", "layer-parallel", "thread-per-connection"] {
        let [(server, from_server), (client, from_client)] =
            hosts(organization.parse().expect("in the catalog"));
        let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
        let mut there = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        let (mut here, _) = listener.accept().expect("accept");
        moved(&mut there, &mut here);
        for sent in [take(&from_client), take(&from_server)] {
            assert!(
                sent.len() > 2 && sent.iter().all(|sent| sent.dont_fragment()),
                "{organization}: {sent:?}"
            );
        }
        assert!(!there.allow_fragments().expect("a value"));
        there.set_allow_fragments(true).expect("an option");
        moved(&mut there, &mut here);
        // Fragments of different datagrams must not be taken for one (RFC 6864 4.3).
        let sent = take(&from_client);
        let names: HashSet<[u8; 2]> = sent.iter().map(|sent| sent.identification()).collect();
        assert!(sent.iter().all(|sent| !sent.dont_fragment()), "{organization}: {sent:?}");
        assert_eq!(names.len(), sent.len(), "{organization}: {sent:?}");
        assert!(take(&from_server).iter().all(|sent| sent.dont_fragment()));
        there.set_allow_fragments(false).expect("an option");
        moved(&mut there, &mut here);
        let sent = take(&from_client);
        assert!(sent.iter().all(|sent| sent.dont_fragment()), "{organization}: {sent:?}");
    }
}

#[test]
fn a_listener_says_it_from_the_first_segment_on() {
    let [(server, from_server), (client, _)] =
        hosts("uniprocessor".parse().expect("in the catalog"));
    let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
    let options = TcpOptions::default().with_allow_fragments(true);
    listener.set_options(&options).expect("options");
    let mut there = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
    let (mut here, _) = listener.accept().expect("accept");
    moved(&mut here, &mut there);
    let sent = take(&from_server);
    assert!(sent.len() > 3 && sent.iter().all(|sent| !sent.dont_fragment()), "{sent:?}");
}
