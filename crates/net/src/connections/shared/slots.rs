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

/// A slot behind its lock, in a cache line that no other slot's lock is in.
#[repr(align(64))]
struct Padded<L, U>(Locked<L, Slot<U>>);

struct Free {
    /// Slots that were used and are free again.
    list: Vec<u32>,
    /// The first slot that was never used.
    next: u32,
}

pub(super) struct Slots<L, U> {
    slots: AppendVec<Padded<L, U>>,
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
            slots: AppendVec::new(move || Padded(Locked::from_parts(lock(), slot()))),
            free: Mutex::new(Free { list: Vec::new(), next: 0 }),
        }
    }

    #[inline]
    fn slot(&self, slot: u32) -> Option<&Padded<L, U>> {
        self.slots.get(slot)
    }

    /// Runs `f` on a slot, under its lock.
    #[inline]
    pub(super) fn with<R>(&self, slot: u32, f: impl FnOnce(&mut Slot<U>) -> R) -> Option<R> {
        self.slot(slot).map(|slot| slot.0.with(f))
    }

    /// Puts a connection into a free slot.
    pub(super) fn fill(&self, make: impl FnOnce(ConnId) -> Connection<U>) -> ConnId {
        let index = {
            let mut free = self.free.lock();
            free.list.pop().unwrap_or_else(|| {
                free.next += 1;
                free.next - 1
            })
        };
        self.slots.get_or_grow(index).0.with(|slot| {
            let id = ConnId { unit: 0, slot: index, generation: slot.generation };
            slot.connection = Some(Box::new(make(id)));
            id
        })
    }

    /// Takes a connection out, if it is still there.
    pub(super) fn empty(&self, id: ConnId) -> Option<Box<Connection<U>>> {
        let connection = self.with(id.slot, |slot| {
            if slot.generation != id.generation {
                return None;
            }
            let connection = slot.connection.take()?;
            slot.generation = slot.generation.wrapping_add(1);
            Some(connection)
        })??;
        self.free.lock().list.push(id.slot);
        Some(connection)
    }

    fn used(&self) -> impl Iterator<Item = &Padded<L, U>> {
        let next = self.free.lock().next;
        (0..next).filter_map(|slot| self.slot(slot))
    }

    pub(super) fn for_each_lock(&self, mut f: impl FnMut(&L)) {
        self.used().for_each(|slot| f(slot.0.lock()));
    }
}
