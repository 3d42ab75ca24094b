//! Engines with receive queues: an engine's event handler demultiplexes what the devices
//! give into receive queues; then sockets have their turns, in the order that a
//! [`Discipline`] says. A socket in its turn is reached without the table, and no other
//! engine has it meanwhile.

use super::demultiplexer::{Classified, Demultiplexer, Sockets};
use super::engine::{Engines, Work};
use super::receive_queue::{Held, LARGEST};
use crate::{Running, Setup, StartError, locked};
use instrument::{QueueWatch, ThreadTimer, TraceStamp, observed};
use net::{Application, Call, Connection, Egress};
use platform::atomic::{AtomicU64, Ordering};
use scheduler::weights::Pending;
use scheduler::{Class, Discipline, Key, Precedence, Serves};
use std::sync::Arc;
use sync::{DynLock, Locked, RawLock};
use tcp::{State, Tcb};
use wire::{Instant, Packet};

/// Shards of the table of connections: event handlers ask it, turns do not.
const SHARDS: usize = 64;
/// Packets that a socket gets through in a turn: a slot of the scheduler.
const SLOT: usize = 16;
/// Sockets that have their turns together, if a slot drains each.
const TOGETHER: usize = 16;
/// Choices between two looks at the devices.
const ROUNDS: usize = 4;

/// Starts it.
pub(crate) fn start<D: Discipline + 'static, A: Application + 'static>(
    setup: Setup<A>,
    organization: &'static str,
    discipline: D,
) -> Result<Arc<dyn Running<A>>, StartError> {
    let (options, counted) = (setup.options.clone(), setup.instruments.is_some());
    let config = setup.config.clone();
    let engines = Engines::new(setup, organization, SHARDS)?;
    let shared = &engines.shared;
    let table = shared.groups[0].domain.with(|domain| domain.connections().table().clone());
    let base = Arc::new(Base {
        probe: QueueWatch::new(shared.instruments.as_ref(), || "receive queues".into()),
        sockets: Sockets::new(config, table),
        discipline: Locked::from_parts(DynLock::new(options.lock, counted), discipline),
        version: AtomicU64::new(0),
        in_flight: AtomicU64::new(0),
        engines: engines.clone(),
    });
    if let Some(instruments) = &shared.instruments {
        let weak = Arc::downgrade(&base);
        instruments
            .lock("scheduler", move || weak.upgrade().map(|base| base.discipline.lock().counts()));
    }
    let noting = base.clone();
    let note = move |call: &Call<A>| match call {
        Call::BindUdp(local, _) => noting.sockets.bind(*local),
        Call::UnbindUdp(local) => noting.sockets.unbind(*local),
        _ => {}
    };
    engines.start(|index| Turns::new(base.clone(), index), note)
}

/// What the engines share.
struct Base<D, A: Application> {
    engines: Arc<Engines<A>>,
    sockets: Sockets<A::Connection>,
    /// Taken once a batch by event handlers, and once a choice.
    discipline: Locked<DynLock, D>,
    /// How often sockets were put before it.
    version: AtomicU64,
    /// Turns that other engines give just now to sockets whose packets came by the
    /// first one's devices: what follows from them comes there, too.
    in_flight: AtomicU64,
    probe: QueueWatch,
}

/// One engine's demultiplexing, and the turns that it gives.
struct Turns<D, A: Application> {
    base: Arc<Base<D, A>>,
    index: usize,
    demultiplexer: Demultiplexer,
    /// Receive queues that packets of this batch went to.
    touched: Vec<Classified>,
    batch: Vec<Packet>,
    /// The sockets whose packets are in the batch, and those that have had their
    /// turns.
    parts: Vec<Part>,
    ran: Vec<Key>,
    precedence: Precedence,
    /// Sockets that the last choice has left waiting.
    left: usize,
    /// New connections wait for packets that are about to come.
    held_back: bool,
    /// What [`Base::version`] was before the discipline had nothing for us.
    seen: u64,
}

/// A socket's part of a batch.
struct Part {
    key: Key,
    held: Held,
    stamp: TraceStamp,
    /// Where it ends in the batch.
    end: usize,
}

impl<D: Discipline + 'static, A: Application + 'static> Work for Turns<D, A> {
    fn handle_events(&mut self, received: &mut Vec<Packet>, timer: &mut ThreadTimer) -> bool {
        !received.is_empty() && self.demultiplex(received, timer)
    }

