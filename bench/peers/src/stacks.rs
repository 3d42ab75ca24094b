//! The stacks, each set up as its own documentation does it.

use crate::run::{self, DEVICE, MTU};
use crate::{services, tunnels};
use anabranch::device::{Device, tap, tun as ours, xdp};
use anabranch::netstack::{Limits, TcpSession, UdpSession};
use anabranch::{Builder, CongestionAlgorithm, Netstack, Prefix, Stack, TcpConfig};
use futures::{Sink, SinkExt, Stream, StreamExt};
use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The stack's end of a pair of interfaces.
const FAR: &str = "ana-peer1";

/// Their names, ours first.
pub const ALL: [&str; 27] = [
    "anabranch, tasks on its threads",
    "anabranch, tasks on its 2 threads",
    "anabranch, tasks on its threads, busy poll",
    "anabranch, tasks on its threads, sleeps at once",
    "anabranch, tasks on its threads, BBR",
    "anabranch, tasks on its threads, up to 64 MiB",
    "anabranch, tasks on its threads, BBR, up to 64 MiB",
    "anabranch, sessions on its threads",
    "anabranch",
    "anabranch, sleeps at once",
    "anabranch, io_uring",
    "anabranch, 2 processors",
    "anabranch, BBR",
    "anabranch, no offload",
    "anabranch, no offload, io_uring",
    "ipstack",
    "netstack-smoltcp",
    "lwip",
    "gvisor",
    "system",
    BOUND,
    "link: TAP",
    "link: TAP, no offload",
    "link: AF_XDP",
    "link: the kernel, over veth",
    "tunnel: anabranch",
    "tunnel: tun2proxy",
];

/// No stack, but what one could have at most.
pub const BOUND: &str = "bound: no stack";

/// Those that are ours.
pub fn is_ours(name: &str) -> bool {
    name.starts_with("anabranch") || name == "tunnel: anabranch" || name == "link: AF_XDP"
}

/// Is it compared only where it is asked for? Tunnels do more than stacks; links are for one stack.
pub fn is_apart(name: &str) -> bool {
    name.starts_with("tunnel") || name.starts_with("link") || name == BOUND
}

/// Does the stack serve such loads at all?
pub fn serves(name: &str, load: &str) -> bool {
    match name {
        "gvisor" => Path::new(GVISOR).exists(),
        // It has room for 1,024 connections.
        "lwip" => cfg!(feature = "lwip") && !["idle", "burst"].contains(&load),
        "system" => load != "udp",
        BOUND => ["echo", "connect", "udp"].contains(&load),
        "tunnel: anabranch" | "tunnel: tun2proxy" => {
            !["udp", "idle", "burst"].contains(&load) && tunnels::is_there(name)
        }
        _ => true,
    }
}

/// gVisor's netstack is in Go: `cd gvisor && go build`.
const GVISOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/gvisor/gvisor");

fn gvisor() {
    let error = std::process::Command::new(GVISOR).args([DEVICE, &MTU.to_string()]).exec();
    panic!("{GVISOR}: {error}");
}

