//! [`Configuration`]: a stack as it is started.

use crate::Load;
use crate::predict::{Case, Steering};
use catalog::{Choice, Options};
use serde::{Serialize, Serializer};
use std::fmt::{Display, Formatter};

/// A stack as it is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Configuration {
    /// The organization's name.
    pub organization: String,
    /// Processors.
    pub processors: usize,
    /// Queues of each device.
    pub queues: usize,
    /// Packet processing engines, where the organization has some.
    pub engines: Option<u16>,
    /// The locks, where the organization has a choice of them.
    #[serde(serialize_with = "lock_name")]
    pub lock: Option<sync::LockKind>,
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn lock_name<S: Serializer>(lock: &Option<sync::LockKind>, to: S) -> Result<S::Ok, S::Error> {
    lock.map(sync::LockKind::name).serialize(to)
}

impl Configuration {
    /// An organization with its default choices.
    pub(super) fn new(organization: &str, processors: usize) -> Configuration {
        let choices = catalog::find(organization).map_or(&[][..], |entry| entry.choices);
        let lock = choices.contains(&Choice::Lock).then(|| Options::default().lock);
        let engines = choices.contains(&Choice::Engines);
        Configuration {
            organization: organization.to_owned(),
            processors,
            queues: processors,
            engines: engines.then(|| u16::try_from(processors).unwrap_or(u16::MAX)),
            lock,
        }
    }

    /// The organization's options.
    pub fn options(&self) -> Options {
        let default = Options::default();
        default
            .clone()
            .with_lock(self.lock.unwrap_or(default.lock))
            .with_engines(self.engines.map_or(default.engines, |engines| (engines, engines)))
            .with_virtual_processors(
                default.virtual_processors.max(u16::try_from(self.processors).unwrap_or(u16::MAX)),
            )
    }

    pub(super) fn case(&self, load: &Load) -> Case {
        Case {
            organization: self.organization.clone(),
            options: self.options(),
            work: load.work,
            bytes: load.bytes,
            processors: self.processors,
            connections: load.connections,
            steering: Steering::Hash,
        }
    }

    /// The same with other choices, of which each differs in one.
    pub(super) fn variants(&self) -> Vec<Configuration> {
        let mut all = Vec::new();
        if self.lock.is_some() {
            let others = sync::LockKind::ALL.into_iter().filter(|kind| Some(*kind) != self.lock);
            all.extend(others.map(|kind| Configuration { lock: Some(kind), ..self.clone() }));
        }
        if let Some(engines) = self.engines {
            let fewer = [1, engines / 2, engines.saturating_sub(1)];
            let mut fewer: Vec<u16> =
                fewer.into_iter().filter(|n| (1..engines).contains(n)).collect();
            fewer.sort_unstable();
            fewer.dedup();
            all.extend(
                fewer.into_iter().map(|n| Configuration { engines: Some(n), ..self.clone() }),
            );
        }
        if self.processors > 1 {
            all.push(Configuration { queues: 2 * self.processors, ..self.clone() });
        }
        all
    }
}

impl Display for Configuration {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        write!(
            f,
            "{}, {} processor{}",
            self.organization,
            self.processors,
            plural(self.processors)
        )?;
        write!(f, ", {} queue{}", self.queues, plural(self.queues))?;
        if let Some(engines) = self.engines {
            write!(f, ", {engines} engine{}", plural(engines.into()))?;
        }
        if let Some(lock) = self.lock {
            write!(f, ", {} locks", lock.name())?;
        }
        Ok(())
    }
}
