//! The box between two devices: a simulated link each way, in real time.

use device::{Batch, Device, Queue};
use platform::SplitMix64;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use simulator::{Counts, Link, LinkConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{self, Duration};
use wire::{Instant, Packet};

/// Frames taken from a device at once.
const BURST: usize = 64;
/// The longest sleep: so soon it sees that it is to end.
const NAP: Duration = Duration::from_millis(20);

/// One direction: what is on its way, by the time of arrival and then in the order of coming.
struct Way {
    link: Link,
    random: SplitMix64,
    under_way: BTreeMap<(Instant, u64), Packet>,
    number: u64,
    out: Batch,
    taken: Vec<Packet>,
}

impl Way {
    fn new(config: LinkConfig, seed: u64) -> Way {
        Way {
            link: Link::new(config),
            random: SplitMix64::new(seed),
            under_way: BTreeMap::new(),
            number: 0,
            out: Batch::new(),
            taken: Vec::new(),
        }
    }

    /// Takes what has come, and hands on what is due. Says whether there was anything.
    fn serve(&mut self, from: &mut Queue, to: &mut Queue, now: Instant) -> bool {
        let came = from.receive.receive(&mut self.taken, BURST) > 0;
        let Way { link, random, under_way, number, .. } = self;
        for frame in self.taken.drain(..) {
            link.offer(frame, now, random, |at, frame| {
                under_way.insert((at, *number), frame);
                *number += 1;
            });
        }
        while let Some(first) = self.under_way.first_entry().filter(|e| e.key().0 <= now) {
            self.out.push_back(first.remove());
        }
        let goes = !self.out.is_empty();
        if goes {
            to.transmit.transmit(&mut self.out);
        }
        came || goes
    }

    fn next(&self) -> Option<Instant> {
        self.under_way.first_key_value().map(|(key, _)| key.0)
    }
}

/// The box at work. Dropping it ends it.
pub(super) struct Middle {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<(Counts, Counts)>>,
}

impl Middle {
    /// Joins two devices of one queue each by a link there and one back.
    pub(super) fn start(
        devices: (Device, Device),
        there: LinkConfig,
        back: LinkConfig,
        seed: u64,
    ) -> Middle {
        let ends = Arc::new(AtomicBool::new(false));
        let stop = ends.clone();
        let ways = (Way::new(there, seed), Way::new(back, !seed));
        let thread = std::thread::spawn(move || work(devices, ways, &stop));
        Middle { ends, thread: Some(thread) }
    }

    /// Ends it; what the link there has done, and that back.
    pub(super) fn stop(mut self) -> (Counts, Counts) {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<(Counts, Counts)> {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.end();
    }
}

fn work(devices: (Device, Device), ways: (Way, Way), ends: &AtomicBool) -> (Counts, Counts) {
    let (mut left, mut right) = devices;
    let (mut there, mut back) = ways;
    let start = time::Instant::now();
    let (Some(a), Some(b)) = (left.queues.first_mut(), right.queues.first_mut()) else {
        return Default::default();
    };
    while !ends.load(Ordering::Relaxed) {
        // From 1 s on: a link is idle at 0.
        let now = Instant::from_millis(1000) + start.elapsed();
        let busy = there.serve(a, b, now) | back.serve(b, a, now);
        if !busy {
            let due = Instant::earlier(there.next(), back.next());
            sleep(a, b, due.map_or(NAP, |at| at.since(now).min(NAP)));
        }
    }
    (there.link.counts(), back.link.counts())
}

/// Waits until one of them has something, or time is over.
fn sleep(a: &mut Queue, b: &mut Queue, time: Duration) {
    if a.receive.arm() && b.receive.arm() {
        let fds = [a.receive.wait_fd(), b.receive.wait_fd()];
        let mut fds: Vec<PollFd<'_>> =
            fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: time.as_nanos() as _ };
        // Whatever it says, the devices are asked next.
        let _ = poll(&mut fds, Some(&timeout));
    }
    a.receive.disarm();
    b.receive.disarm();
}