/// Serves until it is killed.
pub fn serve(name: &str) {
    // The crate's own queues and wakers are not for several threads.
    let mut builder = match name {
        "lwip" => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.enable_all().build().expect("a runtime").block_on(served(name));
}

async fn served(name: &str) {
    match name {
        "anabranch, tasks on its threads" => units(host(tunnel(1))).await,
        "anabranch, tasks on its 2 threads" => {
            let host = host(tunnel(2)).organization("processor-per-connection");
            units(host.processors(2)).await;
        }
        "anabranch, tasks on its threads, busy poll" => {
            units(host(tunnel(1)).busy_poll(Duration::from_micros(100))).await;
        }
        "anabranch, tasks on its threads, sleeps at once" => {
            units(host(tunnel(1)).busy_poll(Duration::ZERO)).await;
        }
        "anabranch, tasks on its threads, BBR"
        | "anabranch, tasks on its threads, up to 64 MiB"
        | "anabranch, tasks on its threads, BBR, up to 64 MiB" => {
            units(host(tunnel(1)).tcp(tcp(name))).await;
        }
        "link: TAP" => units(host(station(true))).await,
        "link: TAP, no offload" => units(host(station(false))).await,
        "link: AF_XDP" => units(host(interface())).await,
        "link: the kernel, over veth" => kernel(),
        KERNEL => own_sockets().await,
        "anabranch, sessions on its threads" => {
            sessions(owner("uniprocessor", 1, our_config())).await;
        }
        "anabranch" => anabranch("uniprocessor", 1, our_config()).await,
        "anabranch, sleeps at once" => {
            let builder = owner("uniprocessor", 1, our_config());
            netstack(builder.busy_poll(Duration::ZERO)).await;
        }
        "anabranch, io_uring" => anabranch("uniprocessor", 1, by_ring()).await,
        "anabranch, 2 processors" => anabranch("processor-per-connection", 2, our_config()).await,
        "anabranch, BBR" => netstack(owner("uniprocessor", 1, our_config()).tcp(tcp(name))).await,
        "anabranch, no offload" => {
            anabranch("uniprocessor", 1, our_config().with_offload(false)).await;
        }
        "anabranch, no offload, io_uring" => {
            anabranch("uniprocessor", 1, by_ring().with_offload(false)).await;
        }
        "ipstack" => ipstack().await,
        "netstack-smoltcp" => smoltcp().await,
        #[cfg(feature = "lwip")]
        "lwip" => lwip().await,
        "gvisor" => gvisor(),
        "system" => crate::system::serve().await,
        BOUND => crate::bound::serve(),
        "tunnel: anabranch" | "tunnel: tun2proxy" => tunnels::serve(name).await,
        _ => panic!("no stack is called {name}"),
    }
}

/// What the name says of congestion control and of the bound of buffers.
fn tcp(name: &str) -> TcpConfig {
    let mut tcp = TcpConfig::default();
    if name.contains("BBR") {
        tcp = tcp.with_congestion(CongestionAlgorithm::Bbr);
    }
    if name.contains("64 MiB") {
        tcp = tcp.with_max_receive_buffer(64 << 20).with_max_send_buffer(64 << 20);
    }
    tcp
}

/// A device of ours.
pub fn our_config() -> ours::Config {
    ours::Config::default().with_name(DEVICE).with_mtu(MTU)
}

fn by_ring() -> ours::Config {
    our_config().with_io_uring(ours::IoUring::Required)
}

fn tunnel(queues: usize) -> Device {
    ours::open(&our_config().with_queues(queues)).expect("a device")
}

/// The same by Ethernet frames.
fn station(offload: bool) -> Device {
    let config = tap::Config::default().with_name(DEVICE).with_mtu(MTU).with_offload(offload);
    let kernel: IpAddr = "fd00:200::1".parse().expect("an address");
    tap::open(&config.with_kernel_address(kernel, 64)).expect("a device")
}

/// One end of a pair of interfaces, whose other end the kernel has.
fn interface() -> Device {
    let add = ["link", "add", DEVICE, "type", "veth", "peer", "name", FAR];
    for words in [&add[..], &["link", "set", FAR, "up"]] {
        let done = std::process::Command::new("ip").args(words).status();
        assert!(done.is_ok_and(|status| status.success()), "a pair of interfaces");
    }
    let ours = vec![("10.200.0.2".parse().expect("an address"), 32)];
    let config = xdp::Config::new(FAR).with_take(xdp::Take::Prefixes(ours));
    xdp::open(&config).expect("a device")
}

/// The kernel's own sockets, by the other end of a pair of interfaces: as said on the command line
/// in that end's namespace, and that namespace.
const KERNEL: &str = "the kernel, at the other end";
const OTHER: &str = "ana-peers-other";

/// Goes on in a namespace of its own, in the same process.
fn kernel() {
    let ip = |words: &str| {
        let done = std::process::Command::new("ip").args(words.split(' ')).status();
        done.is_ok_and(|status| status.success())
    };
    ip(&format!("netns delete {OTHER}"));
    let steps = [
        format!("netns add {OTHER}"),
        format!("link add {DEVICE} type veth peer name {FAR} netns {OTHER}"),
        format!("-n {OTHER} link set lo up"),
        format!("-n {OTHER} link set {FAR} up"),
        format!("-n {OTHER} address add 10.200.0.2/16 dev {FAR}"),
        format!("-n {OTHER} address add fd00:200::2/64 dev {FAR} nodad"),
        format!("-n {OTHER} route add default via 10.200.0.1"),
    ];
    assert!(steps.iter().all(|words| ip(words)), "a pair of interfaces");
    let own = std::env::current_exe().expect("it has a path");
    let mut command = std::process::Command::new("ip");
    let error = command.args(["netns", "exec", OTHER]).arg(own).args(["stack", KERNEL]).exec();
    panic!("ip: {error}");
}

/// The same services on the kernel's sockets.
async fn own_sockets() {
    use tokio::net::{TcpListener, UdpSocket};
    for port in [services::ECHO, services::DISCARD, services::CHARGEN, services::HTTP] {
        let listener = TcpListener::bind(("::", port)).await.expect("a port");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(services::serve(stream, port));
            }
        });
    }
    let udp = UdpSocket::bind("0.0.0.0:7").await.expect("a port");
    run::ready();
    let mut bytes = [0; 2048];
    while let Ok((n, from)) = udp.recv_from(&mut bytes).await {
        let _ = udp.send_to(&bytes[..n], from).await;
    }
}

