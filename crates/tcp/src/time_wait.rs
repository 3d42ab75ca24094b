//! What is left of a connection in TIME-WAIT.

use crate::{State, Tcb};
use wire::tcp::{Flags, Header, Options};
use wire::time::Duration;
use wire::{Instant, Seq};

/// How old the last segment of a flow has to be before we open it again: a tick of any
/// peer's time stamps (RFC 7323 5.4).
const REOPEN: Duration = Duration::from_secs(1);

/// A connection in TIME-WAIT, without all that is not needed any more.
#[derive(Clone, Copy, Debug)]
pub struct TimeWait {
    expires: Instant,
    /// The latest time that it was told.
    now: Instant,
    snd_nxt: Seq,
    rcv_nxt: Seq,
    /// Right edge of the window that was announced.
    rcv_edge: Seq,
    ts_recent: u32,
    ts_offset: u32,
    /// How long TIME-WAIT lasts, milliseconds.
    lasts: u32,
    /// The second, of the stack's time, that `challenges` counts.
    second: u32,
    challenges: u16,
    most_challenges: u16,
    window: u16,
    timestamps: bool,
    /// A SYN was answered for which no connection opens.
    challenged: bool,
    /// What its acknowledgments say of marks (RFC 9768 3.2.2).
    ace: u8,
}

/// What to do with a segment that came in TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Ignore,
    /// Send this segment; the ports are 0.
    Reply(Header),
    /// It is a SYN for a new incarnation (RFC 6191): if the port is listened
    /// on and a connection opens, forget this one; the initial sequence number has
    /// to be after `isn_after`. Else send [`TimeWait::challenge`].
    Reopen {
        /// SND.NXT of the old incarnation.
        isn_after: Seq,
    },
    /// Forget this one.
    Close,
}

impl TimeWait {
    /// What is left of `tcb`, if it is in TIME-WAIT.
    pub fn new(tcb: &Tcb) -> Option<TimeWait> {
        if tcb.state != State::TimeWait {
            return None;
        }
        let wnd = tcb.rcv.edge.distance_from(tcb.rcv.nxt);
        Some(TimeWait {
            expires: tcb.timers.linger,
            now: tcb.now,
            snd_nxt: tcb.snd.nxt,
            rcv_nxt: tcb.rcv.nxt,
            rcv_edge: tcb.rcv.edge,
            ts_recent: tcb.ts.recent,
            ts_offset: tcb.ts.offset,
            lasts: u32::try_from(tcb.config.time_wait.as_millis()).unwrap_or(u32::MAX),
            second: tcb.acks.second,
            challenges: tcb.acks.challenges,
            most_challenges: tcb.config.challenge_acks_per_second,
            window: (wnd >> tcb.rcv.shift).min(u16::MAX.into()) as u16,
            timestamps: tcb.flags.timestamps,
            challenged: false,
            ace: tcb.ecn.as_ref().map_or(0, |ecn| ecn.ace()),
        })
    }

    /// When TIME-WAIT is over, if nothing more comes.
    #[inline]
    pub fn expires(&self) -> Instant {
        self.expires
    }

    /// A segment with this header and `payload_len` bytes of payload has come
    /// (RFC 9293 3.10.7.4). A `now` before the latest is taken for that one: our
    /// timestamps must not go back.
    pub fn input(&mut self, header: &Header, payload_len: usize, now: Instant) -> Action {
        let now = self.now.max(now);
        self.now = now;
        if now >= self.expires {
            return Action::Close;
        }
        // RFC 1337 3: RST segments are ignored in TIME-WAIT; but not the answer to our challenge
        // of a SYN, or who sends that would be shut out for as long as TIME-WAIT lasts
        if header.flags.rst() {
            let answers = self.challenged && header.seq == self.rcv_nxt;
            return if answers { Action::Close } else { Action::Ignore };
        }
        if header.flags.syn() && !header.flags.ack() && self.is_new_incarnation(header) {
            return Action::Reopen { isn_after: self.snd_nxt };
        }
        // RFC 9293 3.10.7.4: a retransmitted FIN is acknowledged, and the 2 MSL
        // begin anew
        if header.flags.fin() && header.flags.ack() && !self.is_old(header) {
            self.expires = now + Duration::from_millis(self.lasts.into());
            return Action::Reply(self.ack(now));
        }
        let acceptable = payload_len == 0
            && !header.flags.syn()
            && (header.seq == self.rcv_nxt
                || header.seq.within(self.rcv_nxt, self.rcv_edge.distance_from(self.rcv_nxt)));
        if acceptable && header.ack == self.snd_nxt && !self.is_old(header) {
            return Action::Ignore;
        }
        let is_syn = header.flags.syn() && !header.flags.ack();
        let answer = if is_syn {
            self.challenge(now)
        } else {
            self.may_challenge(now).then(|| self.ack(now))
        };
        answer.map_or(Action::Ignore, Action::Reply)
    }

    /// May we open the same flow again (RFC 6191 3)? Time stamps tell old segments from
    /// new ones, if a second lies between them. The initial sequence number has to be
    /// after the one that is returned.
    pub fn may_reopen(&self, now: Instant) -> Option<Seq> {
        let told = self.timestamps && now.since(self.now) >= REOPEN;
        told.then_some(self.snd_nxt)
    }

    /// The answer to a SYN for which no connection opens (RFC 5961 4.2), if not too
    /// many were sent this second.
    pub fn challenge(&mut self, now: Instant) -> Option<Header> {
        let challenge = self.may_challenge(now).then(|| self.ack(now));
        self.challenged |= challenge.is_some();
        challenge
    }

    /// RFC 6191 2: a SYN with a later timestamp, or without one with a later
    /// sequence number, cannot be of the old incarnation.
    fn is_new_incarnation(&self, syn: &Header) -> bool {
        // RFC 9293 SHLD-4
        match syn.options.timestamps {
            Some((value, _)) if self.timestamps => {
                let newer = value.wrapping_sub(self.ts_recent) as i32;
                newer > 0 || (newer == 0 && syn.seq.after(self.rcv_nxt))
            }
            _ => syn.seq.after(self.rcv_nxt),
        }
    }

    /// PAWS (RFC 7323 5.3).
    fn is_old(&self, h: &Header) -> bool {
        match h.options.timestamps {
            Some((value, _)) => self.timestamps && (value.wrapping_sub(self.ts_recent) as i32) < 0,
            None => self.timestamps,
        }
    }

    fn may_challenge(&mut self, now: Instant) -> bool {
        // RFC 5961 7/1
        let second = (now.as_millis() / 1000) as u32;
        if self.second != second {
            (self.second, self.challenges) = (second, 0);
        }
        self.challenges = self.challenges.saturating_add(1);
        self.challenges <= self.most_challenges
    }

    fn ack(&self, now: Instant) -> Header {
        let value = (now.as_millis() as u32).wrapping_add(self.ts_offset);
        Header {
            source_port: 0,
            destination_port: 0,
            seq: self.snd_nxt,
            ack: self.rcv_nxt,
            flags: Flags::ACK.with(Flags::of_ace(self.ace.into())),
            window: self.window,
            urgent: 0,
            options: Options {
                timestamps: self.timestamps.then_some((value, self.ts_recent)),
                ..Options::NONE
            },
        }
    }
}

#[cfg(test)]
mod tests;
