//! How fast data is delivered (draft-ietf-ccwg-bbr 4.1): what the sender knew when
//! it sent a segment, compared with what it knows when the segment is acknowledged.

use wire::Instant;

/// What the sender knew when it sent a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// P.delivered: what had been delivered by then, modulo 2^32 bytes.
    pub delivered: u32,
    /// P.delivered_time: when that was known.
    pub delivered_at: Instant,
    /// P.first_send_time: the beginning of the time in which this flight was sent.
    pub first_sent: Instant,
    /// P.is_app_limited: the application had left room in the network unused.
    pub app_limited: bool,
    /// P.tx_in_flight: bytes in the network, the segment's own included.
    pub in_flight: u32,
    /// P.lost: what had been found lost by then, modulo 2^32 bytes.
    pub lost: u32,
}

/// The most recently sent segment of those that an acknowledgment brings news of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    /// When it was sent last.
    pub sent: Instant,
    /// The sequence number behind it.
    pub end: wire::Seq,
    /// It was sent more than once.
    pub again: bool,
    /// What was known then.
    pub then: Snapshot,
}

/// A measurement: `delivered` bytes in `interval`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Bytes delivered.
    pub delivered: u32,
    /// In how many microseconds; 0: nothing was measured.
    pub micros: u32,
    /// The application was the limit, so the network may do more.
    pub app_limited: bool,
}

/// What an acknowledgment has measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// A round trip is over.
    pub round: bool,
    /// In how many microseconds that was delivered which had not been when the newest
    /// segment was sent; 0: nothing was measured.
    pub micros: u32,
}

/// The state of the connection (C. of the draft).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// C.delivered_time
    delivered_at: Instant,
    /// C.first_send_time
    first_sent: Instant,
    /// C.app_limited: until so much is delivered, samples are limited by the
    /// application.
    limited_until: u32,
    /// Is `limited_until` set?
    limited: bool,
    /// A round trip is over when this is acknowledged: C.delivered as it was when
    /// the one before was over.
    round_end: u32,
    /// The last measurement.
    pub last: Measured,
}

impl Rate {
    pub(crate) fn new(now: Instant) -> Rate {
        Rate {
            delivered_at: now,
            first_sent: now,
            limited_until: 0,
            limited: false,
            round_end: 0,
            last: Measured::default(),
        }
    }

    /// A segment is sent while `idle`: nothing else is in flight. With it `in_flight`
    /// bytes are in the network, and `lost` have been found lost so far.
    #[inline]
    pub(crate) fn on_send(
        &mut self,
        idle: bool,
        delivered: u64,
        (in_flight, lost): (u32, u32),
        now: Instant,
    ) -> Snapshot {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: delivered as u32,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.limited,
            in_flight,
            lost,
        }
    }

    /// Is what is sent now limited by the application?
    pub(crate) fn is_app_limited(&self) -> bool {
        self.limited
    }

    /// The application has nothing to send, and `in_flight` bytes do not fill the
    /// window.
    #[inline]
    pub(crate) fn on_app_limited(&mut self, delivered: u64, in_flight: u32) {
        self.limited = true;
        self.limited_until = (delivered as u32).wrapping_add(in_flight);
    }

    /// An acknowledgment has brought news, `newest` above all; `delivered` counts it
    /// already. `least` is the least round-trip time known, in microseconds: nothing
    /// is delivered in less.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        newest: &Newest,
        delivered: u64,
        least: u32,
        now: Instant,
    ) -> Taken {
        self.delivered_at = now;
        self.first_sent = newest.sent;
        let total = delivered as u32;
        if self.limited && (total.wrapping_sub(self.limited_until) as i32) > 0 {
            self.limited = false;
        }
        let sending = newest.sent.micros_since(newest.then.first_sent);
        let acking = now.micros_since(newest.then.delivered_at);
        let mut micros = sending.max(acking).min(u32::MAX.into()) as u32;
        // A shorter interval is an artefact of acknowledgments that came in a batch.
        if micros < least {
            micros = 0;
        }
        if micros > 0 {
            self.last = Measured {
                delivered: total.wrapping_sub(newest.then.delivered),
                micros,
                app_limited: newest.then.app_limited,
            };
        }
        let over = (newest.then.delivered.wrapping_sub(self.round_end) as i32) >= 0;
        if over {
            self.round_end = total;
        }
        Taken { round: over, micros }
    }
}

#[cfg(test)]
mod tests;
