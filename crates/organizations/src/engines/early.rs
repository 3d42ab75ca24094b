//! Engines with receive queues: an engine's event handler demultiplexes what the
//! devices give into receive queues; then sockets have their turns, in the order
//! that a [`Discipline`] says. The socket whose turn it is, is reached without
//! the table, and no other engine has it meanwhile.

use super::demultiplexer::{Demultiplexer, Sockets, Sorted};
use super::engine::{Engines, Work};
use super::receive_queue::{CAPACITY, Held};
use super::scheduler::weights::Pending;
use super::scheduler::{Class, Discipline, Key, Serves};
use crate::instrument::{QueueWatch, Stamp, Watch};
use crate::{Running, Setup, StartError, locked};
use net::{Application, Call, Connection, Egress};
use std::sync::Arc;
use sync::system::atomic::{AtomicU64, Ordering};
use sync::{Locked, Named, RawLock};
use tcp::State;
use wire::Packet;

/// Shards of the table of connections: event handlers ask it, turns do not.
const SHARDS: usize = 64;
/// Packets that a socket gets through in a turn: a slot of the scheduler.
const SLOT: usize = 16;
/// Sockets that have their turns together, if a slot drains each.
const TOGETHER: usize = 16;
/// Rounds that new connections wait for established ones, at most.
const POSTPONED: u32 = 64;
/// Choices between two looks at the devices.
const ROUNDS: usize = 4;

/// Starts it.
pub(crate) fn start<D: Discipline + 'static, A: Application + 'static>(
    setup: Setup<A>,
    organization: &'static str,
    discipline: D,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let (options, counted) = (setup.options.clone(), setup.instruments.is_some());
    let config = setup.config.clone();
    let engines = Engines::new(setup, organization, SHARDS)?;
    let shared = &engines.shared;
    let table = shared.groups[0].domain.with(|domain| domain.connections().table().clone());
    let base = Arc::new(Base {
        watch: QueueWatch::of(shared.instruments.as_ref(), || "receive queues".into()),
        sockets: Sockets::new(config, table),
        discipline: Locked::of(Named::new(options.lock, counted), discipline),
        version: AtomicU64::new(0),
        engines: engines.clone(),
    });
    if let Some(instruments) = &shared.instruments {
        let weak = Arc::downgrade(&base);
        instruments.lock("scheduler", move || {
            weak.upgrade().map(|base| base.discipline.lock().counts()).unwrap_or_default()
        });
    }
    let noting = base.clone();
    let note = move |call: &Call<A>| match call {
        Call::BindUdp(local, _) => noting.sockets.bind(*local),
        Call::UnbindUdp(local) => noting.sockets.unbind(*local),
        _ => {}
    };
    engines.start(options.pin, |index| Turns::new(base.clone(), index), note)
}

/// What the engines share.
struct Base<D, A: Application> {
    engines: Arc<Engines<A>>,
    sockets: Sockets<A::Connection>,
    /// Taken once a batch by event handlers, and once a choice.
    discipline: Locked<Named, D>,
    /// How often sockets were put before it.
    version: AtomicU64,
    watch: QueueWatch,
}

/// One engine's demultiplexing, and the turns that it gives.
struct Turns<D, A: Application> {
    base: Arc<Base<D, A>>,
    index: usize,
    demultiplexer: Demultiplexer,
    /// Receive queues that packets of this batch went to.
    touched: Vec<Sorted>,
    batch: Vec<Packet>,
    /// The sockets whose packets are in the batch, and those that have had their
    /// turns.
    parts: Vec<Part>,
    ran: Vec<Key>,
    serves: Serves,
    /// Rounds in which new connections had to wait, in a row.
    postponed: u32,
    /// What [`Base::version`] was before the discipline had nothing for us.
    seen: u64,
}

/// A socket's part of a batch.
struct Part {
    key: Key,
    held: Held,
    stamp: Stamp,
    /// Where it ends in the batch.
    end: usize,
}

impl<D: Discipline + 'static, A: Application + 'static> Work for Turns<D, A>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    fn handle_events(&mut self, received: &mut Vec<Packet>, watch: &mut Watch) {
        let pressing = !received.is_empty() && self.demultiplex(received, watch);
        self.postpone(pressing);
    }

    fn process(&mut self, egress: &mut Egress, watch: &mut Watch) -> bool {
        self.seen = self.base.version.load(Ordering::SeqCst);
        let mut any = false;
        for _ in 0..ROUNDS {
            self.choose();
            if self.parts.is_empty() {
                return any;
            }
            any = true;
            self.bring_up(egress, watch);
        }
        self.put_back();
        any
    }

    fn has_news(&self) -> bool {
        self.base.version.load(Ordering::SeqCst) != self.seen
    }
}

impl<D: Discipline, A: Application> Turns<D, A> {
    fn new(base: Arc<Base<D, A>>, index: usize) -> Turns<D, A> {
        Turns {
            base,
            index,
            demultiplexer: Demultiplexer::new(),
            touched: Vec::new(),
            batch: Vec::new(),
            parts: Vec::new(),
            ran: Vec::new(),
            serves: Serves::All,
            postponed: 0,
            seen: 0,
        }
    }

