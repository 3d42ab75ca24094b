//! What organizations leave open, as options of the command.

use crate::failure::Failure;
use crate::say::tell;
use anabranch::organization::{Choice, LockKind, Options, Organization};
use std::time::Duration;

/// The options that go with an organization. Each takes those that mean
/// something to it; to give one that means nothing is an error.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Choices that organizations leave open")]
pub struct Choices {
    /// Groups of connections: group-locks, group-threads [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    groups: Option<u16>,
    /// Virtual processors, as many as --processors or more: virtual-processors
    /// [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    virtual_processors: Option<u16>,
    /// Packet processing engines, a number or the least and the most of them:
    /// engines, engines-early, engines-sched [default: 1 to as many as
    /// processors, as the load needs]
    #[arg(long, value_name = "N|MIN-MAX", value_parser = engines)]
    engines: Option<(u16, u16)>,
    #[arg(long, value_name = "NAME", help = lock_help())]
    lock: Option<LockKind>,
    /// Keep the order in which packets of a flow arrived, by tickets:
    /// message-parallel
    #[arg(long)]
    order: bool,
    /// The most threads for connections, 0 for as many as the system gives:
    /// thread-per-connection [default: 0]
    #[arg(long, value_name = "N")]
    max_threads: Option<usize>,
    /// Packets that a connection may send in its turn, 1 to 64; and of
    /// virtual-processors, message-parallel and engines, packets that are brought
    /// up at a time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=64))]
    burst: u16,
    /// Wire threads to processors, where the organization leaves it open
    #[arg(long)]
    pin: bool,
    /// Microseconds for which a thread that has nothing to do looks on before it sleeps, so that an
    /// answer does not wait for a processor to wake: uniprocessor, processor-per-connection
    /// [default: up to 100 in `serve`, as long as that pays; 0 in measurements]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    busy_poll: Option<u32>,
}

fn lock_help() -> String {
    let (names, usual) = (LockKind::names(), LockKind::default());
    format!("The locks that connections are processed under: {names} [default: {usual}]")
}

impl Choices {
    /// The choices as the library takes them.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.groups = self.groups.unwrap_or(options.groups);
        options.virtual_processors = self.virtual_processors.unwrap_or(options.virtual_processors);
        options.engines = self.engines.unwrap_or(options.engines);
        options.lock = self.lock.unwrap_or(options.lock);
        options.order = self.order;
        options.max_threads = self.max_threads.unwrap_or(options.max_threads);
        options.pin = self.pin;
        options.busy_poll = Duration::from_micros(self.busy_poll.unwrap_or(0).into());
        options
    }

    /// As [`Choices::options`], for a server: threads that are not told otherwise look on while that pays.
    pub fn for_server(&self) -> Options {
        self.options().with_short_poll(self.busy_poll.is_none())
    }

    /// As [`Choices::options`], for `processors`: there are at least as many virtual
    /// processors, unless their number was given.
    pub fn options_on(&self, processors: usize) -> Options {
        let options = self.options();
        match self.virtual_processors {
            Some(_) => options,
            None => {
                let least = options.virtual_processors.max(processors as u16);
                options.with_virtual_processors(least)
            }
        }
    }

    /// Packets that a connection may send in its turn.
    pub fn burst(&self) -> usize {
        usize::from(self.burst)
    }

    /// Does each option that was given mean something to one at least of these
    /// organizations?
    ///
    /// # Errors
    /// If not: a line that says where it would.
    pub fn check(&self, organizations: &[String]) -> Result<(), Failure> {
        let given = [
            (Choice::Groups, self.groups.is_some()),
            (Choice::VirtualProcessors, self.virtual_processors.is_some()),
            (Choice::Engines, self.engines.is_some()),
            (Choice::Lock, self.lock.is_some()),
            (Choice::Order, self.order),
            (Choice::MaxThreads, self.max_threads.is_some()),
            (Choice::Pin, self.pin),
            (Choice::BusyPoll, self.busy_poll.is_some()),
        ];
        let mut given = given.into_iter().filter(|(_, given)| *given);
        given.try_for_each(|(choice, _)| check_one(choice, organizations))
    }

    /// Does the simulator know what each option that was given does?
    ///
    /// # Errors
    /// If not: a line that names the option.
    pub fn check_simulated(&self) -> Result<(), Failure> {
        match self.busy_poll {
            Some(_) => Err(Failure::refused(
                "--busy-poll is not simulated: leave it out, or measure with `anabranch bench`",
            )),
            None => Ok(()),
        }
    }
}

/// Does what was chosen mean anything to one of `organizations` at least?
///
/// # Errors
/// If not: a line that says where it would.
pub fn check_one(choice: Choice, organizations: &[String]) -> Result<(), Failure> {
    let takers = Organization::all().filter(|o| o.choices().contains(&choice));
    let takers: Vec<&str> = takers.map(Organization::name).collect();
    if organizations.iter().any(|name| takers.contains(&name.as_str())) {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "--{} means nothing to {}: leave it out, or choose from {}",
        choice.name(),
        organizations.join(", "),
        takers.join(", ")
    )))
}

/// Says so if there are fewer processors than threads that want one each.
pub fn warn_of_processors(asked: usize) {
    let there = lab::affinity::processors();
    if asked > there {
        tell(format_args!(
            "anabranch: {asked} processors are asked for, and this machine has {there}: threads \
             will share them"
        ));
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
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        choices: Choices,
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let check = |words: &[&str], organization: &str| {
            let words = ["x"].iter().chain(words);
            let command = Command::try_parse_from(words).expect("good");
            command.choices.check(&[organization.to_owned()])
        };
        assert!(check(&["--groups", "4"], "group-locks").is_ok());
        assert!(check(&["--lock", "mcs", "--engines", "1"], "engines-sched").is_ok());
        assert!(check(&[], "uniprocessor").is_ok());
        let refused = check(&["--groups", "4"], "uniprocessor").expect_err("no groups");
        assert!(refused.to_string().contains("group-threads"), "{refused}");
        assert!(check(&["--order"], "group-locks").is_err());
    }

    #[test]
    fn a_thread_looks_on_where_it_can() {
        let command = Command::try_parse_from(["x", "--busy-poll", "100"]).expect("good");
        assert_eq!(command.choices.options().busy_poll, Duration::from_micros(100));
        let check = |organization: &str| command.choices.check(&[organization.to_owned()]);
        assert!(check("uniprocessor").is_ok() && check("processor-per-connection").is_ok());
        let refused = check("group-locks").expect_err("its threads do not look on");
        assert!(refused.to_string().contains("uniprocessor"), "{refused}");
        assert!(command.choices.check_simulated().is_err());
        assert!(Command::try_parse_from(["x", "--busy-poll", "1000001"]).is_err());
    }

    #[test]
    fn engines_have_bounds() {
        assert_eq!(engines("2"), Ok((2, 2)));
        assert_eq!(engines("1-4"), Ok((1, 4)));
        for bad in ["", "0", "4-1", "1-", "a", "1-2-3"] {
            assert!(engines(bad).is_err(), "{bad}");
        }
    }
}
