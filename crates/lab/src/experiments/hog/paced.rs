//! Clients that send messages at a steady rate over TCP, whatever has become of
//! the last ones, and note how long each took to come back.

use super::sent::Sent;
use instrument::Histogram;
use net::application::ConnectError;
use net::{Application, ConnId, Datagram};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tcp::{Events, Tcb};
use wire::{FlowKey, Instant};

/// Bytes of a message.
const MESSAGE: [u8; 64] = [b'm'; 64];
/// Messages of a connection that may be on their way; beyond, none is sent.
const OUTSTANDING: usize = 256;

/// One connection.
#[derive(Default)]
struct ClientConn {
    id: Option<ConnId>,
    /// Messages that are due.
    due: usize,
    /// When those that are on their way were sent, ns.
    sent: VecDeque<u64>,
    /// Bytes of the next echo that are there.
    came: usize,
}

/// The clients: the application of the generator's own domain.
pub(super) struct Clients {
    connections: Vec<ClientConn>,
    counts: Arc<Sent>,
    latency: Arc<Histogram>,
}

impl Clients {
    pub(super) fn new(count: usize, counts: Arc<Sent>, latency: Arc<Histogram>) -> Clients {
        Clients {
            connections: (0..count).map(|_| ClientConn::default()).collect(),
            counts,
            latency,
        }
    }

    /// A message of connection `index` is due. Its name, if it has one.
    pub(super) fn tick(&mut self, index: usize) -> Option<ConnId> {
        let conn = self.connections.get_mut(index)?;
        conn.due += 1;
        conn.id
    }
}

impl ClientConn {
    fn write(&mut self, tcb: &mut Tcb, now: Instant, counts: &Sent) {
        for _ in 0..std::mem::take(&mut self.due) {
            let room = tcb.send_room() >= MESSAGE.len() && self.sent.len() < OUTSTANDING;
            counts.good.fetch_add(1, Ordering::Relaxed);
            if room && tcb.send(&MESSAGE).is_ok() {
                self.sent.push_back(now.as_nanos());
            } else {
                counts.good_lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn read(&mut self, tcb: &mut Tcb, now: Instant, latency: &Histogram) {
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            self.came += slice.len();
        }
        while self.came >= MESSAGE.len()
            && let Some(sent) = self.sent.pop_front()
        {
            self.came -= MESSAGE.len();
            latency.record_alone(now.as_nanos().saturating_sub(sent));
        }
    }
}

impl Application for Clients {
    type Connection = usize;
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<usize> {
        None
    }

    fn opened(&mut self, index: &mut usize, id: ConnId, _: &FlowKey) {
        if let Some(conn) = self.connections.get_mut(*index) {
            conn.id = Some(id);
        }
    }

    fn connect_failed(&mut self, _: usize, _: ConnectError) {
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
    }

    fn ready(&mut self, index: &mut usize, tcb: &mut Tcb, events: Events, now: Instant) -> bool {
        if events.has(Events::CONNECTED) {
            tcb.set_nagle(false);
            self.counts.connected.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(conn) = self.connections.get_mut(*index) {
            conn.read(tcb, now, &self.latency);
            if tcb.is_synchronized() {
                conn.write(tcb, now, &self.counts);
            }
        }
        false
    }

    fn closed(&mut self, index: usize, _: &mut Tcb) {
        if let Some(conn) = self.connections.get_mut(index) {
            conn.id = None;
        }
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
    }

    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        true
    }
}
