//! Both ends of a TCP connection on one core, in one thread: Anabranch under `uniprocessor`,
//! smoltcp, lwIP (the feature `lwip`), and the kernel's TCP over its loopback device, with the same
//! loads.
//!
//! ```sh
//! sudo FEATURES=lwip bench/peers/memory/run --rounds 5
//! ```
//!
//! Samples of one load go round all stacks in turn. The table has medians with ranges, and the
//! ratio of Anabranch's median to the best of the others. `run` builds the program, gives it one
//! core, and a loopback device whose MTU is that of the load and that segments nothing.

mod kernel;
#[cfg(feature = "lwip")]
mod lwip;
mod ours;
mod smol;
mod table;

use std::time::Duration;

/// What connections do.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A message of 64 bytes and its echo, one outstanding on each connection.
    Rr,
    /// Data without end, one way.
    Bulk,
}

/// A load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub work: Work,
    pub connections: usize,
    /// Bytes of the link's largest IP datagram.
    pub mtu: usize,
    /// Length of a sample.
    pub time: Duration,
}

/// Bytes of a message.
pub const MESSAGE: usize = 64;
/// Bytes of a write and a read of bulk.
pub const BLOCK: usize = 64 * 1024;

impl Load {
    fn title(&self) -> String {
        let Load { connections, mtu, .. } = self;
        match self.work {
            Work::Rr => format!("rr, 64 bytes, {connections} connections (k/s)"),
            Work::Bulk => format!("bulk, MTU {mtu}, {connections} connections (Gbit/s)"),
        }
    }

    /// What so many transactions or bytes in `seconds` are in the table's unit.
    pub fn rate(&self, done: u64, seconds: f64) -> f64 {
        match self.work {
            Work::Rr => done as f64 / seconds / 1e3,
            Work::Bulk => done as f64 * 8.0 / seconds / 1e9,
        }
    }
}

/// Takes a sample of a load.
type Sample = fn(&Load) -> f64;

/// Stacks by name.
const STACKS: &[(&str, Sample)] = &[
    ("anabranch", ours::sample),
    ("smoltcp", smol::sample),
    #[cfg(feature = "lwip")]
    ("lwip", lwip::sample),
    ("kernel", kernel::sample),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rounds = match words[..] {
        [] => 5,
        ["--rounds", n] => n.parse().expect("a number of rounds"),
        _ => {
            eprintln!("usage: --rounds N");
            std::process::exit(2);
        }
    };
    let load =
        |work, connections, mtu| Load { work, connections, mtu, time: Duration::from_millis(500) };
    let loads = [
        load(Work::Rr, 16, 1500),
        load(Work::Bulk, 16, 1500),
        load(Work::Bulk, 1, 1500),
        load(Work::Bulk, 16, 4352),
        load(Work::Bulk, 1, 4352),
    ];
    let names: Vec<&str> = STACKS.iter().map(|(name, _)| *name).collect();
    println!("{}", table::header(&names));
    for load in loads {
        kernel::set_mtu(load.mtu);
        let mut samples = vec![Vec::new(); STACKS.len()];
        for _ in 0..rounds {
            for ((_, sample), samples) in STACKS.iter().zip(&mut samples) {
                samples.push(sample(&load));
            }
        }
        println!("{}", table::line(&load.title(), &samples));
    }
}
