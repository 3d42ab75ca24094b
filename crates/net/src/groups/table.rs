//! [`Table`]: who is a member of what, and what has to be said of it when.

use super::filter::{Change, Filter};
use super::{MAX_GROUPS, MAX_SOURCES, Via, message};
use platform::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use wire::group::{Kind, Query, Record, Version};
use wire::time::Duration;
use wire::{Address, Instant, Packet};

/// How often a change is told (RFC 3376 8.1, RFC 3810 9.1: the robustness variable).
const ROBUSTNESS: u8 = 2;
/// The longest that the next telling of a change waits (RFC 3376 8.11).
const AGAIN: Duration = Duration::from_secs(1);
/// How long a querier of an older version is believed to be there (RFC 3376 8.12): twice the
/// usual interval of queries, and an answer's time.
const OLDER: Duration = Duration::from_secs(260);

/// Too many groups, or too many sources of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// [`MAX_GROUPS`].
    #[error("the stack is in {MAX_GROUPS} groups already: leave some")]
    Groups,
    /// [`MAX_SOURCES`].
    #[error("a socket names at most {MAX_SOURCES} sources of a group")]
    Sources,
}

/// An answer that is due.
struct Answer {
    at: Instant,
    /// What it was asked of; empty: the group.
    sources: BTreeSet<Address>,
}

/// What all of its sources pass.
static ANY: Filter = Filter { exclude: true, sources: BTreeSet::new() };

#[derive(Default)]
struct Member {
    owners: Vec<(u64, Filter)>,
    /// What one of them wants.
    filter: Filter,
    /// Do neighbours ask by it for an address of ours?
    solicited: bool,
    /// Was it an owner's, since it was only for that, if ever? Then it counts.
    counts: bool,
    change: Option<Change>,
    answer: Option<Answer>,
}

/// An interface, and whether its IPv4 is meant.
type Link = (u16, bool);

pub(super) struct Table {
    members: BTreeMap<(u16, Address), Member>,
    /// When a query for all groups is answered.
    general: BTreeMap<Link, Instant>,
    /// Until when routers of older versions are believed to be there.
    older: BTreeMap<(Link, u8), Instant>,
    random: SplitMix64,
}

impl Table {
    pub(super) fn new(seed: u64) -> Table {
        Table {
            members: BTreeMap::new(),
            general: BTreeMap::new(),
            older: BTreeMap::new(),
            random: SplitMix64::new(seed),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.members.values().filter(|member| !member.owners.is_empty()).count()
    }

    pub(super) fn set(
        &mut self,
        owner: u64,
        name: (u16, Address),
        filter: Filter,
    ) -> Result<(), Full> {
        // RFC 3810 4.1/1
        if filter.sources.len() > MAX_SOURCES {
            return Err(Full::Sources);
        }
        // Groups that were left, and of which that is still to be told, count: so nobody
        // joins and leaves beyond the bound.
        let is_new = !self.members.get(&name).is_some_and(|member| member.counts);
        if is_new && filter.is_none() {
            return Ok(());
        }
        if is_new && self.members.values().filter(|member| member.counts).count() >= MAX_GROUPS {
            return Err(Full::Groups);
        }
        self.change(name, |member| {
            member.owners.retain(|(other, _)| *other != owner);
            if !filter.is_none() {
                member.owners.push((owner, filter));
            }
            member.counts = true;
        });
        self.members.retain(|_, member| !member.is_over());
        Ok(())
    }

    /// Do neighbours ask for addresses of ours by just these groups?
    pub(super) fn answers_by(&self, groups: &BTreeSet<(u16, Address)>) -> bool {
        let now = self.members.iter().filter(|(_, member)| member.solicited);
        now.map(|(name, _)| name).eq(groups)
    }

    /// Neighbours ask for addresses of ours by these groups, and by no others.
    pub(super) fn answer_by(&mut self, groups: &BTreeSet<(u16, Address)>) {
        let before = self.members.iter().filter(|(_, member)| member.solicited);
        let before: BTreeSet<(u16, Address)> = before.map(|(name, _)| *name).collect();
        for name in before.symmetric_difference(groups) {
            self.change(*name, |member| member.solicited = !member.solicited);
        }
        self.members.retain(|_, member| !member.is_over());
    }

    pub(super) fn leave_all(&mut self, owner: u64) {
        let mine = |(name, member): (&(u16, Address), &Member)| {
            member.owners.iter().any(|(other, _)| *other == owner).then_some(*name)
        };
        let names: Vec<_> = self.members.iter().filter_map(mine).collect();
        for name in names {
            self.change(name, |member| member.owners.retain(|(other, _)| *other != owner));
        }
        self.members.retain(|_, member| !member.is_over());
    }

    /// Changes who is a member of a group, and why. What follows is told.
    fn change(&mut self, name: (u16, Address), change: impl FnOnce(&mut Member)) {
        // RFC 3810 6.1/1
        let member = self.members.entry(name).or_default();
        let old = member.told().clone();
        change(member);
        member.filter = Filter::merged(member.owners.iter().map(|(_, filter)| filter));
        member.counts &= !(member.owners.is_empty() && member.solicited);
        if is_reported(name.1) {
            let earlier = member.change.take();
            member.change = Change::between(&old, member.told(), earlier, ROBUSTNESS);
        }
    }

    pub(super) fn wants(&self, interface: Option<u16>, group: Address, source: Address) -> bool {
        let passes = |interface: u16| {
            self.members.get(&(interface, group)).is_some_and(|member| member.filter.passes(source))
        };
        match interface {
            Some(interface) => passes(interface),
            None => {
                let on = |(_, of): &&(u16, Address)| *of == group;
                self.members.keys().filter(on).any(|(interface, _)| passes(*interface))
            }
        }
    }

    /// The version that is spoken on a link.
    fn version(&self, link: Link, now: Instant) -> Version {
        // RFC 3810 8.2/1, 8.2/2
        let is_there = |n: u8| self.older.get(&(link, n)).is_some_and(|until| now < *until);
        match (is_there(1), is_there(2)) {
            (true, _) => Version::V1,
            (_, true) => Version::V2,
            _ => Version::V3,
        }
    }

    /// A random moment within `within` from now on.
    fn within(&mut self, within: Duration, now: Instant) -> Instant {
        let nanos = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX).max(1);
        now + Duration::from_nanos(self.random.below(nanos))
    }

