//! The connections that have something to do: each stands in the list once.
//!
//! The list has two parts that take turns in turn. To one something has happened: a segment
//! came, or a timer went off, so that an acknowledgment or a retransmission may be due. The
//! others have something to send, of which there may be any amount: if an acknowledgment
//! had to wait until a million connections have sent, peers would take all for lost.

use crate::connections::{ConnId, Connection};

/// Names of connections, in the order of their turns.
#[derive(Default)]
pub(crate) struct ReadyList {
    /// Something has happened to these.
    first: Names,
    /// These were asked to do something, or have not done all.
    later: Names,
    /// While both parts wait, the next is one of `later`.
    turn: bool,
}

/// Names, the first in first out: a vector, and how many at its front are gone. Nearly always
/// all go in a round before others come, and then there is nothing to do but to count.
#[derive(Default)]
struct Names {
    names: Vec<ConnId>,
    gone: usize,
}

impl Names {
    #[inline(always)]
    fn len(&self) -> usize {
        self.names.len() - self.gone
    }

    #[inline(always)]
    fn push(&mut self, name: ConnId) {
        if self.names.len() == self.names.capacity() {
            self.make_room();
        }
        self.names.push(name);
    }

    /// Those that are gone make room, if they are so many that this is no more work than they were.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.gone > self.names.len() / 2 {
            self.move_up();
        } else {
            self.names.reserve(1);
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<&ConnId> {
        let name = self.names.get(self.gone)?;
        self.gone += 1;
        Some(name)
    }

    /// A round begins: those that are left move up, if as many are gone. Returns how many those are.
    #[inline(always)]
    fn begin(&mut self) -> usize {
        let left = self.len();
        if self.gone > 0 && left <= self.gone {
            self.move_up();
        }
        left
    }

    /// A round is over: the next names begin at the front if all are gone.
    #[inline(always)]
    fn end(&mut self) {
        if self.gone == self.names.len() {
            self.names.clear();
            self.gone = 0;
        }
    }

    /// Those that are left take the places of those that are gone.
    #[inline(never)]
    fn move_up(&mut self) {
        self.names.drain(..self.gone);
        self.gone = 0;
    }
}

/// Who has a turn in this round: so many of each part.
pub(crate) struct Turns {
    first: usize,
    later: usize,
}

impl ReadyList {
    /// Puts the connection on the list, if it does not stand there: something has happened
    /// to it.
    #[inline]
    pub(crate) fn schedule<U>(&mut self, connection: &mut Connection<U>) {
        if !connection.scheduled {
            connection.scheduled = true;
            self.first.push(connection.id);
        }
    }

    /// The same, of one that was asked to do something, or has more to do.
    #[inline]
    pub(crate) fn schedule_later<U>(&mut self, connection: &mut Connection<U>) {
        if !connection.scheduled {
            connection.scheduled = true;
            self.later.push(connection.id);
        }
    }

    /// Those that stand on the list now have turns.
    #[inline]
    pub(crate) fn round(&mut self) -> Turns {
        Turns { first: self.first.begin(), later: self.later.begin() }
    }

    /// All of this round had their turns, or as many as could.
    #[inline]
    pub(crate) fn end_round(&mut self) {
        self.first.end();
        self.later.end();
    }

    /// Takes the next of this round off the list. Its turn begins with `scheduled` taken back.
    /// (It is read where it stands: a copy on the stack, in other pieces than it is read in, would
    /// hold up the processor.)
    #[inline]
    pub(crate) fn pop(&mut self, turns: &mut Turns) -> Option<&ConnId> {
        if turns.later > 0 {
            return self.pop_either(turns);
        }
        turns.first = turns.first.checked_sub(1)?;
        self.first.pop()
    }

    /// The same, if some of `later` have a turn, too.
    #[inline(never)]
    fn pop_either(&mut self, turns: &mut Turns) -> Option<&ConnId> {
        let is_later = self.turn || turns.first == 0;
        self.turn = !is_later;
        if is_later {
            turns.later -= 1;
            self.later.pop()
        } else {
            turns.first -= 1;
            self.first.pop()
        }
    }

    /// Who has a turn after so many others of its part: of those to whom something has happened, if
    /// any of them waits.
    #[inline]
    pub(crate) fn ahead(&self, others: usize) -> Option<ConnId> {
        let part = if self.first.len() > 0 { &self.first } else { &self.later };
        part.names.get(part.gone + others).copied()
    }

    /// How many stand there.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.later.len()
    }

    /// Is there none?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.len() == 0 && self.later.len() == 0
    }
}

#[cfg(test)]
mod tests;
