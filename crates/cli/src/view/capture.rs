//! `anabranch capture`: what passes a running server, as pcapng.

use crate::failure::Failure;
use crate::files::Output;
use crate::say::tell;
use anabranch::capture::Filter;
use anabranch::control::{CaptureRequest, Stopper};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;
use tokio::signal::unix::{SignalKind, signal};

const EXAMPLES: &str = "\
Examples:
  sudo anabranch capture | wireshark -k -i -
  sudo anabranch capture --write web.pcapng tcp port 80 and not host 10.99.0.1
  sudo anabranch capture --count 100 --snaplen 96 'icmp or (udp and net 10.0.0.0/8)' > x.pcapng

Filters have tcpdump's words: host, net, port, portrange (with src or dst before them), ip,
ip6, arp, tcp, udp, icmp, icmp6, inbound, outbound, less, greater, and, or, not, brackets.
Options stand before them.
Packets are as the devices have them: large ones may stand for several segments.

The server does not wait for the capture: what finds no room is dropped, and the number is
said at the end. Ctrl-C ends it; the server goes on. It can be captured by its owner and by
root.";

/// What to capture, and where to.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Device of the server; DEVICE.PROCESS where several have one of that name, with the number
    /// of the server's process [default: the only one that runs]
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// End after so many packets
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Bytes of each packet, at most [default: all]
    #[arg(long, short, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..))]
    pub snaplen: Option<u32>,
    /// Which packets [default: all]
    #[arg(trailing_var_arg = true)]
    pub filter: Vec<String>,
}

/// Captures until a signal, or enough packets.
///
/// # Errors
/// [`Failure`] if there is no such server, if the filter makes no sense, and if the file
/// cannot be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    // What stands behind a filter's first word is the filter's, also if it begins like an option.
    if let Some(option) = args.filter.iter().find(|word| word.starts_with('-')) {
        return Err(Failure::refused(format!(
            "`{option}` is no word of a filter: options stand before the filter"
        )));
    }
    let filter = args.filter.join(" ");
    filter.parse::<Filter>().map_err(Failure::refused)?;
    let to = To::new(args.write.as_deref())?;
    let request = CaptureRequest::new(filter)
        .with_count(args.count)
        .with_snaplen(args.snaplen.map(|bytes| bytes as usize));
    let client = super::client(args.from.as_deref(), "name one by --from")?;
    let stopper = client.stopper().map_err(Failure::failed)?;
    stop_at_signals(stopper).map_err(Failure::failed)?;
    let mut to = to.open()?;
    match client.capture(&request, &mut to) {
        Ok(counts) => {
            let dropped = match counts.dropped {
                0 => String::new(),
                n => format!(", {n} dropped since this was too slow: narrow the filter"),
            };
            tell(format_args!("{} packets captured{dropped}", counts.captured));
            Ok(())
        }
        // Wireshark was closed.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let mend = match error.kind() {
                io::ErrorKind::StorageFull => ": free some room, or name a file elsewhere",
                _ => "",
            };
            Err(Failure::failed(format!("the capture has ended: {error}{mend}")))
        }
    }
}

/// Where packets go to. What is in a file stays until there is a server to capture.
enum To<'a> {
    Stdout,
    File(&'a Path),
}

impl To<'_> {
    /// Looks whether packets can go there, and changes nothing.
    fn new(path: Option<&Path>) -> Result<To<'_>, Failure> {
        match path.filter(|path| *path != Path::new("-")) {
            Some(path) => Output::new("--write", path).map(|_| To::File(path)),
            None if io::stdout().is_terminal() => Err(Failure::refused(
                "a capture is nothing for a terminal: name a file by --write, or pipe it into \
                 `wireshark -k -i -`",
            )),
            None => Ok(To::Stdout),
        }
    }

    fn open(self) -> Result<Box<dyn Write>, Failure> {
        let To::File(path) = self else { return Ok(Box::new(io::stdout().lock())) };
        let file = File::create(path).map_err(|error| {
            let path = path.display();
            Failure::refused(format!("cannot write --write {path}: {error}: name another file"))
        })?;
        Ok(Box::new(file))
    }
}

/// Has the next SIGINT or SIGTERM end the capture in good order.
fn stop_at_signals(stopper: Stopper) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _here = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        stopper.stop();
    })?;
    Ok(())
}
