//! [`Starts`]: tasks that any thread gives to a unit, and that the unit's thread starts.

use platform::Mutex;
use platform::atomic::{AtomicUsize, Ordering};

/// Starts a task on the thread that calls it.
pub(crate) type Start = Box<dyn FnOnce() + Send>;

/// Why a unit takes no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There are so many units only.
    NoUnit(usize),
    /// It has ended.
    Over,
}

/// What waits to be started, by unit.
#[derive(Default)]
pub(crate) struct Starts {
    pending: AtomicUsize,
    /// `None`: the unit has ended.
    units: Mutex<Vec<Option<Vec<Start>>>>,
}

impl std::fmt::Debug for Starts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starts").field("pending", &self.pending).finish_non_exhaustive()
    }
}

impl Starts {
    /// There is such a unit.
    pub(crate) fn open(&self, unit: u16) {
        let mut units = self.units.lock();
        let count = units.len().max(usize::from(unit) + 1);
        units.resize_with(count, || None);
        units[usize::from(unit)] = Some(Vec::new());
    }

    /// How many units there are, and were.
    pub(crate) fn count(&self) -> usize {
        self.units.lock().len()
    }

    /// Has `start` wait for its unit, whose thread has to go a round then.
    pub(crate) fn push(&self, unit: usize, start: Start) -> Result<(), Refused> {
        let mut units = self.units.lock();
        let count = units.len();
        let of = units.get_mut(unit).ok_or(Refused::NoUnit(count))?;
        of.as_mut().ok_or(Refused::Over)?.push(start);
        self.pending.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Does anything wait for any unit? Who was made to go a round by what came sees that.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > 0
    }

    /// What waits for a unit.
    pub(crate) fn take(&self, unit: u16) -> Vec<Start> {
        let mut units = self.units.lock();
        let of = units.get_mut(usize::from(unit)).and_then(Option::as_mut);
        let taken = of.map(std::mem::take).unwrap_or_default();
        self.pending.fetch_sub(taken.len(), Ordering::Relaxed);
        taken
    }

    /// The unit has ended. What is returned is never started.
    pub(crate) fn close(&self, unit: u16) -> Vec<Start> {
        let mut units = self.units.lock();
        let left = units.get_mut(usize::from(unit)).and_then(Option::take).unwrap_or_default();
        self.pending.fetch_sub(left.len(), Ordering::Relaxed);
        left
    }
}
