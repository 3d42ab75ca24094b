//! The ACK field (RFC 9293 3.10.7.4, fifth): what it frees, measures and opens.

use crate::recovery::{Newest, News};
use crate::timers::Retransmit;
use crate::{Events, Tcb};
use wire::tcp::{Flags, Header};
use wire::{Instant, Seq};

/// A round-trip time that an echoed timestamp cannot mean, milliseconds.
const ABSURD_RTT: u32 = 10 * 60 * 1000;

/// Does it say that something came twice that it acknowledges (RFC 2883 4.1)?
fn came_twice(h: &Header) -> bool {
    h.options.sack.as_slice().first().is_some_and(|(left, _)| left.before(h.ack))
}

impl Tcb {
    /// Does the segment announce the window that we know?
    #[inline]
    pub(crate) fn is_same_window(&self, h: &Header) -> bool {
        u32::from(h.window) << self.snd.shift == self.snd.wnd
    }

    /// Can the peer have sent this acknowledgment? Who makes up a segment has to guess one.
    #[inline]
    pub(super) fn may_acknowledge(&self, ack: Seq) -> bool {
        // RFC 5961 5.2/1
        //= RFC 5961 5.2: "((SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT)"
        !ack.after(self.snd.nxt) && !ack.before(self.snd.una - self.snd.max_wnd)
    }

    /// Processes the acknowledgment of an acceptable segment; `pure`: it has no
    /// payload. Returns whether the rest of the segment counts.
    #[inline]
    pub(crate) fn process_ack(&mut self, h: &Header, pure: bool, now: Instant) -> bool {
        self.unsettle();
        if !self.may_acknowledge(h.ack) {
            self.challenge_ack(now);
            return false;
        }
        self.heard(now);
        if let Some(ecn) = &mut self.ecn {
            ecn.told = h.flags.has(Flags::ECE) && ecn.accurate.is_none();
            if ecn.told {
                self.on_echo(now);
            }
        }
        let una = self.snd.una;
        if self.is_plain_ack(h) && h.ack.after(una) {
            self.plain_ack_apart(h, now);
            return true;
        }
        let mut news = self.no_news(h, now);
        if self.flags.sack && !h.options.sack.is_empty() {
            self.take_sack(h, &mut news, now);
        }
        if h.ack.after(self.snd.una) {
            self.new_ack(h, &mut news, now);
        } else {
            if self.recovery.tail.is_some() {
                self.judge_tail_again(h, pure);
            }
            if self.snd.una != self.snd.nxt {
                self.not_new_ack(h, pure, &news, now);
            }
        }
        self.update_window(h, h.ack.after(una));
        true
    }

    /// Does an acknowledgment of at most what was sent, which comes in order, free something
    /// of a connection in which nothing has to be decided?
    #[inline]
    pub(super) fn is_plain_ack(&self, h: &Header) -> bool {
        let settled = || {
            self.is_calm()
                && self.recovery.tail.is_none()
                && self.recovery.episode.is_none()
                && self.board.fack == self.snd.una
        };
        h.ack != self.snd.una && h.options.sack.is_empty() && (self.is_settled() || settled())
    }

    /// As [`Tcb::process_ack`], of one that [is as nearly all are](Tcb::is_plain_ack): each
    /// step of that which would do something, and no other.
    #[inline(always)]
    pub(super) fn plain_ack(&mut self, h: &Header, now: Instant) {
        if let Some(newest) = self.board.acked_alone(h.ack) {
            // Most of what is to be known of it is known at once.
            self.plain_ack_of(h, newest.sent, &newest, now);
        } else if let Some((first_sent, newest)) = self.board.acked_plain(h.ack) {
            self.plain_ack_of(h, first_sent, &newest, now);
        }
    }

    /// The same, of what was sent from `first_sent` on, up to `newest`.
    #[inline(always)]
    fn plain_ack_of(&mut self, h: &Header, first_sent: Instant, newest: &Newest, now: Instant) {
        let acked = h.ack.distance_from(self.snd.una);
        self.snd.una = h.ack;
        self.snd.small_end = self.snd.small_end.latest(h.ack);
        self.send.acked(h.ack);
        self.timeouts = 0;
        self.soft_error = None;
        self.timers.linger = Instant::FAR_FUTURE;
        let rtt = now.micros_since(first_sent).min(u32::MAX.into()) as u32;
        self.rtt.sample(rtt);
        self.rtt.backoff = 0;
        if self.snd.una == self.snd.nxt {
            self.timers.stop_retransmit();
        } else {
            self.timers.set_retransmit(Retransmit::Rto, now.after_micros(self.rtt.rto()));
        }
        self.on_plain_news(newest, acked, rtt, now);
        self.tell_room();
        self.touch();
        // RFC 7323 2.3/1
        self.take_window(h, u32::from(h.window) << self.snd.shift);
    }

