//! SYN cookies (RFC 4987 3.6): the answer to a SYN whose connection is kept nowhere.
//! All that has to be known of it stands in our sequence number and in the time stamp,
//! which the peer says again.

use crate::{Config, Isn, State, Tcb};
use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use wire::tcp::{Flags, Header, Options};
use wire::time::Duration;
use wire::{FlowKey, Instant, Seq};

/// Segment sizes that a cookie can say, bytes: those that are common, from below.
const SIZES: [u16; 8] = [48, 536, 1024, 1220, 1360, 1440, 1460, 8960];
/// How long a tick of the cookies' clock is, and for how many a cookie counts after
/// that in which it was made.
const TICK: Duration = Duration::from_secs(64);
const LIFE: u32 = 1;
/// Bits of the time stamp that say which options both ends speak.
const OPTION_BITS: u32 = 0b11_1111;
/// No window scaling: a shift that there is not (RFC 7323 2.3).
const NO_SCALE: u32 = 15;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;

/// Makes cookies, and knows them again.
#[derive(Clone)]
pub struct Cookies {
    key: [u8; 16],
}

impl std::fmt::Debug for Cookies {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cookies").finish_non_exhaustive()
    }
}

impl Cookies {
    /// Cookies with a secret random `key`.
    pub fn new(key: [u8; 16]) -> Cookies {
        Cookies { key }
    }

    /// The upper 24 bits of a cookie. `size`: 3 bits, of [`SIZES`]. All of the `tick` counts, of which the cookie
    /// says 5 bits: or one would be good again half an hour later.
    fn code(&self, flow: &FlowKey, irs: Seq, tick: u32, size: u32) -> u32 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        flow.hash(&mut hasher);
        hasher.write_u32(irs.0);
        hasher.write_u32(tick);
        hasher.write_u32(size);
        (hasher.finish() as u32) << 8
    }

    /// Our end of a connection that `syn` asks for, made such that
    /// [`Cookies::check`] knows it from the peer's acknowledgment.
    fn bake(&self, flow: &FlowKey, syn: &Header, tick: u32) -> Seq {
        let told = syn.options.mss.unwrap_or(536);
        let size = SIZES.iter().rposition(|size| *size <= told).unwrap_or(0) as u32;
        Seq(self.code(flow, syn.seq, tick, size) | (tick & 31) << 3 | size)
    }

    /// The SYN-ACK that answers `syn` without keeping anything; the ports are 0. `mss`
    /// is what our link takes; `isn` what the connection would have otherwise.
    pub fn answer(
        &self,
        config: &Arc<Config>,
        flow: &FlowKey,
        syn: &Header,
        isn: Isn,
        mss: u16,
        now: Instant,
    ) -> Header {
        let seq = self.bake(flow, syn, tick(now));
        let mut tcb = Tcb::accept(config, Isn { seq, ..isn }, mss, syn, now);
        let mut answer = tcb.syn(now).header;
        if let Some((value, echo)) = answer.options.timestamps {
            answer.options.timestamps = Some((stamp(value, isn, &tcb, syn), echo));
        } else {
            // Where nothing says them again, there are none.
            answer.options.window_scale = None;
            answer.options.sack_permitted = false;
            answer.flags = answer.flags.without(Flags::ACE);
            answer.options.acc_ecn = None;
        }
        answer
    }

    /// Does `ack` acknowledge a cookie of the last two minutes? Then the SYN that it
    /// was baked for, as far as it is known, and our initial sequence number.
    pub fn check(
        &self,
        flow: &FlowKey,
        ack: &Header,
        isn: Isn,
        now: Instant,
    ) -> Option<(Header, Isn)> {
        let plain = ack.flags.ack() && !ack.flags.syn() && !ack.flags.rst();
        let (seq, irs) = (ack.ack - 1, ack.seq - 1);
        let (then, size) = (seq.0 >> 3 & 31, seq.0 & 7);
        let old = tick(now).wrapping_sub(then) & 31;
        let then = tick(now).wrapping_sub(old);
        if !plain || old > LIFE || self.code(flow, irs, then, size) != seq.0 & !0xff {
            return None;
        }
        let mut options = Options { mss: Some(SIZES[size as usize]), ..Options::NONE };
        let mut flags = Flags::SYN;
        if let Some((value, echo)) = ack.options.timestamps {
            let said = echo.wrapping_sub(isn.timestamp_offset) & OPTION_BITS;
            options.timestamps = Some((value, 0));
            options.sack_permitted = said & SACK != 0;
            options.window_scale = (said & 15 != NO_SCALE).then_some((said & 15) as u8);
            if said & ECN != 0 {
                // RFC 9768 3.2.2.1, note 3: who counts marks never says 0 or 1 now.
                let accurate = ack.flags.ace() > 1;
                let ask = Flags::ECE.with(Flags::CWR);
                flags = flags.with(if accurate { Flags::ACE } else { ask });
            }
        }
        let syn = Header { seq: irs, ack: Seq(0), flags, options, ..*ack };
        Some((syn, Isn { seq, ..isn }))
    }
}

/// The tick of the cookies' clock.
fn tick(now: Instant) -> u32 {
    (now.as_millis() / TICK.as_millis() as u64) as u32
}

/// The time stamp that says the options of `syn` that `tcb` has agreed to: the latest
/// that is not later than `value`.
fn stamp(value: u32, isn: Isn, tcb: &Tcb, syn: &Header) -> u32 {
    let scale = if tcb.rcv.scaling {
        syn.options.window_scale.map_or(NO_SCALE, |s| s.min(14).into())
    } else {
        NO_SCALE
    };
    let sack = if tcb.flags.sack { SACK } else { 0 };
    let ecn = if tcb.has_ecn() { ECN } else { 0 };
    let clock = value.wrapping_sub(isn.timestamp_offset);
    let mut said = clock & !OPTION_BITS | scale | sack | ecn;
    if said > clock {
        said = said.wrapping_sub(OPTION_BITS + 1);
    }
    said.wrapping_add(isn.timestamp_offset)
}

impl Tcb {
    /// As if our SYN-ACK had been sent, before a segment that acknowledges a cookie is put
    /// in: the connection was opened by the SYN that [`Cookies::check`] has told.
    pub fn was_answered(&mut self, now: Instant) {
        if self.state == State::SynReceived {
            // It told what the stack is configured for, whatever buffer the user wants.
            self.plan_windows(self.config.receive_most(), self.config.receive_limit());
            // When that was is not known: as if it had been done twice (Karn).
            self.syn(now);
            self.syn(now);
        }
    }
}

#[cfg(test)]
mod tests;
