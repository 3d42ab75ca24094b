//! Models of the sleep flag and the locks, over the interleavings with up to
//! three preemptions; a thread that has waited in vain four times at one place
//! (`Backoff`) is followed on without branching. Not a proof beyond that. Run
//! with `RUSTFLAGS="--cfg loom" cargo test -p anabranch-sync --test loom`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sync::sleep::SleepFlag;
use sync::{Locked, RawLock, mcs::Mcs, spin::Spin, ticket::Ticket};

struct Mailbox {
    flag: SleepFlag,
    messages: AtomicUsize,
    worker: thread::Thread,
}

impl Mailbox {
    fn post(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        if self.flag.should_wake() {
            self.worker.unpark();
        }
    }

    /// Sleeps whenever there is nothing to do, until all have come. A lost
    /// wake-up is a deadlock, which loom reports.
    fn work(&self, messages: usize) {
        while self.messages.load(Ordering::Relaxed) < messages {
            let seen = self.messages.load(Ordering::Relaxed);
            self.flag.prepare();
            // Relaxed: only the fences can make the message visible.
            if self.messages.load(Ordering::Relaxed) == seen && seen < messages {
                thread::park();
            }
            self.flag.awake();
        }
    }
}

fn no_wake_up_is_lost(posters: usize, messages: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let mailbox = Arc::new(Mailbox {
            flag: SleepFlag::new(),
            messages: AtomicUsize::new(0),
            worker: thread::current(),
        });
        let threads: Vec<_> = (0..posters)
            .map(|_| {
                let mailbox = mailbox.clone();
                thread::spawn(move || (0..messages).for_each(|_| mailbox.post()))
            })
            .collect();
        mailbox.work(posters * messages);
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}

#[test]
fn no_wake_up_of_one_poster_is_lost() {
    no_wake_up_is_lost(1, 2);
}

#[test]
fn no_wake_up_of_two_posters_is_lost() {
    no_wake_up_is_lost(2, 1);
}

fn excludes<L: RawLock + 'static>(threads: usize, rounds: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let locked: Arc<Locked<L, usize>> = Arc::new(Locked::new(0));
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let locked = locked.clone();
                thread::spawn(move || (0..rounds).for_each(|_| locked.with(|n| *n += 1)))
            })
            .collect();
        (0..rounds).for_each(|_| locked.with(|n| *n += 1));
        others.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(locked.with(|n| *n), threads * rounds);
    });
}

macro_rules! locks {
    ($($name:ident: $lock:ty,)*) => {$(
        mod $name {
            use super::*;
            #[test]
            fn two_threads_in_turn() {
                excludes::<$lock>(2, 2);
            }
            #[test]
            fn three_threads() {
                excludes::<$lock>(3, 1);
            }
        }
    )*};
}

locks! {
    spin: Spin,
    ticket: Ticket,
    mcs: Mcs,
}
