//! hickory's stub resolver on the sockets of a stack.
//!
//! Each lookup has a resolver and a runtime of its own, on the thread that looks up, and leaves
//! neither sockets nor threads behind: they would keep the stack from ending.

mod ask;

use crate::stack::Stack;
use crate::tokio::{TcpStream, UdpSocket};
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use ::tokio::time;
use async_trait::async_trait;
use hickory_resolver::net::runtime::{DnsTcpStream, DnsUdpSocket, RuntimeProvider, Spawn, Time};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// The longest that a lookup takes, whatever servers do.
const LONGEST: Duration = Duration::from_secs(20);

/// The addresses of `name`, which is whole, and until when they are good.
pub(super) fn lookup(
    stack: &Stack,
    servers: &[SocketAddr],
    name: &str,
) -> io::Result<(Vec<IpAddr>, Instant)> {
    let runtime = ::tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let provider = Provider { stack: stack.clone(), servers: servers.into() };
    let asked = async { time::timeout(LONGEST, ask::lookup(provider, servers, name)).await };
    runtime.block_on(asked).unwrap_or_else(|_| Err(ask::silent(name, servers)))
}

/// What hickory runs on: our sockets, tokio's time.
#[derive(Clone)]
struct Provider {
    stack: Stack,
    servers: Arc<[SocketAddr]>,
}

/// `to`, with the link that it was named on, of which hickory knows nothing.
fn on_its_link(servers: &[SocketAddr], to: SocketAddr) -> SocketAddr {
    servers.iter().copied().find(|server| server.ip() == to.ip()).unwrap_or(to)
}

#[derive(Clone, Copy)]
struct Tasks;

impl Spawn for Tasks {
    fn spawn_bg(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        drop(::tokio::spawn(future));
    }
}

struct Timer;

#[async_trait]
impl Time for Timer {
    async fn delay_for(duration: Duration) {
        time::sleep(duration).await;
    }

    async fn timeout<F: 'static + Future + Send>(
        duration: Duration,
        future: F,
    ) -> Result<F::Output, io::Error> {
        time::timeout(duration, future).await.map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

impl RuntimeProvider for Provider {
    type Handle = Tasks;
    type Timer = Timer;
    type Udp = Datagrams;
    type Tcp = Stream;

    fn create_handle(&self) -> Tasks {
        Tasks
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        local: Option<SocketAddr>,
        timeout: Option<Duration>,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Stream>>>> {
        let (stack, server) = (self.stack.clone(), on_its_link(&self.servers, server));
        Box::pin(async move {
            let connected = async {
                match local {
                    Some(local) => TcpStream::connect_from(&stack, local, server).await,
                    None => TcpStream::connect(&stack, server).await,
                }
            };
            let connected = time::timeout(timeout.unwrap_or(ask::TIMEOUT), connected).await;
            Ok(Stream(connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??))
        })
    }

    fn bind_udp(
        &self,
        local: SocketAddr,
        _server: SocketAddr,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Datagrams>>>> {
        let Provider { stack, servers } = self.clone();
        Box::pin(async move {
            let socket = UdpSocket::bind(&stack, local).await?;
            Ok(Datagrams { socket, servers })
        })
    }
}

struct Datagrams {
    socket: UdpSocket,
    servers: Arc<[SocketAddr]>,
}

impl DnsUdpSocket for Datagrams {
    type Time = Timer;

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut bytes = ReadBuf::new(bytes);
        let from = ready!(self.socket.poll_recv_from(cx, &mut bytes))?;
        Poll::Ready(Ok((bytes.filled().len(), from)))
    }

    fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_send_to(cx, bytes, on_its_link(&self.servers, to))
    }
}

/// A connection, with the traits that hickory asks for.
struct Stream(TcpStream);

impl DnsTcpStream for Stream {
    type Time = Timer;
}

impl futures_io::AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut bytes = ReadBuf::new(bytes);
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut bytes))?;
        Poll::Ready(Ok(bytes.filled().len()))
    }
}

impl futures_io::AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