    /// A router asks (RFC 3376 5.2, RFC 3810 6.2).
    pub(super) fn asked(&mut self, query: &Query, interface: u16, is_v4: bool, now: Instant) {
        // RFC 3810 6.2/1
        let link = (interface, is_v4);
        let before = self.version(link, now);
        match query.version {
            Version::V1 => self.older.insert((link, 1), now + OLDER),
            Version::V2 => self.older.insert((link, 2), now + OLDER),
            Version::V3 => None,
        };
        if self.version(link, now) != before {
            //= RFC 3376 7.2.1: pending responses are cancelled
            self.general.remove(&link);
            let on = |(at, group): &(u16, Address)| *at == interface && group.is_v4() == is_v4;
            let members = self.members.iter_mut().filter(|(name, _)| on(name));
            members.for_each(|(_, member)| member.answer = None);
        }
        let at = self.within(query.max_response, now);
        let general = self.general.get(&link).copied();
        if general.is_some_and(|general| general <= at) {
            return;
        }
        if query.group.is_unspecified() {
            match self.version(link, now) {
                Version::V3 => drop(self.general.insert(link, at)),
                _ => self.answer_each(link, query.max_response, now),
            }
            return;
        }
        if !is_reported(query.group) {
            return;
        }
        let Some(member) = self.members.get_mut(&(interface, query.group)) else { return };
        let mut sources: BTreeSet<Address> = query.sources.iter().copied().collect();
        let at = match &member.answer {
            Some(earlier) => {
                if earlier.sources.is_empty() {
                    sources.clear();
                } else if !sources.is_empty() {
                    sources = &sources | &earlier.sources;
                }
                at.min(earlier.at)
            }
            None => at,
        };
        if sources.len() > MAX_SOURCES {
            sources.clear();
        }
        member.answer = Some(Answer { at, sources });
    }

    /// In older versions each group has a time of its own, since another member may answer
    /// for it first (RFC 2236 3).
    fn answer_each(&mut self, (interface, is_v4): Link, within: Duration, now: Instant) {
        let on = |(at, group): &(u16, Address)| *at == interface && group.is_v4() == is_v4;
        let names: Vec<_> = self.members.keys().copied().filter(on).collect();
        for name in names.into_iter().filter(|(_, group)| is_reported(*group)) {
            let at = self.within(within, now);
            let Some(member) = self.members.get_mut(&name) else { continue };
            let earlier = member.answer.take().map(|answer| answer.at);
            let at = earlier.map_or(at, |earlier| earlier.min(at));
            member.answer = Some(Answer { at, sources: BTreeSet::new() });
        }
    }

