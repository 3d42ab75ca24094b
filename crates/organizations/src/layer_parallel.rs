//! `layer-parallel`: Schmidt and Suda 1996, sections 2.1, 3 and 4.3.2 (Layer
//! Parallelism). Link, IP, transport and presentation have a thread each, which
//! owns its layer's state; messages pass between them by bounded queues with
//! sleep locks, never by copying what is in them.
//!
//! ```text
//!   devices -> link -> IP -> transport -> presentation      up
//!   devices <- link <- IP <- transport                      down
//! ```
//!
//! The four threads and their queues are a *pipeline*, and carry a cluster of
//! connections: those that steer to it ([`Unit::of`]). As in 4.3.2, where 20
//! processors ran five stacks of four layers, there is one pipeline for every
//! four processors, and never less than one: on fewer, the threads share them;
//! what four does not divide is left to the applications.
//!
//! # Flow control, and why nobody waits for ever
//!
//! A layer's thread serves both its read side and its write side (ASX gives each
//! a Task of its own in the Module), so if it slept whenever either has no room,
//! IP could wait for the link to take frames while the link waits for IP to take
//! datagrams. The two directions therefore are bounded in different ways.
//!
//! *Up*, the producer sleeps until there is room (`Queue::put_all`): the
//! link for IP, IP for the transport, the transport for the presentation. Each
//! waits for the next one only, and presentation waits for nobody, so these
//! waits form no cycle.
//!
//! *Down*, nobody sleeps for room: the transport lets connections speak as far as
//! the queue to IP gives credit, and IP takes as many packets as the queue to the
//! link gives credit for; what one packet becomes beyond that (fragments) waits
//! with the producer, who takes no more until it has gone. The lack of credit
//! stops the way down alone: the thread goes on with its way up, and its alarm
//! rings when there is credit. Answers that a way up makes by itself (ICMP,
//! resets) are dropped where there is no room for them: no way up waits for a way
//! down, in this host or, by a device that is full, in the one at its other end.
//!
//! So presentation always gets on, hence transport, hence IP, hence link; and
//! once the device takes frames, link empties its queue, hence IP does, hence
//! transport speaks. `queue/model.rs` is a model of this, for loom.

mod ip;
mod link;
mod presentation;
mod primitive;
mod queue;
mod transport;

pub use queue::Marks;

use crate::instrument::{Instruments, QueueWatch, Watch};
use crate::worker::Sleeper;
use crate::{Clock, Running, Setup, StartError, refuse, worker};
use net::ip::icmp;
use net::{Application, Call, Config, Counters, Unit};
use queue::{Alarm, Bell, Queue};
use std::sync::Arc;
use sync::system::Mutex;
use sync::system::atomic::{AtomicBool, Ordering, fence};
use sync::system::mpsc;
use sync::system::thread::JoinHandle;
use sync::system::{ArrayQueue, SegQueue};
use wire::Packet;

/// Layers, and so threads of a pipeline.
const LAYERS: usize = 4;
/// Frames of other pipelines that may wait for a link; beyond, they are dropped,
/// as a device whose ring is full would.
const FRAMES: usize = 1024;
/// Messages that a thread takes at once.
const BATCH: usize = 64;
/// Answers that may wait in a thread for room on the way down.
const ANSWERS: usize = 64;

/// The lengths of the queues between layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// From the link up to IP, and from there up to the transport; packets.
    pub up: Marks,
    /// From the transport down to IP, and from there down to the link; packets.
    pub down: Marks,
    /// From the transport to the presentation; batches of wake-ups.
    pub presentation: Marks,
}

impl Default for Lengths {
    /// Up, two batches; down, the turns of a few connections, as other
    /// organizations keep before a device.
    fn default() -> Lengths {
        Lengths {
            up: Marks { high: 2 * BATCH, low: BATCH },
            down: Marks { high: worker::BACKLOG, low: worker::BACKLOG / 2 },
            presentation: Marks { high: 16, low: 8 },
        }
    }
}

/// What all threads of a pipeline have counted, on its way up: each adds its
/// own when all that came before has passed, so that no packet is on its way
/// between two of them.
struct Report {
    sum: Counters,
    to: mpsc::Sender<Counters>,
}

/// From the link up to IP.
enum FromLink {
    Datagram(Packet),
    /// One of ours, whose neighbour has not answered.
    Failed(Packet),
    Report(Box<Report>),
}

/// From IP up to the transport.
enum FromIp {
    Tcp(Packet),
    Udp(Packet),
    Error(Box<icmp::Error>),
    Report(Box<Report>),
}

/// From the transport down to IP.
enum FromTransport {
    Packet(Packet),
    /// A datagram that came in and that nobody wants: its sender is to hear.
    Unclaimed(Packet),
}

