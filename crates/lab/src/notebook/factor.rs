//! [`FACTORS`]: what an experiment can vary, and which levels each may have.

use super::level::Level;
use super::web;

/// What an experiment can vary.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    /// Its name in files.
    pub name: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    kind: Kind,
}

/// Which levels a factor may have.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Whole numbers from the least to the most.
    Whole(f64, f64),
    /// Any number from the least to the most.
    Number(f64, f64),
    /// One of these names.
    Name(&'static [&'static str]),
    /// An organization.
    Organization,
    /// A lock.
    Lock,
    /// On or off.
    Switch,
    /// Requests a second, or phases.
    Schedule,
}

const fn factor(name: &'static str, kind: Kind, about: &'static str) -> Factor {
    Factor { name, about, kind }
}

/// The word for "as many as there are processors".
pub const PROCESSORS: &str = "processors";

/// Factors of grids that load the stack, or that simulate it.
pub const FACTORS: &[Factor] = &[
    factor("organization", Kind::Organization, "how the stack is spread over processors"),
    factor(
        "workload",
        Kind::Name(&["bulk", "rr", "crr", "udp", "udp-rr", "blocks", "http"]),
        "what connections do, as `anabranch bench` names it",
    ),
    factor("processors", Kind::Whole(1.0, 64.0), "processors of the stack"),
    factor("connections", Kind::Whole(1.0, 524_288.0), "connections, or flows of UDP"),
    factor("active", Kind::Whole(1.0, 524_288.0), "how many of them carry anything"),
    factor("direction", Kind::Name(&["send", "receive", "both"]), "which way data goes"),
    factor("bytes", Kind::Whole(1.0, 16_777_216.0), "bytes of a write, message, datagram or page"),
    factor("mtu", Kind::Whole(576.0, 65_535.0), "bytes of the largest IP datagram"),
    factor("segment", Kind::Whole(1.0, 65_535.0), "bytes of a driver's segment, at most"),
    factor("peer", Kind::Name(&["stack", "driver"]), "what stands at the other end"),
    factor("preset", Kind::Name(&["yates"]), "a paper's whole set-up: packets of 4 KB, a driver"),
    factor("presentation", Kind::Name(&["none", "xdr"]), "what stands above the transport"),
    factor("receive_buffers", Kind::Name(&["lifo", "circular"]), "where a driver's payload lies"),
    factor("checksum", Kind::Switch, "transport checksums are computed and verified"),
    factor("lock", Kind::Lock, "the locks that connections are processed under"),
    factor("groups", Kind::Whole(1.0, 4096.0), "groups of connections"),
    factor("virtual_processors", Kind::Whole(1.0, 4096.0), "virtual processors"),
    factor("engines", Kind::Whole(1.0, 64.0), "packet processing engines"),
    factor("order", Kind::Switch, "message-parallel keeps the order of packets"),
    factor("max_threads", Kind::Whole(0.0, 65_536.0), "the most threads for connections"),
    factor("pin", Kind::Switch, "threads are wired to processors where that is left open"),
    factor("confine", Kind::Switch, "all threads keep to the stack's processors"),
    factor("burst", Kind::Whole(1.0, 64.0), "packets that a connection may send in its turn"),
    factor("short_lived", Kind::Number(0.0, 1e6), "short-lived connections a second (blocks)"),
    factor("rate", Kind::Schedule, "when requests are due (http)"),
    factor("fresh", Kind::Switch, "each request has a connection of its own (http)"),
    factor("loss", Kind::Number(0.0, 0.5), "share of packets that the link loses, each way"),
    factor("reorder", Kind::Number(0.0, 0.5), "share that it holds back behind later ones"),
    factor("duplicate", Kind::Number(0.0, 0.5), "share that it delivers twice"),
    factor("delay_us", Kind::Number(0.0, 1e6), "time that packets are on their way, µs"),
    factor("window", Kind::Whole(1.0, 4096.0), "simulator: operations under way by connection"),
];

/// Factors of grids that are computed by the model of Thekkath et al. 1992.
pub const MODEL_FACTORS: &[Factor] = &[
    factor("machine", Kind::Name(&["firefly", "sequent"]), "whose table"),
    factor(
        "change",
        Kind::Name(&["nothing", "half-software", "fast-bus", "two-queues"]),
        "what is changed of it",
    ),
    factor("mix", Kind::Name(&["small", "mixed"]), "the sizes of packets"),
    factor("bytes", Kind::Name(&["74", "150", "650", "1514"]), "bytes of the packet looked at"),
    factor("load", Kind::Number(0.0, 0.99), "arrivals, as a share of the capacity"),
];

