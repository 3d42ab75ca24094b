//! What a connection does about loss: RACK (RFC 8985) and proportional rate
//! reduction (RFC 9937) with SACK; without it New Reno's fast retransmit and fast
//! recovery (RFC 5681 3.2, RFC 6582); and what a time-out does.

mod forward;
mod tail;
mod tell;
mod undo;

use crate::Tcb;
use crate::recovery::LOOKED_AT;
use crate::recovery::{DUP_THRESHOLD, Episode, Forward, Newest, News, Phase, Prr, Taken};
use tell::Growth;
use wire::Instant;
use wire::time::Duration;

impl Tcb {
    /// How many bytes may go now, new or again, as far as the congestion window and
    /// recovery say.
    #[inline]
    pub(crate) fn allowance(&self) -> u32 {
        self.recovery.allowance(self.congestion.window(), self.pipe())
    }

    /// `len` sequence numbers were sent, for the first time or `again`.
    #[inline]
    pub(crate) fn on_sent(&mut self, len: u32, again: bool, now: Instant) {
        self.last_sent = now;
        if self.congestion.models() {
            self.tell_sent(len, now);
        }
        if self.flags.paced {
            self.note_paced(len, now);
        }
        if self.recovery.phase == Phase::Open && !again {
            return;
        }
        let Some(episode) = self.recovery.episode.as_mut() else { return };
        if let Some(prr) = &mut episode.prr {
            prr.on_send(len);
        }
        if again && matches!(episode.forward, Forward::Probing(_)) {
            // Nothing new could go. The rest goes again, and tells nothing any more.
            episode.forward = Forward::Off;
        }
        if again && episode.until.is_none() {
            episode.stamp.get_or_insert(now.as_millis() as u32);
            episode.unproven = episode.unproven.saturating_add(len);
        }
    }

    /// An acknowledgment has brought `news`; it has moved SND.UNA by `acked` bytes, and
    /// took `rtt` microseconds.
    #[inline]
    pub(crate) fn on_news(&mut self, news: &News, acked: u32, rtt: Option<u32>, now: Instant) {
        self.delivered += u64::from(news.delivered);
        // Whether it is still wanted is decided anew.
        self.recovery.tail_due = false;
        let mut taken = Taken::default();
        if let Some(newest) = &news.newest {
            self.recovery.rack.on_news(newest, now);
            taken = self.rate.on_ack(newest, self.delivered, self.rtt.min, now);
            self.watch_window(&taken, now);
        }
        let order = self.recovery.phase == Phase::Open && self.board.lost == 0;
        if order && acked > 0 && !self.board.is_disordered() {
            // What nearly all acknowledgments bring.
            let delivered = self.not_counted(news.delivered);
            self.open_progress();
            self.recovery.rack.reordered |= self.flags.sack && news.reordered;
            self.grow(Growth { delivered, lost: 0, grow: true, taken, rtt, news }, now);
        } else {
            self.on_unusual_news(news, acked, (taken, rtt), now);
        }
        self.arm_tail(now);
    }

    /// As [`Tcb::on_news`], if nothing has to be [decided](Tcb::is_calm): an acknowledgment
    /// of `acked` bytes up to `newest`, the first of which were sent `rtt` microseconds ago.
    #[inline(always)]
    pub(crate) fn on_plain_news(&mut self, newest: &Newest, acked: u32, rtt: u32, now: Instant) {
        self.delivered += u64::from(acked);
        self.recovery.tail_due = false;
        self.recovery.rack.on_news(newest, now);
        let taken = self.rate.on_ack(newest, self.delivered, self.rtt.min, now);
        self.watch_window(&taken, now);
        self.open_progress();
        self.grow_plain(acked, &taken, rtt, now);
        self.arm_tail(now);
    }

