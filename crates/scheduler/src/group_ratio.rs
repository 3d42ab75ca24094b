//! Group-ratio round robin (Caprita et al. 2005, "GR3"), as Bohra and Iftode
//! 2007 schedule the sockets of the ready class with it: figure 3.
//!
//! Sockets whose weights lie between the same powers of two form a group
//! (equation 4), so there are at most [`GROUPS`]. Groups are sorted by weight,
//! `phi`, the sum of their members'; a counter `W` says how often each was
//! chosen. After group `i` comes group `i + 1` if it is behind, that is if
//! `(W_i + 1) / (W_{i+1} + 1) > phi_i / phi_{i+1}`, else the first. Within a
//! group it is deficit round robin: a turn is `phi_C / 2^sigma` slots, from 1 up
//! to 2, and fractions are kept for the next.
//!
//! Figure 3 prints `W_{i+1} / (W_{i+1} + 1)` on the left, which is below 1 and so
//! never above a ratio of sorted weights: only the first group would ever be
//! served. GR3 has `(W_i + 1) / (W_{i+1} + 1)`, as here. For `phi_min^G`, by which
//! the figure divides, we take the least weight that the group may have,
//! `2^sigma`: so there is no minimum to keep when members leave.
//!
//! # Bounds
//! While weights stay, let `v_i = W_i / phi_i`. Group `i + 1` is chosen only if
//! line 4 holds, so `v_{i+1} < v_i + 1/phi_i`; and whenever line 4 holds it is
//! chosen, so `v_{i+1} + 1/phi_{i+1} >= v_i + 1/phi_i`. Summed over the `g`
//! groups this bounds a group's service error, `W_i` minus its share of all slots:
//!
//! `-(2 + g(g-1)/2) <= error <= g`,
//!
//! where one slot is for the middle of a walk. Within a group, a member is between
//! 3 slots behind and 4 ahead of its share of the group's. None of this depends on
//! the number of sockets. The tests hold every socket to these, at every slot.
//!
//! # Change
//! The paper leaves open what becomes of `W` when weights change, which here is
//! at every packet. Line 4 says the same if every `W_i` is reduced by `phi_i`
//! times one number. So `W` is kept as the service error: at each change it is
//! reduced by the group's share of the slots since the last. Then
//!
//! - a new group starts at 0, neither owed anything nor owing;
//! - a socket takes its part of the group's error with it into the next group when
//!   its weight changes; when it leaves, that part is forgotten;
//! - it also takes along what it has waited for within the group. It comes to the
//!   front of the next group if the one there has waited for less, though only a
//!   few may do so in a row;
//! - the walk of figure 3 goes on where it was: if it began anew at each change, it
//!   would never come to the end;
//! - a group that is owed more than it can be while weights stay is served next;
//!   beyond that, what is owed is forgotten, and so is what is owing. So what is
//!   owed, or owing, is bounded ([`most_owed`], [`most_owing`]).

use super::Key;
use super::lists::Lists;

/// The most groups: weights have 32 bits.
pub const GROUPS: usize = 32;

/// A slot, in fixed point: parts of it are owed.
const SLOT: i64 = 1 << 32;
/// Slots after which accounts are settled though no weight has changed.
const SETTLE: u64 = 1 << 24;

/// How many may come to the front of a group in a row: so no socket waits for more
/// than this many times as long as if none did.
const JUMPS: u8 = 16;
/// The most slots that a socket takes along, of those it has waited for.
const MOST_WAITED: i64 = 16 * SLOT;

/// Slots that one of `groups` groups can be owed while weights stay.
pub const fn most_owed(groups: usize) -> usize {
    groups * (groups + 1) / 2 + 2
}

/// Slots that one of `groups` groups can owe while weights stay.
pub const fn most_owing(groups: usize) -> usize {
    groups + 1
}