/// The factor of this name among `factors`; otherwise a line with those there are.
pub(super) fn find<'a>(factors: &'a [Factor], name: &str) -> Result<&'a Factor, String> {
    factors.iter().find(|factor| factor.name == name).ok_or_else(|| {
        let known: Vec<&str> = factors.iter().map(|factor| factor.name).collect();
        format!("there is no factor '{name}': choose from {}", known.join(", "))
    })
}

impl Factor {
    /// The levels `given`, with `all` and names in place; an error says what may be given.
    pub(super) fn levels(&self, given: Vec<Level>) -> Result<Vec<Level>, String> {
        let all = Level::Name("all".to_owned());
        if matches!(self.kind, Kind::Organization) && given == [all] {
            let names = catalog::CATALOG.iter().map(|entry| entry.name);
            return Ok(names.map(|name| Level::Name(name.to_owned())).collect());
        }
        given.iter().try_for_each(|level| self.check(level))?;
        for (n, level) in given.iter().enumerate() {
            if given[..n].contains(level) {
                return Err(format!("{} = {level} is given twice: leave one out", self.name));
            }
        }
        Ok(given)
    }

    /// May it have this level?
    pub(super) fn check(&self, level: &Level) -> Result<(), String> {
        let fits = match (self.kind, level) {
            (Kind::Whole(least, most), Level::Number(n)) => {
                (least..=most).contains(n) && n.fract() == 0.0
            }
            (Kind::Number(least, most), Level::Number(n)) => (least..=most).contains(n),
            (Kind::Whole(..), Level::Name(name)) => {
                name == PROCESSORS && matches!(self.name, "connections" | "virtual_processors")
            }
            (Kind::Name(names), Level::Name(name)) => names.contains(&name.as_str()),
            (Kind::Organization, Level::Name(name)) => catalog::find(name).is_some(),
            (Kind::Lock, Level::Name(name)) => name.parse::<sync::LockKind>().is_ok(),
            (Kind::Switch, Level::Switch(_)) => true,
            (Kind::Schedule, level) => web::schedule(level).is_ok(),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(format!("{} = {level} is not possible: give {}", self.name, self.range()))
    }

    /// What it may be, in words.
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Number(least, most) => format!("a number from {least} to {most}"),
            Kind::Name(names) => format!("one of {}", names.join(", ")),
            Kind::Organization => {
                let names: Vec<&str> = catalog::CATALOG.iter().map(|entry| entry.name).collect();
                format!("\"all\", or one of {}", names.join(", "))
            }
            Kind::Lock => format!("one of {}", sync::LockKind::names()),
            Kind::Switch => "true or false".to_owned(),
            Kind::Schedule => "requests a second, or phases like \"10ms:8000+40ms:0\"".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, level: Level) -> Result<(), String> {
        find(FACTORS, name).expect("a factor").check(&level)
    }

    #[test]
    fn levels_have_ranges() {
        let name = |name: &str| Level::Name(name.to_owned());
        assert!(check("connections", Level::Number(3072.0)).is_ok());
        assert!(check("connections", name("processors")).is_ok());
        assert!(check("organization", name("engines-sched")).is_ok());
        assert!(check("lock", name("mcs")).is_ok());
        assert!(check("rate", Level::Number(0.5)).is_ok());
        assert!(check("rate", name("10ms:8000+40ms:0")).is_ok());
        for (factor, level) in [
            ("connections", Level::Number(0.0)),
            ("connections", Level::Number(1.5)),
            ("processors", name("processors")),
            ("organization", name("nobody")),
            ("checksum", Level::Number(1.0)),
            ("lock", name("none")),
            ("rate", Level::Number(0.0)),
            ("rate", name("10ms")),
            ("mtu", Level::Number(f64::NAN)),
        ] {
            let error = check(factor, level).expect_err(factor);
            assert!(error.contains("give ") && !error.contains('\n'), "{error}");
        }
        assert!(find(FACTORS, "conections").expect_err("none").contains("connections"));
    }

    #[test]
    fn all_is_every_organization() {
        let factor = find(FACTORS, "organization").expect("a factor");
        let levels = factor.levels(vec![Level::Name("all".to_owned())]).expect("levels");
        assert_eq!(levels.len(), catalog::CATALOG.len());
        let twice = vec![Level::Name("engines".to_owned()); 2];
        assert!(factor.levels(twice).expect_err("twice").contains("twice"));
    }
}
