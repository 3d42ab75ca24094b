//! [`RunToken`]: of many who may work on a thing, one does; and what is added
//! meanwhile is not forgotten.

use crate::primitive::{AtomicU8, Ordering};

/// Who may process a thing that has a queue of its own (a socket's receive
/// queue): nobody, whoever takes it from the run queue, or the thread that runs
/// it. The thing is in the run queue at most once.
///
/// | producer | consumer |
/// |---|---|
/// | puts work into the thing's queue | takes the thing from the run queue |
/// | [`announce`](RunToken::announce) | [`begin`](RunToken::begin) |
/// | if it says so, puts the thing into the run queue | works on what the thing's queue holds |
/// | | [`finish`](RunToken::finish); if it says so, puts the thing back |
///
/// Work that is announced is seen by the consumer that begins after; or, if one
/// runs already, `finish` says that the thing must be queued again. So none is
/// lost. It may happen that a thing is queued for work that is done already.
#[derive(Debug, Default)]
pub struct RunToken {
    /// [`ANNOUNCED`] without [`RUNNING`]: it is queued. With it: there is more.
    state: AtomicU8,
}

const IDLE: u8 = 0;
const ANNOUNCED: u8 = 1;
const RUNNING: u8 = 2;

impl RunToken {
    /// Of a thing that has no work.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> RunToken {
        RunToken { state: AtomicU8::new(IDLE) }
    }

    /// Of a thing that has no work.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> RunToken {
        RunToken { state: AtomicU8::new(IDLE) }
    }

    /// Producer, after it has put work into the thing's queue: must the caller
    /// put the thing into the run queue?
    #[inline]
    #[must_use = "the thing must be put into the run queue if this is true"]
    pub fn announce(&self) -> bool {
        // A read-modify-write even where it changes nothing: the consumer's next
        // one comes after it, and so sees the work.
        self.state.fetch_or(ANNOUNCED, Ordering::AcqRel) == IDLE
    }

    /// Consumer, which has taken the thing from the run queue: may it run it?
    /// False only if the thing was not queued, or is running elsewhere.
    #[inline]
    #[must_use = "whoever is told false does not hold the token"]
    pub fn begin(&self) -> bool {
        let (now, other) = (Ordering::AcqRel, Ordering::Relaxed);
        self.state.compare_exchange(ANNOUNCED, RUNNING, now, other).is_ok()
    }

    /// Consumer, which began: it is done for now. Must it put the thing back
    /// into the run queue? So it must if there is `still_work`, or if some was
    /// announced meanwhile. If not, the thing may run elsewhere from now on.
    #[inline]
    #[must_use = "the thing must be put back into the run queue if this is true"]
    pub fn finish(&self, still_work: impl FnOnce() -> bool) -> bool {
        debug_assert!(self.is_running(), "finish without begin");
        let (now, other) = (Ordering::AcqRel, Ordering::Acquire);
        if !still_work() && self.state.compare_exchange(RUNNING, IDLE, now, other).is_ok() {
            return false;
        }
        // Announcers change nothing while both bits are set, and then find the
        // thing queued.
        self.state.swap(ANNOUNCED, Ordering::AcqRel);
        true
    }

    /// Does somebody run it? For statistics and assertions.
    pub fn is_running(&self) -> bool {
        self.state.load(Ordering::Relaxed) & RUNNING != 0
    }

    /// Is it neither queued nor running? For statistics and assertions.
    pub fn is_idle(&self) -> bool {
        self.state.load(Ordering::Relaxed) == IDLE
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
