//! TAP interfaces that somebody else has made: persistent ones, and open
//! descriptors. Each test has a network namespace of its own.

extern crate anabranch_device as device;

mod station;

use device::tap::{Config, Control, Error, from_fds, open};
use station::{KERNEL, OURS, Station, ip, isolated};
use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use wire::{Packet, protocol, udp};

/// A descriptor attached to the TAP interface `name`, which is made if there is none;
/// `None` without the rights for that.
fn attached(name: &str, flags: libc::c_int) -> Option<OwnedFd> {
    let file = File::options().read(true).write(true).open("/dev/net/tun");
    let file = file.inspect_err(|error| println!("skipped: {error}")).ok()?;
    // SAFETY: an `ifreq` is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the request reads and writes one `ifreq`.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    assert!(done == 0, "{}", std::io::Error::last_os_error());
    Some(file.into())
}

/// Makes the TAP interface `name`, which stays.
fn persistent(name: &str, flags: libc::c_int) -> bool {
    let Some(queue) = attached(name, libc::IFF_TAP | libc::IFF_NO_PI | flags) else {
        return false;
    };
    // SAFETY: the request takes its argument by value.
    assert_eq!(unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETPERSIST, 1) }, 0);
    let control = Control::new().expect("socket");
    control.set_mtu(name, 1400).expect("MTU");
    control.set_address(name, KERNEL.into(), 24).expect("address");
    true
}

/// A datagram comes up, and its answer goes down.
fn exchange(station: &mut Station) {
    let kernel = UdpSocket::bind((KERNEL, 7000)).expect("bind");
    kernel.send_to(b"question", (OURS, 53)).expect("send");
    let (queue, packet) = station.next().pop().expect("one");
    let (header, at) = ip(&packet);
    assert_eq!(header.protocol, protocol::UDP);
    assert_eq!(packet.to_vec()[at + udp::LEN..], *b"question");
    let mut answer = Packet::copy_of(b"answer");
    let header = udp::Header { source_port: 53, destination_port: 7000, length: 14, checksum: 0 };
    header.emit(answer.push(udp::LEN));
    let answer = station.wrap(answer, protocol::UDP);
    station.send(queue, answer);
    let mut bytes = [0; 64];
    let (n, from) = kernel.recv_from(&mut bytes).expect("answer");
    assert_eq!((&bytes[..n], from), (&b"answer"[..], (OURS, 53).into()));
}

#[test]
fn an_existing_interface_is_taken_and_stays() {
    isolated(|calls| {
        for (name, flags, queues) in [
            ("ana-kept", 0, 1),
            ("ana-kept-multi", libc::IFF_MULTI_QUEUE, 3),
            ("ana-kept-one", libc::IFF_MULTI_QUEUE, 1),
        ] {
            if !persistent(name, flags) {
                return;
            }
            let config = Config::default()
                .with_name(name)
                .with_existing(true)
                .with_queues(queues)
                .with_io_uring(calls);
            for _ in 0..2 {
                let mut station = Station::from(open(&config).expect("taken"));
                assert_eq!(station.device.queues.len(), queues);
                assert_eq!(station.device.capabilities.mtu, 1400, "the interface's own");
                exchange(&mut station);
                let again = config.clone().with_queues(1);
                if flags == 0 {
                    let error = open(&again).expect_err("it has one queue");
                    assert!(matches!(error, Error::InUse(_)), "{error}");
                }
            }
            let control = Control::new().expect("socket");
            assert!(control.ethernet(name).is_ok(), "it is there still");
            control.set_up(name, false).expect("down");
        }
    });
}

#[test]
fn an_interface_that_another_has_a_little_longer_is_waited_for() {
    isolated(|calls| {
        let Some(other) = attached("ana-late", libc::IFF_TAP | libc::IFF_NO_PI) else { return };
        let held = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(other);
        });
        let config = Config::default()
            .with_name("ana-late")
            .with_kernel_address(KERNEL, 24)
            .with_io_uring(calls);
        let mut station = Station::from(open(&config).expect("made when the other has gone"));
        exchange(&mut station);
        held.join().expect("no panic");
    });
}

#[test]
fn what_is_not_there_or_no_such_interface_is_not_taken() {
    isolated(|calls| {
        let take = |name: &str, queues| {
            let config = Config::default()
                .with_name(name)
                .with_existing(true)
                .with_queues(queues)
                .with_io_uring(calls);
            let error = open(&config).expect_err("refused");
            assert!(!error.to_string().contains('\n'));
            error
        };
        if !persistent("ana-single", 0) {
            return;
        }
        assert!(matches!(take("ana-missing", 1), Error::Missing(_)));
        let exists = Control::new().expect("socket").ethernet("ana-missing").is_ok();
        assert!(!exists, "it was not made");
        assert!(matches!(take("ana/bad", 1), Error::BadName(_)));
        let error = take("ana-single", 2);
        assert!(matches!(error, Error::Unsuitable { .. }), "{error}");
        let error = take("lo", 1);
        assert!(matches!(error, Error::Unsuitable { .. } | Error::InUse(_)), "{error}");
    });
}

#[test]
fn open_descriptors_are_a_device() {
    isolated(|calls| {
        let frames = libc::IFF_TAP | libc::IFF_NO_PI;
        for (name, flags, queues) in [
            ("ana-fd", frames, 1),
            ("ana-fd-header", frames | libc::IFF_VNET_HDR, 1),
            ("ana-fd-multi", frames | libc::IFF_VNET_HDR | libc::IFF_MULTI_QUEUE, 2),
        ] {
            let descriptors: Option<Vec<_>> = (0..queues).map(|_| attached(name, flags)).collect();
            let Some(descriptors) = descriptors else { return };
            let control = Control::new().expect("socket");
            control.set_address(name, KERNEL.into(), 24).expect("address");
            control.set_up(name, true).expect("up");
            let device =
                from_fds(descriptors, &Config::default().with_io_uring(calls)).expect("a device");
            assert_eq!((device.name.as_str(), device.queues.len()), (name, queues));
            let has_header = flags & libc::IFF_VNET_HDR != 0;
            assert_eq!(device.capabilities.transmit_checksum, has_header);
            assert_eq!(device.capabilities.segmentation > 0, has_header);
            exchange(&mut Station::from(device));
            assert!(control.ethernet(name).is_err(), "gone with its last descriptor");
        }
    });
}

#[test]
fn other_descriptors_are_refused() {
    isolated(|calls| {
        let refused = |descriptors| {
            let error = from_fds(descriptors, &Config::default().with_io_uring(calls))
                .expect_err("refused");
            assert!(matches!(error, Error::Unsuitable { .. }), "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        };
        refused(Vec::new());
        refused(vec![File::open("/dev/null").expect("open").into()]);
        let Some(tun) = attached("ana-tun", libc::IFF_TUN | libc::IFF_NO_PI) else { return };
        refused(vec![tun]);
        let frames = libc::IFF_TAP | libc::IFF_NO_PI;
        let two = ["ana-one", "ana-other"].map(|name| attached(name, frames));
        refused(two.into_iter().flatten().collect());
    });
}
