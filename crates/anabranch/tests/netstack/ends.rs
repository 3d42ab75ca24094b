//! The end of a netstack, in good order.

use super::{PATIENCE, block_on, client, wire};
use anabranch::device::custom::{self, PacketIo};
use anabranch::{Netstack, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A netstack that has accepted one connection, which it echoes on a thread of its own
/// until the peer ends it.
fn connected() -> (Netstack, TcpStream, anabranch::Stack, std::thread::JoinHandle<bool>) {
    let (left, right) = wire(1);
    let netstack = Netstack::over(left).expect("a netstack");
    let client = client(right, 1);
    let there = TcpStream::connect(&client, "192.0.2.9:80").expect("connect");
    let mut here = block_on(netstack.accept()).expect("accept");
    let echo = std::thread::spawn(move || {
        block_on(async {
            let mut bytes = [0; 100];
            while let Ok(n) = here.read(&mut bytes).await {
                if n == 0 {
                    return here.shutdown().await.is_ok();
                }
                here.write_all(&bytes[..n]).await.expect("write");
            }
            false
        })
    });
    (netstack, there, client, echo)
}

#[test]
fn connections_come_to_their_end_and_nobody_new_is_taken() {
    let (netstack, mut there, client, echo) = connected();
    let end = std::thread::spawn(move || netstack.shutdown(PATIENCE));
    while TcpStream::connect(&client, "192.0.2.9:81").is_ok() {
        std::thread::yield_now();
    }
    assert!(!end.is_finished(), "one connection is open");
    for _ in 0..10 {
        there.write_all(b"hello").expect("write");
        let mut bytes = [0; 5];
        there.read_exact(&mut bytes).expect("it is served to its end");
        assert_eq!(&bytes, b"hello");
    }
    there.shutdown(std::net::Shutdown::Write).expect("shutdown");
    assert_eq!(there.read(&mut [0]).expect("the end"), 0);
    end.join().expect("no panic").expect("in good order");
    assert!(echo.join().expect("no panic"));
}

#[test]
fn patience_ends() {
    let (netstack, mut there, _client, echo) = connected();
    let error = netstack.shutdown(Duration::from_millis(60)).expect_err("one is open");
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::TimedOut, "connections that were not at their end: 1".to_owned(),)
    );
    assert_eq!(there.read(&mut [0]).expect_err("reset").kind(), ErrorKind::ConnectionReset);
    assert!(!echo.join().expect("no panic"));
}

/// Packets both ways, by channels.
struct Link(Sender<Vec<u8>>, Receiver<Vec<u8>>);

impl PacketIo for Link {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        self.1.try_iter().for_each(|packet| deliver(&packet));
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        let _ = self.0.send(packet.to_vec());
        true
    }
}

/// The Internet checksum of `bytes` (RFC 1071).
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// A SYN from 10.0.0.2:1000 to 192.0.2.9:80.
fn syn() -> Vec<u8> {
    let (from, to) = ([10, 0, 0, 2], [192, 0, 2, 9]);
    let mut ip = [&[0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0][..], &from, &to].concat();
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    let mut tcp = [3, 232, 0, 80, 0, 0, 0, 7, 0, 0, 0, 0, 0x50, 2, 4, 0, 0, 0, 0, 0];
    let sum = checksum(&[&from[..], &to, &[0, 6, 0, 20], &tcp].concat());
    tcp[16..18].copy_from_slice(&sum);
    [&ip[..], &tcp].concat()
}

/// Before, whoever sent a SYN and no more made every end take all the patience it had, and fail.
#[test]
fn a_handshake_that_nobody_ends_holds_no_end_up() {
    let ((to_stack, from_us), (to_us, from_stack)) = (channel(), channel());
    let (device, wake) = custom::open(Link(to_us, from_us), custom::Config::ip()).expect("device");
    let netstack = Netstack::over(device).expect("a netstack");
    to_stack.send(syn()).expect("it is there");
    wake.wake();
    let answer = from_stack.recv_timeout(PATIENCE).expect("an answer");
    assert_eq!(answer[33], 0x12, "SYN and ACK");
    netstack.shutdown(PATIENCE).expect("in good order");
}
