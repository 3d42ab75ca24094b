//! [`Calendar`]: the events to come.

use super::Time;

/// Children of an entry of the heap. Four share one or two cache lines, and the heap
/// is half as high as a binary one.
const CHILDREN: usize = 4;

/// Events to come, in the order of their time. Events of the same moment are in the
/// order in which they were inserted, so a simulation's course does not depend on how
/// the calendar works. Events are copied, so they should have 16 bytes or less.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    now: Time,
    /// A heap by `key`.
    entries: Vec<Entry<E>>,
    inserted: u64,
    happened: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    time: u64,
    number: u64,
    event: E,
}

impl<E> Entry<E> {
    /// Time, then number, as one number.
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.number)
    }
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Calendar<E> {
    /// An empty calendar, at [`Time::ZERO`].
    pub fn new() -> Self {
        Calendar { now: Time::ZERO, entries: Vec::new(), inserted: 0, happened: 0 }
    }

    /// The time of the event that was taken last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events that were taken.
    pub fn events(&self) -> u64 {
        self.happened
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if no event waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The time of the next event.
    pub fn peek(&self) -> Option<Time> {
        self.entries.first().map(|entry| Time(entry.time))
    }

    /// Inserts an event that happens at `time`. An event of the past happens now,
    /// after those that were inserted for now before it.
    pub fn at(&mut self, time: Time, event: E) {
        let entry = Entry { time: time.max(self.now).0, number: self.inserted, event };
        self.inserted += 1;
        self.entries.push(entry);
        self.rise(entry);
    }

    /// Inserts an event that happens after `delay`.
    pub fn after(&mut self, delay: Time, event: E) {
        self.at(self.now + delay, event);
    }

    /// Takes the next event, and advances to its time.
    #[allow(clippy::should_implement_trait, reason = "events are put in between")]
    pub fn next(&mut self) -> Option<E> {
        let first = *self.entries.first()?;
        let last = self.entries.pop()?;
        if !self.entries.is_empty() {
            self.sink(last);
        }
        self.now = Time(first.time);
        self.happened += 1;
        Some(first.event)
    }

    /// Moves `entry` from the last place up to where it belongs.
    fn rise(&mut self, entry: Entry<E>) {
        let mut place = self.entries.len() - 1;
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.entries[parent].key() <= entry.key() {
                break;
            }
            self.entries[place] = self.entries[parent];
            place = parent;
        }
        self.entries[place] = entry;
    }

    /// Moves `entry` from the first place, which is free, down to where it belongs.
    fn sink(&mut self, entry: Entry<E>) {
        let key = entry.key();
        let mut place = 0;
        loop {
            let first = CHILDREN * place + 1;
            let end = (first + CHILDREN).min(self.entries.len());
            let Some(children) = self.entries.get(first..end) else { break };
            let Some((least, least_key)) =
                children.iter().map(Entry::key).enumerate().min_by_key(|(_, key)| *key)
            else {
                break;
            };
            if key <= least_key {
                break;
            }
            self.entries[place] = self.entries[first + least];
            place = first + least;
        }
        self.entries[place] = entry;
    }
}

#[cfg(test)]
mod tests;
