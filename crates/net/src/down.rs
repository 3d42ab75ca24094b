//! ⑦ ⑧ The way down: from the transport layer through IP and link to the frames
//! that leave.

use crate::express::Pattern;
use crate::ip::{self, Ip};
use crate::link::{self, Link};
use crate::observe::{Layer, Observer};
use crate::way::Way;
use crate::{Counters, Egress, express};
use tcp::{Outgoing, Tcb, TransmitOffload};
use wire::{FlowKey, Instant, Packet, protocol};

/// What the transport layer sends by.
pub trait Below {
    /// Sends a packet down. Returns the interface that it leaves by, if the next
    /// ones may be made from its frame by [`Below::repeat`].
    fn send(&mut self, packet: Packet, counters: &mut Counters) -> Option<u16>;

    /// Sends another frame by `interface` that `make` makes from the last.
    fn repeat(
        &mut self,
        interface: u16,
        make: impl FnOnce(&Packet) -> Packet,
        counters: &mut Counters,
    );

    /// Sends a segment of a flow past the layers, with a time to live and a type of
    /// service, if they would do nothing with it that is not known. It is empty then, and
    /// the interface that it leaves by comes back, with the sum of its pseudo-header and
    /// header without the sequence number, not folded.
    #[inline(always)]
    fn express(
        &mut self,
        flow: &FlowKey,
        service: (u8, u8),
        segment: &mut Outgoing,
        counters: &mut Counters,
    ) -> Option<(u16, u64)> {
        let _ = (flow, service, segment, counters);
        None
    }

    /// Sends the next segment of `tcb` of this flow past the layers, if TCP and they say it
    /// the short way. The `way` that the flow took last is looked at first. It is as if [`Tcb::poll_transmit`] had returned it and
    /// [`Below::express`] had sent it.
    #[inline(always)]
    fn plain(
        &mut self,
        (flow, way): (&FlowKey, &mut Way),
        service: (u8, u8),
        (tcb, offload): (&mut Tcb, TransmitOffload),
        counters: &mut Counters,
    ) -> Option<Sent> {
        let _ = (flow, way, service, tcb, offload, counters);
        None
    }

    /// The same of a segment without data, behind which none follows that is made like it. Returns
    /// whether one was sent.
    #[inline(always)]
    fn bare(
        &mut self,
        (flow, way): (&FlowKey, &mut Way),
        service: (u8, u8),
        tcb: &mut Tcb,
        counters: &mut Counters,
    ) -> bool {
        let _ = (flow, way, service, tcb, counters);
        false
    }

    /// What was done since the last mark was done in `layer`.
    #[inline(always)]
    fn mark(&mut self, layer: Layer) {
        let _ = layer;
    }

    /// How many frames connections may send by an interface now.
    #[inline]
    fn room_by(&self, interface: usize) -> usize {
        let _ = interface;
        usize::MAX
    }
}

/// A segment that was sent by [`Below::plain`].
pub struct Sent {
    /// The interface that it leaves by, and the sum as [`Below::express`] returns it.
    pub(crate) by: (u16, u64),
    /// What others that follow it may be made like.
    pub(crate) pattern: Pattern,
}

opaque_debug!([] Sent, "Sent");

/// The layers below the transport, while it sends.
pub struct Down<'a, O = ()> {
    pub(crate) ip: &'a mut Ip,
    pub(crate) link: &'a mut Link,
    pub(crate) egress: &'a mut Egress,
    pub(crate) now: Instant,
    pub(crate) observer: O,
}

opaque_debug!([O] Down<'_, O>, "Down");

impl<O: Observer> Below for Down<'_, O> {
    #[inline]
    fn room_by(&self, interface: usize) -> usize {
        self.egress.room_by(interface)
    }

    /// The frame can be repeated if it is a segment and the last frame there now:
    /// not if it waits for a neighbour's address.
    #[inline]
    fn send(&mut self, packet: Packet, counters: &mut Counters) -> Option<u16> {
        let Down { ip, link, egress, now, observer } = self;
        observer.mark(Layer::Transport);
        let (before, mut interface) = (counters.packets_out, 0);
        let sent = ip::output(packet, ip, &mut |datagram| {
            interface = datagram.meta().interface;
            observer.mark(Layer::Ip);
            link::output(datagram, link, *now, counters, egress);
            observer.mark(Layer::Link);
        });
        if sent.is_err() {
            counters.out_dropped += 1;
        }
        // A request for the neighbour's address would be a frame, too.
        let last = self.egress.batch(interface.into()).back();
        let last = last.filter(|frame| frame.meta().protocol == protocol::TCP)?;
        if counters.packets_out != before + 1 {
            return None;
        }
        if self.link.config.express && !self.link.departures.knows(last.meta(), *now) {
            learn(self.ip, self.link, last);
        }
        Some(interface)
    }

    #[inline(always)]
    fn express(
        &mut self,
        flow: &FlowKey,
        service: (u8, u8),
        segment: &mut Outgoing,
        counters: &mut Counters,
    ) -> Option<(u16, u64)> {
        let departures = &mut self.link.departures;
        let frame = match express::is_plain(&segment.header) {
            true => departures.frame((flow, service), segment, self.ip, self.now)?,
            false => departures.unusual((flow, service), segment, self.ip, self.now)?,
        };
        Some(leave(frame, self.egress, counters))
    }

    #[inline(always)]
    fn plain(
        &mut self,
        flow: (&FlowKey, &mut Way),
        service: (u8, u8),
        tcb: (&mut Tcb, TransmitOffload),
        counters: &mut Counters,
    ) -> Option<Sent> {
        let departures = &mut self.link.departures;
        let (frame, pattern) = departures.plain(flow, service, tcb, (self.ip, self.now))?;
        Some(Sent { by: leave(frame, self.egress, counters), pattern })
    }

    #[inline(always)]
    fn bare(
        &mut self,
        flow: (&FlowKey, &mut Way),
        service: (u8, u8),
        tcb: &mut Tcb,
        counters: &mut Counters,
    ) -> bool {
        let departures = &mut self.link.departures;
        let frame = departures.bare(flow, service, tcb, (self.ip, self.now));
        frame.map(|frame| leave(frame, self.egress, counters)).is_some()
    }

    #[inline]
    fn repeat(
        &mut self,
        interface: u16,
        make: impl FnOnce(&Packet) -> Packet,
        counters: &mut Counters,
    ) {
        let batch = self.egress.batch(interface.into());
        let Some(frame) = batch.back().map(make) else { return };
        counters.packets_out += 1;
        counters.bytes_out += frame.len() as u64;
        batch.push_back(frame);
    }

    #[inline(always)]
    fn mark(&mut self, layer: Layer) {
        self.observer.mark(layer);
    }
}

/// The frame leaves. Returns its interface, and the sum that others are made with.
#[inline(always)]
fn leave(frame: express::Frame, egress: &mut Egress, counters: &mut Counters) -> (u16, u64) {
    let express::Frame { packet, base, len, interface } = frame;
    counters.packets_out += 1;
    counters.bytes_out += len as u64;
    egress.push_to(interface, packet);
    (interface, base)
}

/// Remembers how `frame` was sent, for the next ones to the same host.
#[cold]
fn learn(ip: &mut Ip, link: &mut Link, frame: &Packet) {
    let meta = frame.meta();
    let Some(until) = link.good_until(meta.next_hop, meta.interface) else { return };
    let Some(route) = ip.routes.lookup_from(meta.source, meta.destination) else { return };
    let partial = ip.config.interfaces[usize::from(meta.interface)].transmit_checksum;
    link.departures.learn(frame, (until, route.mtu), partial);
}
