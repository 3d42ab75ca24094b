//! Names tasks that keep their unit's thread for too long.
//!
//! The watchdog sleeps while no task is polled. A thread that polls one looks whether it does, and
//! wakes it then: what a thread writes (its polls) and reads after (does the watchdog sleep?) the
//! watchdog reads and writes in the other order, so one of them sees the other.

use super::Counts;
use platform::Mutex;
use platform::atomic::{AtomicU64, Ordering};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often the watchdog looks. What it has seen this often in a row in the same poll, it names.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 2;

/// What the watchdog sees of a thread.
#[derive(Debug)]
pub(crate) struct Watch {
    unit: u16,
    /// Odd while a task is polled.
    polls: AtomicU64,
    peer: Mutex<Option<SocketAddr>>,
    counts: Arc<Counts>,
}

/// A thread, and what was seen of it.
struct Seen {
    watch: Weak<Watch>,
    polls: u64,
    times: u32,
}

/// The threads that are watched; `None`: there is no watchdog.
static WATCHED: std::sync::Mutex<Option<Vec<Seen>>> = std::sync::Mutex::new(None);

/// The watchdog sleeps, or is about to: who polls a task wakes it.
static ASLEEP: AtomicBool = AtomicBool::new(false);
/// The watchdog.
static WATCHDOG: std::sync::Mutex<Option<Thread>> = std::sync::Mutex::new(None);

/// Wakes the watchdog if it sleeps.
fn wake() {
    if ASLEEP.load(Ordering::SeqCst) && ASLEEP.swap(false, Ordering::SeqCst) {
        let watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
        watchdog.iter().for_each(Thread::unpark);
    }
}

impl Watch {
    /// That of the calling thread, from now on.
    pub(super) fn start(unit: u16, counts: Arc<Counts>) -> Arc<Watch> {
        let watch = Watch { unit, polls: AtomicU64::new(0), peer: Mutex::new(None), counts };
        let watch = Arc::new(watch);
        let seen = Seen { watch: Arc::downgrade(&watch), polls: 0, times: 0 };
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *watched {
            Some(list) => list.push(seen),
            None if cfg!(shuttle) => {}
            None => {
                let thread = thread::Builder::new().name("ana-watchdog".into());
                if thread.spawn(keep_watch).is_ok() {
                    *watched = Some(vec![seen]);
                }
            }
        }
        watch
    }

    /// A task is polled that serves `peer`.
    pub(super) fn begin(&self, peer: Option<SocketAddr>) {
        *self.peer.lock() = peer;
        self.polls.fetch_add(1, Ordering::SeqCst);
        wake();
    }

    /// That is over.
    pub(super) fn end(&self) {
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    fn name_task(&self) {
        self.counts.blocked.fetch_add(1, Ordering::Relaxed);
        let task = match *self.peer.lock() {
            Some(peer) => format!("the task of the connection from {peer}"),
            None => "a task".into(),
        };
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "anabranch: {task} has kept the thread of unit {} for 100 ms, and its connections wait: give such work to unit::blocking",
            self.unit
        );
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may be the last that was watched.
        wake();
    }
}

impl Seen {
    /// Looks again. Says whether a task is polled, or was since the last time; `None`: the
    /// thread is gone.
    fn look(&mut self) -> Option<bool> {
        let watch = self.watch.upgrade()?;
        let polls = watch.polls.load(Ordering::SeqCst);
        let (is_same, is_polled) = (polls == self.polls, polls % 2 == 1);
        self.times = if is_same && is_polled { self.times + 1 } else { 0 };
        self.polls = polls;
        // Once for each poll.
        if self.times == LOOKS {
            watch.name_task();
        }
        Some(is_polled || !is_same)
    }
}

/// Looks at all threads. Says whether a task is polled or was since the last time; `None`: there
/// is nothing to watch any more.
fn look_round() -> Option<bool> {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut any = false;
    let list = watched.as_mut()?;
    list.retain_mut(|seen| seen.look().inspect(|polled| any |= polled).is_some());
    if list.is_empty() {
        *watched = None;
        ASLEEP.store(false, Ordering::SeqCst);
        return None;
    }
    Some(any)
}

/// Watches until there is nothing to watch.
fn keep_watch() {
    *WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
    loop {
        thread::sleep(LOOK);
        match look_round() {
            None => return,
            Some(true) => continue,
            Some(false) => ASLEEP.store(true, Ordering::SeqCst),
        }
        // What began before it was told is seen now; what begins later wakes it.
        match look_round() {
            None => return,
            Some(true) => ASLEEP.store(false, Ordering::SeqCst),
            Some(false) => {}
        }
        while ASLEEP.load(Ordering::SeqCst) {
            thread::park();
        }
    }
}