    /// Packets of established sockets that are still in the devices come before
    /// new connections, too: these wait until a look at the devices has shown
    /// none, but not for ever.
    fn postpone(&mut self, pressing: bool) {
        let wait = pressing && self.postponed < POSTPONED;
        self.postponed = if wait { self.postponed + 1 } else { 0 };
        self.serves = match (self.index, wait) {
            (0, true) => Serves::Pressing,
            (0, false) => Serves::All,
            _ => Serves::ReadyOnly,
        };
    }

    /// Puts each packet into its receive queue. Returns whether there was one for
    /// an established socket.
    fn demultiplex(&mut self, received: &mut Vec<Packet>, watch: &mut Watch) -> bool {
        let Turns { base, demultiplexer, touched, .. } = self;
        let (mut lost, mut lost_bytes, mut first) = (0, 0, watch.stamp());
        demultiplexer.forget();
        watch.handed(received.len() as u64);
        for frame in received.drain(..) {
            let sorted = demultiplexer.sort(&frame, &base.sockets);
            let queue = base.sockets.queues.grown(sorted.key);
            let stamp = base.watch.put(std::mem::take(&mut first), || queue.len() + 1);
            if let Err(frame) = queue.put(frame, stamp) {
                lost += 1;
                lost_bytes += frame.len() as u64;
            } else if touched.last() != Some(&sorted) {
                touched.push(sorted);
            }
        }
        if lost > 0 {
            base.engines.count_lost(lost, lost_bytes);
            base.watch.dropped(lost as usize);
        }
        let pressing = touched.iter().any(|sorted| sorted.class == Class::Ready);
        self.announce();
        pressing
    }

    /// Puts the sockets that packets have come for before the discipline, with
    /// the weights that they have now.
    fn announce(&mut self) {
        let Turns { base, touched, index, .. } = self;
        let others = touched.len() > 1;
        let first_only = touched.iter().any(|sorted| sorted.class != Class::Ready);
        base.discipline.with(|discipline| {
            for Sorted { key, class } in touched.drain(..) {
                let weight = if D::WEIGHS { base.sockets.queues.grown(key).weight() } else { 1 };
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
    /// for the next.
    fn choose(&mut self) {
        let Turns { base, parts, ran, batch, serves, .. } = self;
        base.discipline.with(|discipline| {
            base.settle(discipline, ran);
            while parts.len() < TOGETHER
                && let Some((key, _)) = discipline.choose(*serves)
            {
                let queue = base.sockets.queues.grown(key);
                let (held, stamp) = queue.take(SLOT, batch);
                parts.push(Part { key, held, stamp, end: batch.len() });
                if queue.len() > 0 {
                    break;
                }
            }
        });
    }

    fn put_back(&mut self) {
        let Turns { base, ran, .. } = self;
        base.discipline.with(|discipline| base.settle(discipline, ran));
    }

    /// Brings the packets of the chosen sockets through all layers.
    fn bring_up(&mut self, egress: &mut Egress, watch: &mut Watch) {
        let Turns { base, batch, parts, ran, index, .. } = self;
        base.watch.taken(batch.len());
        for part in parts.iter() {
            base.watch.left(part.stamp);
            watch.follow(part.stamp);
        }
        base.engines.shared.visit(*index, egress, watch, |domain, now, egress, watch| {
            let (mut frames, mut at) = (batch.drain(..), 0);
            for part in parts.iter() {
                domain.connections_mut().hold(part.held);
                let own = frames.by_ref().take(part.end - at);
                at = part.end;
                match watch.observer() {
                    Some(observer) => locked::input(domain, own, now, egress, observer),
                    None => locked::input(domain, own, now, egress, &mut ()),
                }
                domain.end_batch(now);
            }
        });
        for part in parts.drain(..) {
            base.note(part.key, part.held);
            ran.push(part.key);
        }
    }
}

impl<D: Discipline, A: Application> Base<D, A> {
    /// Says of sockets that have had their turns whether they have packets left.
    fn settle(&self, discipline: &mut D, ran: &mut Vec<Key>) {
        for key in ran.drain(..) {
            let queue = self.sockets.queues.grown(key);
            if D::WEIGHS {
                discipline.reweigh(key, queue.weight());
            }
            if queue.len() > 0 { discipline.requeue(key) } else { discipline.leave(key) }
        }
    }

    /// Notes what the turn of a connection has left.
    fn note(&self, key: Key, held: Held) {
        let Some((_, id)) = held else { return };
        let queue = self.sockets.queues.grown(key);
        match self.sockets.table().with_id(id, |c| state_of(c)) {
            Some((class, pending)) => queue.turned(class, pending),
            None => queue.retire(),
        }
    }
}

/// The class of a connection, and what it has pending.
fn state_of<U>(connection: &Connection<U>) -> (Class, Pending) {
    let tcb = &connection.tcb;
    let class = match tcb.state() {
        State::SynSent | State::SynReceived => Class::Wait,
        State::Closing | State::LastAck | State::TimeWait | State::Closed => Class::Control,
        _ => Class::Ready,
    };
    let pending = Pending {
        send_bytes: tcb.queued() as u64,
        receive_bytes: tcb.unread() as u64,
        packets: 0,
        segment: u64::from(tcb.mss()),
        max_send_bytes: tcb.send_buffer() as u64,
        max_receive_bytes: tcb.config().receive_buffer as u64,
        max_packets: CAPACITY as u64,
    };
    (class, pending)
}
