//! The servers that are compared: processes with a file to serve, and the links to them.

use super::{Args, name_of};
use crate::failure::Failure;
use clap::ValueEnum;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

/// Where the file is.
pub const FILE: &str = "/file";
const PORT: u16 = 80;

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// This stack, by tasks on its own threads
    Own,
    /// This stack, by tasks on a pool of threads
    Pool,
    /// The kernel's sockets
    Kernel,
}

impl Which {
    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Which::Own => "own threads",
            Which::Pool => "pool",
            Which::Kernel => "kernel",
        }
    }

    /// Where it is: each has a network of its own, with the client at .1.
    fn address(self) -> Ipv4Addr {
        match self {
            Which::Own => Ipv4Addr::new(10, 97, 0, 2),
            Which::Pool => Ipv4Addr::new(10, 99, 0, 2),
            Which::Kernel => Ipv4Addr::new(10, 98, 0, 2),
        }
    }

    /// The address of the client.
    fn client(self) -> Ipv4Addr {
        let [a, b, c, _] = self.address().octets();
        Ipv4Addr::new(a, b, c, 1)
    }
}

/// A server that runs.
pub struct Server {
    pub which: Which,
    pub address: SocketAddr,
    /// Which way its packets go.
    pub over: &'static str,
    child: Child,
}

impl Server {
    /// Processor time that it has used so far, seconds.
    pub fn cpu_seconds(&self) -> f64 {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        ticks(&text) as f64 / rustix::param::clock_ticks_per_second() as f64
    }
}

