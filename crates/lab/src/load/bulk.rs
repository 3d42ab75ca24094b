//! Data without end.

use super::pattern::after;
use super::{Load, LoadConn, Role, with_buffer};
use tcp::Tcb;

/// Segments that a source writes in one turn, at most: as many as the transport
/// lets a connection send in its turn. What is written is then on its way at
/// once, and the payload of thousands of connections does not pile up.
const BURST: usize = 32;

impl Load {
    /// Writes what may go out at once. Returns whether there could be more.
    #[inline]
    pub(super) fn write(&mut self, conn: &mut LoadConn, tcb: &mut Tcb) -> bool {
        let segment = (tcb.mss() as usize).max(1);
        let sendable = tcb.sendable();
        if sendable < segment && tcb.queued() > 0 {
            // Less than a segment: not worth a packet while others are on
            // their way.
            return false;
        }
        let mut n = sendable.min(BURST * segment).min(self.bytes);
        if n > segment {
            n -= n % segment;
        }
        let data = self.pattern.from(conn.out_at, n);
        let sent = match tcb.send(data) {
            Ok(sent) => sent,
            Err(tcp::Error::WouldBlock) => 0,
            Err(error) => {
                self.fail(conn, &format!("cannot send: {error}"));
                return false;
            }
        };
        conn.out_at = after(conn.out_at, sent);
        self.tally.sent.add(sent as u64);
        conn.share.add(sent as u64);
        sent > 0 && tcb.sendable() >= segment
    }

    /// Takes the next `len` bytes at once, into the buffer that it would read them to.
    #[inline]
    pub(super) fn take_at_once(
        &mut self,
        conn: &mut LoadConn,
        len: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> bool {
        let filled = with_buffer(self.bytes.max(len), |buffer| {
            let place = &mut buffer[..len];
            let filled = fill(place);
            if filled && conn.role != Role::Drain && !self.pattern.fits(conn.in_at, place) {
                self.fail(conn, "received wrong data");
            }
            filled
        });
        if filled {
            conn.in_at = after(conn.in_at, len);
            self.tally.received.add(len as u64);
            conn.share.add(len as u64);
        }
        filled
    }

    /// Reads all there is. Returns `false`: there is nothing to write.
    #[inline]
    pub(super) fn read(&mut self, conn: &mut LoadConn, tcb: &mut Tcb) -> bool {
        let mut total = 0;
        let check = conn.role != Role::Drain;
        with_buffer(self.bytes, |buffer| {
            while tcb.received() > 0
                && let Ok(n) = tcb.receive(buffer)
                && n > 0
            {
                if check && !self.pattern.fits(conn.in_at, &buffer[..n]) {
                    self.fail(conn, "received wrong data");
                    break;
                }
                conn.in_at = after(conn.in_at, n);
                total += n;
            }
        });
        if total > 0 {
            self.tally.received.add(total as u64);
            conn.share.add(total as u64);
        }
        if self.posts {
            // What was posted has been read.
            tcb.set_unread_outside(0);
        }
        if tcb.eof() && !conn.closing {
            conn.closing = true;
            self.fail(conn, "came to its end");
        }
        false
    }
}
