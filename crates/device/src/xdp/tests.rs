use super::*;
use crate::memory::queue_of;
use crate::{Batch, capture, namespace, pcap};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};
use wire::packet::ChecksumState;
use wire::{EthernetAddress, Packet, ethernet, ipv4, protocol, udp};

const OURS: [u8; 4] = [10, 97, 0, 2];
const KERNEL: [u8; 4] = [10, 97, 0, 1];

fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).status();
    done.is_ok_and(|status| status.success())
}

/// Runs `f` where a pair of interfaces with so many queues is: `ana-near`, without an
/// address, and `ana-far`, which is the kernel's.
fn with_pair(queues: usize, f: impl FnOnce() + Send) {
    let made = namespace::in_private(|| {
        let q = format!("numrxqueues {queues} numtxqueues {queues}");
        if !ip(&format!("link add ana-near {q} type veth peer name ana-far {q}")) {
            println!("skipped: there is no `ip`, or no veth");
            return;
        }
        for name in ["ana-near", "ana-far"] {
            crate::tap::disable_ipv6(name);
            assert!(ip(&format!("link set {name} up")));
        }
        assert!(ip("address add 10.97.0.1/24 dev ana-far"));
        f();
    });
    if let Err(error) = made {
        println!("skipped: {error}");
    }
}

