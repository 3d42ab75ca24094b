//! `anabranch tunnel`: all that the kernel sends to a TUN device, by way of a proxy.

mod socks;

use crate::failure::Failure;
use crate::say::say;
use crate::serve::organization_names;
use anabranch::device::tun;
use anabranch::netstack::{Limits, UdpSession};
use anabranch::tokio::TcpStream;
use anabranch::{Cidr, Netstack, Prefix, Stack};
use socks::Proxy;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::signal::unix::{SignalKind, signal};

const EXAMPLES: &str = "\
Examples:
  sudo anabranch tunnel --proxy socks5://127.0.0.1:1080
      then, in another terminal, for what is to go that way:
      sudo ip route add 203.0.113.0/24 dev ana-tunnel

Whatever the kernel routes to the device goes to the proxy: TCP by CONNECT, UDP by UDP
ASSOCIATE, IPv4 and IPv6. The way to the proxy itself must not lead through the device. A
connection that the proxy refuses is reset; what else happens shows in the summary.

SIGINT (Ctrl-C) and SIGTERM end it and remove the device.

Exit codes: 0 ended by a signal; 1 failed while running; 2 not started, nothing left.";

/// Bytes that are copied at once.
const CHUNK: usize = 64 * 1024;

/// Where from, and where to.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The proxy: socks5://[USER:PASSWORD@]ADDRESS:PORT
    #[arg(long, value_name = "URL")]
    pub proxy: Proxy,
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
    /// MiB of memory that the stack may hold at most
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(8..))]
    pub memory: u32,
}

/// What has happened.
#[derive(Debug, Default)]
struct Tally {
    connections: AtomicU64,
    sessions: AtomicU64,
    failed: AtomicU64,
    /// What failed has been told; it is once, and again when something else went well.
    told: AtomicBool,
}

impl Tally {
    fn failed(&self, proxy: &Proxy, error: &io::Error) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if !self.told.swap(true, Ordering::Relaxed) {
            eprintln!("anabranch: by way of {proxy}: {error}: is the proxy up?");
        }
    }

    fn went_well(&self) {
        self.told.store(false, Ordering::Relaxed);
    }
}

/// Tunnels until a signal ends it.
///
/// # Errors
/// [`Failure`]; nothing is left behind then.
pub fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("tunnel")
        .build()
        .map_err(|e| Failure::refused(format!("cannot start threads: {e}: raise ulimit -u")))?;
    let result = runtime.block_on(tunnel(args));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

fn open(args: &Args) -> Result<Netstack, Failure> {
    let mut config = tun::Config::default()
        .with_name(&args.tun)
        .with_existing(args.existing)
        .with_queues(args.processors.into())
        .with_mtu(args.mtu.into());
    if !args.existing {
        config.kernel_address = Some((args.peer_address.address(), args.peer_address.prefix()));
    }
    let builder = Stack::builder()
        .tun(&config)
        .owns(Prefix::ALL_V4)
        .owns(Prefix::ALL_V6)
        .organization(&args.organization)
        .processors(args.processors.into());
    let memory = (args.memory as usize).saturating_mul(1 << 20);
    Netstack::start(builder, Limits::within(memory)).map_err(Failure::refused)
}

async fn tunnel(args: &Args) -> Result<(), Failure> {
    let listen =
        |kind| signal(kind).map_err(|e| Failure::refused(format!("cannot wait for signals: {e}")));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let netstack = open(args)?;
    let (proxy, tally) = (Arc::new(args.proxy.clone()), Arc::new(Tally::default()));
    say(format!("ready: {} to {proxy}, {} MiB of memory at most", args.tun, args.memory));
    let ended = loop {
        tokio::select! {
            stream = netstack.accept() => match stream {
                Ok(stream) => {
                    tokio::spawn(connection(stream, proxy.clone(), tally.clone()));
                }
                Err(error) => break Err(Failure::failed(error)),
            },
            session = netstack.accept_udp() => match session {
                Ok(session) => {
                    tokio::spawn(conversation(session, proxy.clone(), tally.clone()));
                }
                Err(error) => break Err(Failure::failed(error)),
            },
            _ = terminate.recv() => break Ok(()),
            _ = interrupt.recv() => break Ok(()),
        }
    };
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    let (connections, sessions) = (count(&tally.connections), count(&tally.sessions));
    say(format!(
        "{connections} connections and {sessions} UDP sessions went through, {} failed",
        count(&tally.failed)
    ));
    netstack.stack().stop();
    ended
}

/// Carries a connection to where its peer wants to go, and resets it if the proxy cannot.
async fn connection(mut stream: TcpStream, proxy: Arc<Proxy>, tally: Arc<Tally>) {
    let onward = async {
        let to = stream.local_addr()?;
        proxy.connect(to).await
    };
    match onward.await {
        Ok(mut onward) => {
            tally.went_well();
            tally.connections.fetch_add(1, Ordering::Relaxed);
            // How it ends is the two ends' matter.
            let _ = copy_bidirectional_with_sizes(&mut stream, &mut onward, CHUNK, CHUNK).await;
        }
        Err(error) => {
            tally.failed(&proxy, &error);
            let _ = stream.set_linger(Some(Duration::ZERO));
        }
    }
}

/// Carries the datagrams of a session, until it has been idle for too long or the proxy
/// ends it.
async fn conversation(session: UdpSession, proxy: Arc<Proxy>, tally: Arc<Tally>) {
    let to = session.local_addr();
    let mut association = match proxy.associate().await {
        Ok(association) => association,
        Err(error) => return tally.failed(&proxy, &error),
    };
    tally.went_well();
    tally.sessions.fetch_add(1, Ordering::Relaxed);
    let (mut out, mut scratch, mut back) = (vec![0; usize::from(u16::MAX)], Vec::new(), Vec::new());
    loop {
        let went = tokio::select! {
            n = session.recv(&mut out) => match n {
                Ok(n) => association.send(&out[..n], to, &mut scratch).await,
                Err(error) => Err(error),
            },
            payload = association.receive(&mut back) => match payload {
                Ok(payload) => session.send(&back[payload]).await.map(|_| ()),
                Err(error) => Err(error),
            },
        };
        // A datagram that is too long for one of the two ways is a lost one.
        if went.is_err_and(|e| e.kind() != io::ErrorKind::InvalidInput) {
            return;
        }
    }
}
