//! Bytes as what servers for names answer: sockets that play them, in a time that passes as fast as
//! it is asked for.

use async_trait::async_trait;
use hickory_resolver::net::runtime::{DnsTcpStream, DnsUdpSocket, RuntimeProvider, Spawn, Time};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Types of records, as bytes choose them: A, AAAA, CNAME, SOA, NS, OPT, TXT, HTTPS.
const TYPES: [u16; 8] = [1, 28, 5, 6, 2, 41, 16, 65];
/// How often what waits is looked at before its time is over.
const TURNS: usize = 24;
/// As that, once all bytes were used: what was said comes through, and nothing more is said.
const LAST_TURNS: usize = 8;
/// As that, of what begins to wait then.
const LATE_TURNS: usize = 2;

thread_local! {
    /// Have all bytes been used? Then time passes faster.
    static OVER: Cell<bool> = const { Cell::new(false) };
}

/// Is it what callers may be told?
pub(crate) fn check(result: &io::Result<(Vec<IpAddr>, Instant)>, most: usize) {
    match result {
        Ok((addresses, _)) => {
            assert!((1..=most).contains(&addresses.len()), "{addresses:?}");
            for address in addresses {
                assert!(!address.is_multicast() && !address.is_unspecified(), "{address}");
            }
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        }
    }
}

/// What is left of the bytes.
#[derive(Clone)]
pub(crate) struct Play(Arc<Mutex<Vec<u8>>>);

impl Play {
    pub(crate) fn new(bytes: &[u8]) -> Play {
        OVER.set(bytes.is_empty());
        Play(Arc::new(Mutex::new(bytes.iter().rev().copied().collect())))
    }

    /// The next byte; zero when there is none.
    fn u8(&self) -> u8 {
        let mut left = self.0.lock().expect("no panic");
        let next = left.pop().unwrap_or(0);
        OVER.set(left.is_empty());
        next
    }

    fn take(&self, len: usize) -> Vec<u8> {
        let mut left = self.0.lock().expect("no panic");
        let taken = (0..len).map(|_| left.pop().unwrap_or(0)).collect();
        OVER.set(left.is_empty());
        taken
    }

    fn is_over(&self) -> bool {
        self.0.lock().expect("no panic").is_empty()
    }

    /// An answer to a question: mostly one that is well-formed.
    fn answer(&self, asked: &[u8]) -> Vec<u8> {
        let mut said = asked.get(..2).unwrap_or(&[0, 0]).to_vec();
        let (shape, flags) = (self.u8(), self.u8());
        if shape > 240 {
            said.extend(self.take(usize::from(flags)));
            return said;
        }
        let counts = [0; 3].map(|_| if shape > 200 { self.u8() } else { self.u8() % 8 });
        said.extend([0x81 ^ (shape & 2), 0x80 ^ flags, 0, 1]);
        said.extend(counts.iter().flat_map(|count| [0, *count]));
        let labels = asked.get(12..).unwrap_or_default();
        let name = labels.iter().position(|byte| *byte == 0).unwrap_or(0);
        said.extend(labels.iter().take(name + 5));
        let records = counts.iter().map(|count| usize::from(*count)).sum::<usize>();
        for _ in 0..records.min(64) {
            let name = self.u8();
            self.name(name, &mut said);
            let kind = self.u8();
            let number = TYPES.get(usize::from(kind)).copied().unwrap_or(kind.into());
            said.extend(number.to_be_bytes());
            said.extend([0, 1, if kind > 200 { kind } else { 0 }]);
            said.extend(self.take(3));
            let data = self.data(number);
            said.extend((data.len() as u16).to_be_bytes());
            said.extend(data);
        }
        said
    }

    /// The name that was asked for, or another.
    fn name(&self, shape: u8, said: &mut Vec<u8>) {
        match shape {
            0..=99 => said.extend([0xc0, 12]),
            100..=199 => said.extend([1, b'a' + shape % 8, 0xc0, 12]),
            200..=239 => said.extend([0xc0 | self.u8() & 1, self.u8()]),
            _ => said.extend(self.take(usize::from(shape & 7))),
        }
    }

