//! The slots that connections stand in: they never move and never go, so that
//! a slot is reached without a lock on all of them.

use crate::connections::{ConnId, Connection};
use parking_lot::Mutex;
use std::sync::OnceLock;
use sync::{Locked, RawLock};

/// What a slot's lock guards.
pub(super) struct Slot<U> {
    /// How often the slot was used before.
    pub(super) generation: u32,
    pub(super) connection: Option<Box<Connection<U>>>,
}

/// The locks of neighbours are not to share a line.
#[repr(align(64))]
struct Cell<L, U>(Locked<L, Slot<U>>);

/// Slots in the first chunk; each further chunk has twice as many as the last.
const FIRST: u32 = 64;
/// Chunks: room for more connections than a `u32` names.
const CHUNKS: usize = 27;

struct Free {
    /// Slots that were used and are free again.
    list: Vec<u32>,
    /// The first slot that was never used.
    next: u32,
}

/// Allocated when its first slot is used.
type Chunk<L, U> = OnceLock<Box<[Cell<L, U>]>>;

pub(super) struct Slots<L, U> {
    chunks: [Chunk<L, U>; CHUNKS],
    free: Mutex<Free>,
    lock: MakeLock<L>,
}

pub(super) type MakeLock<L> = Box<dyn Fn() -> L + Send + Sync>;

/// Chunk and place in it of a slot.
#[inline]
fn split(slot: u32) -> (usize, usize) {
    let n = u64::from(slot) + u64::from(FIRST);
    let chunk = n.ilog2() - FIRST.ilog2();
    (chunk as usize, (n - (u64::from(FIRST) << chunk)) as usize)
}

impl<L: RawLock, U: Send> Slots<L, U> {
    pub(super) fn new(lock: MakeLock<L>) -> Slots<L, U> {
        Slots {
            lock,
            chunks: std::array::from_fn(|_| OnceLock::new()),
            free: Mutex::new(Free { list: Vec::new(), next: 0 }),
        }
    }

    #[inline]
    fn cell(&self, slot: u32) -> Option<&Cell<L, U>> {
        let (chunk, at) = split(slot);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    /// Runs `f` on a slot, under its lock.
    #[inline]
    pub(super) fn with<R>(&self, slot: u32, f: impl FnOnce(&mut Slot<U>) -> R) -> Option<R> {
        self.cell(slot).map(|cell| cell.0.with(f))
    }

    fn grown(&self, slot: u32) -> &Cell<L, U> {
        let (chunk, at) = split(slot);
        let cells = self.chunks[chunk].get_or_init(|| {
            let slot = || Slot { generation: 0, connection: None };
            (0..(FIRST as usize) << chunk)
                .map(|_| Cell(Locked::of((self.lock)(), slot())))
                .collect()
        });
        &cells[at]
    }

    /// Puts a connection into a free slot.
    pub(super) fn fill(&self, make: impl FnOnce(ConnId) -> Connection<U>) -> ConnId {
        let slot = {
            let mut free = self.free.lock();
            free.list.pop().unwrap_or_else(|| {
                free.next += 1;
                free.next - 1
            })
        };
        self.grown(slot).0.with(|cell| {
            let id = ConnId { unit: 0, slot, generation: cell.generation };
            cell.connection = Some(Box::new(make(id)));
            id
        })
    }

    /// Takes a connection out, if it is still there.
    pub(super) fn empty(&self, id: ConnId) -> Option<Box<Connection<U>>> {
        let connection = self.with(id.slot, |cell| {
            if cell.generation != id.generation {
                return None;
            }
            let connection = cell.connection.take()?;
            cell.generation = cell.generation.wrapping_add(1);
            Some(connection)
        })??;
        self.free.lock().list.push(id.slot);
        Some(connection)
    }

    fn used(&self) -> impl Iterator<Item = &Cell<L, U>> {
        let next = self.free.lock().next;
        (0..next).filter_map(|slot| self.cell(slot))
    }

    /// The names of all connections.
    pub(super) fn ids(&self) -> Vec<ConnId> {
        self.used()
            .filter_map(|cell| cell.0.with(|slot| slot.connection.as_ref().map(|c| c.id)))
            .collect()
    }

    pub(super) fn for_each_lock(&self, mut f: impl FnMut(&L)) {
        self.used().for_each(|cell| f(cell.0.lock()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fill_chunk_after_chunk() {
        assert_eq!(split(0), (0, 0));
        assert_eq!(split(63), (0, 63));
        assert_eq!(split(64), (1, 0));
        assert_eq!(split(191), (1, 127));
        assert_eq!(split(192), (2, 0));
        assert!(split(u32::MAX).0 < CHUNKS);
    }
}
