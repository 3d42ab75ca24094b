//! The box between senders and a receiver: a simulated link each way, in real time. What goes
//! back goes to the sender for which it is, as a bridge would hand it on.

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
    taken: Vec<Packet>,
}

/// A device, and what goes out by it.
struct Left {
    queue: Queue,
    out: Batch,
    /// The Ethernet address that was seen behind it.
    station: [u8; 6],
}

impl Left {
    /// The first queue of `device`.
    fn new(device: Device) -> Option<Left> {
        let queue = device.queues.into_iter().next()?;
        Some(Left { queue, out: Batch::new(), station: [0; 6] })
    }

    /// Notes who has sent what was taken last.
    fn learn(&mut self, taken: Option<&Packet>) {
        let mut front = [0; 12];
        if let Some(frame) = taken {
            frame.copy_front(&mut front);
            self.station.copy_from_slice(&front[6..]);
        }
    }
}

impl Way {
    fn new(config: LinkConfig, seed: u64) -> Way {
        Way {
            link: Link::new(config),
            random: SplitMix64::new(seed),
            under_way: BTreeMap::new(),
            number: 0,
            taken: Vec::new(),
        }
    }

    /// Takes what has come. Says whether there was anything.
    fn take(&mut self, from: &mut Left, now: Instant) -> bool {
        let came = from.queue.receive.receive(&mut self.taken, BURST) > 0;
        from.learn(self.taken.last());
        let Way { link, random, under_way, number, .. } = self;
        for frame in self.taken.drain(..) {
            link.offer(frame, now, random, |at, frame| {
                under_way.insert((at, *number), frame);
                *number += 1;
            });
        }
        came
    }

    /// Hands on what is due, and says whether there was anything.
    fn give(&mut self, to: &mut [Left], now: Instant) -> bool {
        let mut goes = false;
        while let Some(first) = self.under_way.first_entry().filter(|e| e.key().0 <= now) {
            let frame = first.remove();
            goes = true;
            if let [only] = to {
                only.out.push_back(frame);
                continue;
            }
            let mut destination = [0; 6];
            frame.copy_front(&mut destination);
            match to.iter_mut().find(|left| left.station == destination) {
                Some(left) => left.out.push_back(frame),
                None => {
                    let bytes = frame.to_vec();
                    to.iter_mut().for_each(|left| left.out.push_back(Packet::copy_of(&bytes)));
                }
            }
        }
        for left in to.iter_mut().filter(|left| !left.out.is_empty()) {
            left.queue.transmit.transmit(&mut left.out);
        }
        goes
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
    /// Joins devices of one queue each: those of senders, by a link there, to that of the
    /// receiver, and by one back.
    pub(super) fn start(
        devices: (Vec<Device>, Device),
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

fn work(devices: (Vec<Device>, Device), ways: (Way, Way), ends: &AtomicBool) -> (Counts, Counts) {
    let (mut there, mut back) = ways;
    let start = time::Instant::now();
    let mut lefts: Vec<Left> = devices.0.into_iter().filter_map(Left::new).collect();
    let Some(mut right) = Left::new(devices.1) else { return Default::default() };
    while !ends.load(Ordering::Relaxed) {
        // From 1 s on: a link is idle at 0.
        let now = Instant::from_millis(1000) + start.elapsed();
        let mut busy = false;
        for left in &mut lefts {
            busy |= there.take(left, now);
        }
        busy |= back.take(&mut right, now);
        busy |= there.give(std::slice::from_mut(&mut right), now) | back.give(&mut lefts, now);
        if !busy {
            let due = Instant::earlier(there.next(), back.next());
            let all = lefts.iter_mut().chain([&mut right]).map(|left| &mut left.queue);
            sleep(all.collect(), due.map_or(NAP, |at| at.since(now).min(NAP)));
        }
    }
    (there.link.counts(), back.link.counts())
}

/// Waits until one of them has something, or time is over.
fn sleep(mut queues: Vec<&mut Queue>, time: Duration) {
    if queues.iter_mut().all(|queue| queue.receive.arm()) {
        let fds: Vec<_> = queues.iter().filter_map(|queue| queue.receive.wait_fd()).collect();
        let mut fds: Vec<PollFd<'_>> =
            fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: time.as_nanos() as _ };
        // Whatever it says, the devices are asked next.
        let _ = poll(&mut fds, Some(&timeout));
    }
    queues.iter_mut().for_each(|queue| queue.receive.disarm());
}