    /// What a record of this type says.
    fn data(&self, kind: u16) -> Vec<u8> {
        let mut data = Vec::new();
        match kind {
            1 => data = self.take(4),
            28 => data = self.take(16),
            2 | 5 | 6 => {
                let names = if kind == 6 { 2 } else { 1 };
                (0..names).for_each(|_| self.name(self.u8(), &mut data));
                data.extend(self.take(if kind == 6 { 20 } else { 0 }));
            }
            _ => {
                let len = self.u8();
                data = self.take(usize::from(len & 63));
            }
        }
        data
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Tasks;

impl Spawn for Tasks {
    fn spawn_bg(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        drop(::tokio::spawn(future));
    }
}

pub(crate) struct Timer;

/// Lets others have a turn.
async fn turn() {
    let mut waited = false;
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[async_trait]
impl Time for Timer {
    async fn delay_for(_: Duration) {
        for _ in 0..if OVER.get() { LATE_TURNS } else { TURNS / 4 } {
            turn().await;
        }
    }

    async fn timeout<F: 'static + Future + Send>(
        _: Duration,
        future: F,
    ) -> Result<F::Output, io::Error> {
        let (mut future, mut left) = (pin!(future), if OVER.get() { LATE_TURNS } else { TURNS });
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            left = if OVER.get() { left.min(LAST_TURNS) } else { left } - 1;
            cx.waker().wake_by_ref();
            match left {
                0 => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                _ => Poll::Pending,
            }
        })
        .await
    }
}

impl RuntimeProvider for Play {
    type Handle = Tasks;
    type Timer = Timer;
    type Udp = Datagrams;
    type Tcp = Stream;

    fn create_handle(&self) -> Tasks {
        Tasks
    }

    fn connect_tcp(
        &self,
        _: SocketAddr,
        _: Option<SocketAddr>,
        _: Option<Duration>,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Stream>>>> {
        let refused = self.is_over() || self.u8() > 250;
        let stream = Stream { play: self.clone(), asked: Vec::new(), said: Vec::new() };
        Box::pin(
            async move { if refused { Err(io::ErrorKind::TimedOut.into()) } else { Ok(stream) } },
        )
    }

    fn bind_udp(
        &self,
        _: SocketAddr,
        server: SocketAddr,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Datagrams>>>> {
        let asked = Mutex::default();
        let datagrams = Datagrams { play: self.clone(), server, asked };
        Box::pin(async { Ok(datagrams) })
    }
}

pub(crate) struct Datagrams {
    play: Play,
    server: SocketAddr,
    asked: Mutex<Vec<u8>>,
}

impl DnsUdpSocket for Datagrams {
    type Time = Timer;

    fn poll_recv_from(
        &self,
        _: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let asked = self.asked.lock().expect("no panic");
        if asked.is_empty() || self.play.is_over() {
            return Poll::Pending;
        }
        let mut server = self.server;
        match self.play.u8() {
            254 => return Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into())),
            255 => server.set_port(54),
            _ => {}
        }
        let answer = self.play.answer(&asked);
        let len = answer.len().min(bytes.len());
        bytes[..len].copy_from_slice(&answer[..len]);
        Poll::Ready(Ok((len, server)))
    }

    fn poll_send_to(
        &self,
        _: &mut Context<'_>,
        bytes: &[u8],
        _: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        *self.asked.lock().expect("no panic") = bytes.to_vec();
        Poll::Ready(Ok(bytes.len()))
    }
}

/// A connection: what was asked, and what is said of the answer still.
pub(crate) struct Stream {
    play: Play,
    asked: Vec<u8>,
    said: Vec<u8>,
}

impl DnsTcpStream for Stream {
    type Time = Timer;
}

impl futures_io::AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let is_asked = self.asked.len() > 2;
        if self.said.is_empty() && is_asked && !self.play.is_over() {
            let answer = self.play.answer(&self.asked[2..]);
            // Sometimes it is not as long as it says.
            let wrong = self.play.u8().saturating_sub(240);
            let len = (answer.len() as u16).wrapping_add(u16::from(wrong) << 4);
            self.said = [&len.to_be_bytes()[..], &answer].concat();
            self.asked.clear();
        }
        if self.said.is_empty() {
            return if self.play.is_over() { Poll::Ready(Ok(0)) } else { Poll::Pending };
        }
        let len = bytes.len().min(self.said.len());
        bytes[..len].copy_from_slice(&self.said[..len]);
        self.said.drain(..len);
        Poll::Ready(Ok(len))
    }
}

impl futures_io::AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked.extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