    /// Another member has answered in an older version (RFC 2236 3): then we need not.
    pub(super) fn told(&mut self, group: Address, interface: u16, now: Instant) {
        if self.version((interface, group.is_v4()), now) == Version::V3 {
            return;
        }
        if let Some(member) = self.members.get_mut(&(interface, group)) {
            member.answer = None;
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let of = |member: &Member| {
            let change = member.change.as_ref().map(|change| change.at);
            Instant::earlier(change, member.answer.as_ref().map(|answer| answer.at))
        };
        let members = self.members.values().filter_map(of).min();
        Instant::earlier(members, self.general.values().min().copied())
    }

    /// Gives the reports that are due to `packets`.
    pub(super) fn due(
        &mut self,
        now: Instant,
        via: &impl Fn(u16) -> Option<Via>,
        packets: &mut Vec<Packet>,
    ) {
        let mut records: BTreeMap<Link, Vec<Record>> = BTreeMap::new();
        let asked: Vec<Link> =
            self.general.iter().filter(|(_, at)| **at <= now).map(|(link, _)| *link).collect();
        self.general.retain(|_, at| now < *at);
        self.older.retain(|_, until| now < *until);
        let mut again = Vec::new();
        for (&(interface, group), member) in &mut self.members {
            let link = (interface, group.is_v4());
            let list = records.entry(link).or_default();
            let answer = member.answer.take_if(|answer| answer.at <= now);
            let mut change = member.change.take();
            let filter = member.told();
            if asked.contains(&link) && !filter.is_none() && is_reported(group) {
                list.push(filter.current(group));
            }
            if let Some(answer) = answer {
                list.extend(match answer.sources.is_empty() {
                    true => (!filter.is_none()).then(|| filter.current(group)),
                    false => filter.answer(group, &answer.sources),
                });
            }
            if let Some(change) = change.as_mut().filter(|change| change.at <= now) {
                list.extend(change.records(group, filter));
                change.left -= 1;
                again.push((interface, group));
            }
            member.change = change;
        }
        for name in again {
            let at = self.within(AGAIN, now);
            let Some(member) = self.members.get_mut(&name) else { continue };
            member.change = member.change.take().filter(|change| change.left > 0);
            if let Some(change) = &mut member.change {
                change.at = at;
            }
        }
        for (link, records) in records {
            if let Some(via) = via(link.0) {
                self.say(link, &records, now, via, packets);
            }
        }
        self.members.retain(|_, member| !member.is_over());
    }

    /// Says on a link what `records` say, in the version that is spoken there.
    fn say(
        &self,
        link: Link,
        records: &[Record],
        now: Instant,
        via: Via,
        packets: &mut Vec<Packet>,
    ) {
        let (index, is_v4) = link;
        let via = (index, via);
        let version = self.version(link, now);
        if version == Version::V3 {
            let pieces: Vec<Record> = records.iter().flat_map(pieces).collect();
            return message::reports(&pieces, is_v4, via, packets);
        }
        let groups: BTreeSet<Address> = records.iter().map(|record| record.group).collect();
        for group in groups {
            let member = self.members.get(&(index, group));
            let is_member = member.is_some_and(|member| !member.told().is_none());
            packets.extend(message::old_report(version, group, is_member, via));
        }
    }
}

impl Member {
    /// Is nobody a member, and all told?
    fn is_over(&self) -> bool {
        self.owners.is_empty() && !self.solicited && self.change.is_none()
    }

    /// What others are told that the host wants.
    fn told(&self) -> &Filter {
        if self.solicited { &ANY } else { &self.filter }
    }
}

/// Is it a group that reports tell of? Not one that all are members of, or that does not leave
/// a host (RFC 3376 5, RFC 3810 6).
fn is_reported(group: Address) -> bool {
    // RFC 3810 6/1
    let scope = group.v6().map_or(2, |v6| v6.octets()[1] & 0x0f);
    !group.is_all_hosts() && scope > 1
}

/// A record in pieces that fit into a datagram (RFC 3376 4.2.16): what excludes more sources
/// than that says fewer.
fn pieces(record: &Record) -> Vec<Record> {
    let mut chunks = record.sources.chunks(MAX_SOURCES);
    let first = chunks.next().unwrap_or_default().to_vec();
    let mut pieces = vec![Record { sources: first, ..record.clone() }];
    let kind = match record.kind {
        Kind::IsExclude | Kind::ToExclude => return pieces,
        Kind::ToInclude => Kind::Allow,
        kind => kind,
    };
    pieces.extend(chunks.map(|chunk| Record {
        kind,
        group: record.group,
        sources: chunk.to_vec(),
    }));
    pieces
}
