use super::virtio::{Header, LEN};
use super::*;
use wire::Packet;
use wire::packet::ChecksumState;

#[test]
fn virtio_header_there_and_back() {
    let mut packet = Packet::copy_of(&[0x50; 100]);
    assert_eq!(Header::of(&packet).unwrap().emit(), [0; LEN]);
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset, meta.gso_size) = (34, 16, 1460);
    let header = Header::of(&packet).expect("offload");
    // 0x50 at the data offset: a TCP header of 20 bytes.
    let words =
        |b: &[u8]| -> Vec<u16> { b.chunks(2).map(|w| u16::from_ne_bytes([w[0], w[1]])).collect() };
    let bytes = header.emit();
    assert_eq!(bytes[..2], [1, 1]);
    assert_eq!(words(&bytes[2..]), [54, 1460, 34, 16, 0]);
    assert_eq!(Header::parse(&bytes), header);
    let mut other = Packet::copy_of(&[0; 60]);
    assert!(header.apply(&mut other));
    assert_eq!(other.meta().checksum, ChecksumState::Partial);
    assert_eq!((other.meta().csum_start, other.meta().gso_size), (34, 1460));
}

#[test]
fn what_is_to_be_cut_has_its_family() {
    let mut packet = Packet::copy_of(&[0x50; 100]);
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset, meta.gso_size) = (54, 16, 1440);
    meta.destination = std::net::Ipv6Addr::LOCALHOST.into();
    let header = Header::of(&packet).expect("offload");
    assert_eq!(header.emit()[..2], [1, 4]);
    let mut other = Packet::copy_of(&[0; 100]);
    header.apply(&mut other);
    assert_eq!(other.meta().gso_size, 1440);
}

#[test]
fn virtio_headers_that_make_no_sense() {
    // A checksum field outside of the frame.
    let mut bytes = [0; LEN];
    bytes[0] = 1;
    bytes[6..8].copy_from_slice(&0xffffu16.to_ne_bytes());
    bytes[8..10].copy_from_slice(&0xffffu16.to_ne_bytes());
    let mut packet = Packet::copy_of(&[0; 60]);
    assert!(!Header::parse(&bytes).apply(&mut packet));
    assert_eq!(packet.meta().checksum, ChecksumState::Complete);
    // Segmentation without checksum offload, or of a packet without headers.
    packet.meta_mut().gso_size = 1460;
    assert!(Header::of(&packet).is_none());
    packet.meta_mut().checksum = ChecksumState::Partial;
    packet.meta_mut().csum_start = 50;
    assert!(Header::of(&packet).is_none());
    bytes[0] = 2;
    let mut packet = Packet::copy_of(&[0; 60]);
    assert!(Header::parse(&bytes).apply(&mut packet));
    assert_eq!(packet.meta().checksum, ChecksumState::Verified);
    // Segments of no bytes, and of a kind that was not asked for.
    let sized = |kind: u8, size: u16| {
        let mut bytes = [0; LEN];
        bytes[1] = kind;
        bytes[4..6].copy_from_slice(&size.to_ne_bytes());
        Header::parse(&bytes).apply(&mut Packet::copy_of(&[0; 60]))
    };
    assert!(sized(1, 1460) && sized(0x81, 1460) && sized(0, 7));
    assert!(!sized(1, 0) && !sized(3, 1460) && !sized(0x7f, 1460));
}

