//! Memory of connections is bounded as a whole, whatever their peers send and nobody reads.

use super::{CLIENT, block_on, wire};
use anabranch::device::Device;
use anabranch::netstack::Limits;
use anabranch::tokio::{TcpListener, TcpStream};
use anabranch::{Netstack, Organization, Prefix, Stack, TcpConfig};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const CONNECTIONS: usize = 48;
/// Bytes that each end writes, many times what there is memory for.
const BYTES: usize = 1 << 20;
/// Bytes that each connection may receive, if there is memory.
const BUFFER: usize = 256 << 10;
/// Longer than a writer waits that is not kept waiting by who does not read.
const STANDS: Duration = Duration::from_millis(300);

/// Each of the processors may have all connections; where each has a thread, UDP's socket has one too.
fn limits(processors: usize) -> Limits {
    let connections = (CONNECTIONS + 1) * processors;
    Limits::default().with_connections(connections).with_buffer(BUFFER).with_tcp_bytes(1 << 20)
}

/// Bytes that connections may hold.
fn most(processors: usize) -> usize {
    limits(processors).memory() - Limits::default().with_connections(0).memory()
}

#[test]
fn what_has_no_bound_comes_to_all_that_there_is() {
    let most = usize::MAX;
    let none = Limits::within(most).with_buffer(most).with_tcp_bytes(most);
    assert_eq!(none.memory(), most);
    let none = none.with_sessions(most).with_datagram_bytes(most).with_raw_bytes(most);
    assert_eq!(none.with_fragment_bytes(most).memory(), most);
}

/// The byte that stands there in what connection `n` carries.
fn byte(n: usize, at: usize) -> u8 {
    (n * 31 + at % 251) as u8
}

/// Writes from byte `from` on until nothing more is taken for a while. Returns how many bytes were taken in all.
async fn fill(stream: &mut TcpStream, n: usize, from: usize) -> usize {
    let text: Vec<u8> = (from..BYTES).map(|at| byte(n, at)).collect();
    let mut taken = 0;
    while taken < text.len()
        && let Ok(wrote) = timeout(STANDS, stream.write(&text[taken..])).await
    {
        taken += wrote.expect("written");
    }
    from + taken
}

async fn finish(stream: &mut TcpStream, n: usize, from: usize) {
    let text: Vec<u8> = (from..BYTES).map(|at| byte(n, at)).collect();
    stream.write_all(&text).await.expect("written");
}

async fn read_all(stream: &mut TcpStream, n: usize) {
    let mut bytes = vec![0; BYTES];
    stream.read_exact(&mut bytes).await.expect("read");
    assert!(bytes.iter().enumerate().all(|(at, b)| *b == byte(n, at)), "connection {n}");
}

/// Nobody reads what `writers` write, until it has been looked at how much of `most` bytes is held; then all is read.
async fn carry(
    writers: &mut [TcpStream],
    readers: &mut [TcpStream],
    held: impl Fn() -> usize,
    most: usize,
) {
    let fills = writers.iter_mut().enumerate().map(|(n, stream)| fill(stream, n, 0));
    let taken = futures_util::future::join_all(fills).await;
    read_the_rest(writers, readers, taken, (held, most)).await;
}

/// Looks how much of `most` bytes is held. Then all is read, and what was not taken is written.
async fn read_the_rest(
    writers: &mut [TcpStream],
    readers: &mut [TcpStream],
    taken: Vec<usize>,
    (held, most): (impl Fn() -> usize, usize),
) {
    assert!(held() <= most, "{} of {most}", held());
    assert!(held() > 4096 * CONNECTIONS, "{}: nothing was tried", held());
    let rest = writers.iter_mut().zip(taken).enumerate();
    let rest = rest.map(|(n, (stream, taken))| finish(stream, n, taken));
    let reads = readers.iter_mut().enumerate().map(|(n, stream)| read_all(stream, n));
    tokio::join!(futures_util::future::join_all(rest), futures_util::future::join_all(reads));
}

/// A stack behind `device` whose connections take little that they do not read.
fn client(device: Device, processors: usize) -> Stack {
    let little = TcpConfig::default().with_receive_buffer(16 << 10);
    let builder = Stack::builder().device(device).address(format!("{CLIENT}/24")).tcp(little);
    let builder = builder.route("default via 10.0.0.1").processors(processors);
    builder.organization("processor-per-connection").start().expect("a stack")
}