/// The ticks in user and system mode of a line of proc(5)'s `stat`.
fn ticks(stat: &str) -> u64 {
    // The name of the program may have spaces, but ends at the last bracket.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All servers, and what they serve; it is all gone when dropped.
pub struct Servers {
    servers: Vec<Server>,
    _place: Place,
}

impl Deref for Servers {
    type Target = [Server];
    fn deref(&self) -> &[Server] {
        &self.servers
    }
}

impl Servers {
    /// Starts all that `args` names, in the network of the calling thread.
    ///
    /// # Errors
    /// If one does not start.
    pub fn start(args: &Args) -> Result<Servers, Failure> {
        let place = Place::new(args.bytes)?;
        let mut servers: Vec<Server> = Vec::new();
        for &which in &args.servers {
            if servers.iter().any(|server| server.which == which) {
                let name = name_of(&which);
                return Err(Failure::refused(format!(
                    "--servers has {name} twice: once is enough"
                )));
            }
            servers.push(match which {
                Which::Kernel => kernel(&place.0)?,
                Which::Own | Which::Pool => ours(which, args, &place.0)?,
            });
        }
        Ok(Servers { servers, _place: place })
    }
}

/// A directory with the file.
struct Place(PathBuf);

impl Place {
    fn new(bytes: u32) -> Result<Place, Failure> {
        let path = std::env::temp_dir().join(format!("anabranch-bench-{}", std::process::id()));
        let bytes: Vec<u8> =
            (0..bytes).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let made = std::fs::create_dir(&path)
            .and_then(|()| std::fs::write(path.join(FILE.trim_start_matches('/')), bytes));
        // It is to be removed even if only half of it was made.
        let place = Place(path);
        made.map_err(|error| {
            let path = place.0.display();
            Failure::refused(format!("cannot make {path}: {error}: set TMPDIR to another place"))
        })?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `anabranch serve`, with the file in `place`.
fn serve(place: &Path) -> Command {
    let program = std::env::current_exe().unwrap_or_else(|_| "anabranch".into());
    let mut command = Command::new(program);
    command.args(["serve", "--http", &PORT.to_string(), "--root"]).arg(place);
    // However this process ends, its end of the pipe is closed then.
    command.arg("--ends-with-input").stdin(Stdio::piped());
    command.env("XDG_RUNTIME_DIR", place);
    command
}

/// A server on this stack.
fn ours(which: Which, args: &Args, place: &Path) -> Result<Server, Failure> {
    let device = if which == Which::Own { "ana-own" } else { "ana-pool" };
    let mut command = serve(place);
    command.args(["--tap", device, "--organization", &args.organization]);
    command.args(["--address", &format!("{}/24", which.address())]);
    command.args(["--peer-address", &format!("{}/24", which.client())]);
    command.args(["--http-threads", &name_of(&which)]);
    if let Some(processors) = args.processors {
        command.args(["--processors", &processors.to_string()]);
    }
    started(which, which.address(), "TAP", command)
}

/// The server on the kernel's sockets: over veth if that can be had.
fn kernel(place: &Path) -> Result<Server, Failure> {
    let (address, client) = (Which::Kernel.address(), Which::Kernel.client());
    let at = |address: Ipv4Addr| {
        let mut command = serve(place);
        command.args(["--kernel", &address.to_string()]);
        command
    };
    let is_linked = ip("link add ana-near type veth peer name ana-far")
        && ip(&format!("address add {client}/24 dev ana-near"))
        && ip("link set ana-near up");
    if !is_linked {
        return started(Which::Kernel, Ipv4Addr::LOCALHOST, "loopback", at(Ipv4Addr::LOCALHOST));
    }
    let start = || {
        let is_up =
            ip(&format!("address add {address}/24 dev ana-far")) && ip("link set ana-far up");
        if !is_up {
            return Err(Failure::refused("the far end of a veth could not be set up by `ip`"));
        }
        started(Which::Kernel, address, "veth", at(address))
    };
    beyond("ana-far", start)
}

/// Runs `start` in another network, to which `device` of this one is moved. The network
/// is there for as long as what it starts.
fn beyond<R: Send>(
    device: &str,
    start: impl FnOnce() -> Result<R, Failure> + Send,
) -> Result<R, Failure> {
    let (tell, there) = mpsc::channel();
    let (moved, is_moved) = mpsc::channel();
    thread::scope(|scope| {
        let other = scope.spawn(move || {
            device::namespace::in_private(move || {
                let _ = tell.send(rustix::thread::gettid().as_raw_nonzero());
                match is_moved.recv() {
                    Ok(true) => start(),
                    _ => Err(Failure::refused("a veth could not be moved by `ip`")),
                }
            })
        });
        if let Ok(thread) = there.recv() {
            let _ = moved.send(ip(&format!("link set {device} netns {thread}")));
        }
        let done = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        done.map_err(Failure::refused)?
    })
}

/// Runs the command `ip`. Returns whether it is there and has done it.
fn ip(arguments: &str) -> bool {
    let words = arguments.split(' ');
    let mut command = Command::new("ip");
    let quiet = command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Starts a server, and waits until it is ready.
fn started(
    which: Which,
    address: Ipv4Addr,
    over: &'static str,
    mut command: Command,
) -> Result<Server, Failure> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| {
        Failure::refused(format!("cannot start another process of anabranch: {error}"))
    })?;
    let address = SocketAddr::from((address, PORT));
    let mut server = Server { which, address, over, child };
    let mut line = String::new();
    if let Some(out) = server.child.stdout.take() {
        let mut out = BufReader::new(out);
        let _ = out.read_line(&mut line);
        server.child.stdout = Some(out.into_inner());
    }
    if line.starts_with("ready: ") {
        return Ok(server);
    }
    let mut said = String::new();
    if let Some(mut errors) = server.child.stderr.take() {
        let _ = server.child.kill();
        let _ = errors.read_to_string(&mut said);
    }
    let last = said.lines().last().unwrap_or("it has said nothing");
    let last = last.trim_start_matches("anabranch: ");
    Err(Failure::refused(format!("the server ({}) did not start: {last}", which.name())))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ticks_are_found_behind_any_name() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 5 0 99";
        assert_eq!(super::ticks(&format!("77 (a b) c) {rest}")), 300);
        assert_eq!(super::ticks(""), 0);
    }
}
