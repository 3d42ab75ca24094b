//! Messages and their echoes.

use super::pattern::after;
use super::shares::Since;
use super::{Call, Load, READ, Role, Talk, with_buffer};
use tcp::Tcb;
use wire::Instant;

impl Load {
    /// Sends back what has come, as far as there is room.
    #[inline]
    pub(super) fn echo(&mut self, talk: &mut Talk, tcb: &mut Tcb) -> bool {
        let mut total = 0;
        with_buffer(READ, |buffer| {
            while tcb.received() > 0 {
                let most = tcb.send_room().min(buffer.len());
                let Ok(n) = tcb.receive(&mut buffer[..most]) else { break };
                if n == 0 || tcb.send(&buffer[..n]) != Ok(n) {
                    break;
                }
                total += n;
            }
        });
        if total > 0 {
            self.tally.received.add(total as u64);
            // Of an echo to a client that counts there is none.
            talk.share.add(1);
        }
        if tcb.eof() && !talk.closing {
            talk.closing = true;
            tcb.shutdown_write();
        }
        false
    }

    /// Sends a message if the last one has come back whole.
    #[inline]
    pub(super) fn transact(&mut self, talk: &mut Talk, tcb: &mut Tcb, now: Instant) -> bool {
        if talk.closing {
            return false;
        }
        if talk.missing > 0 {
            self.answer(talk, tcb, now);
            if tcb.eof() {
                talk.closing = true;
                self.fail(talk, "was closed by the peer");
                return false;
            }
            if talk.missing == 0 && talk.role == Role::Churn {
                talk.closing = true;
                tcb.shutdown_write();
                return false;
            }
        }
        if talk.missing == 0 && (!self.resting || talk.out_at == 0) {
            talk.missing = self.bytes as u32;
            talk.unsent = self.bytes as u32;
            talk.asked = Since::at(now);
        }
        if talk.unsent > 0 {
            self.ask(talk, tcb);
        }
        false
    }

    /// Writes what is left of the message, as far as there is room.
    #[inline]
    fn ask(&mut self, talk: &mut Talk, tcb: &mut Tcb) {
        let n = talk.unsent as usize;
        match tcb.send(self.pattern.from(talk.out_at, n)) {
            Ok(sent) => {
                talk.unsent -= sent as u32;
                talk.out_at = after(talk.out_at, sent);
            }
            Err(tcp::Error::WouldBlock) => {}
            Err(error) => self.fail(talk, &format!("cannot send: {error}")),
        }
    }

    /// Reads what has come of the echo.
    #[inline]
    fn answer(&mut self, talk: &mut Talk, tcb: &mut Tcb, now: Instant) {
        let mut total = 0;
        with_buffer(READ, |buffer| {
            while talk.missing > 0 && tcb.received() > 0 {
                let most = buffer.len().min(talk.missing as usize);
                let Ok(n) = tcb.receive(&mut buffer[..most]) else { break };
                if n == 0 {
                    break;
                }
                if !self.pattern.fits(talk.in_at, &buffer[..n]) {
                    self.fail(talk, "received wrong data");
                    break;
                }
                talk.in_at = after(talk.in_at, n);
                talk.missing -= n as u32;
                total += n;
            }
        });
        if total > 0 {
            self.tally.received.add(total as u64);
        }
        if talk.missing == 0 {
            self.tally.latency.record(talk.asked.until(now));
            talk.share.add(1);
            if talk.role == Role::Client {
                self.tally.transactions.add(1);
            }
        }
    }

    /// A connection has been closed after its message: the transaction is
    /// complete, and the next begins.
    pub(super) fn again(&mut self, talk: Talk) {
        self.tally.transactions.add(1);
        if let Some(remote) = talk.remote {
            let connection = Talk { share: talk.share, ..Talk::new(Role::Churn, Some(remote)) };
            self.calls.push_back(Call::Connect { remote, local: None, connection });
        }
    }
}
