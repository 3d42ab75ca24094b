//! TUN devices against this machine's kernel, each in a network namespace of its own.
//! Without the rights for that the tests say so and pass.

extern crate anabranch_device as device;

mod station;

use device::tun::{Config, Error, IoUring, from_fds, open};
use device::{Batch, Device, Medium};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use station::isolated;
use std::fs::File;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};
use wire::packet::ChecksumState;
use wire::steering::{Steered, Steering};
use wire::{Packet, ipv4, protocol, udp};

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);

fn config(name: &str, calls: IoUring) -> Config {
    Config::default()
        .with_name(name)
        .with_kernel_address(KERNEL, 24)
        .with_steering(Steering::new(42))
        .with_io_uring(calls)
}

fn made(config: &Config) -> Option<Device> {
    match open(config) {
        Ok(device) => Some(device),
        Err(error @ (Error::NoDriver | Error::NoAccess | Error::NotAllowed(_))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The next IPv4 datagrams with their queue; panics after 20 seconds.
fn next(device: &mut Device) -> Vec<(usize, Packet)> {
    let give_up = Instant::now() + Duration::from_secs(20);
    let mut all = Vec::new();
    while all.is_empty() {
        assert!(Instant::now() < give_up, "nothing arrived");
        let descriptors = device.queues.iter().map(|q| q.receive.wait_fd().expect("a descriptor"));
        let mut polls: Vec<_> =
            descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        poll(&mut polls, Some(&Timespec { tv_sec: 1, tv_nsec: 0 })).expect("poll");
        drop(polls);
        for (index, queue) in device.queues.iter_mut().enumerate() {
            let mut got = Vec::new();
            queue.receive.receive(&mut got, 64);
            let is_v4 = |packet: &Packet| packet.front()[0] >> 4 == 4;
            all.extend(got.into_iter().filter(is_v4).map(|packet| (index, packet)));
        }
    }
    all
}

/// A datagram comes up, bare, and its answer goes down.
fn exchange(device: &mut Device) {
    let kernel = UdpSocket::bind((KERNEL, 7000)).expect("bind");
    kernel.send_to(b"question", (OURS, 53)).expect("send");
    let (queue, packet) = next(device).pop().expect("one");
    let header = ipv4::Header::parse(packet.front()).expect("IPv4, and nothing before it");
    assert_eq!((header.protocol, header.destination), (protocol::UDP, OURS));
    assert_eq!(packet.to_vec()[ipv4::LEN + udp::LEN..], *b"question");
    let partial = packet.meta().checksum == ChecksumState::Partial;
    assert_eq!(partial, device.capabilities.transmit_checksum);
    if partial {
        assert_eq!((packet.meta().csum_start, packet.meta().csum_offset), (20, 6));
    }
    let mut answer = Packet::copy_of(b"answer");
    let header = udp::Header { source_port: 53, destination_port: 7000, length: 14, checksum: 0 };
    header.emit(answer.push(udp::LEN));
    ipv4::Header::new(OURS, KERNEL, protocol::UDP, 14).emit(answer.push(ipv4::LEN));
    let mut batch = Batch::from([answer]);
    device.queues[queue].transmit.transmit(&mut batch);
    assert!(batch.is_empty());
    let mut bytes = [0; 64];
    let (n, from) = kernel.recv_from(&mut bytes).expect("answer");
    assert_eq!((&bytes[..n], from), (&b"answer"[..], (OURS, 53).into()));
}

#[test]
fn datagrams_go_both_ways_bare() {
    isolated(|calls| {
        for offload in [false, true] {
            let Some(mut device) = made(&config("ana-tun", calls).with_offload(offload)) else {
                return;
            };
            assert_eq!(device.capabilities.medium, Medium::Ip);
            assert_eq!(device.capabilities.segmentation > 0, offload);
            exchange(&mut device);
        }
    });
}

#[test]
fn flows_arrive_on_the_queue_that_steering_says() {
    isolated(|calls| {
        let Some(mut device) = made(&config("ana-tunq", calls).with_queues(4)) else { return };
        if device.steering.is_none() {
            return println!("skipped: steering programs are not permitted here");
        }
        let mut used = [0; 4];
        for port in 0..200u16 {
            let socket = UdpSocket::bind((KERNEL, 0)).expect("bind");
            socket.send_to(b"x", (OURS, 2000 + port)).expect("send");
            for (queue, packet) in next(&mut device) {
                let Steered::Flow(hash) = Steering::new(42).datagram(packet.front()) else {
                    panic!("no flow: {packet:?}")
                };
                assert_eq!(hash as usize % 4, queue);
                used[queue] += 1;
            }
        }
        assert!(used.iter().all(|&n| n > 20), "{used:?}");
    });
}

/// A descriptor attached to the interface `name`, which is made if there is none;
/// `None` without the rights for that.
fn attached(name: &str, flags: libc::c_int) -> Option<OwnedFd> {
    let file = File::options().read(true).write(true).open("/dev/net/tun");
    let file = file.inspect_err(|error| println!("skipped: {error}")).ok()?;
    // SAFETY: an `ifreq` is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (flags | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request reads and writes one `ifreq`.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    assert!(done == 0, "{}", std::io::Error::last_os_error());
    Some(file.into())
}

#[test]
fn an_open_descriptor_is_a_device() {
    isolated(|calls| {
        for (name, flags) in [("ana-fd", 0), ("ana-fd-header", libc::IFF_VNET_HDR)] {
            let Some(descriptor) = attached(name, libc::IFF_TUN | flags) else { return };
            let control = device::tap::Control::new().expect("socket");
            control.set_address(name, KERNEL.into(), 24).expect("address");
            control.set_up(name, true).expect("up");
            let mut device = from_fds(vec![descriptor], &Config::default().with_io_uring(calls))
                .expect("a device");
            assert_eq!((device.name.as_str(), device.queues.len()), (name, 1));
            assert_eq!(device.capabilities.transmit_checksum, flags != 0);
            exchange(&mut device);
        }
    });
}

#[test]
fn ethernet_and_what_is_no_interface_are_refused() {
    isolated(|calls| {
        let refused = |descriptors| {
            let error = from_fds(descriptors, &Config::default().with_io_uring(calls))
                .expect_err("refused");
            assert!(matches!(error, Error::Unsuitable { .. }), "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        };
        refused(Vec::new());
        refused(vec![File::open("/dev/null").expect("open").into()]);
        let Some(tap) = attached("ana-tap", libc::IFF_TAP) else { return };
        refused(vec![tap]);
        let taken =
            open(&Config::default().with_name("lo").with_existing(true).with_io_uring(calls));
        let error = taken.expect_err("no TUN interface");
        assert!(matches!(error, Error::Unsuitable { .. } | Error::InUse(_)), "{error}");
    });
}