    /// Does nothing need a decision before what is in flight is acknowledged: is no recovery
    /// going on, nothing known of losses or of what came out of order, no mark counted, no
    /// model of the path made, nothing set for this connection?
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        // What is nearly never there is looked for at once, and not one by one.
        let amiss = self.recovery.duplicates | self.board.lost | self.board.sacked;
        Tcb::takes_short_ways()
            && self.recovery.phase == Phase::Open
            && amiss == 0
            && !self.board.has_resent()
            && self.ecn.is_none() & self.settings.is_none()
            && !self.congestion.models()
    }

    /// A unit test compares connections that take no short way.
    #[inline(always)]
    fn takes_short_ways() -> bool {
        #[cfg(test)]
        return !crate::harness::LONG.get();
        #[cfg(not(test))]
        true
    }

    /// How much of `delivered` bytes that an acknowledgment tells of is news: without SACK each
    /// duplicate before it has stood for a segment, and let another go (as on Linux).
    #[inline]
    fn not_counted(&self, delivered: u32) -> u32 {
        match self.recovery.duplicates {
            0 => delivered,
            n => delivered.saturating_sub(n * self.mss()).max(delivered.min(self.mss())),
        }
    }

    /// As [`Tcb::on_news`], in recovery, or if something is missing.
    #[inline(never)]
    fn on_unusual_news(
        &mut self,
        news: &News,
        acked: u32,
        (taken, rtt): (Taken, Option<u32>),
        now: Instant,
    ) {
        // RFC 8985 3.3/1
        let lost_before = self.board.lost;
        let timed_out = self.recovery.phase == Phase::Timeout;
        let mut grow = acked > 0 && self.on_progress(acked, now);
        // Where the network reorders, most of what is delivered comes behind a hole: if that
        // did not count, the window would hardly grow (as on Linux).
        grow |= self.recovery.phase == Phase::Open && self.recovery.rack.reordered;
        let mut found = false;
        if self.flags.sack {
            self.recovery.rack.reordered |= news.reordered;
            if news.delivered > 0 && self.board.is_disordered() {
                found = self.detect_lost(news.delivered, (now, LOOKED_AT + news.records));
            }
        }
        let mut delivered = news.delivered;
        if timed_out && !self.flags.sack {
            // RFC 3465 2.3: L is 1*SMSS after a time-out. What had arrived before is
            // acknowledged with what was sent again.
            delivered = delivered.min(self.mss());
        }
        grow &= self.recovery.phase != Phase::Fast;
        let lost = self.board.lost.saturating_sub(lost_before);
        let rtt = news.fresh_rtt().or(rtt);
        self.grow(Growth { delivered, lost, grow, taken, rtt, news }, now);
        if self.recovery.phase == Phase::Fast && news.delivered > 0 {
            self.reduce(news.delivered, acked > 0 && !found);
        }
    }

    /// PRR hears of an acknowledgment of `delivered` bytes in fast recovery, or of a
    /// loss that time has shown.
    fn reduce(&mut self, delivered: u32, safe: bool) {
        let (pipe, limits) = (self.pipe(), (self.congestion.ssthresh(), self.mss()));
        if let Some(prr) = self.recovery.episode.as_mut().and_then(|e| e.prr.as_mut()) {
            prr.on_ack(delivered, pipe, limits, safe);
        }
    }

    /// RFC 8985 6.2 step 5, with SACK: what is lost is marked, and recovery begins.
    /// `delivered` bytes are news of the acknowledgment that this is done for, which `paid` for so many
    /// records to be looked at. Returns whether something was found lost.
    pub(crate) fn detect_lost(&mut self, delivered: u32, (now, paid): (Instant, u32)) -> bool {
        // RFC 6675 5/1
        // RFC 5681 4.3/1
        let recovering = self.recovery.phase != Phase::Open;
        let least = if self.rtt.min == u32::MAX { self.rtt.srtt } else { self.rtt.min };
        let sacked = self.board.sacked_segments;
        let window = self.recovery.rack.window(recovering, sacked, least, self.rtt.srtt);
        let waiting = (self.timers.is_reorder(), delivered > 0);
        let front = self.recovery.rack.front(window, &mut self.board.slowest, waiting, now);
        let (total, congestion) = (self.delivered, &mut self.congestion);
        let found = self.board.detect_lost(&front, (now, paid), |piece| {
            if congestion.models() {
                congestion.on_lost(&tell::lost(&piece, total, now));
            }
        });
        if let Some(at) = found.deadline {
            self.timers.set_reorder(at);
        } else {
            self.timers.stop_early();
        }
        let Some(end) = found.end else { return false };
        self.touch();
        if self.settings.is_some() && self.judge_lost_probe() {
            return true;
        }
        if recovering {
            self.recovery.above |= end.after(self.recovery.recover);
        } else {
            self.begin_recovery(delivered, now);
            // RFC 5681 3.2: the first is sent again whatever cwnd says.
            self.recovery.force = true;
        }
        true
    }

    /// The reordering timer went off (RFC 8985 6.3).
    pub(crate) fn on_reorder_timer(&mut self, now: Instant) {
        // RFC 8985 6.2/9
        if self.detect_lost(0, (now, LOOKED_AT)) && self.recovery.phase == Phase::Fast {
            self.reduce(0, false);
        }
        self.arm_tail(now);
    }

    /// A duplicate acknowledgment came, without SACK.
    pub(crate) fn on_duplicate(&mut self, now: Instant) {
        // RFC 5681 3.2/3
        self.touch();
        if self.recovery.phase != Phase::Open {
            return;
        }
        //= RFC 6582 3.2 step 2: "covers more than recover"
        let fresh = self.snd.una.after_or_at(self.recovery.recover);
        if self.recovery.duplicates >= DUP_THRESHOLD && fresh {
            self.begin_recovery(0, now);
            self.board.mark_front_lost();
            self.recovery.force = true;
        }
    }

    /// FlightSize (RFC 5681 2): the most that was in flight in this window of data.
    /// A batch of acknowledgments may have taken most of it off before the loss
    /// shows. What exceeds cwnd was sent by limited transmit, or for what SACK took
    /// out of the pipe: RFC 5681 3.2 does not want it counted.
    pub(crate) fn flight(&self) -> u32 {
        // RFC 9438 4.6/3
        // RFC 5681 3.2/5
        let out = self.snd.nxt.distance_from(self.snd.una);
        out.max(self.snd.most_out).min(self.congestion.window())
    }

    fn begin_recovery(&mut self, delivered: u32, now: Instant) {
        // RFC 6675 5/3
        // RFC 5681 3.2/6
        // RFC 2018 7/1
        self.rtt.round(now);
        let out = self.snd.nxt.distance_from(self.snd.una);
        let flight = self.flight();
        let reduces = !self.is_reduced();
        if reduces {
            let used = self.used_at_loss(flight);
            self.congestion.on_loss(used, self.mss(), now);
        } else if let Some(validation) = &mut self.validation {
            // Of an earlier loss.
            validation.used = 0;
        }
        self.note_reduction();
        self.recovery.above = false;
        self.recovery.tail = None;
        self.recovery.recover = self.snd.nxt;
        self.recovery.phase = if out > 0 { Phase::Fast } else { Phase::Open };
        let before = out.saturating_sub(self.board.sacked).saturating_add(delivered);
        let own = self.congestion.models();
        let prr = (self.flags.sack && !own).then(|| Prr::new(before));
        let mut episode = Episode::new(self.snd.una, prr);
        (episode.sacked, episode.reduced) = (self.flags.sack, reduces);
        self.recovery.episode = Some(episode);
    }

    /// RFC 6675 5: what was lost after the recovery that is over had begun is
    /// another loss event. It may be on its way again already.
    fn begin_next_recovery(&mut self, now: Instant) {
        // RFC 6675 5/5
        // RFC 5681 4.3/2
        self.begin_recovery(0, now);
        self.recovery.force = self.board.front_is_lost();
    }

    /// SND.UNA has moved while no recovery was going on.
    #[inline]
    fn open_progress(&mut self) {
        self.recovery.duplicates = 0;
        // A number from 2^31 bytes ago would look like one to come.
        self.recovery.recover = self.recovery.recover.latest(self.snd.una);
        self.recovery.rack.forget_round(self.snd.una);
    }

    /// SND.UNA has moved by `acked`. Returns whether the window may grow.
    fn on_progress(&mut self, acked: u32, now: Instant) -> bool {
        // RFC 6675 5/2
        let mss = self.mss();
        match self.recovery.phase {
            Phase::Open => {
                self.open_progress();
                true
            }
            _ if self.snd.una.after_or_at(self.recovery.recover) => self.end_recovery(now),
            Phase::Fast => {
                if !self.flags.sack {
                    // RFC 6582 3.2 step 3: a partial ACK says that the next is lost
                    let segments = acked.div_ceil(mss);
                    self.recovery.duplicates =
                        self.recovery.duplicates.saturating_sub(segments.saturating_sub(1));
                    if self.board.front_is_fresh() {
                        self.board.mark_front_lost();
                        self.recovery.force = true;
                    }
                }
                false
            }
            Phase::Timeout => {
                self.recovery.duplicates = 0;
                true
            }
        }
    }

    /// All that was in flight when recovery began is acknowledged. Returns whether
    /// the window may grow.
    fn end_recovery(&mut self, now: Instant) -> bool {
        // RFC 5681 3.2/7
        let mss = self.mss();
        let fast = self.recovery.phase == Phase::Fast;
        self.recovery.phase = Phase::Open;
        self.recovery.duplicates = 0;
        self.recovery.force = false;
        // Recoveries may follow each other without a pause, over 2^31 bytes and more.
        self.recovery.rack.forget_round(self.snd.una);
        self.recovery.rack.on_recovered();
        if let Some(episode) = &mut self.recovery.episode {
            episode.until = Some(self.snd.nxt);
        }
        if fast {
            //= RFC 6582 3.2 step 3: "min (ssthresh, max(FlightSize, SMSS) + SMSS)"
            let window = if self.flags.sack { u32::MAX } else { self.pipe().max(mss) + mss };
            let again = self.recovery.episode.as_ref().map_or(0, |e| e.unproven);
            let window = window.min(self.window_after_loss(again));
            self.congestion.on_recovered(window, now);
        }
        if self.recovery.above {
            self.begin_next_recovery(now);
            return false;
        }
        !fast
    }

    /// The window was shut though something is in flight, and is open again. Has that been refused? So
    /// it is if it has timed out since, or if nothing was sent for a round trip, and this
    /// acknowledges nothing: had it come late, what it is older than might still be on its way. So a
    /// peer that shuts and opens its window has no more sent again than a window in each round trip.
    #[cold]
    pub(crate) fn was_refused(&self, new_ack: bool) -> bool {
        let round = Duration::from_micros(self.rtt.srtt.into());
        self.rtt.backoff > 0 || (!new_ack && self.now.since(self.last_sent) >= round)
    }

    /// The peer had no room for what it had asked for, and refused it. So all of that goes again now, as
    /// far as it is not SACKed; its time-out may have doubled many times. The network has lost nothing.
    #[cold]
    pub(crate) fn send_refused_again(&mut self) {
        // RFC 9293 SHLD-16
        if self.recovery.phase != Phase::Timeout {
            self.recovery.episode = None;
        }
        self.all_goes_again();
        self.rtt.backoff = 0;
        self.touch();
    }

    /// The retransmission timer went off: all that is in flight is lost.
    pub(crate) fn lose_all(&mut self, now: Instant) {
        // RFC 9293 MUST-19
        // RFC 8985 6.3/1
        // RFC 6675 5.1/2
        // RFC 6298 5.4/1
        let flight = self.flight();
        let again = self.rtt.backoff > 0;
        let forward = self.begin_forward();
        self.congestion.on_timeout(flight, self.mss(), again, now);
        self.note_reduction();
        match self.recovery.phase {
            Phase::Open => self.recovery.episode = Some(Episode::new(self.snd.una, None)),
            // What it would go back to is no state of good times.
            Phase::Fast => self.recovery.episode = None,
            Phase::Timeout => {}
        }
        if let Some(episode) = &mut self.recovery.episode {
            episode.forward = forward;
        }
        self.all_goes_again();
    }

    /// All that is in flight is lost, or as good as that.
    fn all_goes_again(&mut self) {
        self.board.mark_all_lost();
        self.recovery.phase = Phase::Timeout;
        self.recovery.above = false;
        self.recovery.tail = None;
        self.recovery.tail_due = false;
        self.recovery.recover = self.snd.nxt;
        self.recovery.duplicates = 0;
        self.recovery.force = true;
        self.timers.stop_early();
    }
}

#[cfg(test)]
mod tests;
