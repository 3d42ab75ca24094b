//! Datagrams that are neither TCP nor UDP.

use super::tunnel::{config, isolated, missing};
use super::{block_on, wire};
use anabranch::device::Device;
use anabranch::netstack::{Limits, RawHeader, RawKinds, RawSocket};
use anabranch::{DropReason, Netstack, Organization, Prefix, Stack};
use std::io::ErrorKind;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// GRE (RFC 2784), ICMP and its like for IPv6.
const GRE: u8 = 47;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// Pairs of ends: theirs, and one of ours.
const ENDS: [(&str, &str); 2] = [("8.8.8.8", "192.0.2.7"), ("2606:4700::1111", "2001:db8::7")];

fn netstack(
    device: Device,
    organization: Option<Organization>,
    processors: usize,
    room: usize,
) -> Netstack {
    let builder = Stack::builder().device(device).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
    let builder = builder.organization(organization.unwrap_or_default()).processors(processors);
    let limits = Limits::default().with_raw_bytes(room);
    Netstack::start(builder, limits).expect("a netstack")
}

fn header(local: &str, peer: &str, protocol: u8) -> RawHeader {
    let ip = |text: &str| text.parse().expect("an address");
    RawHeader { local: ip(local), peer: ip(peer), protocol, hops: 0 }
}

/// There and back, small and in fragments.
async fn converse(here: &RawSocket, there: &RawSocket) {
    let mut bytes = vec![0; 65_536];
    for (ours, theirs) in ENDS {
        for len in [0, 1, 1400, 20_000] {
            let sent: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            here.send(&sent, &header(ours, theirs, GRE)).await.expect("send");
            let (n, got) = there.recv(&mut bytes).await.expect("receive");
            assert_eq!(got, RawHeader { hops: 64, ..header(theirs, ours, GRE) });
            assert!(bytes[..n] == sent, "{len}");
            there.send(&bytes[..n], &RawHeader { hops: 9, ..got }).await.expect("send");
            let (n, back) = here.recv(&mut bytes).await.expect("receive");
            assert_eq!(back, RawHeader { hops: 9, ..header(ours, theirs, GRE) });
            assert!(bytes[..n] == sent, "{len}");
        }
    }
    let counters = there.counters();
    assert_eq!((counters.datagrams_in, counters.bytes_in), (8, 42_802));
    assert_eq!((counters.datagrams_out, counters.bytes_out), (8, 42_802));
}

#[test]
fn every_organization_carries_them() {
    let many = Organization::all().find(|o| o.name() == "processor-per-connection");
    for organization in Organization::all() {
        let processors = if organization.is_single() { 1 } else { 2 };
        let (left, right) = wire(processors);
        let far = netstack(left, Some(organization), processors, 1 << 20);
        let near = netstack(right, many.filter(|_| processors > 1), processors, 1 << 20);
        let here = near.raw(RawKinds::OthersAndIcmp).expect("the first");
        let there = far.raw(RawKinds::Others).expect("the first");
        let second = far.raw(RawKinds::Others).expect_err("there is one");
        assert_eq!(second.kind(), ErrorKind::AddrInUse);
        block_on(async {
            converse(&here, &there).await;
            // Without a socket there, the stack says that it does not know the protocol.
            drop(there);
            let mut bytes = [0; 2048];
            for ((ours, theirs), (protocol, kind, code)) in
                ENDS.into_iter().zip([(ICMP, 3, 2), (ICMPV6, 4, 1)])
            {
                here.send(b"x", &header(ours, theirs, GRE)).await.expect("send");
                let (n, error) = here.recv(&mut bytes).await.expect("receive");
                assert_eq!(error, RawHeader { hops: 64, ..header(ours, theirs, protocol) });
                assert!(n > 8 && bytes[..2] == [kind, code], "{:?}", &bytes[..n]);
            }
            // Who waits hears of the end.
            let stack = near.stack().clone();
            let stop = thread::spawn(move || {
                thread::sleep(Duration::from_millis(5));
                stack.stop();
            });
            let error = here.recv(&mut bytes).await.expect_err("it ends");
            assert_eq!(error.kind(), ErrorKind::NetworkDown, "{}", organization.name());
            stop.join().expect("no panic");
        });
        assert!(far.raw(RawKinds::Others).is_ok());
    }
}

