use super::*;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// One end of a cable that holds some packets.
struct End {
    to: SyncSender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    peer: Arc<std::sync::OnceLock<Wake>>,
}

impl PacketIo for End {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        self.from.try_iter().for_each(|packet| deliver(&packet));
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        let sent = self.to.try_send(packet.to_vec());
        self.peer.get().expect("set up").wake();
        !matches!(sent, Err(TrySendError::Full(_)))
    }
}

/// Where an end finds how its peer is woken.
type Woken = Arc<std::sync::OnceLock<Wake>>;

impl End {
    /// Both ends of a cable that holds `room` packets each way, and where each is to say how it is woken.
    fn pair(room: usize) -> ((End, Woken), (End, Woken)) {
        let (to_right, from_left) = sync_channel(room);
        let (to_left, from_right) = sync_channel(room);
        let (left_wake, right_wake) = (Woken::default(), Woken::default());
        let left = End { to: to_right, from: from_right, peer: right_wake.clone() };
        let right = End { to: to_left, from: from_left, peer: left_wake.clone() };
        ((left, left_wake), (right, right_wake))
    }
}

/// A device of this end.
fn device((end, woken): (End, Woken), config: Config) -> Device {
    let (device, wake) = open(end, config).expect("a device");
    woken.set(wake).expect("once");
    device
}

/// Two devices at a cable that holds `room` packets each way.
fn cable(config: fn() -> Config, room: usize) -> (Device, Device) {
    let (left, right) = End::pair(room);
    let ethernet = EthernetAddress([2, 0, 0, 0, 0, 2]);
    (device(left, config()), device(right, config().with_ethernet(ethernet)))
}

/// Stacks that sleep between packets exchange megabytes over devices of either kind,
/// also over one that mostly has no room.
#[test]
fn stacks_talk_over_a_cable_of_ones_own() {
    use crate::{Stack, TcpListener, TcpStream};
    use std::io::{Read, Write};
    for (config, room) in
        [(Config::ethernet as fn() -> Config, 100), (Config::ip, 100), (Config::ip, 2)]
    {
        let (left, right) = cable(config, room);
        let start = |device, address| {
            Stack::builder().device(device).address(address).start().expect("a stack")
        };
        let (server, client) = (start(left, "10.0.0.1/24"), start(right, "10.0.0.2/24"));
        let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
        let echo = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept");
            let mut bytes = vec![0; 10_000];
            while let Ok(n @ 1..) = stream.read(&mut bytes) {
                stream.write_all(&bytes[..n]).expect("write");
            }
        });
        let mut stream = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        for i in 0..50u8 {
            let block = vec![i; 20_000];
            stream.write_all(&block).expect("write");
            let mut back = vec![0; 20_000];
            stream.read_exact(&mut back).expect("read");
            assert!(back == block);
        }
        drop(stream);
        echo.join().expect("no panic");
    }
}

/// A frame that is longer than the link's is dropped and counted.
#[test]
fn long_packets_are_dropped() {
    struct Long;
    impl PacketIo for Long {
        fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
            deliver(&[0; 600]);
            deliver(&[0; 601]);
        }
        fn transmit(&mut self, _: &[u8]) -> bool {
            true
        }
    }
    let (mut device, _) = open(Long, Config::ip().with_mtu(600)).expect("a device");
    let mut packets = Vec::new();
    assert_eq!(device.queues[0].receive.receive(&mut packets, 10), 1);
    assert_eq!(packets[0].len(), 600);
    assert_eq!(device.counts.receive_dropped.load(Ordering::Relaxed), 1);
    let (mut any, _) = open(Long, Config::ethernet().with_mtu(usize::MAX)).expect("a device");
    assert_eq!(any.queues[0].receive.receive(&mut packets, 10), 2);
}

/// More packets than were asked for stay for the next time, and nobody sleeps on
/// them.
#[test]
fn what_was_not_asked_for_stays() {
    let (mut left, mut right) = cable(Config::ip, 100);
    let mut batch: Batch = (0..5u8).map(|i| Packet::copy_of(&[i; 40])).collect();
    left.queues[0].transmit.transmit(&mut batch);
    assert!(batch.is_empty());
    let (receive, mut packets) = (&mut right.queues[0].receive, Vec::new());
    assert!(!receive.arm(), "rung");
    receive.disarm();
    assert_eq!(receive.receive(&mut packets, 3), 3);
    assert!(!receive.arm(), "two are left");
    receive.disarm();
    assert_eq!(receive.receive(&mut packets, 3), 2);
    assert!(receive.arm(), "nothing is left");
    receive.disarm();
    assert_eq!(packets.iter().map(|p| p.front()[0]).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(open_queues(Vec::new(), Config::ip()).is_err());
}

/// Passes packets on, and panics once it has seen so many, received or transmitted.
struct Fails {
    io: End,
    received: usize,
    transmitted: usize,
}

impl PacketIo for Fails {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        let left = &mut self.received;
        self.io.receive(&mut |packet| {
            assert!(*left > 0, "a device that fails at what it receives");
            *left -= 1;
            deliver(packet);
        });
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        assert!(self.transmitted > 0, "a device that fails at what it transmits");
        self.transmitted -= 1;
        self.io.transmit(packet)
    }
}

impl Drop for Fails {
    fn drop(&mut self) {
        assert!(self.received > 0, "a device that fails at its end");
    }
}

