//! [`Filter`]: from which sources a member of a group wants to hear, and what is reported
//! when that changes.

use std::collections::BTreeSet;
use wire::group::{Kind, Record};
use wire::{Address, Instant};

/// The sources that a member of a group hears (RFC 3376 2, RFC 3810 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Do the sources not pass, and all others do?
    pub exclude: bool,
    /// The sources.
    pub sources: BTreeSet<Address>,
}

impl Filter {
    /// All sources pass: what a plain join asks for.
    pub fn any() -> Filter {
        Filter { exclude: true, sources: BTreeSet::new() }
    }

    /// None passes: that of who is no member.
    pub fn none() -> Filter {
        Filter::default()
    }

    /// Does what comes from `source` pass?
    pub fn passes(&self, source: Address) -> bool {
        self.exclude != self.sources.contains(&source)
    }

    /// Does nothing pass?
    pub fn is_none(&self) -> bool {
        !self.exclude && self.sources.is_empty()
    }

    /// What passes one of `filters` at least (RFC 3376 3.2, RFC 3810 4.2).
    pub(super) fn merged<'a>(filters: impl Iterator<Item = &'a Filter>) -> Filter {
        // RFC 3810 4.2/1
        let mut merged = Filter::none();
        for filter in filters {
            let (a, b) = (&merged.sources, &filter.sources);
            let sources = match (merged.exclude, filter.exclude) {
                (false, false) => a | b,
                (true, true) => a & b,
                (true, false) => a - b,
                (false, true) => b - a,
            };
            merged = Filter { exclude: merged.exclude || filter.exclude, sources };
        }
        merged
    }

    /// The record that says what it is.
    pub(super) fn current(&self, group: Address) -> Record {
        let kind = if self.exclude { Kind::IsExclude } else { Kind::IsInclude };
        Record { kind, group, sources: self.sources.iter().copied().collect() }
    }

    /// The record that answers a query for some sources (RFC 3376 5.2, RFC 3810 6.3); `None`
    /// if none of them is wanted.
    pub(super) fn answer(&self, group: Address, asked: &BTreeSet<Address>) -> Option<Record> {
        // RFC 3810 6.2/2
        let sources: Vec<Address> =
            asked.iter().copied().filter(|source| self.passes(*source)).collect();
        (!sources.is_empty()).then_some(Record { kind: Kind::IsInclude, group, sources })
    }
}

/// A change that has still to be told, once or again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Is it one between including and excluding?
    of_mode: bool,
    allow: BTreeSet<Address>,
    block: BTreeSet<Address>,
    /// How often it is still told.
    pub(super) left: u8,
    /// When next.
    pub(super) at: Instant,
}

impl Change {
    /// What has changed from `old` to `new`, and what is left to tell of an earlier change
    /// (RFC 3376 5.1, RFC 3810 6.1); `None` if there is nothing. It is told `times`, first at
    /// once.
    pub(super) fn between(
        old: &Filter,
        new: &Filter,
        earlier: Option<Change>,
        times: u8,
    ) -> Option<Change> {
        if old == new {
            return earlier;
        }
        let (mut of_mode, mut allow, mut block) = match earlier {
            Some(earlier) => (earlier.of_mode, earlier.allow, earlier.block),
            None => Default::default(),
        };
        of_mode |= old.exclude != new.exclude;
        if old.exclude == new.exclude {
            let (more, fewer) = (&new.sources - &old.sources, &old.sources - &new.sources);
            let (allowed, blocked) = if new.exclude { (fewer, more) } else { (more, fewer) };
            allow = &(&allow | &allowed) - &blocked;
            block = &(&block | &blocked) - &allowed;
        } else {
            (allow, block) = Default::default();
        }
        Some(Change { of_mode, allow, block, left: times, at: Instant::ZERO })
    }

    /// The records that tell it, for a group with this filter now.
    pub(super) fn records(&self, group: Address, now: &Filter) -> Vec<Record> {
        let list = |sources: &BTreeSet<Address>| sources.iter().copied().collect::<Vec<_>>();
        if self.of_mode {
            let kind = if now.exclude { Kind::ToExclude } else { Kind::ToInclude };
            return vec![Record { kind, group, sources: list(&now.sources) }];
        }
        [(Kind::Allow, &self.allow), (Kind::Block, &self.block)]
            .into_iter()
            .filter(|(_, sources)| !sources.is_empty())
            .map(|(kind, sources)| Record { kind, group, sources: list(sources) })
            .collect()
    }
}
