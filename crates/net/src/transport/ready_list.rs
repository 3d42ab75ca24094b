//! The connections that have something to do: each stands in the list once.

use crate::connections::{ConnId, Connection};
use std::collections::VecDeque;

/// Names of connections, in the order of their turns.
#[derive(Default)]
pub(crate) struct ReadyList(VecDeque<ConnId>);

impl ReadyList {
    /// Puts the connection on the list, if it does not stand there.
    #[inline]
    pub(crate) fn schedule<U>(&mut self, connection: &mut Connection<U>) {
        if !connection.scheduled {
            connection.scheduled = true;
            self.0.push_back(connection.id);
        }
    }

    /// Takes the first off the list. Its turn begins with `scheduled` taken back.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<ConnId> {
        self.0.pop_front()
    }

    /// Names on the list.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Is there none?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
