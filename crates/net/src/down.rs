//! ⑦ ⑧ The way down: from the transport layer through IP and link to the frames
//! that leave.

use crate::ip::{self, Ip};
use crate::link::{self, Link};
use crate::observe::{Layer, Observer};
use crate::{Counters, Egress};
use wire::{Instant, Packet, protocol};

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

    /// What was done since the last mark was done in `layer`.
    #[inline(always)]
    fn mark(&mut self, layer: Layer) {
        let _ = layer;
    }
}

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
        let is_tcp = last.is_some_and(|frame| frame.meta().protocol == protocol::TCP);
        (counters.packets_out == before + 1 && is_tcp).then_some(interface)
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
