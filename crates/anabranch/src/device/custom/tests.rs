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

/// Two devices at a cable that holds `room` packets each way.
fn cable(config: fn() -> Config, room: usize) -> (Device, Device) {
    let ((to_right, from_left), (to_left, from_right)) = (sync_channel(room), sync_channel(room));
    let (left_wake, right_wake) = (Arc::default(), Arc::default());
    let left = End { to: to_right, from: from_right, peer: Arc::clone(&right_wake) };
    let right = End { to: to_left, from: from_left, peer: Arc::clone(&left_wake) };
    let (left, wake) = open(left, config()).expect("a device");
    left_wake.set(wake).expect("once");
    let ethernet = EthernetAddress([2, 0, 0, 0, 0, 2]);
    let (right, wake) = open(right, config().with_ethernet(ethernet)).expect("a device");
    right_wake.set(wake).expect("once");
    (left, right)
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
