//! Names tasks that keep their unit's thread for too long.

use super::Counts;
use platform::Mutex;
use platform::atomic::{AtomicU64, Ordering};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
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

impl Watch {
    /// That of the calling thread, from now on.
    pub(super) fn start(unit: u16, counts: Arc<Counts>) -> Arc<Watch> {
        let watch = Watch { unit, polls: AtomicU64::new(0), peer: Mutex::new(None), counts };
        let watch = Arc::new(watch);
        let seen = Seen { watch: Arc::downgrade(&watch), polls: 0, times: 0 };
        let mut watched = WATCHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &mut *watched {
            Some(list) => list.push(seen),
            None if cfg!(shuttle) => {}
            None => {
                let thread = std::thread::Builder::new().name("ana-watchdog".into());
                if thread.spawn(look_round).is_ok() {
                    *watched = Some(vec![seen]);
                }
            }
        }
        watch
    }

    /// A task is polled that serves `peer`.
    pub(super) fn begin(&self, peer: Option<SocketAddr>) {
        *self.peer.lock() = peer;
        self.polls.fetch_add(1, Ordering::Relaxed);
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

impl Seen {
    /// Looks again. `false`: the thread is gone.
    fn look(&mut self) -> bool {
        let Some(watch) = self.watch.upgrade() else { return false };
        let polls = watch.polls.load(Ordering::Relaxed);
        self.times = if polls == self.polls && polls % 2 == 1 { self.times + 1 } else { 0 };
        self.polls = polls;
        // Once for each poll.
        if self.times == LOOKS {
            watch.name_task();
        }
        true
    }
}

/// Watches until there is nothing to watch.
fn look_round() {
    loop {
        std::thread::sleep(LOOK);
        let mut watched = WATCHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(list) = &mut *watched else { return };
        list.retain_mut(Seen::look);
        if list.is_empty() {
            *watched = None;
            return;
        }
    }
}
