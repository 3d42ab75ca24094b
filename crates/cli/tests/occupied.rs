//! A second server with a network that somebody has already, of either family.

mod common;

use common::{PATIENCE, Server, isolated, refused};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Whether the first server answers, which it has to from its start on.
fn echo(address: &str) {
    let address: SocketAddr = address.parse().expect("an address");
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.write_all(b"still here").expect("write");
    let mut back = [0; 10];
    stream.read_exact(&mut back).expect("read");
    assert_eq!(&back, b"still here");
}

#[test]
fn a_network_in_use_is_refused() {
    isolated(|| {
        let Some(server) = Server::start("--tap ana-test --tcp-echo 7") else { return };
        // The default network is that of the first, and so is a part of it.
        for addresses in ["", "--address 10.99.0.77/24 --peer-address 10.99.0.78/24"] {
            let line = refused(&format!("serve --tap ana-second --tcp-echo 7 {addresses}"));
            assert!(line.contains("`ana-test` has the network 10.99.0.0/24 already"), "{line}");
            assert!(line.contains("choose another network"), "{line}");
        }
        let elsewhere = "--address 10.98.0.2/24 --peer-address 10.98.0.1/24";
        let line = refused(&format!(
            "serve --tap ana-second --tcp-echo 7 {elsewhere} --add-address 10.99.0.1/24"
        ));
        assert!(line.contains("an interface has 10.99.0.1 already"), "{line}");
        echo("10.99.0.2:7");
        let second = Server::start(&format!("--tap ana-second --tcp-echo 7 {elsewhere}"));
        second.expect("rights, as the first has them").terminate();
        server.terminate();
    });
}

#[test]
fn a_network_of_ipv6_in_use_is_refused() {
    isolated(|| {
        let first = "--tap ana-test --tcp-echo 7 --address fd99::2/64 --peer-address fd99::1/64";
        let Some(server) = Server::start(first) else { return };
        echo("[fd99::2]:7");
        for addresses in [
            "--address fd99::2/64 --peer-address fd99::1/64",
            "--address fd99::77/64 --peer-address fd99::78/64",
            "--address fd99::77/48 --peer-address fd99::78/48",
        ] {
            let line = refused(&format!("serve --tap ana-second --tcp-echo 7 {addresses}"));
            assert!(line.contains("`ana-test` has the network fd99::/64 already"), "{line}");
            assert!(
                line.contains("--address fd00:98::2/64 --peer-address fd00:98::1/64"),
                "{line}"
            );
        }
        echo("[fd99::2]:7");
        // Link-local addresses are on each link, and another network is nobody's.
        let elsewhere = "--address fd98::2/64 --peer-address fd98::1/64 --add-address fe80::77/64";
        let second = Server::start(&format!("--tap ana-second --tcp-echo 7 {elsewhere}"));
        second.expect("rights, as the first has them").terminate();
        server.terminate();
    });
}

/// Where the kernel gives sockets addresses that nobody has, as on machines that take over each
/// other's, they are free all the same. Before, no server could be started there; nor in a network
/// namespace in which no interface was up yet.
#[test]
fn an_address_that_a_socket_may_have_need_not_be_taken() {
    isolated(|| {
        for family in ["ipv4", "ipv6"] {
            std::fs::write(format!("/proc/sys/net/{family}/ip_nonlocal_bind"), "1").expect("set");
        }
        let Some(server) = Server::start("--tap ana-test --tcp-echo 7") else { return };
        echo("10.99.0.2:7");
        server.terminate();
        let v6 = "--tap ana-test --tcp-echo 7 --address fd99::2/64 --peer-address fd99::1/64";
        let server = Server::start(v6).expect("rights, as the first has them");
        echo("[fd99::2]:7");
        server.terminate();
    });
}
