//! AF_XDP on several queues: each packet comes up at the thread that owns its flow, whatever
//! queue the interface has put it on. Threads count what they hand to others.

use anabranch::device::Device;
use anabranch::instruments::Instruments;
use anabranch::{Organization, Stack, TcpListener, TcpStream, UdpSocket};
use anabranch_conformance::transfer::{receive_in_pieces, send_in_pieces};
use anabranch_conformance::within;
use anabranch_linux_peer::{KERNEL, OURS, ip, pair};
use device::namespace;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener as KernelListener, TcpStream as KernelStream};
use std::time::Duration;

/// Connections each way, and bytes each way of each.
const CROWD: usize = 60;
const LEN: usize = 300_000;
const PIECE: u64 = 50_000;

/// What came of a run.
struct Outcome {
    /// Packets that threads handed to others.
    handed: u64,
    /// Packets that each thread took from the device.
    taken: Vec<u64>,
    /// Packets that were dropped anywhere in the stack.
    dropped: u64,
    /// What the stack counted, for a failure's message.
    counters: String,
}

/// Runs many connections and sockets both ways, over a pair of interfaces with so many queues, on
/// so many processors; `None` if there can be no such device here. `steered`: the stack knows how
/// the device spreads flows.
fn outcome(queues: usize, processors: usize, steered: bool) -> Option<Outcome> {
    let run = move || {
        let mut device = pair((OURS.into(), KERNEL.into()), 24, (queues, processors))?;
        if !steered {
            device.steering = None;
        }
        let (to, from) = std::sync::mpsc::channel();
        within("owners", move || to.send(exchange(device, processors)).expect("somebody waits"));
        from.recv().ok()
    };
    match namespace::in_private(run) {
        Ok(outcome) => outcome,
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn exchange(device: Device, processors: usize) -> Outcome {
    let instruments = Instruments::new();
    let (ours, far) = (device.ethernet, far_ethernet());
    let stack = Stack::builder()
        .device(device)
        .address((IpAddr::from(OURS), 24))
        .organization(Organization::PROCESSOR_PER_CONNECTION)
        .processors(processors)
        .instruments(instruments.clone())
        .start()
        .expect("a stack");
    // ARP is for all units, and so is handed on: nobody asks.
    stack.host().set_neighbour(0, KERNEL, far).expect("a neighbour");
    assert!(ip(&format!("neigh replace {OURS} lladdr {ours} dev ana-far nud permanent")));
    let before = (instruments.snapshot(), stack.counters());
    std::thread::scope(|scope| {
        scope.spawn(|| connections_out(&stack));
        scope.spawn(|| connections_in(&stack));
    });
    // Alone, for a full ring loses what comes beyond.
    datagrams(&stack);
    let report = instruments.snapshot().since(&before.0);
    let threads = report.threads.iter().filter(|thread| thread.name.starts_with("ana-unit"));
    let counters = stack.counters();
    Outcome {
        handed: report.threads.iter().map(|thread| thread.handed).sum(),
        taken: threads.map(|thread| thread.packets_in).collect(),
        dropped: counters.dropped_in_all() - before.1.dropped_in_all(),
        counters: format!("{counters:?}"),
    }
}

fn ask(mut stream: impl Read + Write, seed: u64) {
    send_in_pieces(&mut stream, seed, LEN, PIECE);
    receive_in_pieces(&mut stream, seed, LEN, PIECE);
}

fn echo(mut stream: impl Read + Write) {
    let mut bytes = vec![0; LEN];
    stream.read_exact(&mut bytes).expect("all of it");
    stream.write_all(&bytes).expect("written");
}

fn connections_out(stack: &Stack) {
    let kernel = KernelListener::bind((KERNEL, 5001)).expect("bind");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..CROWD {
                let (stream, _) = kernel.accept().expect("accept");
                scope.spawn(move || echo(stream));
            }
        });
        for seed in 0..CROWD as u64 {
            scope.spawn(move || {
                ask(TcpStream::connect(stack, (KERNEL, 5001)).expect("connect"), seed);
            });
        }
    });
}

fn connections_in(stack: &Stack) {
    let listener = TcpListener::bind(stack, (OURS, 5001)).expect("bind");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..CROWD {
                let (stream, _) = listener.accept().expect("accept");
                scope.spawn(move || echo(stream));
            }
        });
        for seed in 0..CROWD as u64 {
            scope.spawn(move || ask(KernelStream::connect((OURS, 5001)).expect("connect"), seed));
        }
    });
}

fn datagrams(stack: &Stack) {
    let us = UdpSocket::bind(stack, (OURS, 5002)).expect("bind");
    us.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    for n in 0..100_u8 {
        let kernel = std::net::UdpSocket::bind((KERNEL, 0)).expect("bind");
        kernel.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
        kernel.send_to(&[n], (OURS, 5002)).expect("sent");
        let mut byte = [0];
        let (_, from) = us.recv_from(&mut byte).expect("it arrives");
        us.send_to(&byte, from).expect("sent");
        assert!(kernel.recv(&mut byte).is_ok_and(|len| len == 1) && byte == [n]);
    }
}

/// The Ethernet address of the kernel's end.
fn far_ethernet() -> anabranch::device::EthernetAddress {
    let shown = std::process::Command::new("ip").args(["-o", "link", "show", "ana-far"]).output();
    let shown = String::from_utf8(shown.expect("ip").stdout).expect("text");
    let text = shown.split("link/ether ").nth(1).expect("an address").split(' ').next();
    let bytes = text.expect("an address").split(':').map(|b| u8::from_str_radix(b, 16));
    let bytes: Vec<u8> = bytes.collect::<Result<_, _>>().expect("numbers");
    anabranch::device::EthernetAddress(bytes.try_into().expect("six bytes"))
}

#[test]
fn no_packet_comes_up_at_the_wrong_owner() {
    for (queues, processors) in [(2, 2), (1, 2), (3, 2), (2, 3)] {
        let Some(outcome) = outcome(queues, processors, true) else { return };
        assert_eq!(outcome.taken.len(), processors);
        assert!(outcome.taken.iter().all(|&n| n > 1000), "each works: {:?}", outcome.taken);
        let Outcome { handed, dropped, counters, .. } = outcome;
        assert_eq!((handed, dropped), (0, 0), "{queues} for {processors}: {counters}");
    }
}

/// Else the test above could not fail.
#[test]
fn packets_at_the_wrong_owner_are_counted() {
    let Some(outcome) = outcome(2, 2, false) else { return };
    let taken: u64 = outcome.taken.iter().sum();
    assert!(outcome.handed > taken / 10, "{} of {taken}", outcome.handed);
}
