//! The samples, and the table of them.

use crate::client::{LOADS, Load};
use crate::relay::ENDS;
use crate::stacks::{ALL, BOUND, is_apart, is_ours, serves};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The device of whichever stack is measured.
pub const DEVICE: &str = "ana-peer0";
/// Its MTU, bytes.
pub const MTU: usize = 1500;
/// An address that leads to it.
pub const STACK: &str = "10.200.0.2";
/// The same, of IPv6.
pub const STACK_V6: &str = "fd00:200::2";
const SPACE: &str = "ana-peers";
/// The client's namespace where there is a path between it and the stack.
const CLIENT: &str = "ana-peers-far";

fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// This program again, in a namespace, with room for many sockets.
fn inside(space: &str, words: &[&str]) -> Command {
    let own = std::env::current_exe().expect("it has a path");
    let mut command = Command::new("ip");
    let shell = ["netns", "exec", space, "sh", "-c", "ulimit -n 100000; exec \"$0\" \"$@\""];
    command.args(shell).arg(own).args(words);
    command
}

/// A process that ends with this value.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts this program in `space`, and waits until it is ready.
fn started(space: &str, words: &[&str]) -> Option<Ends> {
    let spawned = inside(space, words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = Ends(spawned.expect("this program"));
    let mut line = String::new();
    BufReader::new(child.0.stdout.take()?).read_line(&mut line).ok()?;
    (line.trim() == "ready").then_some(child)
}

/// A fresh namespace.
fn space(name: &str) {
    ip(&format!("netns delete {name}"));
    assert!(ip(&format!("netns add {name}")), "run it as root");
    assert!(ip(&format!("-n {name} link set lo up")));
    // Many connections come and go, packets pass, and the client's buffers limit nobody over 20 ms.
    let knobs = [
        "net.ipv4.ip_local_port_range=1024 65535",
        "net.ipv4.tcp_tw_reuse=1",
        "net.ipv4.ip_forward=1",
        "net.ipv4.tcp_wmem=4096 16384 67108864",
        "net.ipv4.tcp_rmem=4096 131072 67108864",
    ];
    let sysctl = ["netns", "exec", name, "sysctl", "-qw"];
    let _ = Command::new("ip").args(sysctl).args(knobs).status();
}

/// A path of 20 ms between the client's namespace and that of the stack.
fn path(lost: u32) -> Option<Ends> {
    space(CLIENT);
    let relay = started(CLIENT, &["relay", &lost.to_string()])?;
    let [near, far] = ENDS;
    let done = [
        format!("-n {CLIENT} link set {far} netns {SPACE}"),
        format!("-n {CLIENT} link set {near} up"),
        format!("-n {CLIENT} address add 10.201.0.1/24 dev {near}"),
        format!("-n {CLIENT} route add 10.200.0.0/16 dev {near}"),
        format!("-n {SPACE} link set {far} up"),
        format!("-n {SPACE} route add 10.201.0.0/24 dev {far}"),
    ];
    done.iter().all(|words| ip(words)).then_some(relay)
}

/// KiB of memory that the process has.
fn memory(of: &Ends) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", of.0.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// A program that was started says that it serves.
pub fn ready() {
    println!("ready");
}

/// One sample, and the client's share of a processor in it; `None` if it came to nothing.
fn sample(stack: &str, load: &Load) -> Option<(f64, f64)> {
    space(SPACE);
    let mut server = started(SPACE, &["stack", stack])?;
    if !ip(&format!("-n {SPACE} link set {DEVICE} up"))
        || !ip(&format!("-n {SPACE} address add 10.200.0.1/16 dev {DEVICE}"))
        || !ip(&format!("-n {SPACE} address replace fd00:200::1/64 dev {DEVICE} nodad"))
    {
        return None;
    }
    let relay = match load.path {
        Some(lost) => Some(path(lost)?),
        None => None,
    };
    std::thread::sleep(Duration::from_millis(100));
    let before = memory(&server)?;
    let from = if relay.is_some() { CLIENT } else { SPACE };
    let mut client = inside(from, &["client", &load.word()]);
    let mut client = Ends(client.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?);
    let mut line = String::new();
    BufReader::new(client.0.stdout.take()?).read_line(&mut line).ok()?;
    let (figure, share) = line.trim().split_once(' ')?;
    // A stack that has ended has no figure, whatever the client did without it.
    if !matches!(server.0.try_wait(), Ok(None)) {
        return None;
    }
    let (figure, share): (f64, f64) = (figure.parse().ok()?, share.parse().ok()?);
    match load.is_cost() {
        true => Some(((memory(&server)? - before) / figure, share)),
        false => Some((figure, share)),
    }
}

/// What is to be measured.
pub struct Options<'a> {
    /// Samples of each.
    pub rounds: usize,
    /// Parts of the loads' titles; of none, all loads.
    pub loads: Vec<&'a str>,
    /// Names of the stacks; of none, all stacks.
    pub stacks: Vec<&'a str>,
    /// Say how busy the client was, too: where it had a processor for itself, it is the limit.
    pub shares: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { rounds: 3, loads: Vec::new(), stacks: Vec::new(), shares: false }
    }
}

