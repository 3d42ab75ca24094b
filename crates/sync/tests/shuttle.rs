//! The locks, the receive queue and its token under random schedules, with more
//! threads and rounds than a model checker can exhaust (`loom.rs` does that for
//! few). A schedule that fails is printed and can be replayed. Run with
//! `RUSTFLAGS="--cfg shuttle" cargo test -p anabranch-sync --test shuttle`.
//! Atomics are sequentially consistent here: what relaxed orders do is loom's.
#![cfg(shuttle)]

extern crate anabranch_sync as sync;

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;
use std::collections::VecDeque;
use sync::semaphore::{BinarySemaphore, Semaphore};
use sync::token::RunToken;
use sync::{Locked, RawLock, spin::Spin, spsc};

const THREADS: usize = 5;
const ROUNDS: usize = 4;
/// Schedules a test.
const SCHEDULES: usize = 5_000;

/// Random schedules, and ones with few but well-placed changes of thread (PCT).
fn check(f: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(f.clone(), SCHEDULES);
    shuttle::check_pct(f, SCHEDULES, 3);
}

/// Two words that only exclusion keeps equal: the thread may change between them.
fn excludes<L: RawLock + 'static>() {
    check(|| {
        let locked: Arc<Locked<L, (usize, usize)>> = Arc::new(Locked::new((0, 0)));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let locked = locked.clone();
                thread::spawn(move || {
                    for _ in 0..ROUNDS {
                        locked.with(|(a, b)| {
                            *a += 1;
                            thread::yield_now();
                            *b += 1;
                            assert_eq!(a, b);
                        });
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(locked.with(|v| *v), (THREADS * ROUNDS, THREADS * ROUNDS));
        assert!(!locked.lock().is_locked());
    });
}

/// The same with three readers for two writers.
fn reads<L: RawLock + 'static>() {
    check(|| {
        let locked: Arc<Locked<L, (usize, usize)>> = Arc::new(Locked::new((0, 0)));
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let locked = locked.clone();
                thread::spawn(move || {
                    for _ in 0..ROUNDS {
                        if thread < 2 {
                            locked.with(|(a, b)| {
                                *a += 1;
                                thread::yield_now();
                                *b += 1;
                            });
                        } else {
                            locked.read(|(a, b)| {
                                let before = *a;
                                thread::yield_now();
                                assert_eq!((before, before), (*a, *b));
                            });
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(locked.read(|v| *v), (2 * ROUNDS, 2 * ROUNDS));
    });
}

macro_rules! suite {
    ($lock:ty) => {
        use super::*;
        #[test]
        fn excludes_others() {
            excludes::<$lock>();
        }
        #[test]
        fn readers_see_whole_writes() {
            reads::<$lock>();
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

#[test]
fn a_semaphore_lets_in_as_many_as_it_has_permits() {
    check(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let inside = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (semaphore, inside) = (semaphore.clone(), inside.clone());
                thread::spawn(move || {
                    for _ in 0..ROUNDS {
                        semaphore.acquire();
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        semaphore.release();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!((semaphore.permits(), semaphore.waiting()), (2, 0));
    });
}

/// A socket with its receive queue.
struct Socket {
    token: RunToken,
    receive: Locked<Spin, spsc::Consumer<usize>>,
    next: AtomicUsize,
}

/// Takes up to two packets of one socket. Says whether it found a socket.
fn engine(sockets: &[Socket], run_queue: &Locked<Spin, VecDeque<usize>>) -> bool {
    let Some(index) = run_queue.with(|queue| queue.pop_front()) else { return false };
    let socket = &sockets[index];
    assert!(socket.token.begin(), "queued, but not queued");
    let left = socket.receive.with(|receive| {
        for _ in 0..2 {
            if let Some(packet) = receive.pop() {
                assert_eq!(socket.next.fetch_add(1, Ordering::SeqCst), packet, "out of order");
            }
        }
        !receive.is_empty()
    });
    if socket.token.finish(|| left) {
        run_queue.with(|queue| queue.push_back(index));
    }
    true
}

/// One event handler, three engines, three sockets: every packet is processed,
/// once and in order, and then every socket is idle.
#[test]
fn engines_forget_no_packet_of_any_socket() {
    const PACKETS: usize = 6;
    check(|| {
        let (mut producers, mut sockets) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let (producer, consumer) = spsc::ring(PACKETS);
            producers.push(producer);
            sockets.push(Socket {
                token: RunToken::new(),
                receive: Locked::new(consumer),
                next: AtomicUsize::new(0),
            });
        }
        let sockets = Arc::new(sockets);
        let run_queue: Arc<Locked<Spin, VecDeque<usize>>> = Arc::default();
        let engines: Vec<_> = (0..3)
            .map(|_| {
                let (sockets, run_queue) = (sockets.clone(), run_queue.clone());
                thread::spawn(move || {
                    let done = |s: &Socket| s.next.load(Ordering::SeqCst) == PACKETS;
                    while !sockets.iter().all(done) {
                        if !engine(&sockets, &run_queue) {
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        for packet in 0..PACKETS {
            for (index, producer) in producers.iter_mut().enumerate() {
                producer.push(packet).unwrap();
                if sockets[index].token.announce() {
                    run_queue.with(|queue| queue.push_back(index));
                }
            }
        }
        engines.into_iter().for_each(|t| t.join().unwrap());
        while engine(&sockets, &run_queue) {}
        assert!(sockets.iter().all(|s| s.token.is_idle()));
    });
}