#[test]
fn what_nobody_reads_is_bounded_and_counted() {
    let (left, right) = wire(1);
    let far = netstack(left, None, 1, 64 << 10);
    let near = netstack(right, None, 1, 64 << 10);
    let there = far.raw(RawKinds::Others).expect("the first");
    let here = near.raw(RawKinds::Others).expect("the first");
    block_on(async {
        for _ in 0..200 {
            here.send(&[1; 1000], &header("192.0.2.7", "8.8.8.8", GRE)).await.expect("send");
        }
        while far.stack().counters().packets_in < 200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (counters, mut bytes) = (there.counters(), [0; 2000]);
        assert_eq!(counters.datagrams_in + counters.dropped_in, 200);
        assert!(counters.dropped_in > 0, "{counters:?}");
        let dropped = far.stack().counters().dropped(DropReason::RawQueueFull);
        assert_eq!(dropped, counters.dropped_in);
        for _ in 0..counters.datagrams_in {
            assert_eq!(there.try_recv(&mut bytes).expect("there").0, 1000);
        }
        assert_eq!(there.try_recv(&mut bytes).expect_err("no more").kind(), ErrorKind::WouldBlock);
        // What makes no sense is refused.
        let refused = [
            (header("192.0.2.7", "8.8.8.8", 6), ErrorKind::InvalidInput),
            (header("192.0.2.7", "8.8.8.8", 17), ErrorKind::InvalidInput),
            (header("192.0.2.7", "2001:db8::7", GRE), ErrorKind::InvalidInput),
            (header("192.0.2.7", "224.0.0.1", GRE), ErrorKind::InvalidInput),
            (header("224.0.0.1", "8.8.8.8", GRE), ErrorKind::AddrNotAvailable),
        ];
        for (header, kind) in refused {
            assert_eq!(here.send(b"x", &header).await.expect_err("no sense").kind(), kind);
        }
        let long = vec![0; 65_516];
        let error = here.send(&long, &header("192.0.2.7", "8.8.8.8", GRE)).await;
        assert_eq!(error.expect_err("too long").kind(), ErrorKind::InvalidInput);
    });
}

/// Answers two echo requests in the place of the host that was meant, with other data than
/// the stack would.
async fn answer_echo(raw: &RawSocket) -> [RawHeader; 2] {
    let mut heard = Vec::new();
    let mut bytes = [0; 2048];
    while heard.len() < 2 {
        let (n, header) = raw.recv(&mut bytes).await.expect("receive");
        if header.protocol != ICMP || bytes[0] != 8 {
            continue;
        }
        // From request to reply, the checksum grows by what the type shrinks by (RFC 1624).
        bytes[0] = 0;
        let sum = u16::from_be_bytes([bytes[2], bytes[3]]);
        let (sum, carry) = sum.overflowing_add(0x0800);
        bytes[2..4].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
        raw.send(&bytes[..n], &RawHeader { hops: 33, ..header }).await.expect("send");
        heard.push(header);
    }
    [heard[0], heard[1]]
}

#[test]
fn ping_of_the_kernel_is_answered_by_the_program() {
    if Command::new("ping").arg("-V").output().is_err() {
        return println!("skipped: no ping");
    }
    isolated(|| {
        let builder = Stack::builder().tun(&config("ana-raw")).owns(Prefix::ALL_V4);
        let netstack = match Netstack::start(builder, Limits::default()) {
            Ok(netstack) => netstack,
            Err(error) if missing(&error) => return,
            Err(error) => panic!("{error}"),
        };
        let raw = netstack.raw(RawKinds::OthersAndIcmp).expect("the first");
        thread::scope(|scope| {
            let ping = scope.spawn(|| {
                let mut ping = Command::new("ping");
                ping.args(["-c", "2", "-i", "0.2", "-W", "20", "10.99.0.77"])
                    .output()
                    .expect("ping")
            });
            let heard = block_on(answer_echo(&raw));
            let ends = |h: &RawHeader| (h.local.to_string(), h.peer.to_string());
            assert!(heard.iter().all(|h| ends(h) == ("10.99.0.77".into(), "10.99.0.1".into())));
            let output = ping.join().expect("no panic");
            assert!(output.status.success(), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("ttl=33"), "{output:?}");
        });
        assert_eq!(netstack.stack().counters().echo_replies_out, 0);
    });
}