    /// The same, for what is not [predicted](Tcb::input): as of a FIN.
    #[inline(never)]
    fn plain_ack_apart(&mut self, h: &Header, now: Instant) {
        self.plain_ack(h, now);
    }

    /// Tells the user that there is room for more, if there is much or nothing waits.
    #[inline]
    fn tell_room(&mut self) {
        // What is SACKed leaves with the hole before it.
        if self.unsent() == 0
            || self.lacks_data()
            || self.send_room() >= self.queued().saturating_sub(self.sacked()) / 2
        {
            self.events.add(Events::WRITABLE);
        }
    }

    /// The time stamp that `h` echoes, in milliseconds of our clock.
    #[inline]
    pub(crate) fn echo(&self, h: &Header) -> Option<u32> {
        let (_, echo) = h.options.timestamps.filter(|_| self.flags.timestamps)?;
        Some(echo.wrapping_sub(self.ts.offset))
    }

    /// What `h` brings, before anything was taken from it.
    #[inline]
    pub(crate) fn no_news(&self, h: &Header, now: Instant) -> News {
        let least = if self.rtt.min == u32::MAX { 0 } else { self.rtt.min };
        News::new(self.board.fack, self.echo(h), least, now)
    }

    /// The SACK blocks of `h`: what is there, and what came twice.
    fn take_sack(&mut self, h: &Header, news: &mut News, now: Instant) {
        let blocks = h.options.sack.as_slice();
        //= RFC 2883 4: "the first SACK block"
        let twice = match blocks {
            [(l, r), ..] if l.before(h.ack) && l.before(*r) => true,
            [(l, r), (left, right), ..] => {
                l.before(*r) && l.after_or_at(*left) && r.before_or_at(*right)
            }
            _ => false,
        };
        if twice && let [(left, right), ..] = blocks {
            let (left, right) = (*left, *right);
            self.judge_tail(h.ack, Some(right), None, now);
            self.on_dsack(left, right, now);
        }
        let from = self.snd.una.latest(h.ack);
        self.board.sack(blocks, (from, self.snd.nxt), news);
    }

    /// SEG.ACK is not new, and something is in flight.
    fn not_new_ack(&mut self, h: &Header, pure: bool, news: &News, now: Instant) {
        // RFC 6675 5/6
        let duplicate = h.ack == self.snd.una;
        // RFC 9293 SHLD-17
        if duplicate && h.window == 0 {
            // The peer is there, and takes nothing: no reason to give up.
            self.timeouts = 0;
        }
        if news.delivered > 0 {
            // With SACK a duplicate is one that brings news (RFC 6675 2), even if a
            // later one has overtaken it.
            self.touch();
            self.measure_behind_hole(news, now);
            self.judge_forward(false);
            self.on_news(news, 0, None, now);
            // What is SACKed takes no room.
            self.tell_room();
        }
        // RFC 5681 2 says what a duplicate acknowledgment is.
        let plain = duplicate && pure && !h.flags.fin() && self.is_same_window(h);
        if plain && !self.flags.sack {
            // Each stands for a segment that has arrived, and one is missing.
            let out = self.snd.nxt.distance_from(self.snd.una);
            let segments = out.div_ceil(self.mss()).max(self.board.len() as u32);
            self.recovery.duplicates = (self.recovery.duplicates + 1).min(segments - 1);
            self.on_duplicate(now);
        }
    }

    /// SEG.ACK is new.
    #[inline]
    fn new_ack(&mut self, h: &Header, news: &mut News, now: Instant) {
        let acked = h.ack.distance_from(self.snd.una);
        if self.recovery.tail.is_some() {
            self.judge_tail(h.ack, None, news.echo, now);
        }
        let again = self.front_again();
        self.board.acked(h.ack, news);
        self.snd.una = h.ack;
        self.snd.small_end = self.snd.small_end.latest(h.ack);
        // RFC 2018 5/5
        self.send.acked(h.ack);
        self.timeouts = 0;
        self.soft_error = None;
        // An orphan has more time again.
        self.timers.linger = Instant::FAR_FUTURE;
        let rtt = self.measure(news, h, now);
        if self.settings.is_some() {
            self.judge_probe(now);
        }
        self.detect_spurious(again, news.echo);
        self.judge_forward(true);
        if self.snd.una == self.snd.nxt {
            // RFC 6298 5.2/1
            // RFC 6298 5.2: all is acknowledged, turn the timer off
            self.timers.stop_retransmit();
        } else {
            // RFC 6298 5.3/1
            // RFC 6298 5.3: restart it
            let at = now.after_micros(self.rtt.rto());
            self.timers.set_retransmit(Retransmit::Rto, at);
        }
        self.on_news(news, acked, rtt, now);
        self.tell_room();
        self.touch();
    }