/// The sockets whose weights are from `2^sigma` to `2^(sigma + 1) - 1`.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// `phi`: the sum of the members' weights.
    weight: u64,
    /// `W`, minus the group's share of all slots up to the last change.
    work: i64,
    /// Slots that the group has had, ever.
    served: u64,
    members: u32,
    /// Its place in the order by weight, if it has members.
    place: u8,
    /// How many came to the front out of turn since one had its turn.
    jumps: u8,
}

/// A socket. Its group is that of its weight.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// 0 if it is none.
    weight: u32,
    /// `D`: slots left of its turn, and the fraction kept for the next.
    deficit: i64,
    /// Its group's `served` when its last slot ended, or it came to this group;
    since: u64,
    /// and what it had waited for in other groups by then, in slots.
    carried: i64,
    /// It came to the front out of turn.
    jumped: bool,
}

/// How many steps were taken: groups looked at and sockets moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Steps by [`GroupRatio::choose`].
    pub choose: u64,
    /// Steps by all that changes weights.
    pub change: u64,
}

/// Sockets that share by weight. A member waits in its group's list or runs;
/// while it runs its weight counts.
#[derive(Clone, Debug)]
pub struct GroupRatio {
    members: Vec<Member>,
    waiting: Lists,
    groups: [Group; GROUPS],
    /// The groups that have members, by descending weight.
    order: Vec<u8>,
    /// The group to serve next, `i` in the figure; the first of the order, if
    /// none.
    next: Option<u8>,
    /// The sum of all weights.
    weight: u64,
    /// Slots since accounts were settled.
    slots: u64,
    steps: Steps,
}

impl Default for GroupRatio {
    fn default() -> GroupRatio {
        GroupRatio {
            members: Vec::new(),
            waiting: Lists::new(GROUPS as u8),
            groups: [Group::default(); GROUPS],
            order: Vec::with_capacity(GROUPS),
            next: None,
            weight: 0,
            slots: 0,
            steps: Steps::default(),
        }
    }
}

/// `sigma` of equation 4.
fn sigma(weight: u32) -> u8 {
    weight.ilog2() as u8
}

/// `part / whole` of `amount`, towards zero.
fn share(amount: i64, part: u64, whole: u64) -> i64 {
    (i128::from(amount) * i128::from(part) / i128::from(whole.max(1))) as i64
}

impl GroupRatio {
    /// Nobody.
    pub fn new() -> GroupRatio {
        GroupRatio::default()
    }

    /// Adds a socket, which waits. If it is here, only its weight changes.
    pub fn insert(&mut self, key: Key, weight: u32) {
        if self.contains(key) {
            return self.reweigh(key, weight);
        }
        let weight = weight.max(1);
        self.settle();
        let group = self.join(weight, 0);
        let since = self.groups[usize::from(group)].served;
        *super::entry(&mut self.members, key) = Member { weight, since, ..Member::default() };
        self.wait(key, group);
    }

    /// Takes a socket out, whether it waits or runs.
    pub fn remove(&mut self, key: Key) {
        if self.contains(key) {
            self.settle();
            self.waiting.remove(key);
            let weight = std::mem::take(&mut self.members[key as usize]).weight;
            self.part(weight);
        }
    }

    /// Changes a socket's weight. In its group it keeps its place; into another
    /// it takes along what it is owed.
    pub fn reweigh(&mut self, key: Key, weight: u32) {
        let Some(old) = self.weight_of(key) else { return };
        let weight = weight.max(1);
        if weight == old {
            return;
        }
        self.settle();
        let (from, to) = (sigma(old), sigma(weight));
        if from == to {
            self.members[key as usize].weight = weight;
            let group = &mut self.groups[usize::from(to)];
            group.weight = group.weight - u64::from(old) + u64::from(weight);
            self.weight = self.weight - u64::from(old) + u64::from(weight);
            self.sort(to);
            return;
        }
        let carried = self.waited(key);
        let waits = self.waiting.remove(key);
        let error = self.part(old);
        let to = self.join(weight, error);
        let member = &mut self.members[key as usize];
        *member = Member { weight, since: self.groups[usize::from(to)].served, carried, ..*member };
        if waits {
            self.wait(key, to);
        }
    }

