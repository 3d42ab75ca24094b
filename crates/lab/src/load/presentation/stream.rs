//! Records in a stream of bytes: a mark of four bytes in front of each message,
//! as ONC RPC has it over TCP (RFC 5531 11).

use super::xdr::Message;
use super::{Outbox, Undecoded};
use net::ConnId;
use std::collections::VecDeque;
use std::sync::Arc;
use wire::{Parts, Slice};

/// Bytes of a record mark.
pub(super) const MARK: usize = 4;
/// In a mark: this fragment is the record's last. We send no others.
pub(super) const LAST: u32 = 1 << 31;
/// Bytes of the longest record that is taken.
const LONGEST: usize = 1 << 24;

/// What the presentation layer keeps with a connection.
#[derive(Debug)]
pub(crate) struct Presented {
    pub(super) id: ConnId,
    /// What waits to be sent, if it sends.
    pub(super) outbox: Option<Arc<Outbox>>,
    pub(super) cutter: Cutter,
}

impl Presented {
    pub(super) fn new(id: ConnId) -> Presented {
        Presented { id, outbox: None, cutter: Cutter::default() }
    }
}

/// Why what came is not a stream of our records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRecord;

/// Cuts what comes in into whole messages, which can then be decoded by any
/// thread in any order.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    slices: VecDeque<Slice>,
    len: usize,
    /// The number of the next message.
    next: u32,
}

impl Cutter {
    #[inline]
    pub(crate) fn push(&mut self, slice: Slice) {
        self.len += slice.len();
        self.slices.push_back(slice);
    }

    /// Takes out the next message, if it is there whole.
    ///
    /// # Errors
    /// [`NoRecord`] if there is no record mark where one must be.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Undecoded>, NoRecord> {
        let Some(mark) = self.mark() else { return Ok(None) };
        let len = (mark & !LAST) as usize;
        if mark & LAST == 0 || len > LONGEST || len < Message::len_of(0) {
            return Err(NoRecord);
        }
        if self.len < MARK + len {
            return Ok(None);
        }
        self.take(MARK);
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        Ok(Some(Undecoded { number: Some(number), payload: self.take(len) }))
    }

    /// The mark in front, whichever slices it lies in.
    #[inline]
    fn mark(&self) -> Option<u32> {
        if let Some(bytes) = self.slices.front().and_then(|first| first.first_chunk::<MARK>()) {
            return Some(u32::from_be_bytes(*bytes));
        }
        if self.len < MARK {
            return None;
        }
        let bytes = self.slices.iter().flat_map(|slice| slice.iter());
        Some(bytes.take(MARK).fold(0, |mark, &byte| mark << 8 | u32::from(byte)))
    }

    /// Takes out `len` bytes, which are there.
    fn take(&mut self, mut len: usize) -> Parts {
        let mut parts = Parts::new();
        self.len -= len;
        while len > 0
            && let Some(first) = self.slices.front_mut()
        {
            if first.len() <= len {
                len -= first.len();
                parts.extend(self.slices.pop_front());
            } else {
                parts.push(first.split_to(len));
                len = 0;
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::presentation::encode_record;

    /// Five messages in slices of `size` bytes.
    fn stream(size: usize) -> Vec<Slice> {
        let mut bytes = Vec::new();
        (0..5).for_each(|number| encode_record(number, 3, &mut bytes));
        bytes.chunks(size).map(Slice::copy_of).collect()
    }

    #[test]
    fn messages_come_out_whole_however_they_came_in() {
        for size in [1, 3, 4, 5, 92, 1448] {
            let mut cutter = Cutter::default();
            let mut numbers = Vec::new();
            for slice in stream(size) {
                cutter.push(slice);
                while let Some(message) = cutter.next().expect("records") {
                    assert!(message.is_right(3));
                    numbers.extend(message.number);
                }
            }
            assert_eq!(numbers, [0, 1, 2, 3, 4], "{size}");
            assert_eq!(cutter.len, 0);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [[0, 0, 0, 100], [0xff, 0xff, 0xff, 0xff], [0x80, 0, 0, 1]] {
            let mut cutter = Cutter::default();
            cutter.push(Slice::copy_of(&bytes));
            assert!(matches!(cutter.next(), Err(NoRecord)));
        }
    }
}