/// The device, if this machine has what it takes.
fn open_here(config: &Config) -> Option<Device> {
    match open(config) {
        Ok(device) => Some(device),
        Err(error @ (Error::NoKernel | Error::NotAllowed(_))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn config() -> Config {
    Config::new("ana-near").with_take(Take::Prefixes(vec![(IpAddr::from(OURS), 32)]))
}

/// Transmits all of `batch` within ten seconds.
fn transmit_all(device: &mut Device, batch: &mut Batch) {
    transmit_by(device, 0, batch);
}

/// The same by this queue.
fn transmit_by(device: &mut Device, queue: usize, batch: &mut Batch) {
    let end = Instant::now() + Duration::from_secs(10);
    while !batch.is_empty() {
        device.queues[queue].transmit.transmit(batch);
        assert!(Instant::now() < end, "{} wait for ever", batch.len());
    }
}

/// What arrives at any queue within two seconds and is as `wanted`.
fn receive(device: &mut Device, wanted: impl Fn(&[u8]) -> bool) -> Packet {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        for queue in &mut device.queues {
            let mut packets = Vec::new();
            queue.receive.receive(&mut packets, 32);
            if let Some(packet) = packets.into_iter().find(|p| wanted(&p.to_vec())) {
                return packet;
            }
        }
        assert!(Instant::now() < end, "nothing came");
    }
}

fn datagram(device: &Device, to: EthernetAddress, port: u16, partial: bool) -> Packet {
    let mut packet = Packet::copy_of(b"hello");
    let (from, far) = (OURS.into(), KERNEL.into());
    let header = udp::Header { source_port: 7, destination_port: port, length: 13, checksum: 0 };
    header.emit(packet.push(udp::LEN));
    ipv4::Header::new(from, far, protocol::UDP, 13).emit(packet.push(ipv4::LEN));
    let link = ethernet::Header {
        destination: to,
        source: device.ethernet,
        vlan: None,
        ethertype: ethernet::ethertype::IPV4,
    };
    link.emit(packet.push(ethernet::LEN));
    if partial {
        let pseudo = [&OURS[..], &KERNEL, &[0, 17, 0, 13]].concat();
        let words = pseudo.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum = words.sum::<u32>();
        let sum = (sum >> 16) + (sum & 0xffff);
        let at = ethernet::LEN + ipv4::LEN + 6;
        packet.head_mut()[at..at + 2].copy_from_slice(&(sum as u16).to_be_bytes());
        let meta = packet.meta_mut();
        meta.checksum = ChecksumState::Partial;
        (meta.csum_start, meta.csum_offset) = ((ethernet::LEN + ipv4::LEN) as u16, 6);
    }
    packet
}

#[test]
fn frames_for_us_come_and_go_and_the_kernel_keeps_the_rest() {
    with_pair(1, || {
        let Some(mut device) = open_here(&config()) else { return };
        // The kernel asks for us, and only that comes up; for its own it is answered by itself.
        let socket = UdpSocket::bind("10.97.0.1:0").expect("bind");
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("set");
        socket.send_to(b"x", "10.97.0.3:9").expect("send");
        socket.send_to(b"x", "10.97.0.2:9").expect("send");
        let request = receive(&mut device, |f| f[12..14] == [8, 6]).to_vec();
        assert_eq!(request[38..42], OURS);
        let far = EthernetAddress(request[6..12].try_into().expect("six bytes"));
        // We answer, and get the datagram.
        let mut answer = Packet::new();
        let mut bytes = request.clone();
        bytes.copy_within(6..12, 0);
        bytes[6..12].copy_from_slice(&device.ethernet.0);
        bytes[21] = 2;
        bytes.copy_within(22..32, 32);
        bytes[22..28].copy_from_slice(&device.ethernet.0);
        bytes[28..32].copy_from_slice(&OURS);
        answer.push(bytes.len()).copy_from_slice(&bytes);
        device.queues[0].transmit.transmit(&mut Batch::from([answer]));
        let got = receive(&mut device, |f| f[12..14] == [8, 0] && f[23] == protocol::UDP);
        assert_eq!(got.meta().checksum, ChecksumState::Verified, "a veth is trusted");
        // What we send arrives, with a checksum that is nobody's, ours to fill in.
        let SocketAddr::V4(local) = socket.local_addr().expect("bound") else { panic!("IPv4") };
        let partial = device.capabilities.transmit_checksum;
        let mut batch: Batch =
            (0..3000).map(|_| datagram(&device, far, local.port(), partial)).collect();
        let mut buffer = [0; 16];
        let mut heard = 0;
        while !batch.is_empty() {
            device.queues[0].transmit.transmit(&mut batch);
            while heard < 10 {
                let (n, from) = socket.recv_from(&mut buffer).expect("it arrives");
                assert_eq!(
                    (&buffer[..n], from),
                    (&b"hello"[..], "10.97.0.2:7".parse().expect("ok"))
                );
                heard += 1;
            }
        }
        // A second one has no place, and a dropped one leaves it.
        assert!(matches!(open(&config()), Err(Error::InUse(_))));
        drop(device);
        assert!(open(&config()).is_ok(), "the interface is free again");
    });
}

#[test]
fn what_cannot_be_sent_is_counted() {
    with_pair(1, || {
        let Some(mut device) = open_here(&config()) else { return };
        let mut long = Packet::copy_of(&[0; 4000]);
        let mut cut = Packet::copy_of(&[0; 60]);
        cut.meta_mut().gso_size = 10;
        let mut lies = Packet::copy_of(&[0; 60]);
        lies.meta_mut().checksum = ChecksumState::Partial;
        lies.meta_mut().csum_start = 59;
        long.meta_mut().gso_size = 0;
        let room = device.queues[0].transmit.room();
        device.queues[0].transmit.transmit(&mut Batch::from([long, cut, lies]));
        let dropped = &device.counts.transmit_dropped;
        assert_eq!(dropped.load(platform::atomic::Ordering::Relaxed), 3);
        assert_eq!(device.queues[0].transmit.room(), room);
    });
}

#[test]
fn errors_name_the_mend() {
    with_pair(2, || {
        let Some(device) = open_here(&config()) else { return };
        assert_eq!(device.queues.len(), 2, "all of them");
        drop(device);
        let missing = open(&Config::new("ana-none")).expect_err("not there").to_string();
        assert!(missing.contains("ip link"), "{missing}");
        let few = open(&config().with_queues(3)).expect_err("too many").to_string();
        assert!(few.contains("has 2 receive queues, not 3"), "{few}");
        assert!(ip("link set ana-near mtu 9000"));
        let long = open(&config()).expect_err("too long").to_string();
        assert!(long.contains("ip link set dev ana-near mtu 3498"), "{long}");
        let many = Take::Prefixes(vec![(IpAddr::from(OURS), 32); 65]);
        assert!(ip("link set ana-near mtu 1500"));
        assert!(matches!(open(&config().with_take(many)), Err(Error::TooManyPrefixes(65))));
        let crowded = open(&config().with_processors(129)).expect_err("too many").to_string();
        assert!(crowded.contains("has 2 receive queues, too many for 129"), "{crowded}");
        let most = Take::Prefixes(vec![(IpAddr::from([0; 16]), 0); 64]);
        open(&config().with_take(most)).expect("the verifier takes it");
    });
}

#[test]
fn an_interface_that_goes_away_is_noticed() {
    with_pair(1, || {
        let Some(mut device) = open_here(&config()) else { return };
        assert!(ip("link delete ana-near"));
        let packet = datagram(&device, device.ethernet, 9, false);
        device.queues[0].transmit.transmit(&mut Batch::from([packet]));
        assert!(device.counts.gone.load(platform::atomic::Ordering::Relaxed));
        assert!(device.queues[0].receive.wait_fd().is_none(), "nobody waits for it");
    });
}

/// Nobody sends: it is noticed all the same.
#[test]
fn an_interface_that_goes_away_silently_is_noticed() {
    with_pair(1, || {
        let Some(device) = open_here(&config()) else { return };
        let (to, gone) = std::sync::mpsc::channel();
        device.counts.when_gone(move || to.send(()).expect("the test listens"));
        assert!(ip("link delete ana-near"));
        gone.recv_timeout(Duration::from_secs(60)).expect("it is told");
    });
}

#[test]
fn a_queue_more_is_told() {
    with_pair(2, || {
        for name in ["ana-far", "ana-near"] {
            if let Err(error) = super::ethtool::set_queues(name, 1) {
                return println!("skipped: no queue can be taken from {name}: {error}");
            }
        }
        let Some(device) = open_here(&config()) else { return };
        assert_eq!(device.queues.len(), 1);
        // What came before somebody asked for it is told, too.
        super::ethtool::set_queues("ana-near", 2).expect("it has two");
        let (to, told) = std::sync::mpsc::channel();
        device.counts.when_queues(move |queues| to.send(queues).expect("the test listens"));
        assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(2));
        super::ethtool::set_queues("ana-near", 1).expect("nobody has the second");
        assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(1));
    });
}

