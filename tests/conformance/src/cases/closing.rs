//! How connections end.

use super::{ended, kind, receive, send};
use crate::{Link, Rig, until};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// The client ends its half first; the server goes on.
pub fn half_close_by_client(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = pair.connected(80);
    send(&there, 1, 100_000);
    there.shutdown(Shutdown::Write).expect("shutdown");
    assert_eq!(kind((&there).write(b"more")), ErrorKind::BrokenPipe);
    receive(&here, 1, 100_000);
    ended(&here);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send(&here, 2, 2_000_000);
            here.shutdown(Shutdown::Write).expect("shutdown");
        });
        receive(&there, 2, 2_000_000);
        ended(&there);
    });
}

/// The server ends its half first; the client goes on.
pub fn half_close_by_server(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = pair.connected(80);
    here.shutdown(Shutdown::Write).expect("shutdown");
    ended(&there);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send(&there, 2, 2_000_000);
            drop(there);
        });
        receive(&here, 2, 2_000_000);
        ended(&here);
    });
}

/// Both ends close at the same time, again and again.
pub fn shutdown_both_at_once(rig: Rig) {
    let pair = rig.pair();
    let listener = pair.listen(80);
    for i in 0..100 {
        let there = pair.connect(80);
        let (here, _) = listener.accept().expect("accept");
        send(&here, i, 10);
        std::thread::scope(|scope| {
            scope.spawn(|| here.shutdown(Shutdown::Write).expect("shutdown"));
            there.shutdown(Shutdown::Write).expect("shutdown");
        });
        receive(&there, i, 10);
        ended(&there);
        ended(&here);
    }
}

/// RFC 2525 2.17: a close with unread data resets the connection.
pub fn drop_with_unread_resets(rig: Rig) {
    let pair = rig.pair();
    let (mut here, there) = pair.connected(80);
    here.write_all(b"never to be read.").expect("write");
    until("it has arrived", || there.peek(&mut [0; 32]).expect("peek") == 17);
    drop(there);
    assert_eq!(kind(here.read(&mut [0; 10])), ErrorKind::ConnectionReset);
    // The error is reported once; then the stream has ended.
    assert_eq!(here.read(&mut [0; 10]).expect("the end"), 0);
    assert_eq!(kind(here.write(b"more")), ErrorKind::BrokenPipe);
}

/// Data written before a drop is delivered, and then the end.
pub fn drop_delivers(rig: Rig) {
    for faults in ["", "loss=3%,reorder=3%"] {
        let pair = rig.pair_over(Link { faults, ..Link::default() });
        let (here, there) = pair.connected(80);
        // It all fits into the send buffer, so the drop comes before the first read.
        send(&here, 1, 500_000);
        drop(here);
        receive(&there, 1, 500_000);
        ended(&there);
    }
}

/// Linger 0: dropping resets at once.
pub fn linger_zero_resets(rig: Rig) {
    let pair = rig.pair();
    let (mut here, there) = pair.connected(80);
    there.set_linger(Some(Duration::ZERO)).expect("linger");
    drop(there);
    assert_eq!(kind(here.read(&mut [0; 10])), ErrorKind::ConnectionReset);
}

/// When a listener is dropped, connections that wait to be accepted are reset.
pub fn unaccepted_are_reset(rig: Rig) {
    let pair = rig.pair();
    let listener = pair.listen(80);
    let mut streams: Vec<_> = (0..20).map(|_| pair.connect(80)).collect();
    drop(listener);
    for stream in &mut streams {
        assert_eq!(kind(stream.read(&mut [0; 10])), ErrorKind::ConnectionReset);
    }
    assert_eq!(
        kind(anabranch::TcpStream::connect(&pair.client, (crate::server(), 80))),
        ErrorKind::ConnectionRefused
    );
}

/// Writing to a peer that has gone fails eventually.
pub fn writing_to_the_gone_fails(rig: Rig) {
    let pair = rig.pair();
    let (here, there) = pair.connected(80);
    drop(there);
    let mut error = None;
    until("writing fails", || {
        error = (&here).write(b"anyone?").err();
        error.is_some()
    });
    let kind = error.expect("an error").kind();
    assert!(matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{kind:?}");
}

/// After shutdown(Read) reads find the end, and the peer can go on writing.
pub fn reading_shut_down(rig: Rig) {
    let pair = rig.pair();
    let listener = pair.listen(80);
    // Nothing outside the stack tells when a thread waits in a read. So the order is
    // left to chance, in several rounds: the shutdown has to end a read that waits
    // and one that begins later.
    for _ in 0..10 {
        let there = pair.connect(80);
        let (here, _) = listener.accept().expect("accept");
        let reader = here.try_clone().expect("clone");
        let (begins, begun) = std::sync::mpsc::channel();
        let reading = std::thread::spawn(move || {
            begins.send(()).expect("the case waits for it");
            ended(&reader);
        });
        begun.recv().expect("the reader begins");
        here.shutdown(Shutdown::Read).expect("shutdown");
        reading.join().expect("the reader is woken");
        send(&there, 1, 3_000_000);
        send(&here, 2, 1000);
        receive(&there, 2, 1000);
        ended(&here);
    }
}
