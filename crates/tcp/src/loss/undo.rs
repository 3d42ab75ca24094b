//! When a reduction of the window was for nothing: the peer acknowledges what was
//! sent first (Eifel, RFC 3522 and RFC 4015), or says that it has all
//! retransmissions twice (D-SACK, RFC 3708).

use crate::Tcb;
use crate::recovery::{Episode, Phase};
use wire::{Instant, Seq};

impl Tcb {
    /// When the first segment in flight was sent again, in milliseconds of our clock, if it was
    /// in the episode that goes on.
    #[inline]
    pub(crate) fn front_again(&self) -> Option<u32> {
        let stamp = self.recovery.episode.as_ref()?.stamp?;
        let sent = self.board.front_resent()?.as_millis() as u32;
        ((sent.wrapping_sub(stamp) as i32) >= 0).then_some(sent)
    }

    /// SND.UNA has moved, by an acknowledgment that echoes `echo`, in milliseconds of our clock.
    /// What was the [first](Tcb::front_again) had been sent `again` in this episode. If the echo
    /// is older, the peer had what was sent first.
    #[inline]
    pub(crate) fn detect_spurious(&mut self, again: Option<u32>, echo: Option<u32>) {
        if self.recovery.episode.is_none() {
            return;
        }
        let una = self.snd.una;
        self.recovery.episode.take_if(|e| e.until.is_some_and(|until| una.after_or_at(until)));
        let going_on = self.recovery.phase != Phase::Open && self.recovery.episode.is_some();
        let (Some(again), Some(echo), true) = (again, echo, going_on) else { return };
        if (echo.wrapping_sub(again) as i32) >= 0 {
            return;
        }
        if self.recovery.phase == Phase::Fast {
            // It was late, and others came before it: time has not told, order has.
            self.recovery.rack.reordered = true;
            if self.board.has_resent() {
                // Others that were sent again may have been lost.
                return;
            }
        }
        self.undo_loss();
    }

    /// Nothing of what was marked as lost is: all is as before the recovery.
    pub(crate) fn undo_loss(&mut self) {
        self.restore_window();
        self.board.unmark_lost();
        self.rtt.backoff = 0;
        self.recovery.phase = Phase::Open;
        self.recovery.recover = self.snd.una;
        self.recovery.above = false;
        self.recovery.force = false;
        self.recovery.duplicates = 0;
        self.recovery.episode = None;
        self.touch();
    }

    /// The connection rests: of an episode that is over nothing is heard any more, if nothing
    /// was sent for an RTO.
    pub(crate) fn forget_episode(&mut self, now: Instant) {
        if now < self.last_sent.after_micros(self.rtt.rto()) {
            return;
        }
        let una = self.snd.una;
        let over = |e: &mut Box<Episode>| e.until.is_some_and(|until| una.after_or_at(until));
        self.recovery.episode.take_if(over);
        if self.recovery.episode.is_none() {
            self.congestion.rest();
        }
    }

    /// The window is as before the episode, if that has reduced it. What is lost or marked from
    /// now on reduces it again.
    fn restore_window(&mut self) {
        if self.recovery.episode.as_ref().is_none_or(|episode| episode.reduced) {
            self.congestion.on_undo();
            self.forget_reduction();
        }
    }

    /// The peer has [`left`, `right`) twice (RFC 2883). If it has all twice that was sent again in
    /// a recovery that goes on, that is over: what is lost all the same is found anew,
    /// once it has had the time that the network needs, and is a loss event of its own.
    pub(crate) fn on_dsack(&mut self, left: Seq, right: Seq, now: Instant) {
        if self.recovery.retransmits == 0 {
            // The network has made it two.
            return;
        }
        let told = right.distance_from(left).div_ceil(self.mss());
        self.recovery.duplicates_told = self.recovery.duplicates_told.saturating_add(told);
        let of_tail = self.recovery.tail.is_some_and(|t| t.again.is_some() && t.end == right);
        if of_tail {
            return;
        }
        self.recovery.rack.on_dsack(self.snd.una, self.snd.nxt);
        let Some(episode) = self.recovery.episode.as_mut() else { return };
        if left.before(episode.from) || episode.unproven == 0 {
            return;
        }
        self.recovery.rack.reordered |= episode.sacked;
        episode.unproven = episode.unproven.saturating_sub(right.distance_from(left));
        if episode.unproven > 0 {
            return;
        }
        if self.recovery.phase == Phase::Open {
            self.restore_window();
            self.recovery.episode = None;
            return self.touch();
        }
        self.undo_loss();
        // Not before all of this acknowledgment is heard.
        self.timers.set_reorder(now);
    }
}

#[cfg(test)]
mod tests;
