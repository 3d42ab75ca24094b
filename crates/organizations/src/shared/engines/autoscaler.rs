//! How many engines work: as many as the load needs, within bounds.

use crate::{Options, StartError};
use platform::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use wire::Instant;

/// How often the number is reconsidered.
const PERIOD: Duration = Duration::from_millis(5);
/// Engines are too few if they are busy for more than this part of their time, in this
/// many periods in a row.
const BUSY: (f64, u32) = (0.85, 3);
/// Engines are too many if one fewer would be busy for less than this part of its time,
/// in this many periods in a row.
const IDLE: (f64, u32) = (0.6, 20);

/// The number of engines that work: those with the lowest indices.
pub struct Control {
    least: u32,
    most: u32,
    active: AtomicU32,
    /// Nanoseconds that all engines were busy.
    busy: AtomicU64,
}

opaque_debug!([] Control, "Control");

/// What the first engine, which decides for all, keeps between two decisions.
#[derive(Debug)]
pub(crate) struct Autoscaler {
    since: Instant,
    busy: u64,
    /// Periods in a row that asked for more, or for fewer.
    more: u32,
    fewer: u32,
}

impl Control {
    /// The number is within the bounds of `options`, on this number of processors.
    ///
    /// # Errors
    /// If the bounds make no sense.
    pub(crate) fn new(
        options: &Options,
        organization: &'static str,
        processors: usize,
    ) -> Result<Control, StartError> {
        let processors = processors as u32;
        let (least, most) = (u32::from(options.engines.0), u32::from(options.engines.1));
        let most = if most == 0 { least.max(processors) } else { most };
        let least = least.max(1);
        if least > most || most > processors {
            return Err(StartError::Engines { organization, least, most, processors });
        }
        Ok(Control { least, most, active: AtomicU32::new(least), busy: AtomicU64::new(0) })
    }

    /// The most that there may be.
    pub(crate) fn most(&self) -> usize {
        self.most as usize
    }

    /// How many work now.
    #[inline]
    pub(crate) fn active(&self) -> u32 {
        self.active.load(Ordering::Relaxed)
    }

    /// Sets how many work.
    #[cfg(test)]
    pub(crate) fn set(&self, active: u32) {
        self.active.store(active.clamp(self.least, self.most), Ordering::Release);
    }

    /// Does this engine work now?
    #[inline]
    pub(crate) fn is_active(&self, engine: usize) -> bool {
        (engine as u32) < self.active()
    }

    /// Notes that an engine was busy for this time.
    #[inline]
    pub(crate) fn was_busy(&self, nanos: u64) {
        if self.least < self.most {
            self.busy.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    /// Reconsiders the number, if it is time. Returns the new one if it changes.
    pub(crate) fn decide(&self, autoscaler: &mut Autoscaler, now: Instant) -> Option<u32> {
        let elapsed = now.since(autoscaler.since);
        if self.least == self.most || elapsed < PERIOD {
            return None;
        }
        let busy = self.busy.load(Ordering::Relaxed);
        let spent = busy.wrapping_sub(autoscaler.busy) as f64 / elapsed.as_nanos() as f64;
        (autoscaler.since, autoscaler.busy) = (now, busy);
        let active = self.active();
        let next = autoscaler.next(spent, active, self.least, self.most)?;
        self.active.store(next, Ordering::Release);
        Some(next)
    }
}

impl Autoscaler {
    pub(crate) fn new(now: Instant) -> Autoscaler {
        Autoscaler { since: now, busy: 0, more: 0, fewer: 0 }
    }

    /// The number of engines after a period in which they were busy for `spent`
    /// processors' time, if it is another.
    fn next(&mut self, spent: f64, active: u32, least: u32, most: u32) -> Option<u32> {
        let count = |n: u32, holds: bool| if holds { n + 1 } else { 0 };
        self.more = count(self.more, active < most && spent > BUSY.0 * f64::from(active));
        self.fewer =
            count(self.fewer, active > least && spent < IDLE.0 * f64::from(active.max(1) - 1));
        let next = match (self.more >= BUSY.1, self.fewer >= IDLE.1) {
            (true, _) => active + 1,
            (_, true) => active - 1,
            _ => return None,
        };
        (self.more, self.fewer) = (0, 0);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_follows_the_load() {
        let mut autoscaler = Autoscaler::new(Instant::ZERO);
        let mut active = 1;
        let mut run = |spent: f64, periods: u32| {
            for _ in 0..periods {
                let spent = spent.min(f64::from(active));
                active = autoscaler.next(spent, active, 1, 4).unwrap_or(active);
            }
            active
        };
        assert_eq!(run(0.5, 50), 1, "one is enough");
        assert_eq!(run(4.0, 50), 4, "all are needed, and there are no more");
        assert_eq!(run(2.0, 100), 4, "three would be too busy to be sure");
        assert_eq!(run(1.0, 100), 2, "one would have nothing to spare");
        assert_eq!(run(0.0, 100), 1, "the last one stays");
        assert_eq!(run(0.9, 2), 1, "not for a moment's load");
    }

    #[test]
    fn bounds_are_checked() {
        let options = |engines| Options::default().with_engines(engines);
        let new = |engines, processors| Control::new(&options(engines), "engines", processors);
        assert_eq!(new((0, 0), 3).map(|c| (c.least, c.most)).ok(), Some((1, 3)));
        assert_eq!(new((2, 2), 3).map(|c| (c.least, c.most)).ok(), Some((2, 2)));
        for engines in [(3, 2), (0, 4), (5, 0)] {
            let error = new(engines, 3).expect_err("no sense").to_string();
            assert!(!error.contains('\n') && error.contains("--engines"), "{error}");
        }
    }
}
