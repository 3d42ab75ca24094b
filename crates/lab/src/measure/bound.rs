//! The bound: what one core does with payload if it does nothing else than the
//! two fused passes of copy and checksum that every byte needs, one from the
//! application into packets and one from packets to the application.

use crate::measure::usage::thread_time;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Duration;
use wire::checksum::copy_sum;

/// Bytes of the application's buffer, and of the packets, each: together they
/// stay in the second-level cache.
pub const FOOTPRINT: usize = 256 * 1024;

/// Payload that one core copies and sums both ways, Gbit/s, in packets of
/// `payload` bytes, measured on this thread for `time` of it: what other programs
/// take does not count.
pub fn measure(payload: usize, time: Duration) -> f64 {
    passes(payload, time, copy_sum)
}

/// The same without checksums: what one core copies both ways.
pub fn measure_unsummed(payload: usize, time: Duration) -> f64 {
    passes(payload, time, |to, from| {
        to.copy_from_slice(from);
        0
    })
}

fn passes(payload: usize, time: Duration, pass: impl Fn(&mut [u8], &[u8]) -> u16) -> f64 {
    let payload = payload.clamp(1, FOOTPRINT);
    // Packets start at cache lines, as they do in the pool.
    let stride = payload.next_multiple_of(64);
    let count = (FOOTPRINT / stride).max(1);
    let mut application: Vec<u8> = (0..count * payload).map(|n| (n % 251) as u8).collect();
    let mut packets = vec![0u8; count * stride + 64];
    let first = packets.as_ptr().align_offset(64).min(63);
    let packets = &mut packets[first..];
    let mut rounds = 0u64;
    let mut sums = 0u64;
    let start = thread_time();
    let elapsed = loop {
        // Some rounds between looks at the clock.
        for _ in 0..8 {
            let ends = application.chunks_exact(payload).zip(packets.chunks_exact_mut(stride));
            for (from, to) in ends {
                sums += u64::from(pass(&mut to[..payload], from));
            }
            let ends = application.chunks_exact_mut(payload).zip(packets.chunks_exact(stride));
            for (to, from) in ends {
                sums += u64::from(pass(to, &from[..payload]));
            }
        }
        rounds += 8;
        let elapsed = thread_time().saturating_sub(start);
        if elapsed >= time {
            break elapsed;
        }
    };
    black_box(sums);
    let bits = (rounds * (count * payload) as u64 * 8) as f64;
    bits / elapsed.as_secs_f64() / 1e9
}

/// What `threads` threads copy and sum at once, Gbit/s in all, each wired to a
/// processor as an organization's threads are; no more threads than there are processors, as
/// they would share these. Less than `threads` times [`measure`] is
/// the machine's doing (processors share caches and memory), and no organization can give
/// it back.
pub fn measure_many(payload: usize, time: Duration, threads: usize) -> f64 {
    let threads = threads.min(crate::affinity::processors());
    if threads <= 1 {
        return measure(payload, time);
    }
    let barrier = Barrier::new(threads);
    let one = |index: usize| {
        organizations::runtime::worker::pin(index);
        barrier.wait();
        measure(payload, time)
    };
    let one = &one;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || one(n))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).sum()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn several_threads_have_one_too() {
        let time = std::time::Duration::from_millis(5);
        assert!(super::measure_many(1448, time, 3) > 0.0);
    }

    #[test]
    fn any_payload_has_a_bound() {
        for payload in [1, 64, 1448, 4300, 300_000] {
            let time = std::time::Duration::from_millis(5);
            assert!(super::measure(payload, time) > 0.0);
            assert!(super::measure_unsummed(payload, time) > 0.0);
        }
    }
}
