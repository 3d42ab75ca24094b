//! CUBIC (RFC 9438).
//!
//! Its equations are in segments and seconds; so are the numbers here, as `f64`.
//! Only `cwnd` and `ssthresh`, which others see, are in bytes.

use super::hystart::HyStart;
use super::{CongestionControl, MAX_WINDOW, Sample, recovered};
use wire::Instant;
use wire::time::Duration;

/// The constant C (RFC 9438 4.1), segments per second cubed: how fast the window
/// grows back.
// RFC 9438 4.1/1
const C: f64 = 0.4;
/// beta_cubic (RFC 9438 4.6): what is left of the window after a loss.
// RFC 9438 4.6/1
const BETA: f64 = 0.7;
/// alpha_cubic (RFC 9438 4.3): with it, Reno with a decrease by `BETA` has the mean
/// window of Reno.
// RFC 9438 4.3/2
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of CUBIC. What a connection needs that is never beyond slow start lies
/// in it; the rest follows with the first loss.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    cwnd: u32,
    ssthresh: u32,
    hystart: HyStart,
    avoidance: Option<Box<Avoidance>>,
}

/// What congestion avoidance remembers.
#[derive(Clone, Debug, Default)]
struct Avoidance {
    /// W_max: the window before the last reduction, segments; 0 if there is none.
    w_max: f64,
    /// cwnd_prior: cwnd at the last reduction, segments.
    prior: f64,
    /// The part of a byte by which cwnd has grown beyond `cwnd`.
    fraction: f64,
    /// The stage of congestion avoidance that goes on.
    epoch: Option<Epoch>,
    /// What all this was before the last reduction, as long as that may be undone.
    before: Option<Box<Before>>,
}

/// The state before a reduction (RFC 9438 4.9.1).
#[derive(Clone, Debug)]
struct Before {
    cwnd: u32,
    ssthresh: u32,
    w_max: f64,
    prior: f64,
    epoch: Option<Epoch>,
    hystart: HyStart,
}

/// A stage of congestion avoidance: from its first acknowledgment on.
#[derive(Clone, Debug)]
struct Epoch {
    /// t_epoch: when it began, later by what was spent with the window not in use.
    start: Instant,
    /// When the last acknowledgment came.
    last: Instant,
    /// K: seconds until the window is `origin` again.
    k: f64,
    /// W_max of the equations: the plateau of the function.
    origin: f64,
    /// W_est: Reno's window, segments.
    reno: f64,
}

impl Epoch {
    /// RFC 9438 figure 1: W_cubic(t), segments.
    fn window_at(&self, t: Duration) -> f64 {
        // RFC 9438 4.2/1
        let d = t.as_secs_f64() - self.k;
        C * d * d * d + self.origin
    }
}

impl Avoidance {
    /// Is it as before the first loss?
    fn is_new(&self) -> bool {
        let Avoidance { w_max, prior, fraction, epoch, before } = self;
        [*w_max, *prior, *fraction] == [0.0; 3] && epoch.is_none() && before.is_none()
    }

    /// cwnd in segments.
    fn segments(&self, cwnd: u32, mss: u32) -> f64 {
        // RFC 9438 4.1/2
        (f64::from(cwnd) + self.fraction) / f64::from(mss.max(1))
    }

    /// cwnd for a window of `segments`.
    fn set(&mut self, segments: f64, mss: u32) -> u32 {
        let bytes = (segments * f64::from(mss.max(1))).clamp(f64::from(mss), MAX_WINDOW.into());
        self.fraction = bytes - f64::from(bytes as u32);
        bytes as u32
    }

    /// RFC 9438 4.2: W_max, K and W_est at the beginning of a stage.
    fn begin_epoch(&self, cwnd: f64, now: Instant) -> Epoch {
        let (origin, k) = if cwnd < self.w_max {
            (self.w_max, ((self.w_max - cwnd) / C).cbrt())
        } else {
            (cwnd, 0.0)
        };
        Epoch { start: now, last: now, k, origin, reno: cwnd }
    }

    /// Congestion avoidance (RFC 9438 4.3 to 4.5): the new cwnd.
    fn avoid(&mut self, cwnd_bytes: u32, a: Sample) -> u32 {
        // RFC 9438 4.2/3, 4.3/1
        let cwnd = self.segments(cwnd_bytes, a.mss);
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.begin_epoch(cwnd, a.now));
        if !a.limited {
            // RFC 9438 4.2/2
            // RFC 9438 4.2: t does not contain times in which the window did not
            // grow because it was not used.
            epoch.start += a.now.since(epoch.last);
        }
        epoch.last = a.now;
        let mut after = cwnd_bytes;
        if a.limited {
            let acked = f64::from(a.delivered) / f64::from(a.mss.max(1));
            let t = a.now.since(epoch.start);
            let alpha = if epoch.reno >= self.prior { 1.0 } else { ALPHA };
            epoch.reno += alpha * acked / cwnd;
            after = if epoch.window_at(t) < epoch.reno {
                // The Reno-friendly region.
                self.set(epoch.reno.max(cwnd), a.mss)
            } else {
                let target = epoch
                    .window_at(t + Duration::from_micros(a.srtt.into()))
                    .clamp(cwnd, 1.5 * cwnd);
                // Acknowledgments come coalesced: one of a whole window reaches the
                // target, and none goes beyond.
                let step = (target - cwnd) * (acked / cwnd).min(1.0);
                self.set(cwnd + step, a.mss)
            };
        }
        self.epoch = Some(epoch);
        after
    }
}

