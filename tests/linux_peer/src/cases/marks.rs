//! Marks of congestion: what the kernel of this machine agrees to, and that no segment that a
//! device or the kernel has cut or put together spoils a counter.

use super::{ended, receive, send};
use crate::{KERNEL, Link, OURS, Peer};
use anabranch::{EcnMode, Stack, TcpListener, TcpOptions, TcpStream};
use std::net::{Shutdown, TcpListener as KernelListener, TcpStream as KernelStream};

const LEN: usize = 1 << 18;

/// Sets the kernel's `tcp_ecn`. Returns whether it knows the value.
fn kernel_uses(mode: u8) -> bool {
    let known = std::fs::write("/proc/sys/net/ipv4/tcp_ecn", mode.to_string()).is_ok();
    if !known {
        println!("this kernel has no such marks: its tcp_ecn cannot be {mode}");
    }
    known
}

/// A stream of ours as both ends have agreed: on anything, and on counters.
fn check(us: &TcpStream, agreed: (bool, bool)) {
    let info = us.info().expect("open");
    assert_eq!((info.ecn, info.accurate_ecn.is_some()), agreed);
    assert_eq!((info.marked, info.echoed), (0, 0), "nothing marks here");
    assert!(info.accurate_ecn.is_none_or(|counters| counters.capable));
}

/// 256 KiB each way, one after the other.
fn exchange(us: &TcpStream, kernel: KernelStream, agreed: (bool, bool)) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            receive(&kernel, 1, LEN);
            send(&kernel, 2, LEN);
            kernel.shutdown(Shutdown::Write).expect("shutdown");
            ended(&kernel);
        });
        send(us, 1, LEN);
        receive(us, 2, LEN);
        check(us, agreed);
        us.shutdown(Shutdown::Write).expect("shutdown");
        ended(us);
    });
}

fn we_ask(stack: &Stack, agreed: (bool, bool)) {
    let kernel = KernelListener::bind((KERNEL, 0)).expect("bind");
    let port = kernel.local_addr().expect("an address").port();
    let options = TcpOptions::default().with_ecn(Some(EcnMode::AskAccurate));
    let us = TcpStream::connect_with(stack, &options, (KERNEL, port)).expect("connect");
    exchange(&us, kernel.accept().expect("accept").0, agreed);
}

fn the_kernel_asks(listener: &TcpListener, agreed: (bool, bool)) {
    let kernel = KernelStream::connect((OURS, 5001)).expect("connect");
    exchange(&listener.accept().expect("accept").0, kernel, agreed);
}

/// Counters (RFC 9768) where the kernel has them, RFC 3168 where it has that, and nothing.
pub fn accurate_ecn(peer: Peer) {
    let Some(stack) = peer.stack(Link { offload: true, ..Link::default() }) else { return };
    let listener = TcpListener::bind(&stack, (OURS, 5001)).expect("bind");
    let options = TcpOptions::default().with_ecn(Some(EcnMode::AcceptAccurate));
    listener.set_options(&options).expect("options");
    for (mode, answers, asks) in [
        (0, (false, false), (false, false)),
        (1, (true, false), (true, false)),
        (2, (true, false), (false, false)),
        (3, (true, true), (true, true)),
        (5, (true, true), (false, false)),
    ] {
        if kernel_uses(mode) {
            we_ask(&stack, answers);
            the_kernel_asks(&listener, asks);
        }
    }
}
