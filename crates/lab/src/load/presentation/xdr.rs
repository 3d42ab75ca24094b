//! What the presentation layer converts, after Schmidt and Suda 1996, 4.2:
//! variable-length arrays of structures of integers and reals, in XDR (RFC
//! 4506), allocated anew for each message on either side.
//!
//! The codec is that of `nfs3_types`, whose `Pack` and `Unpack` are the integers
//! of RFC 4506; reals travel as the words that RFC 4506 4.6 and 4.7 say they are.

use nfs3_types::xdr_codec::{Error, Pack, Result, Unpack};
use std::io::{Read, Write};

/// Bytes of a message's number and of the count of its records.
const FRONT: usize = 8;

/// A structure of integers and reals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    index: i32,
    kind: u32,
    stamp: u64,
    ratio: f32,
    value: f64,
}

impl Record {
    /// Bytes of one on the wire.
    pub(crate) const LEN: usize = 4 + 4 + 8 + 4 + 8;

    /// The one at `index` of message `number`. The decoder expects it.
    #[inline]
    fn of(number: u32, index: u32) -> Record {
        let stamp = u64::from(number) << 32 | u64::from(index);
        Record {
            index: index as i32 - 16,
            kind: number.wrapping_mul(2_654_435_761),
            stamp,
            ratio: number as f32 / (index + 1) as f32,
            value: stamp as f64 * -0.5,
        }
    }
}

impl Pack for Record {
    fn packed_size(&self) -> usize {
        Record::LEN
    }

    #[inline]
    fn pack(&self, out: &mut impl Write) -> Result<usize> {
        (self.index as u32).pack(out)?;
        self.kind.pack(out)?;
        self.stamp.pack(out)?;
        //= RFC 4506 4.6, 4.7: the words of an IEEE single and double
        self.ratio.to_bits().pack(out)?;
        self.value.to_bits().pack(out)?;
        Ok(Record::LEN)
    }
}

impl Unpack for Record {
    #[inline]
    fn unpack(input: &mut impl Read) -> Result<(Record, usize)> {
        let record = Record {
            index: u32::unpack(input)?.0 as i32,
            kind: u32::unpack(input)?.0,
            stamp: u64::unpack(input)?.0,
            ratio: f32::from_bits(u32::unpack(input)?.0),
            value: f64::from_bits(u64::unpack(input)?.0),
        };
        Ok((record, Record::LEN))
    }
}

/// A message: its number, and an array of records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) number: u32,
    records: Vec<Record>,
}

impl Message {
    /// Message `number`, of `count` records.
    pub(crate) fn of(number: u32, count: usize) -> Message {
        Message { number, records: (0..count as u32).map(|n| Record::of(number, n)).collect() }
    }

    /// How many records make a message of at most `bytes` bytes; at least one.
    pub(crate) const fn records_in(bytes: usize) -> usize {
        let records = bytes.saturating_sub(FRONT) / Record::LEN;
        if records == 0 { 1 } else { records }
    }

    /// Bytes of a message of `count` records.
    pub(crate) const fn len_of(count: usize) -> usize {
        FRONT + count * Record::LEN
    }

    /// Is it what [`Message::of`] makes?
    pub(crate) fn is_right(&self, count: usize) -> bool {
        let right = |(n, record): (usize, &Record)| *record == Record::of(self.number, n as u32);
        self.records.len() == count && self.records.iter().enumerate().all(right)
    }
}

impl Pack for Message {
    fn packed_size(&self) -> usize {
        Message::len_of(self.records.len())
    }

    fn pack(&self, out: &mut impl Write) -> Result<usize> {
        self.number.pack(out)?;
        let count = self.records.len();
        u32::try_from(count).map_err(|_| Error::ObjectTooLarge(count))?.pack(out)?;
        for record in &self.records {
            record.pack(out)?;
        }
        Ok(self.packed_size())
    }
}

impl Unpack for Message {
    fn unpack(input: &mut impl Read) -> Result<(Message, usize)> {
        let (number, _) = u32::unpack(input)?;
        let (count, _) = u32::unpack(input)?;
        // The count is the peer's: room is made as records come.
        let mut records = Vec::with_capacity(count.min(4096) as usize);
        for _ in 0..count {
            records.push(Record::unpack(input)?.0);
        }
        let len = Message::len_of(records.len());
        Ok((Message { number, records }, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back() {
        for count in [0, 1, 146, 5000] {
            let message = Message::of(7, count);
            let mut bytes = Vec::new();
            assert_eq!(message.pack(&mut bytes).expect("packed"), bytes.len());
            assert_eq!(bytes.len(), Message::len_of(count));
            let (back, len) = Message::unpack(&mut bytes.as_slice()).expect("unpacked");
            assert_eq!((back.clone(), len), (message, bytes.len()));
            assert!(back.is_right(count) && !back.is_right(count + 1));
        }
    }

    #[test]
    fn the_words_are_those_of_rfc_4506() {
        let record = Record { index: -2, kind: 1, stamp: 1 << 32, ratio: 1.0, value: -2.0 };
        let mut bytes = Vec::new();
        record.pack(&mut bytes).expect("packed");
        let words: Vec<u32> =
            bytes.chunks(4).map(|w| u32::from_be_bytes([w[0], w[1], w[2], w[3]])).collect();
        assert_eq!(words, [0xffff_fffe, 1, 1, 0, 0x3f80_0000, 0xc000_0000, 0]);
    }

    #[test]
    fn what_is_cut_short_or_lies_is_an_error() {
        let mut bytes = Vec::new();
        Message::of(3, 4).pack(&mut bytes).expect("packed");
        for len in 0..bytes.len() {
            assert!(Message::unpack(&mut &bytes[..len]).is_err());
        }
        bytes[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(Message::unpack(&mut bytes.as_slice()).is_err());
    }

    #[test]
    fn a_message_fits() {
        assert_eq!(Message::records_in(4096), 146);
        assert!(Message::len_of(Message::records_in(4096)) <= 4096);
        assert_eq!(Message::records_in(0), 1);
    }
}
