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
//! connections: those that steer to it ([`Unit::new`]). As in 4.3.2, where 20 processors
//! ran five stacks of four layers, there is one pipeline for every four processors, and
//! at least one. On fewer processors the threads share them; processors that are left
//! over are left to the applications.
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
//! *Down*, nobody sleeps for room: the transport lets connections send as far as the
//! queue to IP gives credit, and IP takes as many packets as the queue to the link gives
//! credit for. If one packet becomes more than that (fragments), they wait with the
//! producer, which takes no more until they have gone. The lack of credit
//! stops the way down alone: the thread goes on with its way up, and its alarm
//! rings when there is credit. Answers that a way up makes by itself (ICMP,
//! resets) are dropped where there is no room for them: no way up waits for a way
//! down, in this host or, by a device that is full, in the one at its other end.
//!
//! The link's thread also wakes the transport's when a time-out is due, for it has the alarm
//! (`deadline`).
//!
//! So presentation always gets on, hence transport, hence IP, hence link; and once the
//! device takes frames, link empties its queue, hence IP does, hence transport sends.
//! `queue/model.rs` is a model of this, for loom.

mod deadline;
mod ip;
mod link;
mod presentation;
mod queue;
mod sleep_lock;
mod transport;

pub use queue::Marks;

use crate::runtime::blocked::AtomicBlocked;
use crate::runtime::check::check;
use crate::runtime::handle::{Family, Handle, told, told_within};
use crate::runtime::routing::Router;
use crate::runtime::sleeper::Sleeper;
use crate::runtime::threads::Threads;
use crate::runtime::worker::{self, FRAMES};
use crate::{Clock, Running, Setup, StartError};
use deadline::Deadline;
use instrument::{Instruments, QueueWatch, ThreadTimer};
use net::ip::icmp;
use net::{Application, Blocked, Call, Config, Counters, Unit};
use platform::atomic::{AtomicBool, Ordering};
use platform::mpsc;
use platform::{ArrayQueue, SegQueue};
use queue::{Alarm, Bell, Queue};
use std::sync::Arc;
use std::time::Duration;
use wire::Packet;

/// Layers, and so threads of a pipeline.
const LAYERS: usize = 4;
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
    Raw(Packet),
    Report(Box<Report>),
}

/// Follows packets down to the link, where it ends: all that was sent before it is with the
/// device then, or waits for a neighbour. Who waits for that has the other end.
type Mark = mpsc::Sender<()>;

/// From the transport down to IP.
enum FromTransport {
    Packet(Packet),
    /// A datagram that came in for a port that no socket has: its sender is to be told.
    Unclaimed(Packet),
    Mark(Mark),
}

/// From IP down to the link.
enum ToLink {
    Packet(Packet),
    Mark(Mark),
}

/// How many of these on the way down are packets, which count as lost at the end.
fn packets<'a, T: 'a>(left: impl IntoIterator<Item = &'a T>, is_mark: impl Fn(&T) -> bool) -> u64 {
    left.into_iter().filter(|message| !is_mark(message)).count() as u64
}

/// The interfaces that have no room, as the link's thread tells it: by these the transport
/// sends nothing, for the way down is the same for all.
#[derive(Default)]
struct Full(AtomicBlocked);

impl Full {
    fn get(&self) -> Blocked {
        self.0.load(Ordering::Acquire)
    }

    /// Tells it, and wakes the transport if one of them has room again.
    #[inline]
    fn set(&self, full: Blocked, transport: &Bell) {
        let before = self.get();
        if full != before {
            self.0.store(full, Ordering::Release);
            if !before.except(full).none() {
                transport.ring();
            }
        }
    }
}

