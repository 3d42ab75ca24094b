//! What a thread that processes packets has of its own: its queue of every
//! device, its batches, and its way to sleep and to be woken.

use crate::Clock;
use device::{Receive, Transmit};
use instrument::Watch;
use net::{Egress, Layer};
use platform::Event;
use platform::atomic::{AtomicU64, Ordering};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::Duration;
use sync::SleepFlag;
use wire::{Instant, Packet};

/// Does not wait.
#[cfg(shuttle)]
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Packets received at once, by interface.
pub const BATCH: usize = 64;
/// How long a unit that was stopped goes on while it has something to say.
pub const LAST_WORDS: Duration = Duration::from_millis(20);
/// Packets that wait for the device before connections stop speaking.
pub const BACKLOG: usize = 64;

/// By what others wake a sleeping thread.
pub struct Sleeper {
    flag: SleepFlag,
    /// Until when the thread sleeps, in the clock's nanoseconds.
    until: AtomicU64,
    event: Event,
}

impl Sleeper {
    /// Of a thread that is awake.
    ///
    /// # Errors
    /// If the system gives no descriptor.
    pub fn new() -> std::io::Result<Sleeper> {
        let event = Event::new()?;
        Ok(Sleeper { flag: SleepFlag::new(), until: AtomicU64::new(u64::MAX), event })
    }

    /// There is something to do. Called after it was put where the thread looks.
    #[inline]
    pub fn notify(&self) {
        if self.flag.should_wake() {
            self.event.signal();
        }
    }

    /// Something has to be done at `at`, which the thread may not know of yet.
    #[inline]
    pub fn notify_by(&self, at: Instant) {
        platform::atomic::fence(Ordering::SeqCst);
        if at.as_nanos() < self.until.load(Ordering::Relaxed) {
            self.notify();
        }
    }

    /// Sleeps until `deadline`, a packet on `receivers`, or a notification, but
    /// not if `ready` says, after the announcement, that there is work; `ready`
    /// may also give an earlier deadline.
    pub fn sleep(
        &self,
        receivers: &mut [Box<dyn Receive>],
        clock: &Clock,
        ready: impl FnOnce() -> (bool, Option<Instant>),
    ) {
        self.until.store(u64::MAX, Ordering::Relaxed);
        self.flag.prepare();
        let (has_work, deadline) = ready();
        if has_work || !receivers.iter_mut().all(|r| r.arm()) {
            self.flag.awake();
            receivers.iter_mut().for_each(|r| r.disarm());
            return;
        }
        let device = receivers.iter().filter_map(|r| r.deadline()).min().map(|at| clock.at(at));
        let deadline = [deadline, device].into_iter().flatten().min();
        self.until.store(deadline.map_or(u64::MAX, Instant::as_nanos), Ordering::Relaxed);
        self.block(receivers, deadline.map(|at| at.since(clock.now())));
        self.flag.awake();
        receivers.iter_mut().for_each(|r| r.disarm());
        self.event.clear();
    }

    fn block(&self, receivers: &[Box<dyn Receive>], timeout: Option<Duration>) {
        let mut fds = Vec::with_capacity(1 + receivers.len());
        fds.push(PollFd::from_borrowed_fd(self.event.as_fd(), PollFlags::IN));
        for fd in receivers.iter().filter_map(|r| r.wait_fd()) {
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
        #[cfg(not(shuttle))]
        let timeout = timeout.map(|t| Timespec {
            tv_sec: t.as_secs().min(3600) as i64,
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        // An interruption is as good as a time-out: the loop looks round.
        #[cfg(not(shuttle))]
        let _ = poll(&mut fds, timeout.as_ref());
        #[cfg(shuttle)]
        platform::sleep_at(timeout, || poll(&mut fds, Some(&NOW)).is_ok_and(|n| n > 0));
    }
}

/// Receives a batch by every interface, and notes in each packet which it was.
#[inline]
pub fn receive(receivers: &mut [Box<dyn Receive>], into: &mut Vec<Packet>) -> usize {
    receive_up_to(receivers, into, BATCH)
}

/// Receives up to `most` packets by every interface, and notes in each which it
/// was.
#[inline]
pub fn receive_up_to(
    receivers: &mut [Box<dyn Receive>],
    into: &mut Vec<Packet>,
    most: usize,
) -> usize {
    let before = into.len();
    for (interface, receiver) in receivers.iter_mut().enumerate() {
        let start = into.len();
        receiver.receive(into, most);
        if interface > 0 {
            for packet in &mut into[start..] {
                packet.meta_mut().interface = interface as u16;
            }
        }
    }
    into.len() - before
}

/// Hands each interface's batch to its device, counted. What a device does not take
/// stays in its batch.
#[inline]
pub fn transmit_watched(
    transmitters: &mut [Box<dyn Transmit>],
    egress: &mut Egress,
    watch: &mut Watch,
) {
    if watch.wants_sizes() {
        (0..transmitters.len()).for_each(|at| watch.sending(egress.batch(at).iter()));
    }
    let (mut offered, mut left) = (0, 0);
    for (interface, transmitter) in transmitters.iter_mut().enumerate() {
        let batch = egress.batch(interface);
        if !batch.is_empty() {
            offered += batch.len();
            transmitter.transmit(batch);
            left += batch.len();
        }
    }
    if offered > 0 {
        watch.sent(offered - left);
        watch.lap(Layer::Transmit);
    }
}

/// Wires the calling thread to a processor, if the system lets it.
pub fn pin(processor: usize) {
    if cfg!(shuttle) {
        // All simulated threads are one of the system's.
        return;
    }
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let processors: Vec<usize> =
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|&p| allowed.is_set(p)).collect();
    if processors.is_empty() {
        return;
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(processors[processor % processors.len()]);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// The queues of one thread: the receiving half and the transmitting half of
/// queue `n` of every device.
pub struct Queues {
    /// ①
    pub receivers: Vec<Box<dyn Receive>>,
    /// ⑨
    pub transmitters: Vec<Box<dyn Transmit>>,
}

/// Deals the queues of all devices to `processors` threads.
pub fn deal(devices: Vec<device::Device>, processors: usize) -> Vec<Queues> {
    let mut dealt: Vec<Queues> = (0..processors)
        .map(|_| Queues { receivers: Vec::new(), transmitters: Vec::new() })
        .collect();
    for device in devices {
        for (queue, to) in device.queues.into_iter().zip(&mut dealt) {
            to.receivers.push(queue.receive);
            to.transmitters.push(queue.transmit);
        }
    }
    dealt
}