/// What the threads of a pipeline share, and what others put before them.
struct Pipeline<A: Application> {
    /// Frames that came up in another pipeline, or are for all.
    frames: ArrayQueue<Packet>,
    /// Who wants to know what has been counted.
    reports: SegQueue<mpsc::Sender<Counters>>,
    to_link: Queue<Packet>,
    link: Arc<Sleeper>,
    up_to_ip: Queue<FromLink>,
    down_to_ip: Queue<FromTransport>,
    ip: Arc<Bell>,
    up_to_transport: Queue<FromIp>,
    calls: SegQueue<Call<A>>,
    stop: AtomicBool,
    transport: Arc<Bell>,
    to_presentation: Queue<A::Wakes>,
    presentation: Arc<Bell>,
}

impl<A: Application> Pipeline<A> {
    fn new(
        lengths: Lengths,
        instruments: Option<&Arc<Instruments>>,
    ) -> std::io::Result<Pipeline<A>> {
        let watch = |name: &str| QueueWatch::of(instruments, || name.to_owned());
        let link = Arc::new(Sleeper::new()?);
        let [ip, transport, presentation] = std::array::from_fn(|_| Arc::new(Bell::new()));
        Ok(Pipeline {
            frames: ArrayQueue::new(FRAMES),
            reports: SegQueue::new(),
            to_link: Queue::new(lengths.down, link.clone(), Some(ip.clone()), watch("IP to link")),
            up_to_ip: Queue::new(lengths.up, ip.clone(), None, watch("link to IP")),
            down_to_ip: Queue::new(
                lengths.down,
                ip.clone(),
                Some(transport.clone()),
                watch("transport to IP"),
            ),
            up_to_transport: Queue::new(
                lengths.up,
                transport.clone(),
                None,
                watch("IP to transport"),
            ),
            calls: SegQueue::new(),
            stop: AtomicBool::new(false),
            to_presentation: Queue::new(
                lengths.presentation,
                presentation.clone(),
                None,
                watch("transport to presentation"),
            ),
            link,
            ip,
            transport,
            presentation,
        })
    }

    /// A frame of this pipeline that came up in another. Is there room for it?
    fn post(&self, frame: Packet) -> bool {
        let posted = self.frames.push(frame).is_ok();
        self.link.ring();
        posted
    }
}

/// All pipelines, and which of them the thread is of.
struct Place<A: Application> {
    pipelines: Arc<[Pipeline<A>]>,
    unit: Unit,
    config: Arc<Config>,
    clock: Clock,
}

impl<A: Application> Place<A> {
    fn pipeline(&self) -> &Pipeline<A> {
        &self.pipelines[usize::from(self.unit.index)]
    }
}

impl<A: Application> Clone for Place<A> {
    fn clone(&self) -> Place<A> {
        Place { pipelines: self.pipelines.clone(), config: self.config.clone(), ..*self }
    }
}

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    start_with(setup, Lengths::default())
}

/// How many pipelines there are on so many processors.
pub const fn pipelines(processors: usize) -> usize {
    if processors < LAYERS { 1 } else { processors / LAYERS }
}

/// As [`start`], with queues of other lengths between the layers: for studies of
/// flow control, and for tests of it.
///
/// # Errors
/// [`StartError`].
pub fn start_with<A: Application + 'static>(
    mut setup: Setup<A>,
    lengths: Lengths,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let processors = setup.processors;
    if processors == 0 || processors > 1024 {
        let organization = "layer-parallel";
        return Err(StartError::Processors { organization, allowed: "1 to 1024", processors });
    }
    let count = pipelines(processors);
    if let Some(device) = setup.devices.iter().find(|d| d.queues.len() < count) {
        let (device, queues) = (device.name.clone(), device.queues.len());
        return Err(StartError::Queues { device, queues, processors: count });
    }
    let instruments = setup.instruments.as_ref();
    let pipelines =
        (0..count).map(|_| Pipeline::new(lengths, instruments)).collect::<std::io::Result<_>>()?;
    let mut stack = Stack {
        pipelines,
        threads: Mutex::new(Vec::new()),
        stopped: AtomicBool::new(false),
        ended: AtomicBool::new(false),
        last: Mutex::new(Counters::default()),
    };
    let dealt = link::deal(std::mem::take(&mut setup.devices), count);
    for (index, queues) in dealt.into_iter().enumerate() {
        let unit = Unit::new(index as u16, count as u16);
        // What has started ends with `stack` if the rest does not start.
        stack.start_pipeline(unit, queues, &mut setup)?;
    }
    Ok(Arc::new(stack))
}

/// The handle on all pipelines.
struct Stack<A: Application> {
    pipelines: Arc<[Pipeline<A>]>,
    threads: Mutex<Vec<JoinHandle<Counters>>>,
    stopped: AtomicBool,
    /// Nobody looks at calls any more.
    ended: AtomicBool,
    /// What the threads had counted when they stopped.
    last: Mutex<Counters>,
}

