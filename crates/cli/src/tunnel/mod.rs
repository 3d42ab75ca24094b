//! `anabranch tunnel`: all that the kernel sends to a TUN device, by way of a proxy.

mod carry;
mod descriptors;
mod dns;
mod http;
mod kernel;
mod onward;
mod proxy;
mod scratch;
mod socks;
mod tally;

use crate::choices::check_one;
use crate::failure::Failure;
use crate::say::say;
use crate::serve::organization_names;
use crate::serve::tcp::{keep_alive, keepalive};
use anabranch::device::tun;
use anabranch::netstack::{Limits, Rates, TcpSession, UdpSession};
use anabranch::organization::Choice;
use anabranch::{Cidr, DropReason, Netstack, Organization, Prefix, Stack, TcpConfig, unit};
use device::Counts;
use dns::Dns;
use kernel::{Kernel, Pool, Unit};
use proxy::{Proxy, Target};
use rustix::net::sockopt::set_socket_linger;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tally::Tally;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{SignalKind, signal};

const EXAMPLES: &str = "\
Examples:
  sudo anabranch tunnel --proxy socks5://127.0.0.1:1080
      then, in another terminal, for what is to go that way:
      sudo ip route add 203.0.113.0/24 dev ana-tunnel

  sudo anabranch tunnel --proxy http://me:secret@127.0.0.1:3128 --dns
      TCP by an HTTP proxy, and names: then, for the addresses that names get,
      sudo ip route add 198.18.0.0/15 dev ana-tunnel
      and `nameserver 10.98.0.2` in /etc/resolv.conf

Whatever the kernel routes to the device goes to the proxy: TCP by CONNECT, UDP by UDP
ASSOCIATE of SOCKS5 (an HTTP proxy has no way for it), IPv4 and IPv6. The way to the proxy
itself must not lead through the device. A connection that the proxy refuses is reset, and
for UDP that it does not carry the sender hears \"port unreachable\", so that QUIC goes on by
TCP; what else happens shows in the summary. A peer of which nothing has come for two minutes is asked
whether it is still there, and given up two minutes later. How many connections and UDP
sessions there may be follows from --memory, and is said at the start.

With --dns, whatever is asked at port 53, of any address behind the device, is answered
here: a name gets addresses of 198.18.0.0/15 and fdab:616e:6162::/64 that stand for it for
a minute at least, and who connects to one of them is carried to the name, which the proxy
resolves. Questions for other things than addresses are refused. 16,384 names are known at
a time.

SIGINT (Ctrl-C) and SIGTERM end it and remove the device.

Exit codes: 0 ended by a signal; 1 failed while running; 2 not started, nothing left.";

/// Where from, and where to.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The proxy: socks5://[USER:PASSWORD@]ADDRESS:PORT or http://[USER:PASSWORD@]ADDRESS:PORT
    #[arg(long, value_name = "URL")]
    pub proxy: Proxy,
    /// Answer questions for names (DNS), and give the proxy names instead of addresses
    #[arg(long)]
    pub dns: bool,
    /// TUN device to make; it is removed at the end
    #[arg(long, value_name = "NAME", default_value = "ana-tunnel")]
    pub tun: String,
    /// Take the persistent device of this name instead, and leave it as it is
    #[arg(long)]
    pub existing: bool,
    /// The kernel's address on the device, with the length of the network's prefix
    #[arg(long, value_name = "ADDR/PREFIX", default_value = "10.98.0.1/24")]
    pub peer_address: Cidr,
    /// Bytes of the largest datagram on the device
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..))]
    pub mtu: u16,
    /// How the stack is spread over processors
    #[arg(long, value_name = "NAME", default_value = "uniprocessor", value_parser = organization_names())]
    pub organization: String,
    /// Threads that process packets
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub processors: u16,
    /// Threads that serve sessions: the stack's own, each those that it has (uniprocessor,
    /// processor-per-connection and group-threads have such), or a pool's
    /// [default: own where the organization has them]
    #[arg(long, value_name = "WHICH", value_enum)]
    pub threads: Option<Threads>,
    /// Microseconds for which a thread of the stack that has nothing to do looks on before it
    /// sleeps: uniprocessor, processor-per-connection [default: up to 100, as long as that pays]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub busy_poll: Option<u32>,
    /// Mbit/s that a connection or a UDP session may take each way; without, as much as it can
    #[arg(long, value_name = "MBIT", value_parser = rate)]
    pub rate: Option<f64>,
    /// Seconds after which a connection ends on which nothing goes either way; without, none does
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub idle: Option<u32>,
    /// MiB of memory that the stack may hold at most
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..))]
    pub memory: u32,
}