/// Measures, and prints the table.
pub fn all(options: &Options<'_>) {
    let wanted = |stack: &str| match options.stacks.as_slice() {
        [] => !is_apart(stack),
        names => names.contains(&stack),
    };
    let stacks: Vec<&str> = ALL.into_iter().filter(|stack| wanted(stack)).collect();
    let mut header = String::from("| load |");
    let mut rule = String::from("|---|");
    for stack in &stacks {
        header += &format!(" {stack} |");
        rule += "---|";
    }
    println!("{header} ratio |\n{rule}---|");
    assert!(!stacks.is_empty(), "stacks are: {}", ALL.join("; "));
    let wanted = |load: &&Load| {
        options.loads.is_empty() || options.loads.iter().any(|part| load.title().contains(part))
    };
    for load in LOADS.iter().filter(wanted) {
        let mut samples = vec![Vec::new(); stacks.len()];
        let mut shares = samples.clone();
        for _ in 0..options.rounds {
            for (at, stack) in stacks.iter().enumerate().filter(|(_, s)| serves(s, load.name)) {
                if let Some((figure, share)) = sample(stack, load) {
                    samples[at].push(figure);
                    shares[at].push(share);
                }
            }
        }
        println!("{}", row(load, &stacks, samples, options.rounds));
        if options.shares && !load.is_cost() {
            println!("{}", row_of_shares(shares));
        }
    }
    ip(&format!("netns delete {SPACE}"));
    ip(&format!("netns delete {CLIENT}"));
    ip("netns delete ana-peers-other");
}

fn row(load: &Load, stacks: &[&str], mut samples: Vec<Vec<f64>>, rounds: usize) -> String {
    let (mut line, mut best) = (format!("| {} |", load.title()), [None; 2]);
    for (stack, samples) in stacks.iter().zip(&mut samples) {
        samples.sort_by(f64::total_cmp);
        let Some(&median) = samples.get(samples.len() / 2) else {
            line += if serves(stack, load.name) { " failed |" } else { " – |" };
            continue;
        };
        let best: &mut Option<f64> = &mut best[usize::from(is_ours(stack))];
        *best = match *best {
            best if *stack == BOUND => best,
            Some(best) if load.is_cost() => Some(best.min(median)),
            Some(best) => Some(best.max(median)),
            None => Some(median),
        };
        let (low, high) = (samples[0], samples[samples.len() - 1]);
        line += &format!(" {} ({}–{})", figure(median), figure(low), figure(high));
        if samples.len() < rounds {
            line += &format!(" [{} failed]", rounds - samples.len());
        }
        line += " |";
    }
    match best {
        [Some(others), Some(ours)] if load.is_cost() => line + &format!(" {:.2} |", others / ours),
        [Some(others), Some(ours)] => line + &format!(" {:.2} |", ours / others),
        _ => line + " |",
    }
}

/// Medians of the client's share of a processor.
fn row_of_shares(shares: Vec<Vec<f64>>) -> String {
    let cell = |mut shares: Vec<f64>| {
        shares.sort_by(f64::total_cmp);
        shares
            .get(shares.len() / 2)
            .map_or(" |".into(), |share| format!(" {:.0} % |", share * 100.0))
    };
    let cells: String = shares.into_iter().map(cell).collect();
    format!("| – the client's processor |{cells} |")
}

fn figure(value: f64) -> String {
    match value {
        10_000.0.. => format!("{:.0}k", value / 1000.0),
        1000.0.. => format!("{:.1}k", value / 1000.0),
        100.0.. => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