    fn process(&mut self, now: Instant, egress: &mut Egress, timer: &mut ThreadTimer) -> bool {
        self.seen = self.base.version.load(Ordering::SeqCst);
        self.held_back = false;
        let mut any = false;
        if self.index == 0 && self.precedence.is_overdue(now.as_nanos()) {
            any |= self.serve_new(egress, timer);
        }
        let serves = self.serves();
        for _ in 0..ROUNDS {
            let new = self.choose(serves);
            if new || (self.parts.is_empty() && serves == Serves::All) {
                self.precedence.served();
            }
            if !self.bring_up(egress, timer) {
                self.held_back = serves == Serves::Pressing && self.left > 0;
                return any;
            }
            any = true;
            if new {
                // Others may have come meanwhile.
                break;
            }
        }
        self.put_back();
        any
    }

    fn has_news(&self) -> bool {
        self.base.version.load(Ordering::SeqCst) != self.seen
    }

    fn is_held_back(&self) -> bool {
        self.held_back
    }
}

impl<D: Discipline, A: Application> Turns<D, A> {
    fn new(base: Arc<Base<D, A>>, index: usize) -> Turns<D, A> {
        Turns {
            demultiplexer: Demultiplexer::new(&base.sockets),
            base,
            index,
            touched: Vec::new(),
            batch: Vec::new(),
            parts: Vec::new(),
            ran: Vec::new(),
            precedence: Precedence::new(),
            left: 0,
            held_back: false,
            seen: 0,
        }
    }

    /// Puts each packet into its receive queue, or drops it if that is full. Returns
    /// whether there were packets of new connections, which may have others behind them
    /// in the device.
    fn demultiplex(&mut self, received: &mut Vec<Packet>, timer: &mut ThreadTimer) -> bool {
        let Turns { base, demultiplexer, touched, .. } = self;
        let (mut lost, mut lost_bytes, mut first) = (0, 0, timer.stamp());
        let mut new = false;
        demultiplexer.forget();
        timer.handed(received.len() as u64);
        for frame in received.drain(..) {
            let sorted = demultiplexer.classify(&frame, &base.sockets);
            new |= sorted.class == Class::Wait;
            let queue = base.sockets.queues.get_or_grow(sorted.key);
            let stamp = base.probe.put(std::mem::take(&mut first), || queue.len() + 1);
            if let Err(frame) = queue.put(frame, stamp) {
                lost += 1;
                lost_bytes += frame.len() as u64;
            } else if touched.last() != Some(&sorted) {
                touched.push(sorted);
            }
        }
        if lost > 0 {
            base.engines.count_lost(lost, lost_bytes);
            base.probe.dropped(lost as usize);
        }
        for Classified { key, .. } in touched.iter().filter(|sorted| sorted.class == Class::Ready) {
            self.precedence.came();
            base.sockets.queues.get_or_grow(*key).came_by(self.index);
        }
        self.announce();
        new
    }

    /// Puts the sockets that packets have come for before the discipline, with
    /// the weights that they have now.
    fn announce(&mut self) {
        let Turns { base, touched, index, .. } = self;
        let others = touched.len() > 1;
        let first_only = touched.iter().any(|sorted| sorted.class != Class::Ready);
        base.discipline.with(|discipline| {
            for Classified { key, class } in touched.drain(..) {
                let queue = base.sockets.queues.get_or_grow(key);
                let weight = if D::WEIGHS { queue.weight(queue.len()) } else { 1 };
                discipline.enqueue(key, class, weight);
            }
        });
        base.version.fetch_add(1, Ordering::SeqCst);
        if first_only && *index != 0 {
            base.engines.wake(0);
        } else if others {
            base.engines.wake_one_but(*index);
        }
    }

    /// Puts back the sockets that have had their turns, and chooses others. A slot
    /// that drains its socket takes nothing from anyone, and those have theirs
    /// together; with one that has more, the choice is over, so that it competes
    /// for the next. New connections out of order have one slot together. Returns
    /// whether new connections are among them.
    fn choose(&mut self, serves: Serves) -> bool {
        let Turns { base, parts, ran, batch, left: still, .. } = self;
        let mut new = false;
        base.discipline.with(|discipline| {
            base.settle(discipline, ran);
            let used = |batch: &[Packet]| if serves == Serves::New { batch.len() } else { 0 };
            while parts.len() < TOGETHER
                && used(batch) < SLOT
                && let Some((key, class)) = discipline.choose(serves)
            {
                new |= class == Class::Wait;
                let queue = base.sockets.queues.get_or_grow(key);
                let (held, stamp, left) = queue.take(SLOT - used(batch), batch);
                parts.push(Part { key, held, stamp, end: batch.len() });
                if left > 0 {
                    break;
                }
            }
            *still = discipline.len();
        });
        new
    }

