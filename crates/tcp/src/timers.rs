//! When a connection wants to be woken.

use wire::Instant;

/// What the retransmission slot stands for; RFC 9293 never runs both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retransmit {
    /// Off.
    Off,
    /// The retransmission time-out (RFC 6298 5).
    Rto,
    /// The persist time-out (RFC 9293 3.8.6.1).
    Persist,
}

/// What the slot before the retransmission time-out stands for; RFC 8985 8 never runs
/// both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// RFC 8985 8/1
pub(crate) enum Early {
    /// Off.
    Off,
    /// A tail loss probe (RFC 8985 7).
    Tail,
    /// Reordering has had its time (RFC 8985 6.3).
    Reorder,
}

/// The timers of a connection; [`Instant::FAR_FUTURE`] is one that is off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// See `kind`.
    pub retransmit: Instant,
    /// See `early_kind`. It may be too early.
    pub early: Instant,
    /// The delayed acknowledgment.
    pub delayed_ack: Instant,
    /// The next look at how long nothing has arrived.
    pub keepalive: Instant,
    /// The end of TIME-WAIT, of FIN-WAIT-2 without an application, or of an orphan
    /// that does not get on.
    pub linger: Instant,
    /// What `retransmit` stands for.
    pub kind: Retransmit,
    /// What `early` stands for.
    pub early_kind: Early,
}

impl Timers {
    /// All off.
    pub(crate) const OFF: Timers = Timers {
        retransmit: Instant::FAR_FUTURE,
        early: Instant::FAR_FUTURE,
        delayed_ack: Instant::FAR_FUTURE,
        keepalive: Instant::FAR_FUTURE,
        linger: Instant::FAR_FUTURE,
        kind: Retransmit::Off,
        early_kind: Early::Off,
    };

    /// The earliest that is on.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        let earliest = self.retransmit.min(self.delayed_ack).min(self.keepalive).min(self.linger);
        let earliest = earliest.min(self.early);
        (earliest != Instant::FAR_FUTURE).then_some(earliest)
    }

    /// Is one of them on that is earlier than `at`?
    #[inline(always)]
    pub(crate) fn any_before(&self, at: Instant) -> bool {
        self.retransmit < at
            || self.delayed_ack < at
            || self.early < at
            || self.keepalive < at
            || self.linger < at
    }

    /// Is none of them on but that of a peer that says nothing?
    pub(crate) fn is_silent(&self) -> bool {
        let others = Timers { keepalive: Instant::FAR_FUTURE, ..*self };
        others.next().is_none()
    }

    #[inline]
    pub(crate) fn set_retransmit(&mut self, kind: Retransmit, at: Instant) {
        self.kind = kind;
        self.retransmit = at;
    }

    /// Nothing is in flight, or a closed window may be open again.
    #[inline]
    pub(crate) fn stop_retransmit(&mut self) {
        self.kind = Retransmit::Off;
        self.retransmit = Instant::FAR_FUTURE;
        self.stop_early();
    }

    #[inline]
    pub(crate) fn stop_early(&mut self) {
        self.early_kind = Early::Off;
        self.early = Instant::FAR_FUTURE;
    }

    /// Is the early timer that of a tail loss probe?
    #[inline]
    pub(crate) fn is_tail(&self) -> bool {
        self.early_kind == Early::Tail
    }

    /// Is it given time to something that may be late?
    #[inline]
    pub(crate) fn is_reorder(&self) -> bool {
        self.early_kind == Early::Reorder
    }

    pub(crate) fn set_tail(&mut self, at: Instant) {
        self.early_kind = Early::Tail;
        self.early = at;
    }

    pub(crate) fn set_reorder(&mut self, at: Instant) {
        self.early_kind = Early::Reorder;
        self.early = at;
    }
}
