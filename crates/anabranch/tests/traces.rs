//! Events of the crate `tracing`.
#![cfg(all(feature = "tracing", not(shuttle)))]

use anabranch::device::memory;
use anabranch::{Stack, TcpListener, TcpStream};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps the texts of all events.
#[derive(Clone, Default)]
struct Texts(Arc<Mutex<Vec<String>>>);

impl Visit for Texts {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.lock().expect("no panic").push(format!("{value:?}"));
        }
    }
}

impl Subscriber for Texts {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "anabranch"
    }
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn stacks_and_connections_are_told() {
    let texts = Texts::default();
    tracing::subscriber::set_global_default(texts.clone()).expect("the only one");
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("10.0.0.1/24").start().expect("a stack");
    let client = Stack::builder().device(right).address("10.0.0.2/24").start().expect("a stack");
    let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
    TcpStream::connect(&client, "10.0.0.1:81").expect_err("refused");
    TcpStream::connect(&client, "192.0.2.1:80").expect_err("no route");
    let stream = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
    listener.accept().expect("accept");
    drop((stream, listener));
    drop(client);
    drop(server);
    let texts = texts.0.lock().expect("no panic");
    let count = |text: &str| texts.iter().filter(|t| *t == text).count();
    assert_eq!((count("stack started"), count("stack stopped")), (2, 2), "{texts:?}");
    assert_eq!(count("connection opened"), 2, "{texts:?}");
    assert_eq!((count("connection refused"), count("connection not opened")), (1, 1), "{texts:?}");
}
