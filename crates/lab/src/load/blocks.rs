//! A server that sends blocks, and what comes beside it (Bohra 2007, 5).

use super::{Load, LoadConn};
use tcp::Tcb;
use wire::{Slice, checksum};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 8 * 1024;
/// Bytes of the message by which the client acknowledges it.
pub(crate) const ANSWER: usize = 16;

/// A block in memory, cut into segments, each with its sum: it is sent as
/// `sendfile` would, without a copy, again and again.
#[derive(Default)]
pub(crate) struct Block {
    /// Bytes of a segment.
    chunk: usize,
    slices: Vec<(Slice, u16)>,
}

impl Block {
    /// The slices, for segments of `chunk` bytes.
    fn slices(&mut self, chunk: usize) -> &[(Slice, u16)] {
        if self.chunk != chunk {
            let bytes: Vec<u8> = (0..BLOCK).map(|n| (n % 251) as u8).collect();
            let slice = |bytes: &[u8]| (Slice::copy_of(bytes), checksum::sum(bytes));
            *self = Block { chunk, slices: bytes.chunks(chunk.max(1)).map(slice).collect() };
        }
        &self.slices
    }
}

impl Load {
    /// Sends a block at the start, and another when the client has acknowledged
    /// the last one.
    pub(super) fn serve_blocks(&mut self, conn: &mut LoadConn, tcb: &mut Tcb) -> bool {
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            conn.missing = conn.missing.saturating_sub(slice.len() as u32);
        }
        if tcb.eof() && !conn.closing {
            conn.closing = true;
            self.fail(conn, "came to its end");
        }
        if conn.missing > 0 || conn.closing {
            return false;
        }
        for (slice, sum) in self.block.slices(tcb.chunk_size()) {
            if let Err(error) = tcb.send_slice(slice.clone(), Some(*sum)) {
                self.fail(conn, &format!("cannot send: {error}"));
                return false;
            }
        }
        conn.missing = ANSWER as u32;
        self.tally.sent.add(BLOCK as u64);
        conn.share.add(BLOCK as u64);
        false
    }

    /// Closes when the client has.
    pub(super) fn short(&mut self, conn: &mut LoadConn, tcb: &mut Tcb) -> bool {
        if tcb.eof() && !conn.closing {
            conn.closing = true;
            tcb.shutdown_write();
        }
        false
    }
}
