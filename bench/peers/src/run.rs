//! The samples, and the table of them.

use crate::client::LOADS;
use crate::stacks::{ALL, is_ours};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The device of whichever stack is measured.
pub const DEVICE: &str = "ana-peer0";
/// Its MTU, bytes.
pub const MTU: usize = 1500;
/// An address that leads to it.
pub const STACK: &str = "10.200.0.2";
const SPACE: &str = "ana-peers";

fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// This program again, in the namespace.
fn inside(words: &[&str]) -> Command {
    let own = std::env::current_exe().expect("it has a path");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", SPACE]).arg(own).args(words);
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

/// One sample; `None` if it came to nothing.
fn sample(stack: &str, load: &str) -> Option<f64> {
    ip(&format!("netns delete {SPACE}"));
    assert!(ip(&format!("netns add {SPACE}")), "run it as root");
    assert!(ip(&format!("-n {SPACE} link set lo up")));
    // Many connections come and go.
    let knobs = ["net.ipv4.ip_local_port_range=1024 65535", "net.ipv4.tcp_tw_reuse=1"];
    let sysctl = ["netns", "exec", SPACE, "sysctl", "-qw"];
    let _ = Command::new("ip").args(sysctl).args(knobs).status();
    let server = inside(&["stack", stack]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut server = Ends(server.expect("this program"));
    let mut line = String::new();
    BufReader::new(server.0.stdout.take()?).read_line(&mut line).ok()?;
    if line.trim() != "ready"
        || !ip(&format!("-n {SPACE} link set {DEVICE} up"))
        || !ip(&format!("-n {SPACE} address add 10.200.0.1/16 dev {DEVICE}"))
    {
        return None;
    }
    std::thread::sleep(Duration::from_millis(100));
    let done = inside(&["client", load]).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(done.stdout).ok()?.trim().parse().ok()
}

/// Measures everything so many times, and prints the table.
pub fn all(rounds: usize) {
    let mut header = String::from("| load |");
    let mut rule = String::from("|---|");
    for stack in ALL {
        header += &format!(" {stack} |");
        rule += "---|";
    }
    println!("{header} ratio |\n{rule}---|");
    for (name, count, unit) in LOADS {
        let load = format!("{name}-{count}");
        let mut samples = vec![Vec::new(); ALL.len()];
        for _ in 0..rounds {
            for (stack, samples) in ALL.iter().zip(&mut samples) {
                samples.extend(sample(stack, &load));
            }
        }
        println!("{}", row(&format!("{name}, {count} ({unit})"), samples, rounds));
    }
    ip(&format!("netns delete {SPACE}"));
}

fn row(title: &str, mut samples: Vec<Vec<f64>>, rounds: usize) -> String {
    let (mut line, mut best) = (format!("| {title} |"), [0.0_f64; 2]);
    for (stack, samples) in ALL.iter().zip(&mut samples) {
        samples.sort_by(f64::total_cmp);
        let Some(&median) = samples.get(samples.len() / 2) else {
            line += " failed |";
            continue;
        };
        let best = &mut best[usize::from(is_ours(stack))];
        *best = best.max(median);
        let (low, high) = (samples[0], samples[samples.len() - 1]);
        line += &format!(" {} ({}–{})", figure(median), figure(low), figure(high));
        if samples.len() < rounds {
            line += &format!(" [{} failed]", rounds - samples.len());
        }
        line += " |";
    }
    line + &format!(" {:.2} |", best[1] / best[0])
}

fn figure(value: f64) -> String {
    match value {
        10_000.0.. => format!("{:.0}k", value / 1000.0),
        1000.0.. => format!("{:.1}k", value / 1000.0),
        100.0.. => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