#[test]
fn what_waits_for_an_interface_that_is_gone_is_dropped() {
    with_pair(1, || {
        let Some(mut device) = open_here(&config()) else { return };
        assert!(ip("link delete ana-near"));
        // More than there are frames: nobody gives them back.
        let packet = datagram(&device, device.ethernet, 9, false);
        let mut batch: Batch = (0..10_000).map(|_| packet.clone()).collect();
        transmit_all(&mut device, &mut batch);
        let dropped = device.counts.transmit_dropped.load(platform::atomic::Ordering::Relaxed);
        assert!(dropped > 0);
    });
}

/// Offers a device more of a packet than it has frames for. Returns how many it does not take.
fn send_much(device: &mut Device, packet: &Packet) -> usize {
    let mut batch: Batch = (0..10_000).map(|_| packet.clone()).collect();
    for _ in 0..100 {
        device.queues[0].transmit.transmit(&mut batch);
    }
    batch.len()
}

#[test]
fn an_interface_that_was_down_is_sent_to_again() {
    with_pair(1, || {
        let Some(mut device) = open_here(&config()) else { return };
        let far = far_ethernet();
        let socket = UdpSocket::bind("10.97.0.1:0").expect("bind");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        let port = socket.local_addr().expect("bound").port();
        assert!(ip("link set ana-near down"));
        let packet = datagram(&device, far, port, false);
        let left = send_much(&mut device, &packet);
        // What has a frame waits for it; a thread that had more to send would not sleep.
        assert_eq!(left, 0, "they wait though it is down");
        let dropped = device.counts.transmit_dropped.load(platform::atomic::Ordering::Relaxed);
        assert!((1..10_000).contains(&dropped), "{dropped}");
        assert!(ip("link set ana-near up"));
        let mut batch: Batch = (0..4000).map(|_| packet.clone()).collect();
        transmit_all(&mut device, &mut batch);
        assert!(socket.recv(&mut [0; 16]).is_ok(), "nothing arrives");
    });
}

