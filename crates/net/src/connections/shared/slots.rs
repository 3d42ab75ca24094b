//! The slots that connections stand in: they never move and never go, so that
//! a slot is reached without a lock on all of them.

use crate::connections::{ConnId, Connection};
use platform::Mutex;
use sync::append_vec::AppendVec;
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

struct Free {
    /// Slots that were used and are free again.
    list: Vec<u32>,
    /// The first slot that was never used.
    next: u32,
}

pub(super) struct Slots<L, U> {
    cells: AppendVec<Cell<L, U>>,
    free: Mutex<Free>,
}

pub(super) type MakeLock<L> = Box<dyn Fn() -> L + Send + Sync>;

impl<L: RawLock, U: Send> Slots<L, U> {
    pub(super) fn new(lock: MakeLock<L>) -> Slots<L, U>
    where
        L: 'static,
        U: 'static,
    {
        let slot = || Slot { generation: 0, connection: None };
        Slots {
            cells: AppendVec::new(move || Cell(Locked::from_parts(lock(), slot()))),
            free: Mutex::new(Free { list: Vec::new(), next: 0 }),
        }
    }

    #[inline]
    fn cell(&self, slot: u32) -> Option<&Cell<L, U>> {
        self.cells.get(slot)
    }

    /// Runs `f` on a slot, under its lock.
    #[inline]
    pub(super) fn with<R>(&self, slot: u32, f: impl FnOnce(&mut Slot<U>) -> R) -> Option<R> {
        self.cell(slot).map(|cell| cell.0.with(f))
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
        self.cells.get_or_grow(slot).0.with(|cell| {
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

    pub(super) fn for_each_lock(&self, mut f: impl FnMut(&L)) {
        self.used().for_each(|cell| f(cell.0.lock()));
    }
}
