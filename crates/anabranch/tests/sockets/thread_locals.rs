//! Sockets that belong to threads, and go with them.

use super::{SERVER, pair};
use anabranch::{TcpListener, TcpStream};
use std::cell::RefCell;
use std::io::{Read, Write};

/// A session that says goodbye.
struct Polite(TcpStream);

impl Drop for Polite {
    fn drop(&mut self) {
        let _ = self.0.write_all(b"bye");
    }
}

thread_local! {
    static SESSION: RefCell<Option<Polite>> = const { RefCell::new(None) };
}

/// What a thread has of its own goes in some order when it ends: what blocking calls keep there may
/// be gone already. Before, such a call ended the process.
#[test]
fn a_session_of_a_threads_own_says_goodbye_when_the_thread_ends() {
    let (server, client) = pair();
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("bind");
    let thread = std::thread::spawn(move || {
        // It is the first that the thread has, and the last to go.
        SESSION.with(|session| *session.borrow_mut() = None);
        let stream = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
        SESSION.with(|session| *session.borrow_mut() = Some(Polite(stream)));
    });
    let (mut stream, _) = listener.accept().expect("accept");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("the end");
    assert_eq!(said, "bye");
    thread.join().expect("no panic");
}
