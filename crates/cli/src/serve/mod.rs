//! `anabranch serve`: files and small services over a TAP device.

mod discovered;
mod kernel;
mod lease;
mod occupied;
mod report;
mod running;
mod services;
mod settings;
pub(crate) mod tcp;

pub use settings::organization_names;
pub use tcp::tcp_config;

use crate::failure::Failure;
use crate::link::Chosen;
use crate::say::{say, tell};
use crate::view;
use crate::zone::{Zoned, ZonedRoute};
use anabranch::Cidr;
use anabranch::control::Control;
use anabranch::device::EthernetAddress;
use device::Report;
use device::fault::{Spec, SpecError};
use lease::Leased;
use running::Running;
use services::Services;
use settings::Settings;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

const EXAMPLES: &str = "\
Examples:
  sudo anabranch serve --http 80 --root /srv/www
      then, in another terminal:  curl http://10.99.0.2/
  sudo anabranch serve --organization group-locks --processors 4 \\
      --tcp-echo 7 --tcp-discard 9 --tcp-chargen 19 --stats-json stats.json
  sudo anabranch serve --xdp eth0 --address 192.168.1.50/24 --gateway 192.168.1.1 --http 80
      on a network card, which the kernel keeps for its own addresses
  anabranch serve --kernel --http 8080 --root /srv/www
      the same on the kernel's sockets, to compare with
  sudo anabranch serve --tap ana0 --dhcp --http 80
      with the address that a DHCP server behind ana0 gives
  sudo anabranch serve --http 80 --fault loss=2%,reorder=5%,delay=5ms,seed=7 --pcap bad.pcapng

While it runs, `anabranch ss` shows its connections to its owner and to root, `anabranch
top` what its threads do, and `anabranch capture` what passes.

SIGINT (Ctrl-C), SIGTERM and SIGHUP end it: it resets what is still open, prints a summary,
writes the statistics and removes the device. SIGUSR1 writes the statistics now, or
without --stats-json prints the summary.

Exit codes: 0 ended by a signal; 1 failed while running; 2 not started, nothing left.";

