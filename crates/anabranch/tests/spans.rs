//! Sessions of a netstack are spans of the crate `tracing`.
#![cfg(all(feature = "tracing", not(shuttle)))]

use anabranch::device::{Medium, memory};
use anabranch::tokio::{TcpStream, UdpSocket};
use anabranch::{Netstack, Stack};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps what spans and the events in them say: `name field=value …`.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>, Arc<AtomicU64>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() != "age" {
            self.0 += &format!(" {}={value:?}", field.name());
        }
    }
}

impl Lines {
    fn add(&self, line: String) {
        self.0.lock().expect("no panic").push(line);
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "anabranch"
    }
    fn event(&self, event: &Event<'_>) {
        let mut line = Line("event".into());
        event.record(&mut line);
        if line.0.contains("session") {
            self.add(line.0);
        }
    }
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut line = Line(attributes.metadata().name().into());
        attributes.record(&mut line);
        self.add(line.0);
        Id::from_u64(self.1.fetch_add(1, Ordering::SeqCst) + 1)
    }
    fn try_close(&self, id: Id) -> bool {
        self.add(format!("close {}", id.into_u64()));
        true
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn sessions_are_spans() {
    let lines = Lines::default();
    tracing::subscriber::set_global_default(lines.clone()).expect("the only one");
    let (left, right) = memory::pair(memory::Config::default().with_medium(Medium::Ip));
    let netstack = Netstack::over(left).expect("a netstack");
    let client = Stack::builder().device(right).address("10.0.0.2/24");
    let client = client.route("default via 10.0.0.1").start().expect("a stack");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut there = TcpStream::connect(&client, "192.0.2.1:80").await.expect("connect");
        let mut here = netstack.accept_tcp().await.expect("accept");
        assert!(!here.span().is_none());
        there.write_all(b"12345").await.expect("write");
        here.read_exact(&mut [0; 5]).await.expect("read");
        drop(here);
        let socket = UdpSocket::bind(&client, "10.0.0.2:9").await.expect("bind");
        socket.send_to(b"123", "192.0.2.1:53").await.expect("send");
        let session = netstack.accept_udp().await.expect("accept");
        session.send(b"1234").await.expect("send");
        drop(session);
    });
    let lines = lines.0.lock().expect("no panic");
    assert_eq!(lines.len(), 6, "{lines:?}");
    let has = |at: usize, texts: &[&str]| texts.iter().all(|text| lines[at].contains(text));
    assert!(has(0, &["session", "tcp", "local=192.0.2.1:80", "peer=10.0.0.2:"]), "{lines:?}");
    assert!(has(1, &["session ended", "bytes_in=5", "bytes_out=0"]), "{lines:?}");
    assert_eq!(lines[2], "close 1");
    assert!(has(3, &["session", "udp", "local=192.0.2.1:53", "peer=10.0.0.2:9"]), "{lines:?}");
    assert!(has(4, &["session ended", "bytes_in=3", "bytes_out=4"]), "{lines:?}");
    assert_eq!(lines[5], "close 2");
}