/// Threads that serve sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Threads {
    /// Each unit's own.
    Own,
    /// A pool's.
    Pool,
}

/// Is it a rate?
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.001..=1e6).contains(rate));
    rate.ok_or_else(|| "it is a number of Mbit/s, from 0.001 to 1000000".into())
}

impl Args {
    /// The threads that serve sessions.
    fn threads(&self) -> Result<Threads, Failure> {
        let has = self.organization.parse::<Organization>().map_or(Ok(()), unit::threads_of);
        match (self.threads, has) {
            (None, Ok(())) => Ok(Threads::Own),
            (None, Err(_)) => Ok(Threads::Pool),
            (Some(Threads::Own), Err(reason)) => Err(Failure::refused(format!(
                "{} has no threads for tasks: {reason}: take uniprocessor, \
                 processor-per-connection or group-threads, or --threads pool",
                self.organization
            ))),
            (Some(threads), _) => Ok(threads),
        }
    }

    /// What each session is kept within.
    fn rates(&self) -> Rates {
        let mut rates = Rates::default();
        if let Some(megabits) = self.rate {
            rates = rates.with_rate((megabits * 125_000.0) as u64);
        }
        rates.idle = self.idle.map(|seconds| Duration::from_secs(seconds.into()));
        rates
    }
}

/// By what everything goes.
#[derive(Debug)]
struct Way {
    proxy: Proxy,
    dns: Option<Dns>,
    tally: Tally,
}

impl Way {
    /// Where `to` leads. Addresses of a link lead nowhere beyond it (RFC 4291 2.5.6): the proxy
    /// would look on a link of its own.
    fn target(&self, to: SocketAddr) -> io::Result<Target> {
        if to == self.proxy.address {
            let text =
                "the way to the proxy leads through the device: add a route to it that does not";
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text));
        }
        if matches!(to.ip(), IpAddr::V6(ip) if ip.is_unicast_link_local()) {
            let text = "an address of a link does not lead to the proxy";
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text));
        }
        self.dns.as_ref().map_or_else(|| Ok(to.into()), |dns| dns.target(to))
    }

    /// Who answers what is sent to `to`, if that is a question for names.
    fn resolver(&self, to: SocketAddr) -> Option<&Dns> {
        self.dns.as_ref().filter(|_| to.port() == dns::PORT)
    }

    fn failed(&self, error: &io::Error) {
        self.tally.failed(&self.proxy, error);
    }
}