impl<A: Application + 'static> Stack<A>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    /// Starts the threads of one pipeline.
    fn start_pipeline(
        &mut self,
        unit: Unit,
        queues: link::Queues,
        setup: &mut Setup<A>,
    ) -> std::io::Result<()> {
        let place = || Place {
            pipelines: self.pipelines.clone(),
            unit,
            config: setup.config.clone(),
            clock: setup.clock,
        };
        let link = link::LinkLayer::new(place(), queues);
        let ip = ip::IpLayer::new(place());
        let transport = transport::TransportLayer::new(place(), (setup.application)(unit));
        let presentation = place();
        let (pin, instruments) = (setup.options.pin, setup.instruments.clone());
        // Each ends when the one above it has ended: so that all that have
        // started do if one does not start, that comes first.
        let mut threads = Threads { unit, pin, instruments, started: Vec::new() };
        let started = threads
            .spawn("present", LAYERS - 1, move |watch| presentation::run(&presentation, watch))
            .and_then(|()| threads.spawn("transport", 2, move |watch| transport.run(watch)))
            .and_then(|()| threads.spawn("ip", 1, move |watch| ip.run(watch)))
            .and_then(|()| threads.spawn("link", 0, move |watch| link.run(watch)));
        self.threads.lock().append(&mut threads.started);
        started
    }
}

/// Threads of a pipeline that have been started.
struct Threads {
    unit: Unit,
    pin: bool,
    instruments: Option<Arc<Instruments>>,
    started: Vec<JoinHandle<Counters>>,
}

impl Threads {
    fn spawn(
        &mut self,
        name: &str,
        layer: usize,
        run: impl FnOnce(&mut Watch) -> Counters + Send + 'static,
    ) -> std::io::Result<()> {
        let (index, pin) = (usize::from(self.unit.index), self.pin);
        let (instruments, name) = (self.instruments.clone(), format!("ana-{name}-{index}"));
        let thread = sync::system::thread::Builder::new().name(name.clone());
        self.started.push(thread.spawn(move || {
            if pin {
                worker::pin(LAYERS * index + layer);
            }
            run(&mut Watch::of(instruments.as_ref(), || name))
        })?);
        Ok(())
    }
}

impl<A: Application> Stack<A> {
    /// Calls that came too late.
    fn refuse_all(&self) {
        for pipeline in &*self.pipelines {
            while let Some(call) = pipeline.calls.pop() {
                refuse(call);
            }
        }
    }

    fn report(&self) -> Counters {
        let (to, from) = mpsc::channel();
        for pipeline in &*self.pipelines {
            pipeline.reports.push(to.clone());
            pipeline.link.ring();
        }
        drop(to);
        let mut sum = Counters::default();
        from.iter().for_each(|counters| sum.add(&counters));
        sum
    }
}

impl<A: Application> Running<A> for Stack<A> {
    fn units(&self) -> u16 {
        self.pipelines.len() as u16
    }

    fn call(&self, unit: u16, call: Call<A>) {
        if self.stopped.load(Ordering::Acquire) {
            return refuse(call);
        }
        let pipeline = &self.pipelines[usize::from(unit)];
        pipeline.calls.push(call);
        pipeline.transport.ring();
        // Either the thread that ends the pipelines sees the call, or this one
        // sees that they have ended.
        fence(Ordering::SeqCst);
        if self.ended.load(Ordering::Relaxed) {
            self.refuse_all();
        }
    }

    fn counters(&self) -> Counters {
        // Under the lock, so that the threads do not end meanwhile.
        let last = self.last.lock();
        if self.stopped.load(Ordering::Acquire) { last.clone() } else { self.report() }
    }

    fn stop(&self) {
        let mut last = self.last.lock();
        if self.stopped.load(Ordering::Acquire) {
            return;
        }
        self.stopped.store(true, Ordering::Release);
        for pipeline in &*self.pipelines {
            pipeline.stop.store(true, Ordering::Release);
            pipeline.transport.ring();
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        // The threads of a pipeline end one after the other: if the caller is one
        // of them (a wake-up may drop the last handle of a stack there), none is
        // waited for, and all end soon.
        let caller = sync::system::thread::current().id();
        if threads.iter().all(|thread| thread.thread().id() != caller) {
            for counters in crate::join(threads.into_iter()) {
                last.add(&counters);
            }
        }
        self.ended.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.refuse_all();
        // Frames for other pipelines count where they are taken in.
        self.pipelines.iter().for_each(|p| while p.frames.pop().is_some() {});
    }
}

impl<A: Application> Drop for Stack<A> {
    fn drop(&mut self) {
        self.stop();
    }
}