/// What to serve, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub link: Chosen,
    /// Address of the stack, of IPv4 or IPv6, with the length of the network's prefix
    #[arg(long, value_name = "ADDR/PREFIX", default_value = "10.99.0.2/24")]
    pub address: Cidr,
    /// Get the address, the router and their time from a DHCP server on the link (IPv4), and
    /// give them back at the end; what happens is told on standard error
    #[arg(long, conflicts_with_all = ["address", "gateway", "route"])]
    pub dhcp: bool,
    /// Get addresses of IPv6, routers and servers for names by what routers on the link say, beside
    /// the address that is given. Where they say so, a DHCPv6 server is asked for servers for names;
    /// what happens is told on standard error
    #[arg(long)]
    pub slaac: bool,
    /// Address of the kernel's end of the device, in the same network
    #[arg(long, value_name = "ADDR/PREFIX", default_value = "10.99.0.1/24")]
    pub peer_address: Cidr,
    /// Router for destinations outside that network [default: none]
    #[arg(long, value_name = "ADDR")]
    pub gateway: Option<Zoned>,
    /// Another address of the stack; may be given several times
    #[arg(long, value_name = "ADDR/PREFIX")]
    pub add_address: Vec<Cidr>,
    /// Another route, such as `192.168.0.0/16 via 10.99.0.1 metric 5`; may be given several
    /// times
    #[arg(long, value_name = "ROUTE")]
    pub route: Vec<ZonedRoute>,
    /// Server for names, which is asked over the stack's own sockets; may be given several times.
    /// Those that --dhcp is told are asked after it
    #[arg(long, value_name = "ADDR")]
    pub dns: Vec<Zoned>,
    /// Parallel organization: how the stack is spread over processors
    #[arg(long, value_name = "NAME", default_value = "processor-per-connection",
          value_parser = organization_names())]
    pub organization: String,
    /// Threads that process packets, with a device queue each [default: the
    /// machine's processors, or 1 if the organization has no use for more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub processors: Option<u16>,
    #[command(flatten)]
    pub congestion: crate::congestion::Congestion,
    /// MiB of memory that connections may hold together, about. While they hold it all, new ones
    /// are refused, and a client that takes nothing of what it is sent is reset after a minute: one of the web server
    /// after five else, and one of another service never. What is read of large
    /// files is beside it: 64 MiB, and 64 KiB at most for each further client that takes none of its
    /// file; and the names of each directory that is on its way, once for all who take them
    /// [default: a quarter of the machine's]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(8..))]
    pub memory: Option<u32>,
    /// Serve on the kernel's own sockets instead, at ADDR [default: 127.0.0.1]: the same
    /// services, to compare with
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1",
          conflicts_with_all = ["tap", "existing-tap", "xdp", "address", "dhcp", "slaac", "peer_address", "gateway",
                                "add_address", "route", "dns",
                                "organization", "processors", "congestion", "memory", "http_threads", "Choices", "vlan", "mac", "mtu", "no_offload", "answers_per_second",
                                "fault", "pcap", "stats_json", "metrics"])]
    pub kernel: Option<Zoned>,

    #[command(flatten)]
    pub services: Services,
    /// Directory that the web server serves; symbolic links do not leave it
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Services",
        requires = "http",
        default_value = "."
    )]
    pub root: PathBuf,
    /// Whose threads serve requests of the web server
    #[arg(
        long,
        value_name = "WHOSE",
        help_heading = "Services",
        requires = "http",
        default_value = "pool"
    )]
    pub http_threads: services::HttpThreads,

    /// VLAN whose tag (802.1Q) frames carry both ways. The kernel's end of a device that is made has no
    /// address then: give one to its own interface of the VLAN
    #[arg(long, value_name = "N", help_heading = "Link", conflicts_with = "peer_address",
          value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub vlan: Option<u16>,
    /// Ethernet address of the stack [default: one that the device's name gives]
    #[arg(long, value_name = "ADDR", help_heading = "Link")]
    pub mac: Option<EthernetAddress>,
    /// Largest IP datagram on the link, bytes
    #[arg(long, value_name = "N", default_value_t = 1500, help_heading = "Link",
          value_parser = clap::value_parser!(u16).range(68..=65521))]
    pub mtu: u16,
    /// The most answers of each kind a second: echo replies, resets for closed ports, ICMP
    /// errors; an eighth of it to one address
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Link",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub answers_per_second: u32,
    /// Compute checksums and cut segments in the stack, not in the device
    #[arg(long, help_heading = "Link")]
    pub no_offload: bool,
    /// Make the link bad: loss, reorder, duplicate, corrupt (shares like 2%),
    /// delay, jitter (times like 5ms), rate (like 100mbit), limit (packets on their way
    /// at most, 1000 by default), seed; implies --no-offload
    #[arg(long, value_name = "SPEC", help_heading = "Link", value_parser = faults)]
    pub fault: Option<Spec>,
    /// Write what the stack sends and receives to FILE, in pcapng format
    #[arg(long, value_name = "FILE", help_heading = "Link")]
    pub pcap: Option<PathBuf>,

    /// Write what was counted to FILE, at the end and at SIGUSR1: packets,
    /// connections, services; and what instruments say of threads, locks and
    /// queues
    #[arg(long, value_name = "FILE")]
    pub stats_json: Option<PathBuf>,
    /// Answer at http://127.0.0.1:PORT/metrics of this host with what was counted,
    /// as Prometheus reads it; any user of the host may ask, over 64 connections at a time
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub metrics: Option<u16>,
    /// End as by a signal when standard input ends: so does a server with the program that has started it
    #[arg(long, hide = true)]
    pub ends_with_input: bool,
    // Last, as its heading is that of all that follows.
    #[command(flatten)]
    pub choices: crate::choices::Choices,
}

/// At least one fault.
fn faults(text: &str) -> Result<Spec, String> {
    if text.trim().is_empty() {
        return Err("it names no fault: write one like loss=2%, or leave it out".into());
    }
    text.parse().map_err(|error: SpecError| error.to_string())
}

