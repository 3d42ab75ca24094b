//! [`Load`]: a load on a stack, in words: `tcp rr 64B, 20k connections,
//! 400k/s`.
//!
//! Words come in any order, separated by spaces or commas:
//!
//! | word | |
//! |---|---|
//! | `tcp`, `udp` | the protocol |
//! | `rr`, `crr`, `send`, `receive`, `bulk` | what connections do ([`Work`]); `bulk` is `send`; `crr` opens a connection for each message |
//! | `64B`, `1400 bytes`, `4KiB` | of a message, a datagram or a segment; [`Load::default_bytes`] if it is left out |
//! | `20k connections`, `64 flows`, `64 sockets` | their number; all are equally busy |
//! | `400k/s`, `2/ms`, `40 Gbit/s`, `5 GB/s` | operations, or payload one way; if it is left out, as many as the stack can do |
//! | `poisson`, `steady`, `bursty 32` | how operations arrive, if there is a rate; `poisson` if it is left out |
//!
//! Numbers may have a fraction, `_` between digits, and `k`, `M` or `G`.

use crate::{Error, Work};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

mod words;

/// The most connections that a load may have.
pub const MOST_CONNECTIONS: usize = 10_000_000;
/// The highest rate, operations a second.
pub const MOST_PER_S: f64 = 1e10;
/// The largest datagram or segment, bytes of payload.
pub const MOST_BYTES: usize = 65_495;
/// The largest message of a transaction, bytes: it must fit into one packet.
pub const MOST_MESSAGE_BYTES: usize = 1448;
/// The largest burst, operations.
pub const MOST_BURST: u32 = 65_536;

/// How operations arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// Independently of each other.
    #[default]
    Poisson,
    /// At equal distances.
    Steady,
    /// In bursts of this size; the bursts come independently of each other.
    Bursty(u32),
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Pattern::Poisson => f.write_str("poisson"),
            Pattern::Steady => f.write_str("steady"),
            Pattern::Bursty(size) => write!(f, "bursty {size}"),
        }
    }
}

/// A load on a stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// What connections do.
    pub work: Work,
    /// Bytes of payload of an operation, one way.
    pub bytes: usize,
    /// Connections, or flows of UDP.
    pub connections: usize,
    /// Operations a second over all connections; `None`: as many as the stack can do.
    pub rate_per_s: Option<f64>,
    /// How operations arrive, if there is a rate.
    pub pattern: Pattern,
}

impl Load {
    /// Bytes of an operation where the load does not say: 64 for a message, and a
    /// full segment or datagram of Ethernet for the others.
    pub const fn default_bytes(work: Work) -> usize {
        match work {
            Work::TcpRr | Work::UdpRr | Work::TcpCrr => 64,
            Work::TcpSend | Work::TcpReceive => 1448,
            Work::UdpSend | Work::UdpReceive => 1472,
        }
    }

    /// Checks that the load makes sense.
    ///
    /// # Errors
    /// [`Error::Asked`] names the figure that is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        let asked = |message: String| Err(Error::Asked(message));
        if self.connections == 0 || self.connections > MOST_CONNECTIONS {
            return asked(format!(
                "{} connections: a load has 1 to {MOST_CONNECTIONS}",
                self.connections
            ));
        }
        let (most, what) = match self.work.is_transactions() {
            true => (MOST_MESSAGE_BYTES, "a message is one packet"),
            false => (MOST_BYTES, "a packet"),
        };
        if self.bytes == 0 || self.bytes > most {
            return asked(format!("{} B: {what} of 1 to {most} bytes of payload", self.bytes));
        }
        if let Some(rate) = self.rate_per_s
            && !(rate > 0.0 && rate <= MOST_PER_S)
        {
            return asked(format!(
                "{rate}/s: a rate is more than 0 and at most {MOST_PER_S:e} operations a second"
            ));
        }
        match (self.rate_per_s, self.pattern) {
            (None, Pattern::Steady | Pattern::Bursty(_)) => asked(format!(
                "`{}` goes with a rate: add one, like 400k/s, or leave it out",
                self.pattern
            )),
            (_, Pattern::Bursty(size)) if size == 0 || size > MOST_BURST => {
                asked(format!("bursty {size}: a burst has 1 to {MOST_BURST} operations"))
            }
            _ => Ok(()),
        }
    }
}

impl Display for Load {
    /// Writes the load as [`Load::from_str`] reads it.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name = self.work.name();
        let (protocol, what) = name.split_once('-').unwrap_or((name, ""));
        let units = if protocol == "udp" { "flows" } else { "connections" };
        write!(f, "{protocol} {what} {}B, {} {units}", self.bytes, short(self.connections as f64))?;
        if let Some(rate) = self.rate_per_s {
            write!(f, ", {}/s", short(rate))?;
            if self.pattern != Pattern::Poisson {
                write!(f, ", {}", self.pattern)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Load {
    type Err = Error;

    fn from_str(text: &str) -> Result<Load, Error> {
        let load = words::parse(text)?;
        load.check()?;
        Ok(load)
    }
}

/// A number with `k`, `M` or `G` where that is exact.
fn short(value: f64) -> String {
    let scaled = [("G", 1e9), ("M", 1e6), ("k", 1e3)];
    let fits = |unit: f64| value >= unit && (value / unit).fract() == 0.0 && value < 1e15;
    match scaled.into_iter().find(|(_, unit)| fits(*unit)) {
        Some((letter, unit)) => format!("{}{letter}", value / unit),
        None => format!("{value}"),
    }
}

#[cfg(test)]
mod tests;