impl Cubic {
    /// RFC 9438 4.6 and 4.7: ssthresh, W_max and cwnd_prior at a loss.
    fn reduce(&mut self, flight: u32, mss: u32) {
        // RFC 9438 4.6/2
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        let hystart = self.hystart;
        self.hystart.end();
        let v = self.avoidance.get_or_insert_default();
        let now = v.segments(cwnd, mss);
        let (w_max, prior) = (v.w_max, v.prior);
        let epoch = v.epoch.take();
        v.before = Some(Box::new(Before { cwnd, ssthresh, w_max, prior, epoch, hystart }));
        // RFC 9438 4.7/1
        // Fast convergence: a flow that has less than before leaves room for others.
        v.w_max = if now < v.w_max { now * (1.0 + BETA) / 2.0 } else { now };
        v.prior = now;
        v.fraction = 0.0;
        self.ssthresh = ((f64::from(flight) * BETA).round() as u32).max(2 * mss);
    }

    /// Slow start (RFC 9438 4.10, RFC 9406).
    #[inline(always)]
    fn start(&mut self, a: &Sample) {
        // RFC 9438 4.10/1
        let Some(growth) = self.hystart.growth(a) else {
            self.ssthresh = self.cwnd;
            return self.hystart.end();
        };
        if a.limited {
            let room = self.ssthresh - self.cwnd;
            self.cwnd = (self.cwnd + growth.min(room)).min(MAX_WINDOW);
        }
    }
}

impl Cubic {
    /// As [`CongestionControl::on_ack`], with the acknowledgment's own code around it: in slow
    /// start the sample is never put together.
    #[inline(always)]
    pub(super) fn on_ack_of(&mut self, sample: impl Fn() -> Sample) {
        if self.cwnd < self.ssthresh && sample().grow {
            self.start(&sample());
        } else {
            self.on_ack(&sample());
        }
    }
}

impl CongestionControl for Cubic {
    fn new(initial_window: u32) -> Cubic {
        Cubic {
            cwnd: initial_window,
            ssthresh: MAX_WINDOW,
            hystart: HyStart::new(),
            avoidance: None,
        }
    }

    fn set_ssthresh(&mut self, ssthresh: u32) {
        self.ssthresh = ssthresh;
    }
    #[inline]
    fn window(&self) -> u32 {
        self.cwnd
    }

    #[inline]
    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, a: &Sample) {
        // RFC 9438 5.3/1
        if !a.grow {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.start(a);
        } else {
            self.cwnd = self.avoidance.get_or_insert_default().avoid(self.cwnd, *a);
        }
    }

    fn on_loss(&mut self, flight: u32, mss: u32, _now: Instant) {
        self.reduce(flight, mss);
        self.cwnd = self.ssthresh;
    }

    fn on_recovered(&mut self, window: u32, _now: Instant) {
        self.cwnd = recovered(self.cwnd, self.ssthresh).min(window);
    }

    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, _now: Instant) {
        // RFC 9438 4.8/1
        // RFC 5681 3.1: ssthresh stays for a segment that was sent again before.
        if !again {
            self.reduce(flight, mss);
        }
        // RFC 9438 4.8: the stage that slow start ends in begins with K 0, and its
        // own window as W_max.
        if let Some(v) = &mut self.avoidance {
            (v.w_max, v.epoch, v.fraction) = (0.0, None, 0.0);
        }
        self.cwnd = mss;
    }

    fn on_undo(&mut self) {
        // RFC 9438 4.9/1
        let Some(v) = &mut self.avoidance else { return };
        let Some(before) = v.before.take() else { return };
        // RFC 9438 4.9.1: the time in between counts as if nothing had been.
        if self.cwnd < before.cwnd {
            self.cwnd = before.cwnd;
            (v.w_max, v.prior, v.epoch) = (before.w_max, before.prior, before.epoch);
            v.fraction = 0.0;
        }
        self.ssthresh = self.ssthresh.max(before.ssthresh);
        // The first slow start goes on: it has not found the path's limit.
        self.hystart = before.hystart;
        if v.is_new() {
            self.avoidance = None;
        }
    }

    fn rest(&mut self) {
        if let Some(v) = &mut self.avoidance {
            v.before = None;
        }
    }

    fn on_disuse(&mut self, initial: u32) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        self.cwnd = (self.cwnd / 2).max(initial).min(self.cwnd);
        if let Some(v) = &mut self.avoidance {
            (v.epoch, v.fraction) = (None, 0.0);
        }
    }

    fn on_pause(&mut self, now: Instant) {
        // RFC 9438 4.2/2
        // RFC 9438 4.2: t does not contain the pause.
        if let Some(epoch) = self.avoidance.as_mut().and_then(|v| v.epoch.as_mut()) {
            epoch.start += now.since(epoch.last);
            epoch.last = now;
        }
    }
}

#[cfg(test)]
mod tests;
