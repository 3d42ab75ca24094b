//! What an idle connection of a netstack costs, in bytes of the heap: with its socket, its stream, and the
//! task that serves it.
#![cfg(not(shuttle))]

use anabranch::device::custom::{self, PacketIo};
use anabranch::{Netstack, tokio::TcpStream};
use cap::Cap;
use std::alloc::System;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wire::tcp::{Flags, Header, Options};
use wire::{Seq, checksum, ipv4, protocol};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
/// Bytes of each question, which the task reads and answers one by one.
const QUESTION: usize = 64;
/// Connections before it is measured, so that nothing is paid for the first time, and after.
const BEFORE: u16 = 500;
const COUNT: u16 = 4000;
/// The most that one may cost, with its part of the tables.
const MOST: usize = 1800;

/// A peer that opens connections and asks on each, and keeps nothing of any.
#[derive(Default)]
struct Peer {
    sent: Mutex<VecDeque<Vec<u8>>>,
    /// Bytes of answers.
    answered: AtomicUsize,
}

impl Peer {
    fn send(&self, port: u16, flags: Flags, (seq, ack): (Seq, Seq), data: &[u8]) {
        let options = match flags.syn() {
            true => Options { mss: Some(1460), window_scale: Some(7), ..Options::NONE },
            false => Options::NONE,
        };
        let (window, urgent, destination_port) = (65_535, 0, 7);
        let source_port = port;
        let header =
            Header { source_port, destination_port, seq, ack, flags, window, urgent, options };
        let mut bytes = vec![0; ipv4::LEN + header.len()];
        let (front, rest) = bytes.split_at_mut(ipv4::LEN);
        ipv4::Header::new(PEER, THERE, protocol::TCP, rest.len() + data.len()).emit(front);
        header.emit(rest);
        bytes.extend_from_slice(data);
        let segment = &mut bytes[ipv4::LEN..];
        let length = segment.len() as u32;
        let pseudo = checksum::pseudo_header(PEER.into(), THERE.into(), protocol::TCP, length);
        let sum = !checksum::add(pseudo, checksum::sum(segment));
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        self.sent.lock().expect("no panic").push_back(bytes);
    }

    fn hears(&self, packet: &[u8]) {
        let Ok((header, len)) = Header::parse(&packet[ipv4::LEN..]) else { return };
        let (port, data) = (header.destination_port, packet.len() - ipv4::LEN - len);
        let ack = Flags::ACK.with(Flags::PSH);
        if header.flags.syn() {
            self.send(port, ack, (header.ack, header.seq + 1), &[7; QUESTION]);
        } else if data > 0 {
            self.send(port, Flags::ACK, (header.ack, header.seq + data as u32), &[]);
            self.answered.fetch_add(data, Ordering::Relaxed);
        }
    }
}

struct Wire(Arc<Peer>);

impl PacketIo for Wire {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        while let Some(packet) = self.0.sent.lock().expect("no panic").pop_front() {
            deliver(&packet);
        }
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        self.0.hears(packet);
        true
    }
}

/// Answers a byte at a time.
async fn echo(mut stream: TcpStream) -> std::io::Result<()> {
    let mut byte = [0];
    while stream.read(&mut byte).await? > 0 {
        stream.write_all(&byte).await?;
    }
    Ok(())
}

fn waits(what: &str, mut until: impl FnMut() -> bool) {
    let start = Instant::now();
    while !until() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn an_idle_connection_costs_little() {
    let peer = Arc::<Peer>::default();
    let (device, wake) = custom::open(Wire(peer.clone()), custom::Config::ip()).expect("a device");
    let netstack = Netstack::over(device).expect("a netstack");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).build().expect("a runtime");
    runtime.spawn(async move {
        while let Ok(stream) = netstack.accept().await {
            tokio::spawn(echo(stream));
        }
    });
    let open = |ports: std::ops::Range<u16>| {
        for port in ports {
            let all = peer.answered.load(Ordering::Relaxed) + QUESTION;
            peer.send(port, Flags::SYN, (Seq(1000), Seq(0)), &[]);
            wake.wake();
            waits("no answer", || peer.answered.load(Ordering::Relaxed) == all);
        }
    };
    open(1..BEFORE);
    let before = HEAP.allocated();
    open(BEFORE..BEFORE + COUNT);
    let each = || HEAP.allocated().saturating_sub(before) / usize::from(COUNT);
    println!("{} bytes at once", each());
    // What only a busy one needs goes when its timers have run out.
    waits("it costs more", || each() <= MOST);
    println!("{} bytes", each());
    assert!(each() > 1000, "{}: nothing is measured", each());
}
