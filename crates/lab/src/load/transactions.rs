//! Messages and their echoes.

use super::pattern::after;
use super::shares::Since;
use super::{Call, Load, LoadConn, READ, Role, with_buffer};
use net::application::ConnectError;
use tcp::Tcb;
use wire::Instant;

/// The first port of a peer that listens.
pub(crate) const FIRST_PORT: u16 = 5000;
/// Ports from the first on at which the peer of a churn listens.
pub(crate) const CHURN_PORTS: u16 = 16;

impl Load {
    /// Sends back what has come, as far as there is room.
    #[inline(never)]
    pub(super) fn echo(&mut self, conn: &mut LoadConn, tcb: &mut Tcb) -> bool {
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
            conn.share.add(1);
        }
        if tcb.eof() && !conn.closing {
            conn.closing = true;
            tcb.shutdown_write();
        }
        false
    }

    /// Sends a message if the last one has come back whole.
    #[inline(never)]
    pub(super) fn transact(&mut self, conn: &mut LoadConn, tcb: &mut Tcb, now: Instant) -> bool {
        if conn.closing {
            return false;
        }
        if conn.missing > 0 {
            self.answer(conn, tcb, now);
            if tcb.eof() {
                conn.closing = true;
                self.fail(conn, "was closed by the peer");
                return false;
            }
            if conn.missing == 0 && conn.role == Role::Churn {
                conn.closing = true;
                tcb.shutdown_write();
                return false;
            }
        }
        if conn.missing == 0 && (!self.resting || conn.out_at == 0) {
            conn.missing = self.bytes as u32;
            conn.unsent = self.bytes as u32;
            conn.asked = Since::at(now);
        }
        if conn.unsent > 0 {
            self.ask(conn, tcb);
        }
        false
    }

    /// Writes what is left of the message, as far as there is room.
    #[inline]
    fn ask(&mut self, conn: &mut LoadConn, tcb: &mut Tcb) {
        let n = conn.unsent as usize;
        match tcb.send(self.pattern.from(conn.out_at, n)) {
            Ok(sent) => {
                conn.unsent -= sent as u32;
                conn.out_at = after(conn.out_at, sent);
            }
            Err(tcp::Error::WouldBlock) => {}
            Err(error) => self.fail(conn, &format!("cannot send: {error}")),
        }
    }

    /// Reads what has come of the echo.
    #[inline]
    fn answer(&mut self, conn: &mut LoadConn, tcb: &mut Tcb, now: Instant) {
        let mut total = 0;
        with_buffer(READ, |buffer| {
            while conn.missing > 0 && tcb.received() > 0 {
                let most = buffer.len().min(conn.missing as usize);
                let Ok(n) = tcb.receive(&mut buffer[..most]) else { break };
                if n == 0 {
                    break;
                }
                if !self.pattern.fits(conn.in_at, &buffer[..n]) {
                    self.fail(conn, "received wrong data");
                    break;
                }
                conn.in_at = after(conn.in_at, n);
                conn.missing -= n as u32;
                total += n;
            }
        });
        if total > 0 {
            self.tally.received.add(total as u64);
        }
        if conn.missing == 0 {
            self.tally.latency.record(conn.asked.until(now));
            conn.share.add(1);
            if conn.role == Role::Client {
                self.tally.transactions.add(1);
            }
        }
    }

    /// A connection has been closed after its message: the transaction is
    /// complete, and the next begins.
    pub(super) fn again(&mut self, conn: LoadConn) {
        self.tally.transactions.add(1);
        let LoadConn { share, remote, .. } = conn;
        if let Some(to) = remote {
            let remote = *to;
            let connection =
                LoadConn { share, remote: Some(to), ..LoadConn::new(Role::Churn, None) };
            self.calls.push_back(Call::Connect { remote, local: None, connection });
        }
    }

    /// A connection of a churn that found no local port towards one port of the peer goes to the
    /// next: a group of the organization `group-locks` has but its part of the local ports, and
    /// those of connections that have ended come back after TIME-WAIT. Gives the connection back
    /// if it is to fail.
    pub(super) fn elsewhere(
        &mut self,
        mut conn: LoadConn,
        error: ConnectError,
    ) -> Result<(), LoadConn> {
        conn.exhausted += 1;
        let goes_on = conn.role == Role::Churn
            && error == ConnectError::NoPort
            && conn.exhausted < CHURN_PORTS;
        let Some(to) = conn.remote.as_mut().filter(|_| goes_on) else { return Err(conn) };
        to.port = FIRST_PORT + (to.port.saturating_sub(FIRST_PORT) + 1) % CHURN_PORTS;
        let remote = **to;
        self.calls.push_back(Call::Connect { remote, local: None, connection: conn });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
