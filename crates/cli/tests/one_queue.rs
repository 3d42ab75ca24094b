//! A TAP interface that somebody has made with one queue serves several processors, in every
//! organization that has more than one.

mod common;

use anabranch::Organization;
use common::lines::ip;
use common::{PATIENCE, Server, interfaces, isolated, refused};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};

const OURS: &str = "10.99.0.2:7";
/// So many that each processor has some.
const CONNECTIONS: u16 = 12;

/// Bytes that differ from connection to connection.
fn bytes(of: u16, len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 ^ of as u8).collect()
}

/// Writes while it reads, until all has come back.
fn echo(of: u16) {
    let address: SocketAddr = OURS.parse().expect("an address");
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.set_write_timeout(Some(PATIENCE)).expect("set");
    let sent = bytes(of, 150_000);
    let mut back = vec![0; sent.len()];
    let mut writer = stream.try_clone().expect("clone");
    std::thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&sent).expect("write"));
        stream.read_exact(&mut back).expect("read");
    });
    assert!(back == sent, "connection {of}");
}

fn echo_datagrams() {
    let socket = UdpSocket::bind("10.99.0.1:0").expect("bind");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket.connect(OURS).expect("connect");
    // The last one comes in fragments.
    for len in [1, 1472, 8000] {
        let (sent, mut back) = (bytes(7, len), vec![0; 65536]);
        socket.send(&sent).expect("send");
        let n = socket.recv(&mut back).expect("receive");
        assert!(back[..n] == sent, "{len} bytes");
    }
}

#[test]
fn one_queue_serves_two_processors() {
    isolated(|| {
        if !ip("tuntap add dev ana-one mode tap") {
            println!("skipped: no `ip tuntap` here");
            return;
        }
        assert!(ip("addr add 10.99.0.1/24 dev ana-one"));
        let mut served = 0;
        for organization in Organization::all() {
            println!("{organization}");
            let arguments = format!(
                "--existing-tap ana-one --processors 2 --organization {organization} --tcp-echo 7 \
                 --udp-echo 7"
            );
            if organization.is_single() {
                let line = refused(&format!("serve {arguments}"));
                let mend = "runs on one processor, not on 2: change --processors or --organization";
                assert!(line.contains(mend), "{line}");
                continue;
            }
            let Some(server) = Server::start(&arguments) else { return };
            std::thread::scope(|scope| {
                (0..CONNECTIONS).for_each(|of| drop(scope.spawn(move || echo(of))));
            });
            echo_datagrams();
            let said = server.terminate();
            let all = format!("tcp-echo 7: {CONNECTIONS} served");
            assert!(said.contains(&all), "{said}");
            assert_eq!(interfaces(), ["lo", "ana-one"]);
            served += 1;
        }
        assert_eq!(served, Organization::all().count() - 1);
        assert!(ip("link del ana-one"));
    });
}

/// What is no TAP interface at all is refused with what would be one.
#[test]
fn another_interface_is_refused() {
    isolated(|| {
        if !ip("link add ana-other type veth peer name ana-far") {
            println!("skipped: no `ip`, or no veth here");
            return;
        }
        let line = refused("serve --existing-tap ana-other --processors 2 --tcp-echo 7");
        assert!(line.contains("ana-other") && line.contains("ip tuntap add mode tap"), "{line}");
        assert!(ip("link del ana-other"));
    });
}