    /// Chooses the socket to serve for one slot; it runs from now on. In
    /// constant time, unless every socket of the group whose turn it is runs
    /// already: then in the number of groups.
    pub fn choose(&mut self) -> Option<Key> {
        let mut group = self.next.or(self.order.first().copied())?;
        if self.waiting.first(group).is_none() {
            group = self.pass_over()?;
        }
        let key = self.turn(group)?;
        self.groups[usize::from(group)].work += SLOT;
        self.slots += 1;
        self.next = self.successor(group);
        self.steps.choose += 1;
        if self.slots == SETTLE {
            self.settle();
        }
        Some(key)
    }

    /// A socket has run and waits again: at the front if its turn is not over.
    pub fn requeue(&mut self, key: Key) {
        if let Some(weight) = self.weight_of(key)
            && self.waiting.list_of(key).is_none()
        {
            self.wait(key, sigma(weight));
        }
    }

    /// Is the socket here, waiting or running?
    pub fn contains(&self, key: Key) -> bool {
        self.weight_of(key).is_some()
    }

    /// The weight of a socket that is here.
    pub fn weight_of(&self, key: Key) -> Option<u32> {
        self.members.get(key as usize).map(|member| member.weight).filter(|weight| *weight > 0)
    }

    /// How many sockets wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many groups have members.
    pub fn groups(&self) -> usize {
        self.order.len()
    }

    /// Steps taken since the beginning.
    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// Line 4 of figure 3: which group comes after `group`, if not the first?
    fn successor(&self, group: u8) -> Option<u8> {
        let this = &self.groups[usize::from(group)];
        if let Some(&after) = self.order.get(usize::from(this.place) + 1) {
            let next = &self.groups[usize::from(after)];
            let behind = i128::from(this.work + SLOT) * i128::from(next.weight);
            if behind > i128::from(next.work + SLOT) * i128::from(this.weight) {
                return Some(after);
            }
        }
        None
    }

    /// The second procedure of figure 3: the list is the group from `curpos` on.
    fn turn(&mut self, group: u8) -> Option<Key> {
        let key = self.waiting.pop_front(group)?;
        let member = &mut self.members[key as usize];
        let group = &mut self.groups[usize::from(group)];
        if member.deficit < SLOT {
            // phi_C / 2^sigma, exactly.
            member.deficit += (i64::from(member.weight) << 32) >> sigma(member.weight);
            if !std::mem::take(&mut member.jumped) {
                group.jumps = 0;
            }
        }
        member.deficit -= SLOT;
        group.served += 1;
        (member.since, member.carried) = (group.served, 0);
        Some(key)
    }

    /// All sockets of the next group run. It cannot use the slot, so it is not
    /// owed it; of the others, that which is due first gets it.
    #[cold]
    fn pass_over(&mut self) -> Option<u8> {
        self.settle();
        self.steps.choose += self.order.len() as u64;
        let mut first: Option<u8> = None;
        for &index in &self.order {
            let group = &mut self.groups[usize::from(index)];
            if self.waiting.first(index).is_none() {
                group.work = group.work.max(0);
                continue;
            }
            let this = self.groups[usize::from(index)];
            if first.is_none_or(|first| {
                let first = &self.groups[usize::from(first)];
                i128::from(this.work + SLOT) * i128::from(first.weight)
                    < i128::from(first.work + SLOT) * i128::from(this.weight)
            }) {
                first = Some(index);
            }
        }
        first
    }

    /// Reduces every group's `W` by its share of the slots since the last time,
    /// rounded up, so that no share is lost by often settling; and keeps it within
    /// the bounds. A group that is at its bound is served next.
    fn settle(&mut self) {
        let owed = -(most_owed(self.order.len()) as i64 * SLOT);
        let owing = most_owing(self.order.len()) as i64 * SLOT;
        let slots = u128::from(self.slots) << 32;
        let mut overdue = owed;
        for &index in &self.order {
            let group = &mut self.groups[usize::from(index)];
            let due = (slots * u128::from(group.weight)).div_ceil(u128::from(self.weight));
            group.work = (group.work - due as i64).clamp(owed, owing);
            if group.work <= overdue && self.waiting.first(index).is_some() {
                overdue = group.work;
                self.next = Some(index);
            }
        }
        self.slots = 0;
        self.steps.change += self.order.len() as u64;
    }