#[test]
fn names_that_cannot_be() {
    for name in ["", "a-name-of-sixteen", "a/b", "a b"] {
        let config = Config { name: name.into(), ..Config::default() };
        let error = open(&config).expect_err("refused");
        assert!(matches!(error, Error::BadName(_)), "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}

/// What the kernel sends as one packet of several datagrams comes up as these.
#[test]
fn datagrams_of_one_size_come_together() {
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};
    let done = crate::namespace::in_private(|| {
        // Nothing of the kernel's own comes between.
        disable_ipv6("default");
        let config = crate::tun::Config::default().with_name("ana-uso");
        let mut device = match crate::tun::open(&config.with_kernel_address([10, 98, 0, 1], 24)) {
            Ok(device) => device,
            Err(error @ (Error::NoDriver | Error::NoAccess | Error::NotAllowed(_))) => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let socket = UdpSocket::bind("10.98.0.1:0").expect("bind");
        let size: libc::c_int = 1000;
        // SAFETY: the option reads one int.
        let set = unsafe {
            let (fd, len) = (socket.as_raw_fd(), size_of::<libc::c_int>() as libc::socklen_t);
            libc::setsockopt(fd, libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const size).cast(), len)
        };
        assert_eq!(set, 0);
        let sent: Vec<u8> = (0..9_500u32).map(|i| (i ^ i >> 8) as u8).collect();
        socket.send_to(&sent, "10.98.0.2:9").expect("send");
        let queue = &mut device.queues[0].receive;
        let (mut packets, start) = (Vec::new(), Instant::now());
        while packets.is_empty() {
            assert!(start.elapsed() < Duration::from_secs(5), "nothing came");
            queue.receive(&mut packets, 3);
        }
        assert_eq!((packets.len(), queue.arm()), (3, false), "the others wait here");
        while queue.receive(&mut packets, 32) > 0 {}
        assert!(queue.arm());
        let mut got = Vec::new();
        for packet in &mut packets {
            let bytes = packet.to_vec();
            let header = wire::udp::Header::parse(&bytes[wire::ipv4::LEN..]).expect("UDP");
            assert_eq!(usize::from(header.length), bytes.len() - wire::ipv4::LEN);
            wire::ipv4::Header::parse(&bytes).expect("IPv4");
            got.extend_from_slice(&bytes[wire::ipv4::LEN + wire::udp::LEN..]);
        }
        assert_eq!((packets.len(), got == sent), (10, true));
    });
    if let Err(error) = done {
        println!("skipped: {error}");
    }
}

fn datagram(payload: &[u8], port: u16) -> Packet {
    use wire::{checksum, ipv4, protocol, udp};
    let (from, to) = ([10, 98, 1, 2].into(), [10, 98, 1, 1].into());
    let mut packet = Packet::copy_of(payload);
    let length = (payload.len() + udp::LEN) as u16;
    let sum = checksum::pseudo_header(
        std::net::Ipv4Addr::from([10, 98, 1, 2]).into(),
        std::net::Ipv4Addr::from([10, 98, 1, 1]).into(),
        protocol::UDP,
        length.into(),
    );
    let header = udp::Header { source_port: 9, destination_port: port, length, checksum: sum };
    header.emit(packet.push(udp::LEN));
    ipv4::Header::new(from, to, protocol::UDP, length.into()).emit(packet.push(ipv4::LEN));
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset) = (ipv4::LEN as u16, 6);
    packet
}

/// Datagrams of one flow leave by one write, and arrive as they are.
#[test]
fn datagrams_in_a_row_leave_together() {
    use crate::{Batch, Medium};
    use std::net::UdpSocket;
    let done = crate::namespace::in_private(|| {
        // Nothing of the kernel's own comes between.
        disable_ipv6("default");
        let config = crate::tun::Config::default().with_name("ana-uso");
        let mut device = match crate::tun::open(&config.with_kernel_address([10, 98, 1, 1], 24)) {
            Ok(device) => device,
            Err(error @ (Error::NoDriver | Error::NoAccess | Error::NotAllowed(_))) => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let socket = UdpSocket::bind("10.98.1.1:0").expect("bind");
        socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).expect("set");
        let port = socket.local_addr().expect("bound").port();
        let lengths = [1000, 1000, 1000, 700, 1000, 900, 900, 1000];
        let payload = |index: usize| vec![index as u8; lengths[index]];
        let batch = || (0..8).map(|index| datagram(&payload(index), port)).collect::<Batch>();
        let count = |batch: &Batch| {
            super::datagrams::Together::of(batch, Medium::Ip).map_or(1, |together| together.count)
        };
        // A shorter one is the last; a longer one begins anew.
        let mut counts = Vec::new();
        let mut left = batch();
        while !left.is_empty() {
            counts.push(count(&left));
            left.drain(..counts[counts.len() - 1]);
        }
        assert_eq!(counts, [4, 2, 1, 1]);
        let others: Batch = [datagram(&[1; 9], port), datagram(&[1; 9], port ^ 1)].into();
        assert_eq!(count(&others), 1, "another flow");
        let mut all = batch();
        device.queues[0].transmit.transmit(&mut all);
        assert!(all.is_empty());
        let mut bytes = [0; 2000];
        for index in 0..8 {
            let n = socket.recv(&mut bytes).unwrap_or_else(|e| panic!("datagram {index}: {e}"));
            assert_eq!(bytes[..n], payload(index));
        }
        let many: Batch = (0..100).map(|_| datagram(&[1; 9], port)).collect();
        assert_eq!(count(&many), 64);
        let large: Batch = (0..64).map(|_| datagram(&[1; 1472], port)).collect();
        assert_eq!(count(&large), 44, "what a datagram of IP can hold");
    });
    if let Err(error) = done {
        println!("skipped: {error}");
    }
}

#[test]
fn the_headers_of_datagrams_together_are_right() {
    use crate::{Batch, Medium, segment};
    use wire::{Address, ipv4, udp};
    let ends: [Address; 2] =
        [[10, 98, 1, 2], [10, 98, 1, 1]].map(|a| std::net::Ipv4Addr::from(a).into());
    for last in [1, 333, 500] {
        let batch: Batch = [500, 500, last].map(|len| datagram(&vec![7; len], 53)).into();
        let together = super::datagrams::Together::of(&batch, Medium::Ip).expect("all of them");
        assert_eq!((together.count, together.size), (3, 500));
        let total = udp::LEN + 1000 + last;
        let ip = ipv4::Header::parse(&together.headers).expect("IPv4, with its checksum");
        assert_eq!(usize::from(ip.total_len), ipv4::LEN + total);
        let header = udp::Header::parse(&together.headers[ipv4::LEN..]).expect("UDP");
        let (kind, length) = (wire::protocol::UDP, total as u32);
        let pseudo = wire::checksum::pseudo_header(ends[0], ends[1], kind, length);
        assert_eq!((usize::from(header.length), header.checksum), (total, pseudo));
        // Cut again, they are what they were, but for identifications.
        let mut whole = Packet::copy_of(&together.headers);
        for packet in &batch {
            whole.parts_mut().extend(packet.parts().iter().cloned());
        }
        whole.meta_mut().gso_size = together.size;
        let mut cut = Batch::new();
        segment::cut(whole, Medium::Ip, &mut cut).expect("headers");
        assert_eq!(cut.len(), 3);
        for (cut, packet) in cut.iter().zip(&batch) {
            assert_eq!(cut.to_vec()[ipv4::LEN..], packet.to_vec()[ipv4::LEN..]);
        }
    }
}
