//! Registered buffers of io_uring on a TUN device: processor time of a packet that is read into
//! one or written from one, beside memory that is not registered and beside a system call each.
//!
//! This is the best that registered memory could do: a stack would have to copy each packet
//! from it or into it besides, since what it keeps lies in blocks of its own. The line `copy` has what
//! that costs. Rounds alternate; medians of the calling thread's time. Run it as root.

extern crate anabranch_device as device;

use device::tun::{Config, open};
use io_uring::{IoUring, opcode, squeue, types};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Packets at a time, and bytes of a buffer.
const BURST: usize = 32;
const BUFFER: usize = 1 << 15;
/// Rounds that are timed, and bursts of a round.
const ROUNDS: usize = 31;
const BURSTS: usize = 50;
/// Bytes of the header that stands before each packet.
const VIRTIO: usize = 12;
/// Which buffer of the one that is registered.
const FIXED: u16 = 0;

/// How packets are read or written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Calls,
    Vectors,
    Plain,
    Registered,
}

const WAYS: [Way; 4] = [Way::Calls, Way::Vectors, Way::Plain, Way::Registered];

/// Nanoseconds of the calling thread's processor time.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// A queue of a TUN device, a ring with it, and memory for a burst.
struct Trial<'a> {
    queue: BorrowedFd<'a>,
    ring: IoUring,
    memory: Vec<u8>,
    vectors: Vec<libc::iovec>,
}

impl Trial<'_> {
    fn of(queue: BorrowedFd<'_>) -> Trial<'_> {
        let ring = IoUring::new(BURST as u32).expect("a ring");
        ring.submitter().register_files(&[queue.as_raw_fd()]).expect("a registered file");
        let mut memory = vec![1; BURST * BUFFER];
        let start = memory.as_mut_ptr();
        let whole = libc::iovec { iov_base: start.cast(), iov_len: memory.len() };
        // SAFETY: the memory stays where it is for as long as the ring is there.
        unsafe { ring.submitter().register_buffers(&[whole]) }.expect("registered memory");
        // SAFETY: inside of the memory.
        let part = |n| unsafe { start.add(n * BUFFER) }.cast();
        let vectors = (0..BURST).map(|n| libc::iovec { iov_base: part(n), iov_len: BUFFER });
        Trial { queue, ring, memory, vectors: vectors.collect() }
    }

    fn entry(&self, way: Way, is_read: bool, at: usize, len: usize) -> squeue::Entry {
        let (file, len, no_wait) = (types::Fixed(0), len as u32, libc::RWF_NOWAIT);
        let (vector, bytes) = (&raw const self.vectors[at], self.vectors[at].iov_base.cast::<u8>());
        match (way, is_read) {
            (Way::Vectors, true) => opcode::Readv::new(file, vector, 1).rw_flags(no_wait).build(),
            (Way::Vectors, false) => opcode::Writev::new(file, vector, 1).rw_flags(no_wait).build(),
            (Way::Registered, true) => {
                opcode::ReadFixed::new(file, bytes, len, FIXED).rw_flags(no_wait).build()
            }
            (Way::Registered, false) => {
                opcode::WriteFixed::new(file, bytes, len, FIXED).rw_flags(no_wait).build()
            }
            (_, true) => opcode::Read::new(file, bytes, len).rw_flags(no_wait).build(),
            (_, false) => opcode::Write::new(file, bytes, len).rw_flags(no_wait).build(),
        }
    }

    /// Reads or writes a burst; the bytes of each packet, or an error below 0.
    fn burst(&mut self, way: Way, is_read: bool, len: usize) -> [i32; BURST] {
        let mut results = [0; BURST];
        for vector in &mut self.vectors {
            vector.iov_len = len;
        }
        if way == Way::Calls {
            let fd = self.queue.as_raw_fd();
            for (vector, result) in self.vectors.iter().zip(&mut results) {
                // SAFETY: each vector has so many bytes of the memory.
                *result = unsafe {
                    match is_read {
                        true => libc::read(fd, vector.iov_base, len) as i32,
                        false => libc::write(fd, vector.iov_base, len) as i32,
                    }
                };
            }
            return results;
        }
        for at in 0..BURST {
            let entry = self.entry(way, is_read, at, len).user_data(at as u64);
            // SAFETY: the memory and the vectors stay until all is done, before this returns.
            unsafe { self.ring.submission().push(&entry) }.expect("room for a burst");
        }
        let done = self.ring.submit_and_wait(BURST).expect("it is done");
        assert_eq!(done, BURST);
        for entry in self.ring.completion() {
            results[entry.user_data() as usize] = entry.result();
        }
        results
    }
}

