//! A netstack behind a TUN device of the kernel, in a network namespace of its own.
//! Without the rights for that the tests say so and pass.

use super::block_on;
use anabranch::device::tun;
use anabranch::netstack::Limits;
use anabranch::{Netstack, Organization, Prefix, Stack};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(crate) fn isolated(test: impl FnOnce() + Send) {
    if let Err(error) = device::namespace::in_private(test) {
        println!("skipped: {error}");
    }
}

pub(crate) fn config(name: &str) -> tun::Config {
    tun::Config::default().with_name(name).with_kernel_address([10, 99, 0, 1], 24)
}

/// Is it only that tests may not make devices here?
pub(crate) fn missing(error: &anabranch::Error) -> bool {
    use tun::Error::{NoAccess, NoDriver, NotAllowed};
    let missing = matches!(error, anabranch::Error::Device(NoDriver | NoAccess | NotAllowed(_)));
    if missing {
        println!("skipped: {error}");
    }
    missing
}

/// A mebibyte to the netstack and back, from the kernel; then a datagram.
fn converse(netstack: &Netstack) {
    converse_with(netstack, ([10, 99, 0, 200], 4321).into());
}

fn converse_with(netstack: &Netstack, to: SocketAddr) {
    thread::scope(|scope| {
        let kernel = scope.spawn(move || {
            let mut stream = TcpStream::connect(to).expect("connect");
            let mut writer = stream.try_clone().expect("clone");
            let writing = thread::spawn(move || {
                writer.write_all(&vec![5; 1 << 20]).expect("write");
                writer.shutdown(std::net::Shutdown::Write).expect("shut down");
            });
            let mut back = Vec::new();
            stream.read_to_end(&mut back).expect("read");
            writing.join().expect("no panic");
            assert!(back == vec![5; 1 << 20]);
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any).expect("bind");
            socket.send_to(b"question", to).expect("send");
            let mut bytes = [0; 16];
            let (n, from) = socket.recv_from(&mut bytes).expect("receive");
            assert_eq!((&bytes[..n], from), (&b"answer"[..], to));
        });
        block_on(async {
            let mut stream = netstack.accept().await.expect("accept");
            assert_eq!(stream.local_addr().expect("open"), to);
            let (mut read, mut write) = stream.split();
            tokio::io::copy(&mut read, &mut write).await.expect("copy");
            write.shutdown().await.expect("shut down");
            let session = netstack.accept_udp().await.expect("accept");
            assert_eq!(session.local_addr(), to);
            session.recv(&mut [0; 16]).await.expect("receive");
            session.send(b"answer").await.expect("send");
        });
        kernel.join().expect("no panic");
    });
}

#[test]
fn the_kernel_reaches_any_address_in_every_organization() {
    isolated(|| {
        for organization in Organization::all() {
            // By a queue for each processor, and by one for all.
            for queues in [2, 1] {
                let processors = if organization.is_single() { 1 } else { 2 };
                let config = config("ana-any").with_queues(queues.min(processors));
                let builder = Stack::builder().tun(&config).owns(Prefix::ALL_V4);
                let builder = builder.organization(organization).processors(processors);
                match Netstack::start(builder, Limits::within(32 << 20)) {
                    Ok(netstack) => converse(&netstack),
                    Err(error) if missing(&error) => return,
                    Err(error) => panic!("{}: {error}", organization.name()),
                }
            }
        }
    });
}

#[test]
fn one_line_makes_one_and_ping_is_answered() {
    isolated(|| {
        let opened = tun::open(&config("ana-over").with_offload(false));
        let device = match opened.map_err(anabranch::Error::from) {
            Ok(device) => device,
            Err(error) if missing(&error) => return,
            Err(error) => panic!("{error}"),
        };
        let netstack = Netstack::over(device).expect("a netstack");
        converse(&netstack);
        let mut ping = std::process::Command::new("ping");
        let answered = ping.args(["-c", "1", "-W", "5", "10.99.0.77"]).output();
        match answered {
            Ok(output) => assert!(output.status.success(), "{output:?}"),
            Err(error) => println!("skipped: no ping: {error}"),
        }
        drop(netstack);
        // With the netstack goes the device.
        assert!(TcpStream::connect("10.99.0.77:1").is_err());
    });
}

#[test]
fn the_kernel_reaches_any_address_of_ipv6() {
    isolated(|| {
        for offload in [true, false] {
            let builder = Stack::builder().tun(&config("ana-any6").with_offload(offload));
            let builder = builder.owns(Prefix::ALL_V6);
            let netstack = match Netstack::start(builder, Limits::default()) {
                Ok(netstack) => netstack,
                Err(error) if missing(&error) => return,
                Err(error) => panic!("{error}"),
            };
            let mut ip = std::process::Command::new("ip");
            let words = ["-6", "address", "add", "fd00:99::1/64", "dev", "ana-any6", "nodad"];
            match ip.args(words).status() {
                Ok(status) if status.success() => {}
                other => return println!("skipped: no IPv6 address for the device: {other:?}"),
            }
            converse_with(&netstack, "[fd00:99::77]:4321".parse().expect("an address"));
        }
    });
}

/// How many sockets this process may have, less some for other tests.
fn sockets() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let most = if raised.is_ok() { maximum } else { current };
    most.map_or(usize::MAX, |most| most.saturating_sub(500) as usize)
}

/// Each of 10,000 connections asks at once, which is more than the interface's queue holds.
#[test]
fn a_burst_of_10_000_connections_is_answered_in_full() {
    let count = sockets().min(10_000);
    if count < 10_000 {
        println!("{count} connections only: raise ulimit -n");
    }
    isolated(|| {
        let builder = Stack::builder().tun(&config("ana-burst")).owns(Prefix::ALL_V4);
        let netstack = match Netstack::start(builder, Limits::default()) {
            Ok(netstack) => netstack,
            Err(error) if missing(&error) => return,
            Err(error) => panic!("{error}"),
        };
        let question = |index: usize| [index as u8; 64];
        thread::scope(|scope| {
            let kernel = scope.spawn(|| {
                let connect = |_| TcpStream::connect("10.99.0.200:7").expect("connect");
                let mut streams: Vec<TcpStream> = (0..count).map(connect).collect();
                for round in 0..3 {
                    for (index, stream) in streams.iter_mut().enumerate() {
                        stream.write_all(&question(index + round)).expect("write");
                    }
                    for (index, stream) in streams.iter_mut().enumerate() {
                        let mut answer = [0; 64];
                        stream.read_exact(&mut answer).expect("read");
                        assert_eq!(answer, question(index + round));
                    }
                }
            });
            block_on(async {
                for _ in 0..count {
                    let mut stream = netstack.accept().await.expect("accept");
                    tokio::spawn(async move {
                        let mut bytes = [0; 64];
                        while stream.read_exact(&mut bytes).await.is_ok() {
                            stream.write_all(&bytes).await.expect("write");
                        }
                    });
                }
                while !kernel.is_finished() {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
            });
            kernel.join().expect("no panic");
        });
    });
}
