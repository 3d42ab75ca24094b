//! [`Takers`]: who waits for something that one of them takes.

use crate::wait::{Asked, Waiters, comes_for_certain, waiting};
use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, Waker};

/// Threads and tasks that wait for something that one of them takes: a connection, a datagram, room.
///
/// A thread that blocks without a time-out comes for certain once it is woken. So where there is one it
/// is woken alone; of a hundred, all others would find nothing. Of tasks nobody knows whether they still
/// wait, so all are woken.
#[derive(Debug, Default)]
pub(crate) struct Takers {
    /// Those that come for certain, who waits longest first.
    threads: VecDeque<Waker>,
    others: Waiters,
}

impl Takers {
    /// The task of `cx` looks whether there is one. To be called first: a thread that was not woken, and
    /// finds one nevertheless, does not wait any more, and who waits must be woken in its place.
    pub(crate) fn look(&mut self, cx: Option<&Context<'_>>) {
        let Some(waker) = cx.map(Context::waker).filter(|_| !self.threads.is_empty()) else {
            return;
        };
        if let Some(at) = self.threads.iter().position(|thread| thread.will_wake(waker)) {
            self.threads.remove(at);
        }
    }

    /// The task of `cx` waits to take one, for it has [looked](Takers::look), and there is none.
    pub(crate) fn add(&mut self, cx: &Context<'_>, asked: &mut Asked) {
        match comes_for_certain(cx.waker()) {
            true => self.threads.push_back(cx.waker().clone()),
            false => self.others.add(cx, asked),
        }
    }

    /// The task of `cx` waits to look at one, and leaves it where it is.
    pub(crate) fn add_onlooker(&mut self, cx: &Context<'_>, asked: &mut Asked) {
        self.others.add(cx, asked);
    }

    /// As [`Takers::add`]; without a task, nobody waits, and the call would block.
    pub(crate) fn wait<T>(
        &mut self,
        cx: Option<&Context<'_>>,
        asked: &mut Asked,
    ) -> Poll<io::Result<T>> {
        waiting(cx, |cx| self.add(cx, asked))
    }

    /// There is one more to take.
    pub(crate) fn take_for_one(&mut self, wakes: &mut Vec<Waker>) {
        match self.threads.pop_front() {
            Some(thread) => wakes.push(thread),
            None => self.others.take(wakes),
        }
    }

    /// There may be `most` more. Whom a waker stands for may not take one.
    pub(crate) fn take_first(&mut self, most: usize, wakes: &mut Vec<Waker>) {
        wakes.extend(self.threads.drain(..most.min(self.threads.len())));
        self.others.take_first(most, wakes);
    }

    /// All are to look.
    pub(crate) fn take(&mut self, wakes: &mut Vec<Waker>) {
        wakes.extend(self.threads.drain(..));
        self.others.take(wakes);
    }
}

#[cfg(test)]
mod tests;