/// Tunnels until a signal ends it.
///
/// # Errors
/// [`Failure`]; nothing is left behind then.
pub fn run(args: &Args) -> Result<(), Failure> {
    let threads = args.threads()?;
    if args.busy_poll.is_some() {
        check_one(Choice::BusyPoll, std::slice::from_ref(&args.organization))?;
    }
    descriptors::raise();
    let mut runtime = match threads {
        // It waits for signals alone.
        Threads::Own => tokio::runtime::Builder::new_current_thread(),
        Threads::Pool => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime
        .enable_all()
        .thread_name("tunnel")
        .build()
        .map_err(|e| Failure::refused(format!("cannot start threads: {e}: raise ulimit -u")))?;
    let result = runtime.block_on(tunnel(args, threads));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// The netstack, and what its device counts.
fn open(args: &Args) -> Result<(Netstack, Limits, Arc<Counts>), Failure> {
    let mut config = tun::Config::default()
        .with_name(&args.tun)
        .with_existing(args.existing)
        .with_queues(args.processors.into())
        .with_mtu(args.mtu.into());
    if !args.existing {
        config.kernel_address = Some((args.peer_address.address(), args.peer_address.prefix()));
    }
    let device = tun::open(&config).map_err(|e| Failure::refused(anabranch::Error::from(e)))?;
    let counts = device.counts.clone();
    let mut builder = Stack::builder()
        .device(device)
        .owns(Prefix::ALL_V4)
        .owns(Prefix::ALL_V6)
        // A peer that has vanished must not keep its place for ever.
        .tcp(TcpConfig::default().with_keepalive(Some(keepalive())))
        .organization(&args.organization)
        .processors(args.processors.into());
    if let Some(microseconds) = args.busy_poll {
        builder = builder.busy_poll(Duration::from_micros(microseconds.into()));
    }
    let memory = (args.memory as usize).saturating_mul(1 << 20);
    let limits = Limits::within(memory).with_rates(args.rates());
    Ok((Netstack::start(builder, limits).map_err(Failure::refused)?, limits, counts))
}

/// How often it is looked whether the device is there still, and whether there is room.
const LOOK: Duration = Duration::from_secs(5);

/// What found no room: connections, and datagrams that would have begun a UDP session.
fn turned_away(netstack: &Netstack) -> [u64; 2] {
    let full = netstack.stack().counters().dropped(DropReason::TcpTableFull);
    [full, netstack.udp_refused()]
}

/// Returns once somebody has deleted the device, and says so. Tells once if there is no room for more.
async fn deleted(name: &str, counts: &Counts, netstack: &Netstack, way: &Way) -> Failure {
    let mut told = [false; 2];
    while !counts.gone.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
        let kinds = ["connections", "UDP sessions"];
        for ((what, told), count) in kinds.iter().zip(&mut told).zip(turned_away(netstack)) {
            if count > 0 && !std::mem::replace(told, true) {
                way.tally.say(format!("anabranch: no room for more {what}: raise --memory"));
            }
        }
    }
    Failure::failed(format!(
        "the TUN device `{name}` was deleted: start the tunnel again to make a new one"
    ))
}

async fn tunnel(args: &Args, threads: Threads) -> Result<(), Failure> {
    let listen =
        |kind| signal(kind).map_err(|e| Failure::refused(format!("cannot wait for signals: {e}")));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let tally = Tally::new(io::stderr())
        .map_err(|e| Failure::refused(format!("cannot start a thread: {e}: raise ulimit -u")))?;
    let (netstack, limits, counts) = open(args)?;
    let (proxy, dns) = (args.proxy.clone(), args.dns.then(Dns::default));
    let way = Arc::new(Way { proxy, dns, tally });
    say(format!(
        "ready: {} to {}, {} MiB of memory at most ({} connections, {} UDP sessions){}",
        args.tun,
        way.proxy,
        args.memory,
        limits.connections,
        limits.sessions,
        if args.dns { ", names answered" } else { "" }
    ));
    let ended = tokio::select! {
        failure = serve(&netstack, &way, threads) => Err(failure),
        failure = deleted(&args.tun, &counts, &netstack, &way) => Err(failure),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    let (connections, sessions) = (count(&way.tally.connections), count(&way.tally.sessions));
    let turned_away = match turned_away(&netstack) {
        [0, 0] => String::new(),
        [syns, datagrams] => format!(", no room for {syns} SYNs and {datagrams} datagrams"),
    };
    say(format!(
        "{connections} connections and {sessions} UDP sessions went through, {} failed{turned_away}",
        count(&way.tally.failed)
    ));
    netstack.stack().stop();
    ended
}

/// Serves all sessions, until something fails.
async fn serve(netstack: &Netstack, way: &Arc<Way>, threads: Threads) -> Failure {
    let served = match threads {
        Threads::Own => serve_in_units(netstack, way).await,
        Threads::Pool => serve_in_pool(netstack, way).await,
    };
    let Err(error) = served;
    Failure::failed(error)
}

async fn serve_in_units(netstack: &Netstack, way: &Arc<Way>) -> io::Result<Infallible> {
    let (of_tcp, of_udp) = (way.clone(), way.clone());
    netstack.serve_tcp(move |session| connection::<Unit>(session, of_tcp.clone()))?;
    netstack.serve_udp(move |session| conversation::<Unit>(session, of_udp.clone()))?;
    std::future::pending().await
}

async fn serve_in_pool(netstack: &Netstack, way: &Arc<Way>) -> io::Result<Infallible> {
    loop {
        tokio::select! {
            session = netstack.accept_tcp() => {
                tokio::spawn(connection::<Pool>(session?, way.clone()));
            }
            session = netstack.accept_udp() => {
                tokio::spawn(conversation::<Pool>(session?, way.clone()));
            }
        }
    }
}

/// Carries a connection to where its peer wants to go, and resets it if the proxy cannot.
async fn connection<K: Kernel>(mut stream: TcpSession, way: Arc<Way>) {
    let to = stream.local_addr();
    if let Some(dns) = way.resolver(to) {
        return dns.serve_connection::<K>(stream).await;
    }
    let onward = async { onward::connect::<K>(&way.proxy, &way.target(to)?).await };
    // Who gives up leaves nothing with the proxy.
    let onward = tokio::select! {
        biased;
        onward = onward => onward,
        () = stream.stream().closed() => return,
    };
    match onward {
        Ok(mut onward) => {
            keep_alive(&onward);
            way.tally.went_well();
            way.tally.connections.fetch_add(1, Ordering::Relaxed);
            if carry(&mut stream, &mut onward).await.is_err() {
                // One of them was cut off: the other must not take what it has for all.
                let _ = stream.stream().set_linger(Some(Duration::ZERO));
                let _ = set_socket_linger(&onward, Some(Duration::ZERO));
            }
        }
        Err(error) => {
            way.failed(&error);
            let _ = stream.stream().set_linger(Some(Duration::ZERO));
        }
    }
}

/// Carries bytes both ways until both have ended, or nothing has gone for too long. While it waits for
/// the proxy alone nobody reads or writes `stream`, which could not say so then.
async fn carry(
    stream: &mut TcpSession,
    onward: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> io::Result<()> {
    let is_bounded = stream.rates().idle.is_some();
    let silence = stream.silence();
    tokio::select! {
        carried = carry::carry(stream, onward, TcpSession::poll_write_room) => carried,
        error = silence, if is_bounded => Err(error),
    }
}

/// Carries the datagrams of a session, until it has been idle for too long or the proxy
/// ends it; and rejects it if the proxy cannot.
async fn conversation<K: Kernel>(session: UdpSession, way: Arc<Way>) {
    let to = session.local_addr();
    if let Some(dns) = way.resolver(to) {
        return dns.serve_session::<K>(session).await;
    }
    let opened = async {
        let to = way.target(to)?;
        Ok((onward::associate::<K>(&way.proxy).await?, to))
    };
    let (mut association, to) = match opened.await {
        Ok(opened) => opened,
        Err(error) => {
            way.failed(&error);
            return session.reject();
        }
    };
    way.tally.sessions.fetch_add(1, Ordering::Relaxed);
    // The proxy's relay is gone, or the way to it.
    let told = |error: io::Error| {
        if error.raw_os_error().is_some() {
            way.failed(&error);
        }
        error
    };
    loop {
        let came = poll_fn(|cx| scratch::filled(|buf| session.poll_recv(cx, buf), <[u8]>::to_vec));
        let went = tokio::select! {
            datagram = came => match datagram {
                Ok(datagram) => association.send(&datagram, &to).await.map_err(told),
                Err(error) => Err(error),
            },
            payload = association.receive(&to) => match payload {
                Ok(payload) => {
                    // Not before: a relay that is gone would be told of once for each session.
                    way.tally.went_well();
                    session.send(&payload).await.map(|_| ())
                }
                Err(error) => Err(told(error)),
            },
        };
        // A datagram that is too long for one of the two ways is a lost one.
        if went.is_err_and(|e| e.kind() != io::ErrorKind::InvalidInput) {
            return;
        }
    }
}
