//! The connections that wait until their interface has room.

use crate::Interfaces;
use crate::connections::{ConnId, Connection};
use std::collections::VecDeque;

/// Names of connections by interface, in the order in which they began to wait. Some may have
/// ended since.
#[derive(Default)]
pub(crate) struct Blocked(Vec<VecDeque<ConnId>>);

impl Blocked {
    /// The connection waits for this interface from now on, if it does not yet.
    #[cold]
    pub(crate) fn park<U>(&mut self, interface: usize, connection: &mut Connection<U>) {
        if connection.waits_for_room {
            return;
        }
        connection.waits_for_room = true;
        if self.0.len() <= interface {
            self.0.resize_with(interface + 1, VecDeque::new);
        }
        self.0[interface].push_back(connection.id);
    }

    /// Does any wait?
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(|waiting| !waiting.is_empty())
    }

    pub(crate) fn note(&self, interfaces: &mut Interfaces) {
        let waiting = self.0.iter().enumerate().filter(|(_, waiting)| !waiting.is_empty());
        waiting.for_each(|(interface, _)| interfaces.insert(interface));
    }

    /// Does one wait for an interface that has room?
    #[inline]
    pub(crate) fn may_go(&self, room_by: impl Fn(usize) -> usize) -> bool {
        self.0.iter().enumerate().any(|(at, waiting)| !waiting.is_empty() && room_by(at) > 0)
    }

    /// Takes out the first of those whose interface has room: one for each frame of it.
    pub(crate) fn take(&mut self, room_by: impl Fn(usize) -> usize) -> Vec<ConnId> {
        let mut taken = Vec::new();
        for (interface, waiting) in self.0.iter_mut().enumerate() {
            let count = room_by(interface).min(waiting.len());
            taken.extend(waiting.drain(..count));
            if waiting.is_empty() {
                // It may have been long.
                *waiting = VecDeque::new();
            }
        }
        taken
    }
}
