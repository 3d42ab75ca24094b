//! The ways past the layers: of plain segments, and of others in frames that are as usual.

use super::Domain;
use crate::application::Application;
use crate::connections::Connections;
use crate::express::Look;
use crate::transport::Cx;
use wire::{Instant, Packet, Parts, Slice};

impl<A: Application, C: Connections<A::Connection>> Domain<A, C> {
    /// Takes a segment that is not plain, if nothing else is unusual about the frame: TCP sees
    /// it as the layers would have brought it up. Returns the frame if not.
    #[inline]
    pub(super) fn past_ip(&mut self, frame: Packet, now: Instant) -> Option<Packet> {
        if !self.ip.config.express {
            return Some(frame);
        }
        if !self.transport.config.fast_open.is_on() && self.plain.read_syn(&Look::at(&frame)) {
            self.counters.packets_in += 1;
            self.counters.bytes_in += frame.len() as u64;
            drop(frame);
            self.bare(now);
            self.plain.forget_syn();
            return None;
        }
        match self.plain.segment_of(frame) {
            Ok(segment) => {
                self.counters.packets_in += 1;
                self.counters.bytes_in += self.plain.bytes as u64;
                self.segment(segment, now);
                None
            }
            Err(frame) => Some(frame),
        }
    }

    /// Takes a frame past the layers, if it is as nearly all are. Returns it if not.
    #[inline(always)]
    pub(super) fn express(&mut self, frame: Packet, now: Instant) -> Option<Packet> {
        let Domain { link, ip, plain, .. } = self;
        if !ip.config.express {
            return Some(frame);
        }
        let look = Look::at(&frame);
        let interface = link.interface(frame.meta().interface);
        if plain.read(&look, interface, ip).is_none() {
            return Some(frame);
        }
        // Data in one piece behind the headers, as nearly all is.
        let data = look.payload(plain.len);
        if self.app.has_posted() && self.post(&frame, now) {
            return None;
        }
        let Domain { transport, conns, app, counters, plain, .. } = self;
        if let Some(part) = data {
            if !plain.is_right_with(part) {
                return Some(frame);
            }
            counters.packets_in += 1;
            counters.bytes_in += plain.bytes as u64;
            match frame.into_part() {
                Ok(part) => {
                    if let Some(part) = transport.coalesce_next(&plain.segment, part) {
                        self.data(part, now);
                    }
                }
                Err(parts) => {
                    let mut cx = Cx { conns, app, counters, now };
                    plain.segment.input(parts, transport, &mut cx);
                }
            }
            return None;
        }
        if !plain.is_right(&frame) {
            return Some(frame);
        }
        counters.packets_in += 1;
        counters.bytes_in += plain.bytes as u64;
        if plain.bytes == plain.len {
            drop(frame);
            self.bare(now);
            return None;
        }
        let mut cx = Cx { conns, app, counters, now };
        plain.segment.input(frame.into_payload(plain.len), transport, &mut cx);
        None
    }

    /// Hands the plain segment that was read last, which has no data, to its connection.
    #[inline(never)]
    fn bare(&mut self, now: Instant) {
        let Domain { transport, conns, app, counters, plain, .. } = self;
        if transport.is_apart(0) {
            let mut cx = Cx { conns, app, counters, now };
            return plain.segment.input_apart(Parts::new(), transport, &mut cx);
        }
        match plain.segment.input_bare(transport, conns, now) {
            Some(true) => counters.delivered += 1,
            Some(false) => {}
            None => self.stray(0, now),
        }
    }

    /// Hands the data of the plain segment that was read last to its connection.
    #[inline(never)]
    fn data(&mut self, payload: Slice, now: Instant) {
        let len = payload.len();
        if self.transport.is_apart(len) {
            let Domain { transport, conns, app, counters, plain, .. } = self;
            let mut cx = Cx { conns, app, counters, now };
            return plain.segment.input_apart(Parts::from_buf([payload]), transport, &mut cx);
        }
        let Domain { transport, conns, counters, plain, .. } = self;
        match plain.segment.input_data(payload, transport, conns, now) {
            Some(()) => counters.delivered += 1,
            None => self.stray(len, now),
        }
    }

    /// The data was for no connection that is there.
    #[cold]
    fn stray(&mut self, len: usize, now: Instant) {
        let Domain { transport, conns, app, counters, plain, .. } = self;
        plain.segment.input_stray(len, transport, &mut Cx { conns, app, counters, now });
    }

    /// Takes the data of the plain segment that was read last to where its application waits
    /// for it, if it does.
    #[inline]
    fn post(&mut self, frame: &Packet, now: Instant) -> bool {
        let Domain { transport, conns, app, counters, plain, .. } = self;
        let Some(payload) = plain.payload(frame) else { return false };
        if !transport.post(plain, payload, &mut Cx { conns, app, counters, now }) {
            return false;
        }
        counters.packets_in += 1;
        counters.bytes_in += plain.bytes as u64;
        true
    }
}
