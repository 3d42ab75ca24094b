//! Stacks whose time a test moves.
#![cfg(not(shuttle))]

use anabranch::device::custom::{self, PacketIo};
use anabranch::device::memory;
use anabranch::{Clock, Stack, TcpListener, TcpStream, VirtualTime};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Of the system's time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A device to nobody, which notes when something was sent.
struct Nobody(&'static VirtualTime, Sender<u64>);

impl PacketIo for Nobody {
    fn receive(&mut self, _: &mut dyn FnMut(&[u8])) {}
    fn transmit(&mut self, _: &[u8]) -> bool {
        let _ = self.1.send(self.0.now().as_millis());
        true
    }
}

fn start(
    organization: &str,
    processors: usize,
) -> Result<(Stack, &'static VirtualTime, Receiver<u64>), anabranch::Error> {
    let time = VirtualTime::start();
    let (sender, sent) = channel();
    let queues = (0..processors).map(|_| Box::new(Nobody(time, sender.clone())) as _).collect();
    let (device, _) = custom::open_queues(queues, custom::Config::ip()).expect("a device");
    let stack = Stack::builder()
        .device(device)
        .address("10.0.0.1/24")
        .organization(organization)
        .processors(processors)
        .clock(Clock::moved_by(time))
        .drain(Duration::ZERO)
        .start()?;
    Ok((stack, time, sent))
}

/// A SYN that nobody answers is sent again after 1, 2, 4 s and so on, and given up two
/// minutes later. All of it takes no time.
#[test]
fn timers_run_by_the_time_of_a_test() {
    for (organization, processors) in [
        ("uniprocessor", 1),
        ("processor-per-connection", 2),
        ("global-lock", 2),
        ("group-locks", 2),
        ("virtual-processors", 2),
        ("message-parallel", 2),
    ] {
        let (stack, time, sent) = start(organization, processors).expect("it can");
        let began = time.now().as_millis();
        let connecting = {
            let stack = stack.clone();
            std::thread::spawn(move || TcpStream::connect(&stack, "10.0.0.2:80"))
        };
        let mut times = vec![sent.recv_timeout(PATIENCE).expect("a SYN") - began];
        while !connecting.is_finished() {
            assert!(time.settle(PATIENCE), "{organization} does not settle");
            match time.next() {
                Some(next) => time.advance(next),
                // Whoever connects is about to hear that it is over.
                None => std::thread::yield_now(),
            }
        }
        let error = connecting.join().expect("no panic").expect_err("nobody is there");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{organization}");
        times.extend(sent.try_iter().map(|at| at - began));
        let rounded: Vec<u64> = times.iter().map(|at| at / 1000).collect();
        assert_eq!(rounded, [0, 1, 3, 7, 15, 31, 63], "{organization}: {times:?}");
        assert!(times.iter().all(|at| at % 1000 <= 10), "{organization}: {times:?}");
        let over = time.now().as_millis() - began;
        assert!((127_000..=127_100).contains(&over), "{organization}: {over}");
    }
}

#[test]
fn organizations_whose_threads_park_refuse_it() {
    for organization in ["layer-parallel", "group-threads", "engines", "thread-per-connection"] {
        let error = start(organization, 1).expect_err(organization).to_string();
        assert!(error.contains("the system's clock only"), "{error}");
        assert!(error.contains(organization) && !error.contains('\n'), "{error}");
    }
}

/// Who is told that nothing will be read any more takes what comes at once: before, a window that what was
/// unread had closed stayed so until the peer asked, up to a minute later.
#[test]
fn reading_that_is_shut_down_opens_the_window() {
    let time = VirtualTime::start();
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address: &str| {
        let stack = Stack::builder().device(device).address(address).clock(Clock::moved_by(time));
        stack.drain(Duration::ZERO).start().expect("a stack")
    };
    let (server, client) = (start(left, "10.0.0.1/24"), start(right, "10.0.0.2/24"));
    let listener = TcpListener::bind(&server, "10.0.0.1:9").expect("bind");
    let mut there = TcpStream::connect(&client, "10.0.0.1:9").expect("connect");
    let (here, _) = listener.accept().expect("accept");
    there.set_nonblocking(true).expect("an option");
    let bytes = [7; 100_000];
    // Nobody reads, until all is full and the peer has asked for long.
    let end = time.now() + Duration::from_secs(300);
    while time.now() < end {
        assert!(time.settle(PATIENCE), "it does not settle");
        if let Err(error) = there.write(&bytes) {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            time.advance(time.next().expect("a timer").min(end));
        }
    }
    assert!(time.settle(PATIENCE) && there.write(&bytes).is_err(), "all is full");
    let stopped = time.now();
    here.shutdown(Shutdown::Read).expect("shut down");
    assert!(time.settle(PATIENCE), "it does not settle");
    assert!(there.write(&bytes).expect("room") > 0);
    assert_eq!(time.now(), stopped, "no time has passed");
}

/// Time stamps come to their sign and go round (after 25 and 50 days), neighbours are forgotten, and what was said
/// last is no reason to doubt what is said now: nothing has to be sent again.
#[test]
fn connections_rest_for_months() {
    const DAY: Duration = Duration::from_secs(86_400);
    let v6 = ["fd00::1/64", "fd00::2/64", "[fd00::1]:9"];
    for (organization, [ours, theirs, at]) in [
        ("uniprocessor", ["10.0.0.1/24", "10.0.0.2/24", "10.0.0.1:9"]),
        ("group-locks", ["10.0.0.1/24", "10.0.0.2/24", "10.0.0.1:9"]),
        ("message-parallel", ["10.0.0.1/24", "10.0.0.2/24", "10.0.0.1:9"]),
        ("uniprocessor", v6),
    ] {
        let time = VirtualTime::start();
        let (left, right) = memory::pair(memory::Config::default());
        let start = |device, address: &str| {
            let stack = Stack::builder().device(device).address(address).drain(Duration::ZERO);
            let stack = stack.organization(organization).clock(Clock::moved_by(time));
            stack.start().expect("a stack")
        };
        let (server, client) = (start(left, ours), start(right, theirs));
        let listener = TcpListener::bind(&server, at).expect("bind");
        let there = TcpStream::connect(&client, at).expect("connect");
        let (here, _) = listener.accept().expect("accept");
        for stream in [&here, &there] {
            stream.set_nonblocking(true).expect("an option");
        }
        // Takes no more than a delayed acknowledgment.
        let carry = |mut from: &TcpStream, mut to: &TcpStream| {
            let (began, mut left) = (time.now(), 100_000);
            from.write_all(&[7; 100_000]).expect("room");
            while left > 0 {
                assert!(time.settle(PATIENCE), "it does not settle");
                match to.read(&mut [0; 100_000]) {
                    Ok(n) => left -= n,
                    Err(_) => time.advance(time.next().expect("a timer")),
                }
                let took = time.now().since(began);
                assert!(took < Duration::from_millis(100), "{organization}: {took:?} at {began:?}");
            }
        };
        for days in [0, 1, 23, 2, 24, 25, 26, 49, 50, 99, 365] {
            // What is under way comes to its end before.
            let end = time.now() + Duration::from_secs(10);
            while time.settle(PATIENCE) && time.next().is_some_and(|next| next < end) {
                time.advance(time.next().expect("a timer"));
            }
            time.advance(end + days * DAY);
            carry(&there, &here);
            carry(&here, &there);
        }
        for stream in [&here, &there] {
            let info = stream.info().expect("open");
            assert_eq!(info.retransmits, 0, "{organization}: {info:?}");
        }
    }
}
