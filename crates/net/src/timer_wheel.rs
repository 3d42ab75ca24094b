//! A hierarchical timing wheel (Varghese and Lauck 1987, scheme 7): insertion
//! and expiry in O(1), the next deadline from a few bit maps.
//!
//! There is no removal: a timer that was put off or stopped stays where it is,
//! and whoever finds it due asks its owner for the true deadline and inserts it
//! again. A connection that rearms its timer with each segment so costs nothing.

use wire::Instant;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 6;
/// A tick is 2^20 ns, about one millisecond.
const TICK_SHIFT: u32 = 20;
const LAST: u64 = (1 << (BITS * LEVELS as u32)) - 1;

struct Level<T> {
    occupied: u64,
    slots: [Vec<(u64, T)>; SLOTS],
}

/// A timing wheel of things of type `T` (keys, not the things themselves).
pub struct TimerWheel<T> {
    /// The tick up to which everything has expired.
    elapsed: u64,
    len: usize,
    levels: Vec<Level<T>>,
}

impl<T> Default for TimerWheel<T> {
    fn default() -> Self {
        TimerWheel::new()
    }
}

impl<T> TimerWheel<T> {
    /// An empty wheel at time zero.
    pub fn new() -> TimerWheel<T> {
        let level = || Level { occupied: 0, slots: std::array::from_fn(|_| Vec::new()) };
        TimerWheel { elapsed: 0, len: 0, levels: (0..LEVELS).map(|_| level()).collect() }
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
    pub fn insert(&mut self, deadline: Instant, item: T) {
        let tick = deadline.as_nanos().saturating_add((1 << TICK_SHIFT) - 1) >> TICK_SHIFT;
        self.len += 1;
        self.place(tick.clamp(self.elapsed + 1, self.elapsed.saturating_add(LAST / 2)), item);
    }

    fn place(&mut self, tick: u64, item: T) {
        // The highest bit in which the tick differs from now names the level.
        let differs = 63 - ((tick ^ self.elapsed) | 1).leading_zeros();
        let level = ((differs / BITS) as usize).min(LEVELS - 1);
        let slot = (tick >> (BITS * level as u32)) as usize % SLOTS;
        let level = &mut self.levels[level];
        level.occupied |= 1 << slot;
        level.slots[slot].push((tick, item));
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
        self.earliest().map(|(_, _, tick)| Instant::from_nanos(tick << TICK_SHIFT))
    }

    /// Moves what has expired by `now` to `due`.
    pub fn expire(&mut self, now: Instant, due: &mut Vec<T>) {
        let now = now.as_nanos() >> TICK_SHIFT;
        while let Some((level, slot, start)) = self.earliest()
            && start <= now
        {
            self.elapsed = start;
            let level = &mut self.levels[level];
            level.occupied &= !(1 << slot);
            let mut entries = std::mem::take(&mut level.slots[slot]);
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
