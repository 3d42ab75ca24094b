//! Models of the sleep flag and the locks, over every interleaving that the
//! memory model allows. Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p anabranch-sync --test loom --release`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use sync::sleep::SleepFlag;
use sync::{Locked, RawLock, mcs::Mcs, spin::Spin, ticket::Ticket};

struct Mailbox {
    flag: SleepFlag,
    messages: AtomicUsize,
    /// The sticky signal. Relaxed on purpose: it orders nothing by itself.
    signal: AtomicBool,
}

impl Mailbox {
    fn post(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        if self.flag.should_wake() {
            self.signal.store(true, Ordering::Relaxed);
        }
    }

    /// Sleeps whenever there is nothing to do, until all have come.
    fn work(&self, messages: usize) {
        let mut seen = 0;
        loop {
            seen += self.messages.swap(0, Ordering::Relaxed);
            if seen == messages {
                return;
            }
            self.flag.prepare();
            // Not a swap: only the fences may make the message visible.
            if self.messages.load(Ordering::Relaxed) == 0 {
                // Loom reports a deadlock or a livelock if this never comes.
                while !self.signal.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                self.signal.store(false, Ordering::Relaxed);
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
            signal: AtomicBool::new(false),
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