fn is_bounded(organization: Organization) {
    let processors = if organization.is_single() { 1 } else { 2 };
    let (left, right) = wire(processors);
    let builder = Stack::builder().device(left).owns(Prefix::ALL_V4).owns(Prefix::ALL_V6);
    let builder = builder.organization(organization).processors(processors);
    let netstack = Netstack::start(builder, limits(processors)).expect("a netstack");
    let client = client(right, processors);
    block_on(async {
        let (mut there, mut here) = (Vec::new(), Vec::new());
        for port in 1..=CONNECTIONS as u16 {
            let (connected, accepted) =
                tokio::join!(TcpStream::connect(&client, ("192.0.2.1", port)), netstack.accept());
            there.push(connected.expect("connect"));
            let accepted = accepted.expect("accept");
            // Its window is told before there is anything that it would take memory from.
            accepted.set_receive_buffer_size(BUFFER).expect("set");
            here.push(accepted);
        }
        let most = most(processors);
        let held = || netstack.stack().memory();
        // What comes and is not read, and what is written and not taken.
        carry(&mut there, &mut here, held, most).await;
        carry(&mut here, &mut there, held, most).await;
    });
}

/// What connections may hold together of a stack that is no netstack.
const MEMORY: usize = 1 << 20;
/// What each may have beyond it: 8 KiB each way.
const BEYOND: usize = 16 << 10;
/// What units have not told of yet, two of them.
const UNTOLD: usize = 2 * (128 << 10);
/// Many times what one may have once half of them have filled the memory.
const MUCH: usize = 256 << 10;
/// Bytes that are written at a time, so that no more is ever under way to a connection.
const PIECE: usize = 16 << 10;

/// Writes to one after the other, and waits each time until it has had a turn, until none takes anything. What many
/// write before the first has had its turn nobody has counted. Returns how many bytes each has taken.
async fn fill_in_turns(writers: &mut [TcpStream]) -> Vec<usize> {
    let mut taken = vec![0; writers.len()];
    loop {
        let before = taken.clone();
        for (n, stream) in writers.iter().enumerate() {
            let end = BYTES.min(taken[n] + PIECE);
            let piece: Vec<u8> = (taken[n]..end).map(|at| byte(n, at)).collect();
            if !piece.is_empty()
                && let Ok(wrote) = stream.try_write(&piece)
            {
                taken[n] += wrote;
                stream.info().await.expect("it had a turn");
            }
        }
        if taken == before {
            return taken;
        }
    }
}

fn writes_are_bounded(organization: Organization) {
    let processors = if organization.is_single() { 1 } else { 2 };
    let (left, right) = wire(processors);
    let builder = Stack::builder().device(left).address("10.0.0.1/24").memory(MEMORY);
    let builder = builder.organization(organization).processors(processors);
    let server = builder.start().expect("a stack");
    let client = client(right, processors);
    block_on(async {
        let listener = TcpListener::bind(&server, ("10.0.0.1", 80)).await.expect("bind");
        let (mut there, mut here) = (Vec::new(), Vec::new());
        for _ in 0..CONNECTIONS {
            let (connected, accepted) =
                tokio::join!(TcpStream::connect(&client, ("10.0.0.1", 80)), listener.accept());
            there.push(connected.expect("connect"));
            here.push(accepted.expect("accept").0);
        }
        let (early, late) = here.split_at_mut(CONNECTIONS / 2);
        let mut taken = fill_in_turns(early).await;
        // Their last turn was when there was memory, and they know how much there is nevertheless.
        for stream in late {
            let n = taken.len();
            let text: Vec<u8> = (0..MUCH).map(|at| byte(n, at)).collect();
            let wrote = stream.try_write(&text).unwrap_or(0);
            taken.push(wrote);
            stream.info().await.expect("it had a turn");
        }
        let most = MEMORY + CONNECTIONS * BEYOND + UNTOLD;
        read_the_rest(&mut here, &mut there, taken, (|| server.memory(), most)).await;
    });
}

#[test]
fn what_a_program_writes_is_bounded_in_every_organization() {
    thread::scope(|scope| {
        for organization in Organization::all() {
            let thread = thread::Builder::new().name(organization.to_string());
            thread.spawn_scoped(scope, move || writes_are_bounded(organization)).expect("a thread");
        }
    });
}

#[test]
fn what_nobody_reads_is_bounded_in_every_organization() {
    thread::scope(|scope| {
        for organization in Organization::all() {
            let thread = thread::Builder::new().name(organization.to_string());
            thread.spawn_scoped(scope, move || is_bounded(organization)).expect("a thread");
        }
    });
}