/// What the threads of a pipeline share, and what others put before them.
struct Pipeline<A: Application> {
    /// Frames that came up in another pipeline, or are for all.
    frames: ArrayQueue<Packet>,
    /// Requests for what has been counted.
    reports: SegQueue<mpsc::Sender<Counters>>,
    to_link: Queue<ToLink>,
    link: Arc<Sleeper>,
    full: Full,
    up_to_ip: Queue<FromLink>,
    down_to_ip: Queue<FromTransport>,
    ip: Arc<Bell>,
    up_to_transport: Queue<FromIp>,
    calls: SegQueue<Call<A>>,
    /// To be sent on their way down.
    marks: SegQueue<Mark>,
    stop: AtomicBool,
    transport: Arc<Bell>,
    /// When the link's thread wakes the transport's.
    deadline: Deadline,
    to_presentation: Queue<A::Wakes>,
    presentation: Arc<Bell>,
}

impl<A: Application> Pipeline<A> {
    fn new(
        lengths: Lengths,
        instruments: Option<&Arc<Instruments>>,
    ) -> std::io::Result<Pipeline<A>> {
        let probe = |name: &str| QueueWatch::new(instruments, || name.to_owned());
        let link = Arc::new(Sleeper::new()?);
        let [ip, transport, presentation] = std::array::from_fn(|_| Arc::new(Bell::new()));
        Ok(Pipeline {
            frames: ArrayQueue::new(FRAMES),
            reports: SegQueue::new(),
            to_link: Queue::new(lengths.down, link.clone(), Some(ip.clone()), probe("IP to link")),
            up_to_ip: Queue::new(lengths.up, ip.clone(), None, probe("link to IP")),
            down_to_ip: Queue::new(
                lengths.down,
                ip.clone(),
                Some(transport.clone()),
                probe("transport to IP"),
            ),
            up_to_transport: Queue::new(
                lengths.up,
                transport.clone(),
                None,
                probe("IP to transport"),
            ),
            calls: SegQueue::new(),
            marks: SegQueue::new(),
            stop: AtomicBool::new(false),
            full: Full::default(),
            deadline: Deadline::new(),
            to_presentation: Queue::new(
                lengths.presentation,
                presentation.clone(),
                None,
                probe("transport to presentation"),
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
struct PipelineCtx<A: Application> {
    pipelines: Arc<[Pipeline<A>]>,
    unit: Unit,
    config: Arc<Config>,
    clock: Clock,
}

impl<A: Application> PipelineCtx<A> {
    fn pipeline(&self) -> &Pipeline<A> {
        &self.pipelines[usize::from(self.unit.index)]
    }
}

impl<A: Application> Clone for PipelineCtx<A> {
    fn clone(&self) -> PipelineCtx<A> {
        PipelineCtx { pipelines: self.pipelines.clone(), config: self.config.clone(), ..*self }
    }
}

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    start_with(setup, Lengths::default())
}

/// As [`start`], with queues of other lengths between the layers: for studies of
/// flow control, and for tests of it.
///
/// # Errors
/// [`StartError`].
pub fn start_with<A: Application + 'static>(
    mut setup: Setup<A>,
    lengths: Lengths,
) -> Result<Arc<dyn Running<A>>, StartError> {
    check(&setup, "layer-parallel")?;
    let count = catalog::pipelines(setup.processors);
    let instruments = setup.instruments.as_ref();
    let pipelines =
        (0..count).map(|_| Pipeline::new(lengths, instruments)).collect::<std::io::Result<_>>()?;
    let handle = Handle::new(Stack {
        pipelines,
        router: Router::new(&setup.config, count),
        threads: Threads::new(&setup),
        delayed_ack: setup.config.tcp.delayed_ack,
    });
    let dealt = link::deal(std::mem::take(&mut setup.devices), count);
    for (index, queues) in dealt.into_iter().enumerate() {
        let unit = Unit::new(index as u16, count as u16);
        handle.family.start_pipeline(unit, queues, &mut setup)?;
    }
    Ok(handle)
}

/// All pipelines, as others reach them.
struct Stack<A: Application> {
    pipelines: Arc<[Pipeline<A>]>,
    router: Router,
    threads: Threads,
    delayed_ack: Duration,
}

impl<A: Application + 'static> Stack<A> {
    /// Starts the threads of one pipeline.
    fn start_pipeline(
        &self,
        unit: Unit,
        queues: link::Queues,
        setup: &mut Setup<A>,
    ) -> std::io::Result<()> {
        let ctx = || PipelineCtx {
            pipelines: self.pipelines.clone(),
            unit,
            config: setup.config.clone(),
            clock: setup.clock,
        };
        let link = link::LinkLayer::new(ctx(), queues);
        let ip = ip::IpLayer::new(ctx());
        let transport = transport::TransportLayer::new(ctx(), (setup.application)(unit));
        let presentation = ctx();
        // Each ends when the one above it has ended. The uppermost is started first, so
        // that all that have started end if one does not start.
        self.spawn(unit, "present", 3, move |timer| presentation::run(&presentation, timer))?;
        self.spawn(unit, "transport", 2, move |timer| transport.run(timer))?;
        self.spawn(unit, "ip", 1, move |timer| ip.run(timer))?;
        self.spawn(unit, "link", 0, move |timer| link.run(timer))
    }

    fn spawn(
        &self,
        unit: Unit,
        name: &str,
        layer: usize,
        run: impl FnOnce(&mut ThreadTimer) -> Counters + Send + 'static,
    ) -> std::io::Result<()> {
        let index = usize::from(unit.index);
        let name = format!("ana-{name}-{index}");
        self.threads.spawn(name, LAYERS * index + layer, move |mut timer| run(&mut timer))
    }
}

impl<A: Application> Stack<A> {
    /// Asks all pipelines what they have counted.
    fn ask(&self) -> mpsc::Receiver<Counters> {
        let (to, from) = mpsc::channel();
        for pipeline in &*self.pipelines {
            pipeline.reports.push(to.clone());
            pipeline.link.ring();
        }
        from
    }
}

impl<A: Application> Family<A> for Stack<A> {
    fn call(&self, call: Call<A>) {
        self.router.route(call, |unit, call| {
            let pipeline = &self.pipelines[usize::from(unit)];
            let looks = matches!(call, Call::Look);
            pipeline.calls.push(call);
            pipeline.transport.ring();
            if looks {
                // What is due of the host later wakes the link's thread, which may sleep for
                // longer: nothing has to be sent now.
                pipeline.link.ring();
            }
        });
    }

    fn unseen(&self) -> Option<Call<A>> {
        self.pipelines.iter().find_map(|pipeline| pipeline.calls.pop())
    }

    fn settle(&self, timeout: Duration) {
        let (to, from) = mpsc::channel();
        for pipeline in &*self.pipelines {
            pipeline.marks.push(to.clone());
            pipeline.transport.ring();
        }
        drop(to);
        // Nobody says anything: the last mark ends.
        let _ = from.recv_timeout(timeout);
    }

    fn has_caller(&self) -> bool {
        self.threads.has_caller()
    }

    fn counters(&self) -> Counters {
        told(&self.ask(), || self.threads.any_ended())
    }

    fn counters_within(&self, patience: Duration) -> Counters {
        told_within(&self.ask(), patience)
    }

    fn delayed_ack(&self) -> Duration {
        self.delayed_ack
    }

    fn stop(&self) -> Counters {
        for pipeline in &*self.pipelines {
            pipeline.stop.store(true, Ordering::Release);
            pipeline.transport.ring();
        }
        // The threads of a pipeline end one after the other: if the caller is one
        // of them (a wake-up may drop the last handle of a stack there), none is
        // waited for, and all end soon.
        let last = match self.threads.has_caller() {
            true => Counters::default(),
            false => self.threads.join(),
        };
        // Frames for other pipelines count where they are taken in.
        self.pipelines.iter().for_each(|p| while p.frames.pop().is_some() {});
        last
    }
}
