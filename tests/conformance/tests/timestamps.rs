//! Under no organization does a connection send new data with a timestamp below that of
//! earlier data: the peer would drop it (PAWS, RFC 7323 5.3). What each stack gives to its
//! device is looked at, in the order in which the device gets it.
//!
//! `ANABRANCH_SEGMENTS` says how many segments with new data each organization has to send
//! (30,000); a release build sends a million in a few seconds.

use anabranch::device::{Batch, Device, Transmit, fault, memory};
use anabranch::{Options, Stack, TcpListener, TcpStream};
use anabranch_conformance::{CLIENT, SERVER, within};
use organizations::CATALOG;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use wire::{Packet, Seq};

/// The last new data of a flow: where it ended, and its TSval.
type Newest = HashMap<[u8; 12], (Seq, u32)>;

/// What the segments of a stack showed.
#[derive(Default)]
struct Seen {
    newest: Newest,
    /// Segments with data that no earlier one had.
    new: u64,
    /// Those of them whose TSval was below that of earlier data.
    backwards: u64,
}

impl Seen {
    fn look(&mut self, packet: &Packet) {
        let mut bytes = [0; 138];
        let n = packet.copy_front(&mut bytes);
        let ip = &bytes[14..n];
        if bytes[12..14] != [8, 0] || ip[9] != 6 {
            return;
        }
        let header = usize::from(ip[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let tcp = &ip[header..];
        let offset = usize::from(tcp[12] >> 4) * 4;
        let len = (total - header - offset) as u32;
        let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().expect("4 bytes"));
        // NOP, NOP, timestamps: how every segment of an established connection begins.
        if len == 0 || offset < 32 || tcp[20..24] != [1, 1, 8, 10] {
            return;
        }
        let mut flow = [0; 12];
        flow[..8].copy_from_slice(&ip[12..20]);
        flow[8..].copy_from_slice(&tcp[..4]);
        let (end, stamp) = (Seq(word(4)) + len, word(24));
        let newest = self.newest.entry(flow).or_insert((end, stamp));
        if end.after(newest.0) {
            self.new += 1;
            self.backwards += u64::from((stamp.wrapping_sub(newest.1) as i32) < 0);
            *newest = (end, stamp);
        }
    }
}

/// A transmitter that is looked at.
struct Watched {
    device: Box<dyn Transmit>,
    seen: Arc<Mutex<Seen>>,
}

impl Transmit for Watched {
    fn transmit(&mut self, batch: &mut Batch) {
        // No other queue's packets come between the look and the device.
        let mut seen = self.seen.lock().expect("no panic");
        let room = batch.len().min(self.device.room());
        batch.iter().take(room).for_each(|packet| seen.look(packet));
        let mut taken: Batch = batch.drain(..room).collect();
        self.device.transmit(&mut taken);
        assert!(taken.is_empty(), "the device said that it had room");
    }

    fn room(&self) -> usize {
        self.device.room()
    }
}

fn watch(mut device: Device) -> (Device, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    for queue in &mut device.queues {
        let lock: Box<dyn Transmit> = Box::new(Nothing);
        let device = std::mem::replace(&mut queue.transmit, lock);
        queue.transmit = Box::new(Watched { device, seen: seen.clone() });
    }
    (device, seen)
}

/// Stands for a transmitter while it is wrapped.
struct Nothing;

impl Transmit for Nothing {
    fn transmit(&mut self, batch: &mut Batch) {
        batch.clear();
    }
}

/// Sends until each end has sent so many new segments, over several connections, with
/// losses, and returns what both ends showed.
fn run(
    organization: &'static str,
    processors: usize,
    options: &Options,
    segments: u64,
) -> [Seen; 2] {
    let (left, right) = memory::pair(memory::Config::default().with_queues(processors));
    let left = fault::wrap(left, &"loss=0.2%,reorder=1%".parse().expect("faults"), 5);
    let (left, down) = watch(left);
    let (right, up) = watch(right);
    let start = |device, address: &str| {
        Stack::builder()
            .device(device)
            .express(anabranch_conformance::express())
            .address(format!("{address}/24"))
            .organization(organization)
            .processors(processors)
            .options(options.clone())
            .start()
            .expect("a stack")
    };
    let (server, client) = (start(left, SERVER), start(right, CLIENT));
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("listen");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let there = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
            let (here, _) = listener.accept().expect("accept");
            for end in [here, there] {
                let (from, to) = (end.try_clone().expect("clone"), end);
                scope.spawn(move || drain(from));
                let (down, up) = (down.clone(), up.clone());
                let enough =
                    move || [&down, &up].iter().all(|s| s.lock().expect("ok").new >= segments);
                scope.spawn(move || fill(to, enough));
            }
        }
    });
    server.stop();
    client.stop();
    [down, up].map(|seen| std::mem::take(&mut *seen.lock().expect("no panic")))
}

fn fill(mut to: TcpStream, enough: impl Fn() -> bool) {
    let bytes = vec![7; 64 * 1024];
    while !enough() {
        to.write_all(&bytes).expect("write");
    }
    to.shutdown(std::net::Shutdown::Write).expect("shutdown");
}

fn drain(mut from: TcpStream) {
    let mut bytes = vec![0; 64 * 1024];
    while from.read(&mut bytes).expect("read") > 0 {}
}

#[test]
fn new_data_has_no_older_timestamp() {
    let segments = std::env::var("ANABRANCH_SEGMENTS")
        .map_or(30_000, |n| n.parse().expect("ANABRANCH_SEGMENTS is a number"));
    for entry in CATALOG {
        let processors = if entry.single { 1 } else { 2 };
        let orders: &[bool] =
            if entry.name == "message-parallel" { &[false, true] } else { &[false] };
        for &order in orders {
            within(entry.name, move || {
                let options = Options::default().with_order(order);
                let seen = run(entry.name, processors, &options, segments);
                let new: u64 = seen.iter().map(|s| s.new).sum();
                let backwards: u64 = seen.iter().map(|s| s.backwards).sum();
                println!("{}, order {order}: {backwards} of {new}", entry.name);
                assert!(new >= 2 * segments);
                assert_eq!(backwards, 0, "of {new} segments, {}", entry.name);
            });
        }
    }
}
