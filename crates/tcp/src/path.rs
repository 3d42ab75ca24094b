//! The path MTU, found out by probing (RFC 4821, RFC 8899): routers that cannot pass a
//! segment on do not always say so, or what they say does not arrive.
//!
//! If full segments time out again and again, they may be too large: smaller ones go, and
//! then single larger ones, each of which is a question. What is acknowledged is the size
//! of all that follow. What is lost was too large, and says nothing of congestion if
//! nothing else is lost.

use crate::Tcb;
use crate::facts::Search;
use crate::recovery::Phase;
use wire::time::Duration;
use wire::{Instant, Seq};

/// Sizes that are tried where larger ones do not arrive, payload and options: IPv6's least
/// MTU of 1,280 bytes without headers of 60, and what every host of IPv4 takes.
const BASES: [u16; 2] = [1220, 536];
/// Time-outs in a row after which a size is taken to be too large.
const TIMEOUTS: u8 = 2;
/// The search is over when it knows the size as well as this, bytes.
const CLOSE: u16 = 8;
/// How often a size has to be lost before it counts as too large. (RFC 8899 5.1.2 has 3.)
const TRIES: u8 = 2;
/// How long what was found is believed (RFC 1191 6.3, RFC 8899 5.1.1: PMTU_RAISE_TIMER).
const LIFE: Duration = Duration::from_secs(600);

impl Search {
    /// What to try next, if `low` arrives: half of what is left, or, if that is little,
    /// everything anew later.
    fn narrow(&mut self, low: u16, now: Instant) {
        self.failed = 0;
        if self.high.saturating_sub(low) >= CLOSE {
            self.next = low + (self.high - low).div_ceil(2);
        } else {
            (self.high, self.next, self.at) = (self.most, self.most, now + LIFE);
        }
    }
}

impl Tcb {
    fn search(&mut self) -> Option<&mut Search> {
        self.settings.as_mut()?.search.as_mut()
    }

    /// Segments of `most` bytes, payload and options, are tried again, not before `at`;
    /// `told`: routers say what is too large.
    fn search_up_to(&mut self, most: u16, told: bool, at: Instant) {
        let settings = self.settings();
        let most = settings.search.map_or(most, |search| search.most.max(most));
        let (high, next) = (most, most);
        settings.search = Some(Search { most, high, next, told, at, probe: None, failed: 0 });
    }

    /// A router has made segments smaller; they took `before` bytes.
    pub(crate) fn note_smaller_path(&mut self, before: u16) {
        self.search_up_to(before, true, self.now + LIFE);
    }

    /// A probe that is due now: its bytes of payload. Unless a router will say that it was
    /// too large, more must follow at once, for that shows soon whether it is lost.
    #[cold]
    pub(crate) fn begin_probe(&mut self, unsent: u32, now: Instant) -> Option<u32> {
        let search = self.settings.as_ref()?.search?;
        let quiet = self.recovery.phase == Phase::Open
            && self.board.lost == 0
            && !self.board.is_disordered()
            && !self.recovery.tail_due;
        if now < search.at || search.probe.is_some() || !quiet || self.is_paced_out() {
            return None;
        }
        let options = self.snd.limit - self.snd.mss;
        let len = u32::from(search.next.saturating_sub(options));
        let behind = if search.told { 0 } else { 3 * self.mss() };
        let room = self.window_left().min(unsent);
        if len <= self.mss() || room < len + behind || self.allowance() < len {
            return None;
        }
        let seq = self.snd.nxt;
        self.search()?.probe = Some((seq, search.next));
        Some(len)
    }

    /// The probe at `seq` is sent with `len` bytes: that may be less than was wanted if
    /// they lie in many pieces.
    pub(crate) fn probe_sent(&mut self, seq: Seq, len: u32) {
        let limit = self.snd.limit;
        let size = len + u32::from(limit - self.snd.mss);
        let larger = u16::try_from(size).ok().filter(|size| *size > limit);
        if let Some(search) = self.search() {
            search.probe = larger.map(|size| (seq, size));
        }
    }