    /// Which classes have their turns until the next look at the devices.
    fn serves(&mut self) -> Serves {
        if self.index != 0 {
            return Serves::ReadyOnly;
        }
        if self.base.in_flight.load(Ordering::Relaxed) > 0 {
            self.precedence.came();
        }
        self.precedence.serves()
    }

    /// Gives new connections a turn out of order. Returns whether there are any.
    fn serve_new(&mut self, egress: &mut Egress, timer: &mut ThreadTimer) -> bool {
        let engines = self.base.engines.clone();
        let now = || engines.shared.clock.now().as_nanos();
        let from = now();
        self.choose(Serves::New);
        let any = self.bring_up(egress, timer);
        self.precedence.had_turn(from, now());
        any
    }

    fn put_back(&mut self) {
        let Turns { base, ran, .. } = self;
        base.discipline.with(|discipline| base.settle(discipline, ran));
    }

    /// Brings the packets of the chosen sockets through all layers. Returns whether
    /// any were chosen.
    fn bring_up(&mut self, egress: &mut Egress, timer: &mut ThreadTimer) -> bool {
        let Turns { base, batch, parts, ran, index, .. } = self;
        if parts.is_empty() {
            return false;
        }
        let in_flight = base.lend(*index, parts);
        base.probe.taken(batch.len());
        for part in parts.iter() {
            base.probe.left(part.stamp);
            timer.follow(part.stamp);
        }
        base.engines.shared.visit(*index, egress, timer, |domain, now, egress, timer| {
            let (mut frames, mut at) = (batch.drain(..), 0);
            for part in parts.iter() {
                domain.connections_mut().hold(part.held);
                let own = frames.by_ref().take(part.end - at);
                at = part.end;
                observed!(timer, observer => locked::input(domain, own, now, egress, observer));
                domain.end_batch(now);
            }
        });
        for part in parts.drain(..) {
            base.note(part.key, part.held);
            ran.push(part.key);
        }
        if in_flight > 0 {
            base.in_flight.fetch_sub(in_flight, Ordering::Relaxed);
        }
        true
    }
}

impl<D: Discipline, A: Application> Base<D, A> {
    /// Says of sockets that have had their turns whether they have packets left.
    fn settle(&self, discipline: &mut D, ran: &mut Vec<Key>) {
        for key in ran.drain(..) {
            let queue = self.sockets.queues.get_or_grow(key);
            let left = queue.len();
            if left == 0 {
                discipline.leave(key);
                continue;
            }
            if D::WEIGHS {
                discipline.reweigh(key, queue.weight(left));
            }
            discipline.requeue(key);
        }
    }

    /// How many of these sockets are the first engine's while another has them; they
    /// count as in flight until the turns are over.
    fn lend(&self, engine: usize, parts: &[Part]) -> u64 {
        if engine == 0 || !D::WEIGHS {
            return 0;
        }
        let of_first = |part: &&Part| self.sockets.queues.get_or_grow(part.key).comes_by_first();
        let in_flight = parts.iter().filter(of_first).count() as u64;
        if in_flight > 0 {
            self.in_flight.fetch_add(in_flight, Ordering::Relaxed);
        }
        in_flight
    }

    /// Notes what the turn of a connection has left.
    fn note(&self, key: Key, held: Held) {
        let Some((_, id)) = held else { return };
        let queue = self.sockets.queues.get_or_grow(key);
        let left = |c: &mut Connection<_>| {
            let buffers = if D::WEIGHS { pending(&c.tcb).buffers(&LARGEST) } else { 0 };
            (class_of(&c.tcb), buffers)
        };
        match self.sockets.table().with_id(id, left) {
            Some((class, buffers)) => queue.turned(class, buffers),
            None => queue.retire(),
        }
    }
}

/// The class of a connection.
fn class_of(tcb: &Tcb) -> Class {
    match tcb.state() {
        State::SynSent | State::SynReceived => Class::Wait,
        State::Closing | State::LastAck | State::TimeWait | State::Closed => Class::Control,
        _ => Class::Ready,
    }
}

/// What a connection has pending in its buffers.
fn pending(tcb: &Tcb) -> Pending {
    Pending {
        send_bytes: tcb.queued() as u64,
        receive_bytes: tcb.unread() as u64,
        segment: u64::from(tcb.mss()),
        max_send_bytes: tcb.send_buffer() as u64,
        max_receive_bytes: tcb.config().receive_buffer as u64,
        ..Pending::default()
    }
}