/// Nanoseconds of a packet that is read.
fn read(trial: &mut Trial<'_>, kernel: &UdpSocket, way: Way, len: usize) -> f64 {
    let (mut sum, mut got, payload) = (0.0, 0, vec![0; len]);
    for _ in 0..BURSTS {
        for _ in 0..BURST {
            kernel.send_to(&payload, (OURS, 9)).expect("send");
        }
        let start = spent();
        let results = trial.burst(way, true, BUFFER);
        let time = spent() - start;
        let all = results.iter().filter(|&&n| n > 0).count();
        if all == BURST {
            (sum, got) = (sum + time, got + BURST);
        }
        // What was late.
        trial.burst(Way::Calls, true, BUFFER);
    }
    sum / got as f64
}

/// Nanoseconds of a packet that is written.
fn write(trial: &mut Trial<'_>, kernel: &UdpSocket, way: Way, len: usize) -> f64 {
    let (packet, mut bytes) = (datagram(len), vec![0; len]);
    for part in trial.memory.chunks_exact_mut(BUFFER) {
        part[..packet.len()].copy_from_slice(&packet);
    }
    let mut sum = 0.0;
    for _ in 0..BURSTS {
        let start = spent();
        let results = trial.burst(way, false, packet.len());
        sum += spent() - start;
        assert!(results.iter().all(|&n| n > 0), "{results:?}");
        for _ in 0..BURST {
            kernel.recv(&mut bytes).expect("it has come");
        }
    }
    sum / (BURSTS * BURST) as f64
}

/// A datagram of ours behind a virtio header that says nothing.
fn datagram(len: usize) -> Vec<u8> {
    use wire::{Packet, ipv4, protocol, udp};
    let mut packet = Packet::copy_of(&vec![0; len]);
    let length = (udp::LEN + len) as u16;
    let header = udp::Header { source_port: 9, destination_port: 7000, length, checksum: 0 };
    header.emit(packet.push(udp::LEN));
    ipv4::Header::new(OURS, KERNEL, protocol::UDP, length.into()).emit(packet.push(ipv4::LEN));
    [vec![0; VIRTIO], packet.to_vec()].concat()
}

/// Nanoseconds of a copy of so many bytes from one of many buffers into another.
fn copy(len: usize) -> f64 {
    let (from, mut to) = (vec![1_u8; BURST * BUFFER], vec![2_u8; BURST * BUFFER]);
    let start = spent();
    for _ in 0..BURSTS {
        for (to, from) in to.chunks_exact_mut(BUFFER).zip(from.chunks_exact(BUFFER)) {
            to[..len].copy_from_slice(&from[..len]);
        }
        black_box(&mut to);
    }
    (spent() - start) / (BURSTS * BURST) as f64
}

fn compare() {
    println!(
        "| way | bytes | a call each, ns | readv or writev, ns | read or write, ns | registered, ns | copy, ns |\n\
         |---|---|---|---|---|---|---|"
    );
    let config = Config::default().with_name("ana-ring").with_mtu(20_000).with_offload(false);
    let device = open(&config.with_kernel_address(KERNEL, 24)).expect("a device");
    let queue = device.queues[0].receive.wait_fd().expect("it has one");
    let kernel = UdpSocket::bind((KERNEL, 7000)).expect("bind");
    let room = rustix::net::sockopt::set_socket_recv_buffer_size_force(&kernel, 64 << 20);
    room.expect("room for a burst, as root");
    let mut trial = Trial::of(queue);
    for is_read in [true, false] {
        for len in [64, 1400, 16_000] {
            let mut times = WAYS.map(|_| Vec::new());
            for round in 0..=ROUNDS {
                for (way, times) in WAYS.into_iter().zip(&mut times) {
                    let measure = if is_read { read } else { write };
                    let time = measure(&mut trial, &kernel, way, len);
                    // The first round warms up.
                    times.extend((round > 0 && time.is_finite()).then_some(time));
                }
            }
            let medians = times.map(|mut times| {
                times.sort_by(f64::total_cmp);
                format!("{:.0}", times[times.len() / 2])
            });
            let way = if is_read { "read" } else { "written" };
            println!("| {way} | {len} | {} | {:.0} |", medians.join(" | "), copy(len));
        }
    }
}

fn main() {
    if let Err(error) = device::namespace::in_private(compare) {
        println!("skipped: {error}");
    }
}
