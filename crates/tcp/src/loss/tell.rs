//! What the congestion control is told: each acknowledgment that brings news, and, if it
//! makes a model of the path, all that is sent and lost.

use crate::Tcb;
use crate::congestion::{Lost, Path, Sample, Sent};
use crate::recovery::{News, Phase, Piece, Taken};
use wire::Instant;

/// What an acknowledgment says to the congestion control, as in [`Sample`].
pub(super) struct Growth<'a> {
    pub delivered: u32,
    pub lost: u32,
    pub grow: bool,
    pub taken: Taken,
    pub rtt: Option<u32>,
    pub news: &'a News,
}

impl Tcb {
    /// Tells the congestion control of an acknowledgment that brings news.
    #[inline(always)]
    pub(super) fn grow(&mut self, growth: Growth<'_>, now: Instant) {
        let path = if self.congestion.models() { Some(self.path(&growth)) } else { None };
        let Growth { delivered, lost, grow, taken, rtt, news } = growth;
        let marked = self.marked_of(news.delivered, now);
        let (limited, mss) = (self.is_window_limited(), self.mss());
        let (round, srtt, rate) = (taken.round, self.rtt.srtt, self.rate.last.into());
        self.congestion.on_ack(|| Sample {
            delivered,
            lost,
            marked,
            grow,
            limited,
            round,
            rtt,
            srtt,
            rate,
            mss,
            path,
            now,
        });
        if path.is_some() && self.congestion.drains() {
            self.rate.on_app_limited(self.delivered, self.pipe());
        }
    }

    /// As [`Tcb::grow`], for an acknowledgment of `delivered` bytes that brings nothing but
    /// that and a measurement.
    #[inline(always)]
    pub(super) fn grow_plain(&mut self, delivered: u32, taken: &Taken, rtt: u32, now: Instant) {
        let (limited, mss) = (self.is_window_limited(), self.mss());
        let (round, srtt, rate) = (taken.round, self.rtt.srtt, self.rate.last.into());
        self.congestion.on_ack(|| Sample {
            delivered,
            lost: 0,
            marked: 0,
            grow: true,
            limited,
            round,
            rtt: Some(rtt),
            srtt,
            rate,
            mss,
            path: None,
            now,
        });
    }

    /// The rate sample of an acknowledgment.
    #[cold]
    fn path(&self, growth: &Growth<'_>) -> Path {
        let then = growth.news.newest.as_ref().map(|newest| newest.then);
        let delivered = self.delivered;
        Path {
            delivered,
            span: then.map_or(0, |then| (delivered as u32).wrapping_sub(then.delivered)),
            micros: growth.taken.micros,
            app_limited: then.is_some_and(|then| then.app_limited),
            sent_in_flight: then.map_or(0, |then| then.in_flight),
            lost_since: then.map_or(0, |then| self.board.lost_ever.wrapping_sub(then.lost)),
            in_flight: self.pipe(),
            cwnd_limited: self.snd.cwnd_limited,
            recovering: self.recovery.phase != Phase::Open,
            sack: self.flags.sack,
        }
    }

    /// `len` sequence numbers were sent, and the congestion control wants to know.
    #[cold]
    pub(super) fn tell_sent(&mut self, len: u32, now: Instant) {
        let (mss, pipe) = (self.mss(), self.pipe());
        self.congestion.on_sent(&Sent {
            bytes: len,
            alone: pipe <= len,
            app_limited: self.rate.is_app_limited(),
            srtt: self.rtt.srtt,
            mss,
            now,
        });
    }
}

/// `piece` was found lost at `now`, with so many bytes `delivered`.
pub(super) fn lost(piece: &Piece, delivered: u64, now: Instant) -> Lost {
    Lost {
        bytes: piece.bytes,
        sent_in_flight: piece.then.in_flight,
        since: piece.since,
        app_limited: piece.then.app_limited,
        delivered,
        now,
    }
}
