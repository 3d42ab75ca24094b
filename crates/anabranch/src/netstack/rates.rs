//! [`Rates`]: how fast a session may go, how much it may carry, and how long it may last.

use platform::Instant;
use std::time::Duration;

/// What one session may do. By default there is no bound.
///
/// What is too fast waits: a peer that sends finds its window closed, or, by UDP, its
/// datagrams dropped once [`Limits::session_bytes`](super::Limits) wait; a program that writes
/// waits for its turn.
///
/// ```
/// use anabranch::netstack::Rates;
/// use std::time::Duration;
///
/// // A megabit a second each way, and no session without a byte for an hour.
/// let rates = Rates::default().with_rate(125_000).with_idle(Duration::from_secs(3600));
/// assert_eq!(rates.from_peer, Some(125_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rates {
    /// Bytes a second that the peer's may come to, without headers.
    pub from_peer: Option<u64>,
    /// Bytes a second that may go to the peer.
    pub to_peer: Option<u64>,
    /// Bytes that may go at once after a pause, each way.
    pub burst: u64,
    /// Bytes that the session carries in all, both ways together. Then it fails with
    /// `QuotaExceeded`.
    pub bytes: Option<u64>,
    /// How long the session may be silent. Then it fails with `TimedOut`. UDP sessions have
    /// [`Limits::idle`](super::Limits) beside this.
    pub idle: Option<Duration>,
}

impl Default for Rates {
    fn default() -> Rates {
        Rates { from_peer: None, to_peer: None, burst: 64 << 10, bytes: None, idle: None }
    }
}

impl Rates {
    /// With this rate each way, bytes a second.
    #[must_use]
    pub fn with_rate(self, rate: u64) -> Rates {
        Rates { from_peer: Some(rate), to_peer: Some(rate), ..self }
    }

    /// With another [`Rates::from_peer`].
    #[must_use]
    pub fn with_from_peer(self, rate: Option<u64>) -> Rates {
        Rates { from_peer: rate, ..self }
    }

    /// With another [`Rates::to_peer`].
    #[must_use]
    pub fn with_to_peer(self, rate: Option<u64>) -> Rates {
        Rates { to_peer: rate, ..self }
    }

    /// With another [`Rates::burst`].
    #[must_use]
    pub fn with_burst(self, bytes: u64) -> Rates {
        Rates { burst: bytes, ..self }
    }

    /// With another [`Rates::bytes`].
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> Rates {
        Rates { bytes: Some(bytes), ..self }
    }

    pub(super) fn has_bounds(&self) -> bool {
        let Rates { from_peer, to_peer, bytes, .. } = *self;
        from_peer.or(to_peer).or(bytes).is_some() || self.idle.is_some()
    }

    /// With another [`Rates::idle`].
    #[must_use]
    pub fn with_idle(self, idle: Duration) -> Rates {
        Rates { idle: Some(idle), ..self }
    }
}

/// One way of a session: a token bucket, kept as the time at which all that went would have
/// gone at the rate (as ITU-T I.371 has it).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// `None`: nothing has gone for long.
    done: Option<Instant>,
}

impl Bucket {
    /// How many bytes may go now, of `wanted`, with `rate` and `burst`; or when to ask again.
    /// It asks for as much at once as is worth a wake-up.
    pub(super) fn room(
        &self,
        wanted: usize,
        rate: Option<u64>,
        burst: u64,
        now: Instant,
    ) -> Result<usize, Instant> {
        let Some(rate) = rate else { return Ok(wanted) };
        let (rate, burst) = (rate.max(1), burst.max(1));
        let debt = self.done.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        let owed = bytes_in(debt, rate);
        let least = (wanted as u64).min(burst.div_ceil(2));
        match burst.saturating_sub(owed) {
            room if room >= least => Ok(wanted.min(usize::try_from(room).unwrap_or(usize::MAX))),
            room => Err(now + time_of(least - room, rate)),
        }
    }

    /// So many bytes have gone.
    pub(super) fn took(&mut self, bytes: usize, rate: Option<u64>, now: Instant) {
        let Some(rate) = rate else { return };
        let from = self.done.map_or(now, |at| at.max(now));
        self.done = Some(from + time_of(bytes as u64, rate.max(1)));
    }
}

const SECOND: u128 = 1_000_000_000;

fn bytes_in(time: Duration, rate: u64) -> u64 {
    // Rounded up, so that no more goes than the rate.
    let bytes = (time.as_nanos() * u128::from(rate)).div_ceil(SECOND);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn time_of(bytes: u64, rate: u64) -> Duration {
    let nanos = (u128::from(bytes) * SECOND).div_ceil(u128::from(rate));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).min(1 << 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long `total` bytes take, asked for in pieces of `piece`, and how often it waited.
    fn run(total: usize, piece: usize, rate: u64, burst: u64) -> (Duration, usize) {
        let start = Instant::now();
        let (mut now, mut bucket, mut left, mut waits) = (start, Bucket::default(), total, 0);
        while left > 0 {
            match bucket.room(piece.min(left), Some(rate), burst, now) {
                Ok(n) => {
                    assert!(n > 0);
                    bucket.took(n, Some(rate), now);
                    left -= n;
                }
                Err(at) => {
                    assert!(at > now);
                    (now, waits) = (at, waits + 1);
                }
            }
        }
        (now - start, waits)
    }

    #[test]
    fn a_rate_is_kept_whatever_the_pieces() {
        for piece in [1, 100, 1460, 65_536, 1 << 20] {
            let (took, waits) = run(1_000_000, piece, 100_000, 50_000);
            // The burst goes at once; the last wait is for half a burst at most.
            let seconds = took.as_secs_f64();
            assert!((9.2..=9.51).contains(&seconds), "{piece}: {seconds}");
            assert!(waits <= 1_000_000 / piece.min(25_000) + 1, "{piece}: {waits}");
        }
        // Who wants little is not woken for each byte.
        assert!(run(100_000, 10, 10_000, 10_000).1 < 20_000);
    }

    #[test]
    fn a_pause_gives_one_burst_and_no_more() {
        let start = Instant::now();
        let mut bucket = Bucket::default();
        bucket.took(1000, Some(1000), start);
        let later = start + Duration::from_secs(100);
        assert_eq!(bucket.room(10_000, Some(1000), 500, later), Ok(500));
        bucket.took(500, Some(1000), later);
        assert_eq!(
            bucket.room(10_000, Some(1000), 500, later),
            Err(later + Duration::from_millis(250))
        );
        // Without a rate there is no bound; extremes do not overflow.
        assert_eq!(bucket.room(7, None, 0, later), Ok(7));
        let mut slow = Bucket::default();
        slow.took(usize::MAX, Some(0), start);
        assert!(slow.room(1, Some(0), 0, start).is_err());
        let quick = Bucket::default().room(1, Some(u64::MAX), u64::MAX, start);
        assert_eq!(quick, Ok(1));
    }
}
