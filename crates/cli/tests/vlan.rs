//! `serve --vlan --mac`, and a stack of the library in the same VLAN, on a bridge of the kernel's.

mod common;

use anabranch::device::tap;
use anabranch::host::Dad;
use anabranch::{Stack, TcpStream, UdpSocket};
use common::{PATIENCE, Server, isolated};
use std::io::{Read, Write};
use std::net::IpAddr;
use std::process::Command;

const MAC: &str = "02:00:00:00:00:07";

/// Runs `ip` with these words. Did it do what they say?
fn ip(words: &str) -> bool {
    let status = Command::new("ip").args(words.split_whitespace()).status();
    status.is_ok_and(|status| status.success())
}

/// Sends bytes through the echo, and gets them back.
fn echo(stream: &mut TcpStream, len: usize) {
    let sent: Vec<u8> = (0..len).map(|n| (n * 7 + n / 251) as u8).collect();
    std::thread::scope(|scope| {
        let writer = stream.try_clone().expect("a clone");
        let bytes = &sent;
        scope.spawn(move || (&writer).write_all(bytes).expect("written"));
        let mut got = vec![0; len];
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.read_exact(&mut got).expect("all of it");
        assert!(got == sent, "other bytes came back");
    });
}

/// Frames carry the tag and the Ethernet address, with checksums and segments by the devices.
#[test]
fn a_server_in_a_vlan_is_reached_in_it() {
    isolated(|| {
        let arguments = format!(
            "--tap ana-v --vlan 5 --mac {MAC} --add-address fd00:99::2/64 --tcp-echo 7 --udp-echo 7"
        );
        let Some(server) = Server::start(&arguments) else { return };
        let config = tap::Config::default().with_name("ana-w").with_mtu(1500);
        let device = tap::open(&config).expect("a second device");
        if !ip("link add name ana-b type bridge") {
            println!("left out: there are no bridges here");
            return;
        }
        for words in ["ana-v master ana-b", "ana-w master ana-b", "ana-b up"] {
            assert!(ip(&format!("link set dev {words}")), "{words}");
        }
        let client = Stack::builder().device(device).vlan(5).dad(Dad::Off);
        let client = client.address("10.99.0.3/24").address("fd00:99::3/64").start();
        let client = client.expect("a stack");
        for address in ["10.99.0.2", "fd00:99::2"] {
            let to: IpAddr = address.parse().expect("an address");
            let mut stream = TcpStream::connect(&client, (to, 7)).expect("connect");
            echo(&mut stream, 4 << 20);
            let socket = UdpSocket::bind(&client, "[::]:0").expect("bind");
            socket.set_read_timeout(Some(PATIENCE)).expect("a time");
            socket.send_to(&[9; 20_000], (to, 7)).expect("in fragments");
            let mut got = vec![0; 30_000];
            let (len, from) = socket.recv_from(&mut got).expect("an echo");
            assert_eq!((len, from.ip()), (20_000, to));
            let all = client.host().neighbours();
            let known = all.iter().find(|known| known.address == to).expect("it has answered");
            assert_eq!(known.ethernet.to_string(), MAC);
        }
        client.stop();
        server.terminate();
    });
}
