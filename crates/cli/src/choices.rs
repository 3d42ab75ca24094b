//! What organizations leave open, as options of the command.

use anabranch::Options;
use sync::LockKind;

/// The options that go with an organization. Each takes those that mean
/// something to it.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Choices that organizations leave open")]
pub struct Choices {
    /// Groups of connections: group-locks, group-threads
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..))]
    groups: u16,
    /// Virtual processors: virtual-processors
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    virtual_processors: u16,
    /// Packet processing engines, a number or the least and the most of them:
    /// engines, engines-early, engines-sched [default: 1 to as many as
    /// processors, as the load needs]
    #[arg(long, value_name = "N|MIN-MAX", value_parser = engines)]
    engines: Option<(u16, u16)>,
    /// The locks that connections are processed under: spin, ticket, mcs,
    /// adaptive, os, readers-writer
    #[arg(long, default_value_t = LockKind::default())]
    lock: LockKind,
    /// Keep the order in which packets of a flow arrived, by tickets:
    /// message-parallel
    #[arg(long)]
    order: bool,
    /// The most threads for connections, 0 for as many as the system gives:
    /// thread-per-connection
    #[arg(long, default_value_t = 0)]
    max_threads: usize,
    /// Packets that a connection may send in its turn, 1 to 64
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=64))]
    burst: u16,
    /// Wire threads to processors, where the organization leaves it open
    #[arg(long)]
    pin: bool,
}

impl Choices {
    /// As the library takes them.
    pub fn options(&self) -> Options {
        Options {
            groups: self.groups,
            virtual_processors: self.virtual_processors,
            engines: self.engines.unwrap_or((0, 0)),
            lock: self.lock,
            order: self.order,
            max_threads: self.max_threads,
            pin: self.pin,
        }
    }

    /// Packets that a connection may send in its turn.
    pub fn burst(&self) -> usize {
        usize::from(self.burst)
    }
}

/// `4` or `1-4`.
fn engines(text: &str) -> Result<(u16, u16), String> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse().ok().filter(|n| (1..=1024).contains(n));
    match (number(least), number(most)) {
        (Some(least), Some(most)) if least <= most => Ok((least, most)),
        _ => Err("write a number like 2, or the least and the most like 1-4".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::engines;

    #[test]
    fn engines_have_bounds() {
        assert_eq!(engines("2"), Ok((2, 2)));
        assert_eq!(engines("1-4"), Ok((1, 4)));
        for bad in ["", "0", "4-1", "1-", "a", "1-2-3"] {
            assert!(engines(bad).is_err(), "{bad}");
        }
    }
}
