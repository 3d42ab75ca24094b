//! hickory's stub resolver on the sockets of a stack.
//!
//! Each lookup has a resolver and a runtime of its own, on the thread that looks up, and leaves
//! neither sockets nor threads behind: they would keep the stack from ending.

use crate::stack::Stack;
use crate::tokio::{TcpStream, UdpSocket};
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use ::tokio::time;
use async_trait::async_trait;
use hickory_resolver::config::{
    LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ServerOrderingStrategy,
};
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::{DnsTcpStream, DnsUdpSocket, RuntimeProvider, Spawn, Time};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use wire::Address;

/// How long one question waits for its answer.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How often a question is asked again.
const AGAIN: usize = 2;
/// The longest that a lookup takes, whatever servers do.
const LONGEST: Duration = Duration::from_secs(20);
/// The most addresses of a name that are tried.
const MOST_ADDRESSES: usize = 16;
/// The addresses of `name`, which is whole, and until when they are good.
pub(super) fn lookup(
    stack: &Stack,
    servers: &[SocketAddr],
    name: &str,
) -> io::Result<(Vec<IpAddr>, Instant)> {
    let runtime = ::tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let whole = format!("{name}.");
    let asked = async { time::timeout(LONGEST, ask(stack, servers, whole)).await };
    let found = match runtime.block_on(asked) {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Err(failed(name, servers, &error)),
        Err(_) => return Err(silent(name, servers)),
    };
    // What no host has is no answer.
    let is_host = |address: &IpAddr| Address::from(*address).is_unicast();
    let addresses: Vec<_> = found.iter().filter(is_host).take(MOST_ADDRESSES).collect();
    match addresses.is_empty() {
        true => Err(unknown(name)),
        false => Ok((addresses, found.valid_until())),
    }
}

async fn ask(stack: &Stack, servers: &[SocketAddr], name: String) -> Result<LookupIp, NetError> {
    let named = servers.iter().map(|server| NameServerConfig::udp_and_tcp(server.ip())).collect();
    let config = ResolverConfig::from_name_servers(named);
    let provider = Provider { stack: stack.clone(), servers: servers.into() };
    let mut builder = hickory_resolver::Resolver::builder_with_config(config, provider);
    let options = builder.options_mut();
    (options.timeout, options.attempts) = (TIMEOUT, AGAIN);
    options.use_hosts_file = ResolveHosts::Never;
    options.ip_strategy = LookupIpStrategy::Ipv6AndIpv4;
    options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
    builder.build()?.lookup_ip(name).await
}

fn unknown(name: &str) -> io::Error {
    let text = format!("the name {name} has no address, say the servers for names");
    io::Error::new(io::ErrorKind::NotFound, text)
}

fn silent(name: &str, servers: &[SocketAddr]) -> io::Error {
    let list = servers.iter().map(|s| s.ip().to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "no server for names has answered for {name}: {list}; is there a way to one of them?"
    );
    io::Error::new(io::ErrorKind::TimedOut, text)
}

fn failed(name: &str, servers: &[SocketAddr], error: &NetError) -> io::Error {
    match error {
        NetError::Timeout => silent(name, servers),
        error if error.is_no_records_found() => unknown(name),
        error => {
            let why = error.to_string().replace('\n', " ");
            io::Error::other(format!("the name {name} could not be looked up: {why}"))
        }
    }
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
            let connected = time::timeout(timeout.unwrap_or(TIMEOUT), connected).await;
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