    /// What a member has waited for since its last slot: its share of those that
    /// its groups had, but [`MOST_WAITED`] at most.
    fn waited(&self, key: Key) -> i64 {
        let member = &self.members[key as usize];
        let group = &self.groups[usize::from(sigma(member.weight))];
        let since = group.served.saturating_sub(member.since).min(SETTLE) as i64;
        let here = share(since * SLOT, u64::from(member.weight), group.weight);
        member.carried.saturating_add(here).min(MOST_WAITED)
    }

    /// Adds a weight to its group, with what it is owed (negative) or owes.
    fn join(&mut self, weight: u32, error: i64) -> u8 {
        let index = sigma(weight);
        let group = &mut self.groups[usize::from(index)];
        if group.members == 0 {
            *group = Group { place: self.order.len() as u8, ..*group };
            self.order.push(index);
        }
        group.members += 1;
        group.weight += u64::from(weight);
        group.work += error;
        self.weight += u64::from(weight);
        self.sort(index);
        index
    }

    /// Takes a weight out of its group, with its part of what the group is owed
    /// or owes, which is returned.
    fn part(&mut self, weight: u32) -> i64 {
        let index = sigma(weight);
        let group = &mut self.groups[usize::from(index)];
        let error = share(group.work, u64::from(weight), group.weight);
        group.members -= 1;
        group.weight -= u64::from(weight);
        group.work -= error;
        self.weight -= u64::from(weight);
        self.sort(index);
        if self.groups[usize::from(index)].members == 0 {
            // It weighs nothing now, so it is the last.
            self.order.pop();
            self.groups[usize::from(index)].work = 0;
            self.next = self.next.filter(|next| *next != index);
        }
        error
    }

    /// Moves a group to its place in the order, after its weight changed.
    fn sort(&mut self, index: u8) {
        let weight = self.groups[usize::from(index)].weight;
        let mut place = usize::from(self.groups[usize::from(index)].place);
        let weight_at = |this: &GroupRatio, place: usize| {
            this.order.get(place).map(|group| this.groups[usize::from(*group)].weight)
        };
        while place > 0 && weight_at(self, place - 1).is_some_and(|before| before < weight) {
            self.swap(place - 1);
            place -= 1;
        }
        while weight_at(self, place + 1).is_some_and(|after| after > weight) {
            self.swap(place);
            place += 1;
        }
    }

    /// Exchanges the groups at `place` and after it.
    fn swap(&mut self, place: usize) {
        self.order.swap(place, place + 1);
        for place in [place, place + 1] {
            self.groups[usize::from(self.order[place])].place = place as u8;
        }
        self.steps.change += 1;
    }

    /// Puts a member that does not wait into its group's list: at the front if its
    /// turn is not over, or if it has waited longer, elsewhere, than the first
    /// whose turn has not begun.
    fn wait(&mut self, key: Key, group: u8) {
        let jumps = self.jumps(key, group);
        let member = &mut self.members[key as usize];
        member.jumped = jumps;
        if jumps || member.deficit >= SLOT {
            self.waiting.push_front(group, key);
        } else {
            self.waiting.push_back(group, key);
        }
        self.groups[usize::from(group)].jumps += u8::from(jumps);
    }

    /// May a member come to the front because it has waited longest?
    fn jumps(&self, key: Key, group: u8) -> bool {
        let in_turn = |key: Key| self.members[key as usize].deficit >= SLOT;
        let mut first = self.waiting.first(group);
        if let Some(begun) = first.filter(|first| in_turn(*first)) {
            first = self.waiting.after(begun);
        }
        !in_turn(key)
            && self.groups[usize::from(group)].jumps < JUMPS
            && first.is_some_and(|first| self.waited(key) > self.waited(first))
    }
}

#[cfg(test)]
mod tests;