    /// Takes a measurement of the round-trip time: since the time when what is
    /// acknowledged was sent, or if it was sent twice (Karn) from the timestamp that
    /// is echoed (RFC 7323 4). Returns it in microseconds, if there is one.
    #[inline(always)]
    pub(crate) fn measure(&mut self, news: &News, h: &Header, now: Instant) -> Option<u32> {
        // RFC 9293 MUST-18
        // RFC 6298 3/1, 3/2
        let sent = news.first_sent.filter(|_| !news.twice);
        let rtt = match (sent, h.options.timestamps) {
            (Some(sent), _) => now.micros_since(sent).min(u32::MAX.into()) as u32,
            // What came twice was there before: its first acknowledgment was lost, and this one echoes what it
            // did. That was no round trip ago.
            (None, Some((_, echo))) if self.flags.timestamps && !came_twice(h) => {
                let millis = self.timestamp(now).wrapping_sub(echo);
                if millis > ABSURD_RTT {
                    return None;
                }
                millis.max(1) * 1000
            }
            _ => return None,
        };
        self.rtt.sample(rtt);
        self.rtt.backoff = 0;
        Some(rtt)
    }

    /// What is SACKed while something is missing measures the round-trip time as well as what is
    /// acknowledged: a queue that fills meanwhile would let the time-out of the first segment, which was
    /// sent again, come before its acknowledgment can. If what is SACKed has taken longer than that
    /// segment is on its way, it has its time anew (as on Linux).
    fn measure_behind_hole(&mut self, news: &News, now: Instant) {
        // RFC 6298 3/1
        let Some(rtt) = news.fresh_rtt() else { return };
        self.rtt.sample(rtt);
        self.rtt.backoff = 0;
        let waits = self.board.front_sent().map_or(u64::MAX, |sent| now.micros_since(sent));
        if self.timers.kind == Retransmit::Rto && u64::from(rtt) > waits {
            let at = now.after_micros(self.rtt.rto());
            self.timers.set_retransmit(Retransmit::Rto, self.timers.retransmit.max(at));
        }
    }

    /// The window update of RFC 9293 3.10.7.4. An acknowledgment that is new
    /// brings a new window whatever its sequence number (as in Linux): SND.UNA
    /// with an older window would be beyond the edge that the peer has told.
    /// Two segments with equal numbers may have changed places: the larger window
    /// counts, for nothing else can have made it larger but reading. A window of
    /// zero counts too, so that a peer can close it.
    #[inline]
    fn update_window(&mut self, h: &Header, new_ack: bool) {
        // RFC 7323 2.3/1
        // RFC 5961 5.2/2
        let wnd = u32::from(h.window) << self.snd.shift;
        let newer = new_ack
            || self.snd.wl1.before(h.seq)
            || (self.snd.wl1 == h.seq && (wnd > self.snd.wnd || wnd == 0));
        if h.ack.before(self.snd.una) || !newer {
            return;
        }
        let was_shut = self.snd.wnd == 0 && wnd > 0;
        self.take_window(h, wnd);
        if was_shut && self.snd.una != self.snd.nxt && self.was_refused(new_ack) {
            self.send_refused_again();
        }
    }

    /// The segment brings a window of `wnd` bytes, which counts.
    #[inline(always)]
    fn take_window(&mut self, h: &Header, wnd: u32) {
        self.snd.wl1 = self.snd.wl1.latest(h.seq);
        if wnd != self.snd.wnd {
            self.snd.wnd = wnd;
            self.snd.max_wnd = self.snd.max_wnd.max(wnd);
            self.touch();
            if self.timers.kind == Retransmit::Persist {
                // What is still held back starts it again.
                self.timers.stop_retransmit();
                self.rtt.backoff = 0;
                self.waits_no_more();
            }
        }
    }
}

#[cfg(test)]
mod tests;