#[test]
fn a_device_that_polls_busily_sends_and_receives() {
    with_pair(1, || {
        let Some(mut device) = open_here(&config().with_busy_poll(Some(20))) else { return };
        let socket = UdpSocket::bind("10.97.0.1:0").expect("bind");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        socket.send_to(b"x", "10.97.0.2:9").expect("send");
        receive(&mut device, |f| f[12..14] == [8, 6]);
        let port = socket.local_addr().expect("bound").port();
        let mut batch = Batch::from([datagram(&device, far_ethernet(), port, false)]);
        transmit_all(&mut device, &mut batch);
        assert!(socket.recv(&mut [0; 16]).is_ok(), "nothing arrives");
    });
}

/// The Ethernet address of `ana-far`.
fn far_ethernet() -> EthernetAddress {
    let shown = Command::new("ip").args(["-o", "link", "show", "ana-far"]).output().expect("ip");
    let shown = String::from_utf8(shown.stdout).expect("text");
    let text = shown.split("link/ether ").nth(1).expect("an address").split(' ').next();
    let bytes = text.expect("an address").split(':').map(|b| u8::from_str_radix(b, 16));
    let bytes: Vec<u8> = bytes.collect::<Result<_, _>>().expect("numbers");
    EthernetAddress(bytes.try_into().expect("six bytes"))
}

/// Sends what `wanted` flows say to us, and counts by queue of the device what comes up there,
/// which has to be what belongs there.
fn flows(device: &mut Device, steering: &Steering, wanted: usize) -> Vec<usize> {
    let sockets: Vec<UdpSocket> =
        (0..wanted).map(|_| UdpSocket::bind("10.97.0.1:0").expect("bind")).collect();
    for socket in &sockets {
        socket.send_to(b"x", "10.97.0.2:9").expect("send");
    }
    let mut came = vec![0; device.queues.len()];
    let end = Instant::now() + Duration::from_secs(10);
    while came.iter().sum::<usize>() < wanted {
        assert!(Instant::now() < end, "{came:?} of {wanted} came");
        let count = came.len();
        for (index, (queue, came)) in device.queues.iter_mut().zip(&mut came).enumerate() {
            let mut packets = Vec::new();
            queue.receive.receive(&mut packets, 32);
            for frame in packets.iter().map(Packet::to_vec) {
                if frame[12..14] == [8, 0] {
                    assert_eq!(queue_of(steering, Medium::Ethernet, &frame, count), index);
                    *came += 1;
                }
            }
        }
    }
    came
}

#[test]
fn flows_come_up_at_their_processor_whatever_queue_they_arrive_on() {
    for (queues, processors) in [(2, 2), (1, 2), (2, 3), (3, 2), (2, 1)] {
        with_pair(queues, || {
            let config = config().with_processors(processors);
            let Some(mut device) = open_here(&config) else { return };
            assert_eq!(device.queues.len(), processors);
            assert_eq!(device.steering.is_some(), processors > 1);
            let bytes = device.ethernet.0.map(|b| format!("{b:02x}")).join(":");
            assert!(ip(&format!("neigh replace 10.97.0.2 lladdr {bytes} dev ana-far")));
            let came = flows(&mut device, &config.steering, 300);
            assert!(came.iter().all(|&n| n > 30), "{came:?}");
            // Somebody waits, and is woken by whichever queue the frame arrives on.
            for port in 5000..5020 {
                let socket = UdpSocket::bind(("10.97.0.1", port)).expect("bind");
                assert!(device.queues.iter_mut().all(|queue| queue.receive.arm()));
                socket.send_to(b"x", "10.97.0.2:9").expect("send");
                let queues = device.queues.iter().filter_map(|queue| queue.receive.wait_fd());
                let mut fds: Vec<_> =
                    queues.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
                let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
                assert_eq!(poll(&mut fds, Some(&patience)).expect("poll"), 1, "one is woken");
                let woken = fds.iter().position(|fd| !fd.revents().is_empty());
                let mut packets = Vec::new();
                device.queues[woken.expect("one")].receive.receive(&mut packets, 32);
                assert_eq!(packets.len(), 1);
            }
            // Each sends more than it has frames, by a queue that it may share with others.
            let socket = UdpSocket::bind("10.97.0.1:0").expect("bind");
            socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
            let port = socket.local_addr().expect("bound").port();
            let packet = datagram(&device, far_ethernet(), port, false);
            for queue in 0..processors {
                for _ in 0..50 {
                    let mut batch: Batch = (0..100).map(|_| packet.clone()).collect();
                    transmit_by(&mut device, queue, &mut batch);
                    (0..100).for_each(|_| {
                        socket.recv(&mut [0; 16]).expect("it arrives");
                    });
                }
            }
        });
    }
}

