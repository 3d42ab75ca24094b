//! Memory that a packet is read into.

use super::virtio;
use buffer::{Buf, Slice};
use smallvec::SmallVec;
use std::io::IoSliceMut;
use wire::{Packet, Parts};

/// Capacities of the blocks that a frame is read into, in order, as many as the
/// longest frame takes. Only blocks that were written to leave with the packet:
/// a short frame takes a small block, and the large ones stay for the next.
const BLOCKS: [usize; 4] = [2048, 4608, 16 * 1024, 65 * 1024];

/// Bytes of a frame that is rather copied than read or written in pieces.
pub(super) const FEW: usize = 256;

/// Slices of a room.
pub(super) const SLICES: usize = BLOCKS.len() + 1;

/// Room for one frame, and the virtio header before it.
pub(super) struct Room {
    header: [u8; virtio::LEN],
    blocks: SmallVec<[Buf; BLOCKS.len()]>,
}

impl Room {
    /// For a frame of so many bytes.
    pub(super) fn of(longest: usize) -> Room {
        let mut room = 0;
        let mut blocks = SmallVec::new();
        for capacity in BLOCKS {
            if room < longest {
                room += capacity;
                blocks.push(Buf::with_capacity(capacity));
            }
        }
        Room { header: [0; virtio::LEN], blocks }
    }

    /// Adds its memory to `slices`, of the header so many bytes.
    pub(super) fn lend<'a, const N: usize>(
        &'a mut self,
        header_len: usize,
        slices: &mut SmallVec<[IoSliceMut<'a>; N]>,
    ) {
        slices.push(IoSliceMut::new(&mut self.header[..header_len]));
        // Nobody else has a block before it leaves with a packet.
        let blocks = self.blocks.iter_mut().filter_map(Buf::get_mut);
        slices.extend(blocks.map(IoSliceMut::new));
    }

    /// Its largest block alone, if that holds a frame of `longest` bytes and the header before it: a call
    /// that reads into one piece costs a tenth less.
    pub(super) fn one(&mut self, header_len: usize, longest: usize) -> Option<&mut [u8]> {
        let block = self.blocks.last_mut()?.get_mut()?;
        (block.len() >= header_len + longest).then_some(block)
    }

    /// The frame of `len` bytes that was read into [`Room::one`], and the header that was before it. A
    /// frame of the size that one block is for takes that along.
    pub(super) fn take_one(&mut self, header_len: usize, len: usize) -> (virtio::Header, Packet) {
        let count = self.blocks.len();
        let block = &mut self.blocks[count - 1];
        self.header[..header_len].copy_from_slice(&block.as_slice()[..header_len]);
        let smaller = if count > 1 { BLOCKS[count - 2] } else { FEW };
        let part = if len <= smaller {
            Slice::copy_of(&block.as_slice()[header_len..header_len + len])
        } else {
            let next = Buf::with_capacity(block.capacity());
            Slice::new(std::mem::replace(block, next), header_len, len)
        };
        let parts = if len > 0 { Parts::from_buf([part]) } else { Parts::new() };
        (virtio::Header::parse(&self.header), Packet::from_parts(parts))
    }

    /// The frame of so many bytes that was read, and the header that was before it. New blocks
    /// take the place of those that leave with it.
    pub(super) fn take(&mut self, mut left: usize) -> (virtio::Header, Packet) {
        let mut parts = Parts::new();
        for block in &mut self.blocks {
            if left == 0 {
                break;
            }
            let capacity = block.capacity();
            let len = left.min(capacity);
            let full = std::mem::replace(block, Buf::with_capacity(capacity));
            parts.push(Slice::new(full, 0, len));
            left -= len;
        }
        (virtio::Header::parse(&self.header), Packet::from_parts(parts))
    }
}

#[cfg(test)]
mod tests;
