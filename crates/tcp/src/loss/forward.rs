//! F-RTO with SACK (RFC 5682 3.1): after a time-out just one segment is sent again, and
//! then new data, until the acknowledgments tell whether the rest was lost or late. Where
//! both ends speak time stamps, the first acknowledgment tells it (`undo`).

use crate::Tcb;
use crate::recovery::{Forward, Phase};

impl Tcb {
    /// Step 1, before all is marked as lost: may this time-out be found spurious? Not if
    /// SACK has told of a hole, for then there is reason to believe in a loss.
    pub(crate) fn begin_forward(&self) -> Forward {
        let recovery = &self.recovery;
        let before = recovery.episode.as_ref().map(|e| e.forward);
        let fresh = match recovery.phase {
            Phase::Open => true,
            Phase::Fast => false,
            // The timer went off again, and nothing came in between.
            Phase::Timeout => matches!(before, Some(Forward::Waiting(_))),
        };
        let usable = self.config.f_rto && self.flags.sack && !self.flags.timestamps;
        let len = self
            .board
            .segment_len(self.snd.una)
            .filter(|_| usable && fresh && self.board.sacked == 0 && self.snd.una != self.snd.nxt);
        len.map_or(Forward::Off, |len| Forward::Waiting(self.snd.una + len))
    }

    /// Steps 2 and 3: an acknowledgment brought news, and has moved SND.UNA if
    /// `progress`.
    #[inline]
    pub(crate) fn judge_forward(&mut self, progress: bool) {
        if self.recovery.phase == Phase::Timeout {
            self.judge_forward_now(progress);
        }
    }

    #[cold]
    fn judge_forward_now(&mut self, progress: bool) {
        let (una, recover) = (self.snd.una, self.recovery.recover);
        let Some(episode) = &mut self.recovery.episode else { return };
        let before = std::mem::replace(&mut episode.forward, Forward::Off);
        let (Forward::Waiting(end) | Forward::Probing(end)) = before else { return };
        let first = matches!(before, Forward::Waiting(_));
        if !progress || (first && una.after_or_at(recover)) {
            // Steps 2a and 3a: something is missing, or what was sent again may have
            // filled the only hole.
            return;
        }
        if una.after(end) {
            // Step 3b: something was acknowledged that was sent just once.
            return self.undo_loss();
        }
        if una == end && self.unsent() > 0 && self.window_left() >= self.mss() {
            // Step 2b. Without new data recovery goes on as usual.
            if let Some(episode) = &mut self.recovery.episode {
                episode.forward = Forward::Probing(end);
            }
        }
    }
}

#[cfg(test)]
mod tests;
