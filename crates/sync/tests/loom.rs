//! Models of the sleep flag, the locks, the receive queue and its token, over the interleavings with up to
//! three preemptions; a thread that has waited in vain four times at one place
//! (`Backoff`) is followed on without branching. Not a proof beyond that. Run
//! with `RUSTFLAGS="--cfg loom" cargo test -p anabranch-sync --test loom`.
#![cfg(loom)]

extern crate anabranch_sync as sync;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sync::sleep::SleepFlag;
use sync::token::RunToken;
use sync::{Locked, RawLock, rw::ReadersWriter, semaphore::BinarySemaphore, spin::Spin, spsc};

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

macro_rules! suite {
    ($lock:ty) => {
        use super::*;
        #[test]
        fn two_threads_in_turn() {
            excludes::<$lock>(2, 2);
        }
        #[test]
        fn three_threads() {
            excludes::<$lock>(3, 1);
        }
    };
}

macro_rules! suites {
    (() $($module:ident::$lock:ident $facts:tt)*) => {$(
        mod $module {
            suite!(sync::$module::$lock);
        }
    )*};
}

sync::for_each_lock!([suites]);

mod binary_semaphore {
    suite!(BinarySemaphore);
}

fn check(f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(f);
}

/// `readers` others read once while this thread writes `writes` times; then
/// nobody sleeps for ever. Loom's cell reports a reader beside a writer.
fn reads_beside(readers: usize, writes: usize) {
    check(move || {
        let locked: Arc<Locked<ReadersWriter, usize>> = Arc::new(Locked::new(0));
        let threads: Vec<_> = (0..readers)
            .map(|_| {
                let locked = locked.clone();
                thread::spawn(move || locked.read(|n| assert!(*n <= writes)))
            })
            .collect();
        (0..writes).for_each(|_| locked.with(|n| *n += 1));
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(locked.read(|n| *n), writes);
    });
}

#[test]
fn a_reader_beside_a_writer_who_comes_twice() {
    reads_beside(1, 2);
}

#[test]
fn two_readers_beside_a_writer() {
    reads_beside(2, 1);
}

/// Reader, writer and writer: the preference of writers must not strand anyone.
#[test]
fn a_reader_between_two_writers() {
    check(|| {
        let locked: Arc<Locked<ReadersWriter, usize>> = Arc::new(Locked::new(0));
        let writer = {
            let locked = locked.clone();
            thread::spawn(move || locked.with(|n| *n += 1))
        };
        let reader = {
            let locked = locked.clone();
            thread::spawn(move || locked.read(|n| assert!(*n <= 2)))
        };
        locked.with(|n| *n += 1);
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(locked.read(|n| *n), 2);
        assert!(!locked.lock().is_locked());
    });
}

/// Items come in order and whole, through a ring that wraps.
#[test]
fn a_ring_of_two_passes_three_items() {
    check(|| {
        let (mut producer, mut consumer) = spsc::ring(2);
        let thread = thread::spawn(move || {
            let mut refused = 0;
            for item in 0..3 {
                refused += usize::from(producer.push(Box::new(item)).is_err());
            }
            refused
        });
        let mut last = None;
        let mut seen = 0;
        for _ in 0..2 {
            if let Some(item) = consumer.pop() {
                assert!(last < Some(*item));
                last = Some(*item);
                seen += 1;
            }
        }
        let refused = thread.join().unwrap();
        while let Some(item) = consumer.pop() {
            assert!(last < Some(*item));
            last = Some(*item);
            seen += 1;
        }
        assert_eq!(seen + refused, 3);
    });
}

/// A socket with its receive queue, and a run queue that it is in at most once.
struct Socket {
    token: RunToken,
    queue: Locked<Spin, spsc::Consumer<usize>>,
    queued: AtomicUsize,
    taken: AtomicUsize,
}

impl Socket {
    fn enqueue(&self) {
        assert_eq!(self.queued.fetch_add(1, Ordering::Relaxed), 0, "queued twice");
    }

    /// Runs the socket if it is queued, taking at most one packet.
    fn run(&self) {
        if self.queued.load(Ordering::Relaxed) == 0 {
            return;
        }
        if self.queued.fetch_sub(1, Ordering::Relaxed) != 1 {
            // The other engine was faster.
            self.queued.fetch_add(1, Ordering::Relaxed);
            return;
        }
        assert!(self.token.begin());
        let left = self.queue.with(|queue| {
            let packet = queue.pop();
            self.taken.fetch_add(usize::from(packet.is_some()), Ordering::Relaxed);
            !queue.is_empty()
        });
        if self.token.finish(|| left) {
            self.enqueue();
        }
    }
}

#[test]
fn no_packet_is_forgotten_in_a_receive_queue() {
    check(|| {
        let (mut producer, consumer) = spsc::ring(2);
        let socket = Arc::new(Socket {
            token: RunToken::new(),
            queue: Locked::new(consumer),
            queued: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        });
        let handler = {
            let socket = socket.clone();
            thread::spawn(move || {
                for packet in 0..2 {
                    producer.push(packet).unwrap();
                    if socket.token.announce() {
                        socket.enqueue();
                    }
                }
            })
        };
        (0..2).for_each(|_| socket.run());
        handler.join().unwrap();
        // However it went: as long as there are packets it is queued.
        while socket.taken.load(Ordering::Relaxed) < 2 {
            assert_eq!(socket.queued.load(Ordering::Relaxed), 1, "forgotten");
            socket.run();
        }
    });
}

/// Two engines never run one socket at the same time.
#[test]
fn one_engine_at_a_time_runs_a_socket() {
    check(|| {
        let token = Arc::new(RunToken::new());
        let inside = Arc::new(AtomicUsize::new(0));
        let run = |token: &RunToken, inside: &AtomicUsize| {
            if token.begin() {
                assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                inside.fetch_sub(1, Ordering::Relaxed);
                let _requeue = token.finish(|| false);
            }
        };
        let engine = {
            let (token, inside) = (token.clone(), inside.clone());
            thread::spawn(move || (0..2).for_each(|_| run(&token, &inside)))
        };
        let _queue = token.announce();
        run(&token, &inside);
        let _queue = token.announce();
        engine.join().unwrap();
        run(&token, &inside);
        assert!(token.is_idle());
    });
}