/// Serves until a signal ends it.
///
/// # Errors
/// [`Failure`]; nothing is left behind then.
pub fn run(args: Args) -> Result<(), Failure> {
    let settings = Settings::new(args)?;
    crate::choices::warn_of_processors(settings.processors);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("service")
        .build()
        .map_err(|e| Failure::refused(format!("cannot start threads: {e}: raise ulimit -u")))?;
    if let Some(address) = &settings.args.kernel {
        let result = runtime.block_on(kernel::serve(&settings, address));
        runtime.shutdown_timeout(Duration::from_secs(2));
        return result;
    }
    let capture = settings.args.pcap.clone();
    let (reports, result) = match runtime.block_on(serve(settings)) {
        Ok((reports, result)) => (Some(reports), result),
        Err(refused) => (None, Err(refused)),
    };
    // Tasks have sockets, and sockets hold the stack with its device; but a file
    // that takes long to read is not worth waiting for.
    runtime.shutdown_timeout(Duration::from_secs(2));
    let (Some(reports), Some(path)) = (reports, capture) else { return result };
    let captures = reports.iter().filter(|report| report.name() == "capture");
    let missing: u64 = captures.flat_map(|report| report.counts()).map(|(_, count)| count).sum();
    if missing == 0 {
        return result;
    }
    let cut_off = Failure::failed(format!(
        "the capture --pcap {} is cut off, {missing} packets are not in it: free some room, or \
         name a file elsewhere",
        path.display()
    ));
    // Both are told.
    result.inspect_err(|_| tell(format_args!("anabranch: {cut_off}")))?;
    Err(cut_off)
}

/// Lets others look into the server: its owner by a control socket, which is there for
/// as long as what this returns, and anybody by the port for metrics, if there is one.
async fn show(running: &Running, settings: &Settings) -> Result<Option<Control>, Failure> {
    let viewed = running.viewed(settings);
    if let Some(port) = settings.args.metrics {
        view::listen_for_metrics(port, viewed.clone()).await?;
    }
    // It serves as well without.
    let control = viewed.open_control();
    Ok(control.inspect_err(|e| tell(format_args!("anabranch: no control socket: {e}"))).ok())
}

/// The signals that end the server.
struct Ends([Signal; 3]);

impl Ends {
    fn new() -> Result<Ends, Failure> {
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        let [a, b, c] = kinds.map(listen);
        Ok(Ends([a?, b?, c?]))
    }

    /// Waits for one of them.
    async fn one(&mut self) {
        let [a, b, c] = &mut self.0;
        tokio::select! {
            _ = a.recv() => {}
            _ = b.recv() => {}
            _ = c.recv() => {}
        }
    }
}

/// Waits for the end of standard input, if that is `asked` for; else for ever.
async fn input_ends(asked: bool) {
    let (tell, told) = tokio::sync::oneshot::channel();
    if asked {
        // Not a thread of the runtime, which would be waited for.
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            let _ = tell.send(());
        });
        let _ = told.await;
    } else {
        std::future::pending().await
    }
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::refused(format!("cannot wait for signals: {e}")))
}

/// Serves; what the device's wrappers report, and how it ended.
async fn serve(settings: Settings) -> Result<(Vec<Arc<dyn Report>>, Result<(), Failure>), Failure> {
    let mut ends = Ends::new()?;
    let mut user = listen(SignalKind::user_defined1())?;

    let running = Running::start(&settings).await?;
    let _control = show(&running, &settings).await?;
    let gone = until_the_end(&running, &settings, &mut ends, &mut user).await;
    let written = report::write(&running, &settings);
    say(report::summary(&running, &settings, "ended").trim_end());
    let reports = running.reports.clone();
    running.stop();
    Ok((reports, gone.and(written)))
}

/// How often it is looked whether the device is there still, and the lease. Each time some three
/// threads wake, and a server that has nothing to do should wake once a second at most.
const LOOK: Duration = Duration::from_secs(5);

/// Says when it is ready, and answers signals until one of them ends it, or the device is gone.
async fn until_the_end(
    running: &Running,
    settings: &Settings,
    ends: &mut Ends,
    user: &mut Signal,
) -> Result<(), Failure> {
    let mut is_ready = false;
    let mut leased = std::pin::pin!(async {
        if let Some(leased) = &running.leased {
            leased.wait().await;
        }
    });
    let mut look = tokio::time::interval(LOOK);
    let mut input = std::pin::pin!(input_ends(settings.args.ends_with_input));
    loop {
        tokio::select! {
            biased;
            () = &mut leased, if !is_ready => {
                is_ready = true;
                say(report::ready_line(running, settings));
            }
            () = ends.one() => return Ok(()),
            () = &mut input => return Ok(()),
            _ = user.recv() => {
                if settings.stats.is_none() {
                    say(report::summary(running, settings, "so far").trim_end());
                }
                if let Err(failure) = report::write(running, settings) {
                    tell(format_args!("anabranch: {failure}"));
                }
            }
            () = running.discovered.listen() => running.check(settings)?,
            _ = look.tick() => {
                running.leased.iter().for_each(Leased::tell);
                running.discovered.tell();
                running.check(settings)?;
            }
        }
    }
}