#[test]
fn what_the_kernel_drops_is_counted() {
    with_pair(1, || {
        let Some(device) = open_here(&config()) else { return };
        let count = |name: &str| {
            let counts = device.reports[0].counts();
            counts.iter().find(|(known, _)| *known == name).expect("it is counted").1
        };
        let bytes = device.ethernet.0.map(|b| format!("{b:02x}")).join(":");
        assert!(ip(&format!("neigh replace 10.97.0.2 lladdr {bytes} dev ana-far")));
        let socket = UdpSocket::bind("10.97.0.1:0").expect("bind");
        let end = Instant::now() + Duration::from_secs(10);
        // Nobody receives.
        while count("no_frame_free") + count("ring_full") == 0 {
            socket.send_to(b"x", "10.97.0.2:9").expect("send");
            assert!(Instant::now() < end, "more frames than there are find room");
        }
        let reports = device.reports.clone();
        let before = reports[0].counts();
        drop(device);
        assert_eq!(reports[0].counts(), before, "as it was");
    });
}

#[test]
fn a_device_that_takes_nothing_can_be_made() {
    with_pair(1, || {
        let Some(mut device) = open_here(&Config::new("ana-near")) else { return };
        let socket = UdpSocket::bind("10.97.0.1:0").expect("bind");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        let port = socket.local_addr().expect("bound").port();
        let mut batch = Batch::from([datagram(&device, far_ethernet(), port, false)]);
        transmit_all(&mut device, &mut batch);
        assert!(socket.recv(&mut [0; 16]).is_ok(), "it sends nevertheless");
    });
}

/// More leave by one call than there was room for before it.
#[test]
fn all_that_leaves_is_captured() {
    with_pair(1, || {
        let Some(device) = open_here(&config()) else { return };
        let hub = capture::Hub::new();
        let mut device = hub.wrap(device);
        let capture = hub.attach(capture::Options::default());
        let packet = datagram(&device, far_ethernet(), 9, false);
        let mut batch: Batch = (0..10_000).map(|_| packet.clone()).collect();
        transmit_all(&mut device, &mut batch);
        assert_eq!((capture.taken(), capture.dropped()), (10_000, 0));
    });
}

#[test]
fn an_interface_that_was_down_is_sent_to_again_where_that_is_written_to_a_file() {
    with_pair(1, || {
        let Some(device) = open_here(&config()) else { return };
        let mut device = pcap::wrap_writer(device, std::io::sink()).expect("a writer that works");
        let (far, socket) = (far_ethernet(), UdpSocket::bind("10.97.0.1:0").expect("bind"));
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        let port = socket.local_addr().expect("bound").port();
        assert!(ip("link set ana-near down"));
        let packet = datagram(&device, far, port, false);
        assert_eq!(send_much(&mut device, &packet), 0, "they wait though it is down");
        assert!(ip("link set ana-near up"));
        transmit_all(&mut device, &mut Batch::from([packet]));
        assert!(socket.recv(&mut [0; 16]).is_ok(), "nothing arrives");
    });
}