fn host(device: Device) -> Builder {
    Stack::builder().device(device).organization("uniprocessor")
}

/// A host with addresses of its own, whose ports are served by tasks on the stack's threads.
async fn units(builder: Builder) {
    let builder = builder.address("10.200.0.2/16").address("fd00:200::2/64");
    let builder = builder.route("default via 10.200.0.1").route("::/0 via fd00:200::1");
    let stack = builder.start().expect("a stack");
    let _servers =
        [services::ECHO, services::DISCARD, services::CHARGEN, services::HTTP].map(|port| {
            let serve = move |stream, _| services::serve(stream, port);
            anabranch::unit::serve(&stack, ("::", port), serve).expect("a port")
        });
    let udp = anabranch::tokio::UdpSocket::bind(&stack, "10.200.0.2:7").await.expect("a port");
    let echo = move || async move {
        let mut bytes = [0; 2048];
        while let Ok((n, from)) = udp.recv_from(&mut bytes).await {
            let _ = udp.send_to(&bytes[..n], from).await;
        }
    };
    // What it sends leaves by that unit.
    anabranch::unit::start_on(&stack, 7 % anabranch::unit::count(&stack), echo).expect("a unit");
    run::ready();
    std::future::pending().await
}

async fn anabranch(organization: &str, processors: usize, config: ours::Config) {
    netstack(owner(organization, processors, config)).await;
}

/// Who takes what comes for any address.
fn owner(organization: &str, processors: usize, config: ours::Config) -> Builder {
    Stack::builder()
        .tun(&config.with_queues(processors))
        .organization(organization)
        .processors(processors)
        .owns(Prefix::ALL_V4)
        .owns(Prefix::ALL_V6)
}

async fn netstack(builder: Builder) {
    let netstack = Arc::new(Netstack::start(builder, Limits::default()).expect("a stack"));
    run::ready();
    let sessions = netstack.clone();
    tokio::spawn(async move {
        while let Ok(session) = sessions.accept_udp().await {
            tokio::spawn(async move {
                let mut bytes = [0; 2048];
                while let Ok(n) = session.recv(&mut bytes).await {
                    let _ = session.send(&bytes[..n]).await;
                }
            });
        }
    });
    while let Ok(stream) = netstack.accept().await {
        let port = stream.local_addr().expect("it has one").port();
        tokio::spawn(services::serve(stream, port));
    }
}

