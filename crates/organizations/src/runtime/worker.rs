//! What a thread that processes packets has of its own: its queue of every
//! device, its batches, and what it does when a round found nothing new.

use crate::Clock;
use catalog::Options;
use device::{Receive, Transmit};
use instrument::{Layer, ThreadTimer};
use net::Egress;
use std::cell::Cell;
use std::time::Duration;
use wire::{Instant, Packet};

/// Packets received at once, by interface.
pub const BATCH: usize = 64;
/// How long a stopped unit goes on while it has something to send.
pub const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);
pub use net::BACKLOG;
/// Frames that may wait for a thread that other threads hand them to. Further ones are
/// dropped, as by a device whose ring is full.
pub(crate) const FRAMES: usize = 1024;

/// For so long a thread asks a full device again at once, as its other end may need no more than this
/// processor. Then nobody may be there.
const SOON: Duration = Duration::from_millis(1);
/// The longest that a full device is left alone.
const LATER: Duration = Duration::from_millis(10);

platform::thread_local! {
    /// Since when this thread has had nothing to do but to wait for a device that takes nothing, and when
    /// that was last so.
    static FULL: Cell<Option<(platform::Instant, platform::Instant)>> = const { Cell::new(None) };
}

/// Ends a round that found nothing new. If the device is full, its other end may need
/// this processor; if nothing is left to do, the thread sleeps. One whose device stays full sleeps for the time
/// that it is given, and no longer.
#[inline]
pub(crate) fn rest(
    full: bool,
    busy: bool,
    timer: &mut ThreadTimer,
    sleep: impl FnOnce(Option<Duration>),
) {
    let most = match full {
        true => match left_alone(busy) {
            None => return platform::thread::yield_now(),
            most => most,
        },
        false if busy => return,
        false => None,
    };
    sleep(most);
    if !full {
        FULL.with(|full| full.set(None));
    }
    timer.slept();
}

/// For how long a full device is left alone: longer, the longer it has been full; `None`: it is asked again
/// at once.
#[cold]
fn left_alone(busy: bool) -> Option<Duration> {
    if busy || cfg!(shuttle) {
        return None;
    }
    let now = platform::Instant::now();
    // It may have taken all in the meantime, while there was other work.
    let goes_on = |(_, last): &_| now.saturating_duration_since(*last) <= 2 * LATER;
    let since = FULL.with(Cell::get).filter(goes_on).map_or(now, |(since, _)| since);
    FULL.with(|full| full.set(Some((since, now))));
    let full = now.saturating_duration_since(since);
    (full >= SOON).then_some((full / 8).min(LATER))
}

/// The longest that a thread looks on of its own accord.
const SHORT: Duration = Duration::from_micros(100);
/// What a pause in which a thread sleeps takes longer than one in which it looks on: it has to be woken.
const WAKING: Duration = Duration::from_micros(50);
/// What a thread knows of its pauses: a shorter one counts for one, a longer one takes away four. It
/// looks on from eight on, and sixteen are the most. So of ten pauses eight at least were short. A thread that
/// looks on no more begins anew, and so looks on in vain in one of nine at most.
const ENOUGH: u8 = 8;
const MOST: u8 = 16;
const LONG: u8 = 4;

/// A thread that looks on for a while before it sleeps: for as long as it is told, or for a short
/// while, as long as that pays.
pub(crate) struct Watch {
    most: Duration,
    /// What came of its pauses; `None`: it does as it is told.
    short: Option<u8>,
    /// Since when there was nothing to do.
    since: Option<Instant>,
}

impl Watch {
    /// One of so many threads. A clock that stands still while a thread is awake allows no such thing.
    pub(crate) fn new(options: &Options, threads: usize, clock: &Clock) -> Watch {
        let has_spare = || {
            std::thread::available_parallelism().is_ok_and(|processors| processors.get() > threads)
        };
        let stands = cfg!(shuttle) || is_virtual(clock);
        let most = if stands { Duration::ZERO } else { options.busy_poll };
        let adapts = !stands && most.is_zero() && options.short_poll && has_spare();
        Watch { most, short: adapts.then_some(0), since: None }
    }

    /// There was something to do `now`.
    #[inline]
    pub(crate) fn found(&mut self, now: Instant) {
        let Some(since) = self.since.take() else { return };
        if let Some(short) = &mut self.short {
            let slept = if *short < ENOUGH { WAKING } else { Duration::ZERO };
            *short = match now.since(since) <= SHORT + slept {
                true => (*short + 1).min(MOST),
                false => match short.saturating_sub(LONG) {
                    left @ ENOUGH.. => left,
                    _ => 0,
                },
            };
        }
    }

    /// There was nothing to do `now`. Says whether to look once more.
    #[inline]
    pub(crate) fn looks_on(&mut self, now: Instant) -> bool {
        let most = match self.short {
            Some(ENOUGH..) => SHORT,
            Some(_) => Duration::ZERO,
            None => self.most,
        };
        if now.since(*self.since.get_or_insert(now)) >= most {
            return false;
        }
        match self.short {
            // Others may need the processor.
            Some(_) => platform::thread::yield_now(),
            None => std::hint::spin_loop(),
        }
        true
    }
}