/// A device that panics is gone. Who watches hears of it, and under every organization the stack's threads go
/// on: connections by another device, counters, the end.
#[test]
fn a_device_that_panics_takes_no_thread_with_it() {
    use crate::host::Event;
    use crate::{Organization, Stack, TcpListener, TcpStream};
    use std::io::{Read, Write};
    use std::time::Duration;
    let converse = |stream: &mut TcpStream| {
        let mut back = [0; 100];
        stream.write_all(&[7; 100]).and_then(|()| stream.read_exact(&mut back)).map(|()| back)
    };
    for organization in Organization::all() {
        for (received, transmitted) in [(9, usize::MAX), (usize::MAX, 9)] {
            let (first, second) = (End::pair(100), End::pair(100));
            let fails = Fails { io: first.0.0, received, transmitted };
            let (failing, wake) = open(fails, Config::ip()).expect("a device");
            first.0.1.set(wake).expect("once");
            let server = Stack::builder().organization(organization).processors(1);
            let server = server.device(failing).address("10.0.1.1/24");
            let server = server.device(device(second.0, Config::ip())).address("10.0.2.1/24");
            let server = server.start().expect("a stack");
            let client =
                Stack::builder().device(device(first.1, Config::ip())).address("10.0.1.2/24");
            let client = client.device(device(second.1, Config::ip())).address("10.0.2.2/24");
            let client = client.start().expect("a stack");
            let listener = TcpListener::bind(&server, "0.0.0.0:80").expect("bind");
            std::thread::spawn(move || {
                while let Ok((mut stream, _)) = listener.accept() {
                    std::thread::spawn(move || {
                        let mut bytes = [0; 100];
                        while let Ok(n @ 1..) = stream.read(&mut bytes) {
                            let _ = stream.write_all(&bytes[..n]);
                        }
                    });
                }
            });
            let events = server.host().watch();
            let mut fated = TcpStream::connect(&client, "10.0.1.1:80").expect("connect");
            let mut other = TcpStream::connect(&client, "10.0.2.1:80").expect("connect");
            fated.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
            fated.set_linger(Some(Duration::ZERO)).expect("set");
            while converse(&mut fated).is_ok() {}
            let event = events.next(Duration::from_secs(30));
            assert_eq!(event, Some(Event::DeviceGone(0)), "{organization}");
            assert_eq!(converse(&mut other).expect("it goes on"), [7; 100], "{organization}");
            let mut late = TcpStream::connect(&client, "10.0.2.1:80").expect("connect");
            assert_eq!(converse(&mut late).expect("it goes on"), [7; 100], "{organization}");
            assert!(server.counters().opened_passive >= 3, "{organization}");
            assert_eq!(events.next(Duration::ZERO), None, "it is told once");
        }
    }
}

/// Takes what comes by a socket of the host, until it is told that this is over.
struct OverSocket {
    socket: std::os::unix::net::UnixStream,
    is_over: Arc<AtomicBool>,
}

impl PacketIo for OverSocket {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        use std::io::Read;
        let mut bytes = [0; 2000];
        while let Ok(n @ 1..) = self.socket.read(&mut bytes) {
            deliver(&bytes[..n]);
        }
    }

    fn transmit(&mut self, _: &[u8]) -> bool {
        true
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A device whose other end is gone is gone, whether it says so or its descriptor does. Before, a thread asked it for
/// ever, since there was something to read: the end.
#[test]
fn a_device_that_is_over_is_gone() {
    use crate::host::Event;
    use crate::{Organization, Stack};
    use std::time::Duration;
    for (organization, says_so) in Organization::all().flat_map(|o| [(o, false), (o, true)]) {
        let (socket, other_end) = std::os::unix::net::UnixStream::pair().expect("sockets");
        socket.set_nonblocking(true).expect("set");
        let readable = socket.try_clone().expect("a descriptor");
        let config = match says_so {
            true => Config::ip(),
            false => Config::ip().with_readable(readable.into()),
        };
        let is_over = Arc::new(AtomicBool::new(false));
        let io = OverSocket { socket, is_over: is_over.clone() };
        let (device, wake) = open(io, config).expect("a device");
        let stack = Stack::builder().device(device).address("10.0.0.1/24").processors(1);
        let stack = stack.organization(organization).start().expect("a stack");
        let events = stack.host().watch();
        if says_so {
            is_over.store(true, Ordering::Relaxed);
            wake.wake();
        } else {
            drop(other_end);
        }
        let event = events.next(Duration::from_secs(30));
        assert_eq!(event, Some(Event::DeviceGone(0)), "{organization} {says_so}");
    }
}

/// What has come before the end is delivered.
#[test]
fn packets_before_the_end_count() {
    use std::io::Write;
    let (socket, mut other_end) = std::os::unix::net::UnixStream::pair().expect("sockets");
    socket.set_nonblocking(true).expect("set");
    let readable = socket.try_clone().expect("a descriptor");
    let io = OverSocket { socket, is_over: Arc::default() };
    let (mut device, _) = open(io, Config::ip().with_readable(readable.into())).expect("a device");
    let (receive, mut packets) = (&mut device.queues[0].receive, Vec::new());
    assert_eq!(receive.receive(&mut packets, 10), 0);
    other_end.write_all(&[7; 40]).expect("written");
    drop(other_end);
    assert!(!receive.arm(), "it is to be asked once more");
    assert_eq!(receive.receive(&mut packets, 10), 1);
    assert!(receive.wait_fd().is_some(), "it is there still");
    assert!(!receive.arm());
    assert_eq!(receive.receive(&mut packets, 10), 0);
    assert!(receive.wait_fd().is_none(), "it is gone");
    assert!(receive.arm(), "whoever has other devices sleeps");
}