/// The same on the stack's own threads.
async fn sessions(builder: Builder) {
    let netstack = Netstack::start(builder, Limits::default()).expect("a stack");
    let echo = |session: UdpSession| async move {
        let mut bytes = [0; 2048];
        while let Ok(n) = session.recv(&mut bytes).await {
            let _ = session.send(&bytes[..n]).await;
        }
    };
    netstack.serve_udp(echo).expect("units have threads");
    let serve = |session: TcpSession| {
        let port = session.local_addr().port();
        services::serve(session, port)
    };
    netstack.serve_tcp(serve).expect("units have threads");
    run::ready();
    std::future::pending().await
}

fn device() -> tun::AsyncDevice {
    let mut config = tun::Configuration::default();
    config.tun_name(DEVICE).mtu(MTU as u16).up();
    tun::create_as_async(&config).expect("a device")
}

/// Carries packets between a stack that is a stream and a sink of them, and a device.
fn by_device<S>(stack: S)
where
    S: Stream<Item = io::Result<Vec<u8>>> + Sink<Vec<u8>, Error = io::Error> + Send + 'static,
{
    let (mut sink, mut stream) = stack.split();
    let device = Arc::new(device());
    let to = device.clone();
    tokio::spawn(async move {
        while let Some(Ok(packet)) = stream.next().await {
            let _ = to.send(&packet).await;
        }
    });
    tokio::spawn(async move {
        let mut bytes = vec![0; 65536];
        while let Ok(n) = device.recv(&mut bytes).await {
            let _ = sink.send(bytes[..n].to_vec()).await;
        }
    });
}

/// It announces a segment size: without, the kernel sends segments of 536 bytes.
async fn ipstack() {
    use ipstack::{IpStack, IpStackConfig, IpStackStream, TcpConfig, TcpOptions};
    let mut tcp = TcpConfig::default();
    tcp.timeout = Duration::from_secs(600);
    tcp.options = Some(vec![TcpOptions::MaximumSegmentSize(MTU as u16 - 40)]);
    let mut config = IpStackConfig::default();
    config.mtu(MTU as u16).expect("an MTU").with_tcp_config(tcp);
    let mut stack = IpStack::new(config, device());
    run::ready();
    while let Ok(stream) = stack.accept().await {
        match stream {
            IpStackStream::Tcp(stream) => {
                let port = stream.peer_addr().port();
                tokio::spawn(services::serve(stream, port));
            }
            IpStackStream::Udp(mut stream) => {
                tokio::spawn(async move {
                    let mut bytes = [0; 2048];
                    while let Ok(n @ 1..) = stream.read(&mut bytes).await {
                        let _ = stream.write_all(&bytes[..n]).await;
                    }
                });
            }
            _ => {}
        }
    }
}

async fn smoltcp() {
    let builder = netstack_smoltcp::StackBuilder::default();
    let builder = builder.enable_tcp(true).enable_udp(true).enable_icmp(true).mtu(MTU);
    let (stack, runner, udp, listener) = builder.build().expect("a stack");
    tokio::spawn(runner.expect("TCP has one"));
    by_device(stack);
    let (mut read, mut write) = udp.expect("UDP is on").split();
    tokio::spawn(async move {
        while let Some((data, local, remote)) = read.next().await {
            let _ = write.send((data, remote, local)).await;
        }
    });
    run::ready();
    let mut listener = listener.expect("TCP is on");
    while let Some((stream, _, remote)) = listener.next().await {
        tokio::spawn(services::serve(stream, remote.port()));
    }
}

/// In C, by a crate that builds it with bindgen: there with the feature of that name.
#[cfg(feature = "lwip")]
async fn lwip() {
    let (stack, mut listener, udp) = lwip::NetStack::new().expect("a stack");
    by_device(stack);
    let (write, mut read) = udp.split();
    tokio::spawn(async move {
        while let Ok((data, peer, asked)) = read.recv_from().await {
            let _ = write.send_to(&data, &asked, &peer);
        }
    });
    run::ready();
    while let Some((stream, _, asked)) = listener.next().await {
        tokio::spawn(services::serve(stream, asked.port()));
    }
}