    /// Is the segment at `seq` a probe?
    #[inline]
    pub(crate) fn is_probe(&self, seq: Seq) -> bool {
        self.path_probe().is_some_and(|(at, _)| at == seq)
    }

    #[inline]
    fn path_probe(&self) -> Option<(Seq, u16)> {
        self.settings.as_ref()?.search.as_ref()?.probe
    }

    /// SND.UNA has moved. What was a probe and is acknowledged has arrived.
    #[inline]
    pub(crate) fn judge_probe(&mut self, now: Instant) {
        if let Some((seq, size)) = self.path_probe()
            && self.snd.una.after(seq)
        {
            self.probe_arrived(size, now);
        }
    }

    #[cold]
    fn probe_arrived(&mut self, size: u16, now: Instant) {
        self.snd.limit = self.snd.limit.max(size);
        self.set_mss();
        let Some(search) = self.search() else { return };
        search.probe = None;
        if size < search.most {
            search.narrow(size, now);
        } else if let Some(settings) = &mut self.settings {
            settings.search = None;
        }
    }

    /// The probe is given up: it goes again in smaller segments. `most`: what the path
    /// carries, if a router says so.
    #[cold]
    fn probe_failed(&mut self, size: u16, most: Option<u16>) {
        let (low, now) = (self.snd.limit, self.now);
        if let Some(search) = self.search() {
            search.probe = None;
            search.failed += 1;
            if let Some(most) = most {
                (search.high, search.next, search.failed) = (most, most, 0);
                search.told = true;
                if most <= low {
                    // It carries no more than before: asked again when that is old.
                    (search.high, search.next, search.at) = (search.most, search.most, now + LIFE);
                }
            } else if search.failed >= TRIES {
                search.high = size - 1;
                search.narrow(low, now);
            }
        }
        self.board.mark_large_lost(self.mss());
    }

    /// Something was found lost. Returns whether it is the probe and nothing else, which
    /// says nothing of congestion (RFC 4821 7.5).
    #[cold]
    pub(crate) fn judge_lost_probe(&mut self) -> bool {
        let Some((seq, size)) = self.path_probe().filter(|(seq, _)| self.board.is_lost(*seq))
        else {
            return false;
        };
        let alone = self.board.segment_len(seq) == Some(self.board.lost);
        self.probe_failed(size, None);
        let alone = alone && self.recovery.phase == Phase::Open;
        if alone {
            self.recovery.force = true;
            self.touch();
        }
        alone
    }

    /// A router says that the path carries `mss` bytes of payload and options, and quotes
    /// the segment at `seq`. Returns whether that was the probe.
    pub(crate) fn refuse_probe(&mut self, seq: Seq, mss: u16) -> bool {
        let Some((at, size)) = self.path_probe().filter(|(at, _)| *at == seq) else { return false };
        let news = mss >= self.snd.limit && mss < size && seq.after_or_at(self.snd.una);
        if news {
            debug_assert_eq!(at, seq);
            self.probe_failed(size, Some(mss));
            self.recovery.force = true;
            self.touch();
        }
        news
    }

    /// The retransmission timer went off, before all counts as lost. Are full segments too
    /// large for the path?
    #[cold]
    pub(crate) fn doubt_path(&mut self) {
        if let Some((_, size)) = self.path_probe() {
            return self.probe_failed(size, None);
        }
        let options = self.snd.limit - self.snd.mss;
        let front = self.board.segment_len(self.snd.una).unwrap_or(0);
        let base = BASES.into_iter().find(|base| front + u32::from(options) > u32::from(*base));
        // Whoever never sent more than the larger one has no reason to go below.
        let known = self.settings.as_ref().is_some_and(|s| s.search.is_some());
        let Some(base) = base.filter(|base| known || *base == BASES[0]) else { return };
        if !self.config.path_probing || !self.timeouts.is_multiple_of(TIMEOUTS) {
            return;
        }
        self.search_up_to(self.snd.limit, false, self.now);
        self.snd.limit = base;
        self.set_mss();
        self.board.mark_large_lost(self.mss());
    }
}
