//! The round-trip time and the retransmission time-out (RFC 6298).

use crate::Config;
use wire::Instant;
use wire::time::Duration;

/// The least round trip is that of a period of 2^PERIOD ns (34 s) and the one before, so that each
/// measurement counts for 34 to 69 s (RFC 8985 6.2 step 1: windowed, so that it adapts when a
/// connection comes to a much longer path). Linux has 300 s, and for so long what is late on such
/// a path goes twice. In a shorter one a window that fills a long queue might not come down once,
/// and the queue would be taken for a part of the path.
const PERIOD: u32 = 35;

/// What is known of the round-trip time. Times are in microseconds: 32 bits of
/// them are more than an hour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    /// SRTT; 0: no measurement yet.
    pub srtt: u32,
    /// RTTVAR.
    pub rttvar: u32,
    /// RTO, not backed off, and no more than there may be.
    rto: u32,
    /// The least measurement of this period and the one before; `u32::MAX`: there is none.
    pub min: u32,
    /// The least of this period alone.
    fresh: u32,
    /// The least of the variance that counts for the RTO, and the most that there may be of
    /// that.
    least: u32,
    most: u32,
    /// Time-outs in a row, each of which doubled the RTO.
    pub backoff: u8,
    /// The number of this period, modulo 2^16.
    period: u16,
}

/// The number of the period at `now`.
#[inline]
fn period(now: Instant) -> u16 {
    (now.as_nanos() >> PERIOD) as u16
}

#[inline]
fn micros(d: Duration) -> u32 {
    // Not `as_micros`, which computes in 128 bits.
    let micros = d.as_secs().saturating_mul(1_000_000).saturating_add(d.subsec_micros().into());
    micros.min(u32::MAX.into()) as u32
}

impl Rtt {
    pub(crate) fn new(config: &Config, now: Instant) -> Rtt {
        let (least, most) = (micros(config.min_rto).max(1), micros(config.max_rto));
        let rto = micros(config.initial_rto).min(most);
        let (min, fresh, period) = (u32::MAX, u32::MAX, period(now));
        Rtt { srtt: 0, rttvar: 0, rto, min, fresh, least, most, backoff: 0, period }
    }

    /// Takes a measurement in, microseconds. One below a microsecond says that two threads
    /// read the clock at nearly the same time, and nothing about the least
    /// round-trip time of the path.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: u32) {
        // RFC 8985 6.2/1
        // RFC 6298 2.2/1, 2.3/1, 2.3/2
        let r = rtt.clamp(1, u32::MAX / 16);
        // What is less than `min` is less than `fresh`.
        if r < self.fresh && rtt > 0 {
            self.fresh = r;
            self.min = self.min.min(r);
        }
        if self.srtt == 0 {
            // RFC 6298 2.2: SRTT is the measurement, RTTVAR half of it.
            self.srtt = r;
            self.rttvar = r / 2;
        } else {
            //= RFC 6298 2.3: "alpha=1/8 and beta=1/4"
            // RTTVAR first: it is made with the SRTT from before.
            self.rttvar = self.rttvar - self.rttvar / 4 + self.srtt.abs_diff(r) / 4;
            self.srtt = (self.srtt - self.srtt / 8 + r / 8).max(1);
        }
        // The lower bound is one of the variance, as in Linux: on a steady path the
        // sum of RFC 6298 2.3 would be no more than SRTT, and each acknowledgment
        // that is delayed would come too late.
        // RFC 6298 2.3/3
        let variance = (4 * self.rttvar).max(self.least);
        self.rto = self.srtt.saturating_add(variance).min(self.most);
    }

    /// A round trip is over with a window larger than at first, or a loss is found: where it matters, so that who
    /// asks and answers does not pay for it. If it is the first of a period, what was measured before the last one does
    /// not count any more.
    #[inline]
    pub(crate) fn round(&mut self, now: Instant) {
        if period(now) != self.period {
            self.begin_period(period(now));
        }
    }

    #[cold]
    fn begin_period(&mut self, period: u16) {
        // RFC 8985 6.2/1
        self.period = period;
        if self.fresh < u32::MAX {
            self.min = self.fresh;
            self.fresh = u32::MAX;
        }
    }

    /// The time-out, not backed off, microseconds.
    #[inline]
    pub(crate) fn least_rto(&self) -> u64 {
        self.rto.into()
    }

    /// The time-out, backed off (RFC 6298 5.5), microseconds.
    #[inline]
    pub(crate) fn rto(&self) -> u64 {
        if self.backoff == 0 {
            return self.rto.into();
        }
        let rto = u64::from(self.rto) << self.backoff.min(24);
        rto.min(self.most.into())
    }

    /// RFC 6298 5.7: a SYN that had to be sent again makes the RTO of the
    /// connection 3 s.
    pub(crate) fn syn_was_lost(&mut self, config: &Config) {
        // RFC 6298 5.7/1
        if self.srtt == 0 {
            let rto = self.rto.max(3 * micros(config.initial_rto).min(u32::MAX / 4));
            self.rto = rto.min(self.most);
        }
    }
}

#[cfg(test)]
mod tests;
