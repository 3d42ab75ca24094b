//! Proportional rate reduction (RFC 9937): how much is sent in fast recovery, so
//! that as much is in flight at its end as the congestion control wants.

/// The state of it, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// RecoverFS: what was in flight when it began.
    flight: u32,
    /// prr_delivered
    delivered: u32,
    /// prr_out
    out: u32,
    /// cwnd: what may be in the network now.
    pub window: u32,
}

impl Prr {
    /// Recovery begins with `flight` bytes in flight, those included of which the
    /// acknowledgment that it begins with brings news.
    pub(crate) fn new(flight: u32) -> Prr {
        Prr { flight: flight.max(1), delivered: 0, out: 0, window: 0 }
    }

    /// Something was sent, or sent again.
    pub(crate) fn on_send(&mut self, len: u32) {
        self.out = self.out.saturating_add(len);
    }

    /// An acknowledgment came, of `delivered` bytes, and `pipe` are in the network
    /// now. `safe`: SND.UNA moved, and nothing more was found lost.
    pub(crate) fn on_ack(
        &mut self,
        delivered: u32,
        pipe: u32,
        (ssthresh, mss): (u32, u32),
        safe: bool,
    ) {
        self.delivered = self.delivered.saturating_add(delivered);
        let credit = self.delivered.saturating_sub(self.out);
        let mut count = if pipe > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            let share = share.div_ceil(self.flight.into()).min(u32::MAX.into()) as u32;
            share.saturating_sub(self.out)
        } else {
            // PRR-SSRB: slow start, but only while it does no harm.
            let most = credit.max(delivered).saturating_add(if safe { mss } else { 0 });
            most.min(ssthresh - pipe)
        };
        if self.out == 0 && count == 0 {
            count = mss;
        }
        self.window = pipe.saturating_add(count);
    }
}

#[cfg(test)]
mod tests;