#[cfg(not(shuttle))]
fn is_virtual(clock: &Clock) -> bool {
    clock.virtual_time().is_some()
}

#[cfg(shuttle)]
fn is_virtual(_: &Clock) -> bool {
    true
}

/// Receives a batch by every interface, and notes the interface in each packet.
#[inline]
pub fn receive(receivers: &mut [Box<dyn Receive>], into: &mut Vec<Packet>) -> usize {
    receive_up_to(receivers, into, BATCH)
}

/// Receives up to `most` packets by every interface, and notes the interface in each.
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
pub fn transmit_counted(
    transmitters: &mut [Box<dyn Transmit>],
    egress: &mut Egress,
    timer: &mut ThreadTimer,
) {
    if timer.wants_sizes() {
        (0..transmitters.len()).for_each(|at| timer.sending(egress.batch(at).iter()));
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
        timer.sent(offered - left);
        timer.mark(Layer::Transmit);
        if left < offered {
            FULL.with(|full| full.set(None));
        }
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

opaque_debug!([] Queues, "Queues");

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

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_stays_full_is_left_alone_for_a_while() {
        let mut timer = ThreadTimer::off();
        let start = platform::Instant::now();
        let mut slept = |full: bool, busy: bool| {
            let mut slept = None;
            rest(full, busy, &mut timer, |most| slept = Some(most));
            slept
        };
        let first = loop {
            match slept(true, false) {
                None => assert!(start.elapsed() < Duration::from_secs(60), "it asks for ever"),
                Some(most) => break most.expect("a bound"),
            }
        };
        assert!(start.elapsed() >= SOON && first >= SOON / 8 && first <= LATER, "{first:?}");
        assert_eq!(slept(true, true), None, "with other work it goes on");
        // Without a full device it sleeps as usual, and begins anew.
        assert_eq!((slept(false, true), slept(false, false)), (None, Some(None)));
        assert_eq!(FULL.with(Cell::get), None);
        assert_eq!(slept(true, false), None);
    }

    #[test]
    fn a_watch_lasts_as_long_as_it_should_from_when_nothing_was_to_do() {
        let at = |micros: u64| Instant::from_nanos(micros * 1000);
        let told = |micros| Options::default().with_busy_poll(Duration::from_micros(micros));
        let mut watch = Watch::new(&told(50), 1, &Clock::start());
        assert!(watch.looks_on(at(100)) && watch.looks_on(at(149)));
        assert!(!watch.looks_on(at(150)) && !watch.looks_on(at(151)), "it sleeps");
        watch.found(at(160));
        assert!(watch.looks_on(at(200)) && !watch.looks_on(at(250)));
        assert!(!Watch::new(&told(0), 1, &Clock::start()).looks_on(at(100)), "as usual");
    }

    #[test]
    fn a_watch_that_is_not_told_lasts_while_it_pays() {
        let at = |micros: u64| Instant::from_nanos(micros * 1000);
        let mut watch = Watch { most: Duration::ZERO, short: Some(0), since: None };
        let mut now = 0;
        // Does it look on in a pause that is so long?
        let mut pause = |watch: &mut Watch, micros| {
            let looks = watch.looks_on(at(now));
            assert!(!looks || !watch.looks_on(at(now + 100)), "not for ever");
            now += micros;
            watch.found(at(now));
            now += 10;
            looks
        };
        assert!((0..8).all(|_| !pause(&mut watch, 60)), "it does not know yet");
        assert!((0..50).all(|_| pause(&mut watch, 60)));
        assert!(pause(&mut watch, 5000) && pause(&mut watch, 60), "one long pause");
        // Long ones: it sleeps at once before long, and does so from then on.
        assert_eq!((0..1000).filter(|_| pause(&mut watch, 5000)).count(), 2);
        assert!((0..8).all(|_| !pause(&mut watch, 60)) && pause(&mut watch, 60));
        // What takes 130 us with a thread that has to be woken takes less with one that need not; if
        // it does not, that is soon seen.
        let mut watch = Watch { most: Duration::ZERO, short: Some(0), since: None };
        assert!((0..8).all(|_| !pause(&mut watch, 130)) && pause(&mut watch, 80));
        assert!((0..50).all(|_| pause(&mut watch, 80)));
        assert_eq!((0..93).filter(|_| pause(&mut watch, 130)).count(), 3 + 10, "one of nine");
        assert!((0..50).all(|_| !pause(&mut watch, 160)), "that is long for one that sleeps, too");
        // Without a processor to spare it never does.
        let options = Options::default().with_short_poll(true);
        assert_eq!(Watch::new(&options, 1 << 20, &Clock::start()).short, None);
    }
}
