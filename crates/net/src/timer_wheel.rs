//! A hierarchical timing wheel (Varghese and Lauck 1987, scheme 7): insertion
//! and expiry in O(1), the next deadline from a few bit maps.
//!
//! There is no removal: a timer that was put off or stopped stays where it is. When it
//! is due, its owner is asked for the true deadline, and it is inserted again. A
//! connection that rearms its timer with each segment so costs nothing.

use wire::Instant;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 6;
/// A tick is 2^20 ns, about one millisecond.
const TICK_SHIFT: u32 = 20;
/// This many entries are kept in a list: a wheel of one connection has no more, and
/// there may be as many wheels as connections.
const FEW: usize = 8;
const LAST: u64 = (1 << (BITS * LEVELS as u32)) - 1;

type Slots<T> = [Vec<(u64, T)>; SLOTS];

struct Level<T> {
    occupied: u64,
    /// Allocated when the level is first used.
    slots: Option<Box<Slots<T>>>,
}

impl<T> Level<T> {
    const EMPTY: Level<T> = Level { occupied: 0, slots: None };

    #[inline]
    fn slot(&mut self, slot: usize) -> &mut Vec<(u64, T)> {
        &mut self.slots.get_or_insert_with(empty)[slot]
    }
}

/// (Apart: whoever inserts need not have room for them.)
#[cold]
#[inline(never)]
fn empty<T>() -> Box<Slots<T>> {
    Box::new(std::array::from_fn(|_| Vec::new()))
}

/// A timing wheel of things of type `T` (keys, not the things themselves).
// RFC 6298 4/1
pub struct TimerWheel<T> {
    /// The tick up to which everything has expired.
    elapsed: u64,
    len: usize,
    /// All entries, with their ticks, as long as they are few; else none.
    few: Vec<(u64, T)>,
    levels: [Level<T>; LEVELS],
}

opaque_debug!([T] TimerWheel<T>, "TimerWheel");

impl<T> Default for TimerWheel<T> {
    fn default() -> Self {
        TimerWheel::new()
    }
}

impl<T> TimerWheel<T> {
    /// An empty wheel at time zero.
    pub fn new() -> TimerWheel<T> {
        TimerWheel { elapsed: 0, len: 0, few: Vec::new(), levels: [const { Level::EMPTY }; LEVELS] }
    }

    /// Entries in the wheel.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lets `item` expire at `deadline`, or up to one tick after.
    #[inline]
    pub fn insert(&mut self, deadline: Instant, item: T) {
        let tick = deadline.as_nanos().saturating_add((1 << TICK_SHIFT) - 1) >> TICK_SHIFT;
        let tick = tick.min(self.elapsed.saturating_add(LAST / 2)).max(self.elapsed + 1);
        self.len += 1;
        if self.len <= FEW || !self.few.is_empty() {
            return self.insert_few(tick, item);
        }
        self.place(tick, item);
    }

    /// The same, if there are few, or were until now.
    #[inline(never)]
    fn insert_few(&mut self, tick: u64, item: T) {
        // The list has all, or none.
        if self.few.len() + 1 == self.len && self.len <= FEW {
            return self.few.push((tick, item));
        }
        for (tick, item) in std::mem::take(&mut self.few) {
            self.place(tick, item);
        }
        self.place(tick, item);
    }

    #[inline]
    fn place(&mut self, tick: u64, item: T) {
        // The highest bit in which the tick differs from now names the level.
        let differs = 63 - ((tick ^ self.elapsed) | 1).leading_zeros();
        let level = ((differs / BITS) as usize).min(LEVELS - 1);
        let slot = (tick >> (BITS * level as u32)) as usize % SLOTS;
        let level = &mut self.levels[level];
        level.occupied |= 1 << slot;
        level.slot(slot).push((tick, item));
    }

    /// Removes the entries that `keep` does not want. It looks at all.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.few.retain(|(_, item)| keep(item));
        self.len = self.few.len();
        for level in &mut self.levels {
            let Some(slots) = &mut level.slots else { continue };
            level.occupied = 0;
            for (slot, entries) in slots.iter_mut().enumerate() {
                entries.retain(|(_, item)| keep(item));
                level.occupied |= u64::from(!entries.is_empty()) << slot;
                self.len += entries.len();
            }
        }
    }

    /// Level, slot and first tick of the earliest occupied slot.
    fn earliest(&self) -> Option<(usize, usize, u64)> {
        for (n, level) in self.levels.iter().enumerate() {
            if level.occupied == 0 {
                continue;
            }
            let shift = BITS * n as u32;
            let now = (self.elapsed >> shift) as usize % SLOTS;
            let ahead = level.occupied.rotate_right(now as u32).trailing_zeros() as u64;
            let slot = (now as u64 + ahead) as usize % SLOTS;
            let start = ((self.elapsed >> shift) + ahead) << shift;
            return Some((n, slot, start.max(self.elapsed)));
        }
        None
    }

    /// No entry expires before this.
    pub fn next_deadline(&self) -> Option<Instant> {
        let listed = self.few.iter().map(|(tick, _)| *tick).min();
        let tick = listed.or_else(|| self.earliest().map(|(_, _, tick)| tick))?;
        Some(Instant::from_nanos(tick << TICK_SHIFT))
    }

    /// Moves what has expired by `now` to `due`.
    pub fn expire(&mut self, now: Instant, due: &mut Vec<T>) {
        let now = now.as_nanos() >> TICK_SHIFT;
        let before = self.few.len();
        due.extend(self.few.extract_if(.., |(tick, _)| *tick <= now).map(|(_, item)| item));
        self.len -= before - self.few.len();
        while let Some((level, slot, start)) = self.earliest()
            && start <= now
        {
            self.elapsed = start;
            let level = &mut self.levels[level];
            level.occupied &= !(1 << slot);
            let mut entries = std::mem::take(level.slot(slot));
            for (tick, item) in entries.drain(..) {
                if tick <= now {
                    self.len -= 1;
                    due.push(item);
                } else {
                    self.place(tick, item);
                }
            }
        }
        self.elapsed = self.elapsed.max(now);
    }
}

#[cfg(test)]
mod tests;
