//! Processor time of a packet that is read from or written to a TUN device, by a call each and by
//! io_uring, in rounds that alternate: medians. It is the calling thread's, in the kernel and
//! outside, so other programs disturb it little. Run it as root.

extern crate anabranch_device as device;

use device::tun::{Config, IoUring, open};
use device::{Batch, Device};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::net::{Ipv4Addr, UdpSocket};
use wire::{Packet, ipv4, protocol, udp};

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Rounds that are timed, and packets of a round.
const ROUNDS: usize = 31;
const PACKETS: usize = 6_400;

/// Nanoseconds of the calling thread's processor time.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Of a packet that is read, `burst` at a time.
fn read(device: &mut Device, kernel: &UdpSocket, burst: usize, len: usize) -> f64 {
    let (mut got, mut sum, mut measured, payload) = (Vec::new(), 0.0, 0, vec![0; len]);
    for _ in 0..PACKETS / burst {
        for _ in 0..burst {
            kernel.send_to(&payload, (OURS, 9)).expect("send");
        }
        let start = spent();
        let count = device.queues[0].receive.receive(&mut got, 64);
        let time = spent() - start;
        // Another processor may have the interface's queue, and give it on a moment later, or never
        // while the interface comes up.
        for _ in 0..1000 {
            if got.len() >= burst {
                break;
            }
            device.queues[0].receive.receive(&mut got, 64);
        }
        if count >= burst {
            (sum, measured) = (sum + time, measured + burst);
        }
        black_box(&got);
        got.clear();
    }
    sum / measured as f64
}

fn packet(len: usize) -> Packet {
    let mut packet = Packet::copy_of(&vec![0; len]);
    let length = (udp::LEN + len) as u16;
    let header = udp::Header { source_port: 9, destination_port: 7000, length, checksum: 0 };
    header.emit(packet.push(udp::LEN));
    ipv4::Header::new(OURS, KERNEL, protocol::UDP, length.into()).emit(packet.push(ipv4::LEN));
    packet
}

/// Of a packet that is written, `burst` at a time.
fn write(device: &mut Device, kernel: &UdpSocket, burst: usize, len: usize) -> f64 {
    let (mut sum, packet, mut bytes) = (0.0, packet(len), vec![0; len]);
    for _ in 0..PACKETS / burst {
        let mut batch: Batch = (0..burst).map(|_| packet.clone()).collect();
        let start = spent();
        device.queues[0].transmit.transmit(&mut batch);
        sum += spent() - start;
        assert!(batch.is_empty());
        for _ in 0..burst {
            kernel.recv(&mut bytes).expect("it has come");
        }
    }
    sum / PACKETS as f64
}

fn compare() {
    let made = [("ana-plain", IoUring::Off), ("ana-ring", IoUring::Required)];
    println!(
        "| way | bytes | at a time | a call each, ns | io_uring, ns | ratio |\n|---|---|---|---|---|---|"
    );
    for is_read in [true, false] {
        for (len, burst) in [(64, 1), (64, 2), (64, 8), (64, 32), (1400, 1), (1400, 8), (1400, 32)]
        {
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for ((name, calls), times) in made.into_iter().zip(&mut times) {
                    let config = Config::default().with_name(name).with_io_uring(calls);
                    let mut device =
                        open(&config.with_kernel_address(KERNEL, 24)).expect("a device");
                    let kernel = UdpSocket::bind((KERNEL, 7000)).expect("bind");
                    // An interface that has just come up takes nothing for a moment.
                    while device.queues[0].receive.receive(&mut Vec::new(), 64) == 0 {
                        kernel.send_to(b"first", (OURS, 9)).expect("send");
                    }
                    let measure = if is_read { read } else { write };
                    measure(&mut device, &kernel, burst, len);
                    times.push(measure(&mut device, &kernel, burst, len));
                }
            }
            let [plain, ring] = times.map(|mut times| {
                times.sort_by(f64::total_cmp);
                times[ROUNDS / 2]
            });
            let way = if is_read { "read" } else { "written" };
            let ratio = plain / ring;
            println!("| {way} | {len} | {burst} | {plain:.0} | {ring:.0} | {ratio:.2} |");
        }
    }
}

fn main() {
    if let Err(error) = device::namespace::in_private(compare) {
        println!("skipped: {error}");
    }
}
