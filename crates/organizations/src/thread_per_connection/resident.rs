//! The thread of one connection.

use super::registry::Registry;
use crate::handed::{Letters, Message, Owner, Posted};
use net::{Application, Connections};
use std::sync::Arc;
use wire::{FlowKey, Instant};

/// A thread and the connection that lives in it.
pub(super) struct Resident<A: Application> {
    owner: Owner<A>,
    registry: Arc<Registry<A>>,
    index: u16,
    flow: FlowKey,
    /// By instruments, if there are any.
    watched: bool,
}

impl<A: Application> Resident<A> {
    pub(super) fn new(
        owner: Owner<A>,
        registry: Arc<Registry<A>>,
        index: u16,
        flow: FlowKey,
        watched: bool,
    ) -> Resident<A> {
        Resident { owner, registry, index, flow, watched }
    }

    pub(super) fn run(mut self) {
        let index = self.index;
        if self.watched {
            self.owner.enlist(|| format!("ana-conn-{index}"));
        } else {
            self.owner.mailbox.parker.enlist();
        }
        if !self.wait() {
            let now = self.owner.now();
            return self.end(now);
        }
        loop {
            let mail = self.owner.open_mail();
            let now = self.owner.now();
            while let Some(message) = self.owner.letters.messages.pop_front() {
                self.owner.obey(message, now);
            }
            while let Some(frame) = self.owner.letters.frames.pop_front() {
                self.owner.input(frame, now);
            }
            let round = self.owner.speak(now, |_, _| false);
            self.ask_home();
            if self.owner.domain.connections().is_empty() {
                return self.depart();
            }
            if self.owner.is_over(round, now) {
                return self.end(now);
            }
            if !mail {
                self.owner.sleep(round);
            }
        }
    }

    /// Waits for the connection: frames that come before it stay where they are.
    /// Returns whether it is coming, and nobody stops us.
    fn wait(&self) -> bool {
        let mailbox = &self.owner.mailbox;
        let first = || {
            let letters = mailbox.letters.lock();
            letters.messages.front().map(|message| matches!(message, Message::Adopt(_)))
        };
        loop {
            if let Some(is_coming) = first() {
                return is_coming;
            }
            mailbox.parker.sleep(None, || first().is_some());
        }
    }

    /// What the application wants of the host is done at home.
    fn ask_home(&mut self) {
        for call in self.owner.domain.take_calls() {
            if let Err(Message::Call(call)) = self.registry.home.send(Message::Call(call)) {
                crate::refuse(call);
            }
        }
    }

    /// The connection has ended. What is left of it goes home first, so that it
    /// is there when frames come there.
    fn depart(mut self) {
        for remnant in self.owner.domain.take_remains() {
            let _ = self.registry.home.send(Message::Keep(remnant));
        }
        self.registry.unregister(&self.flow);
        let Letters { frames, .. } = self.owner.mailbox.close();
        let mut lost = 0;
        for frame in frames {
            if !frame.whole {
                self.owner.domain.drop_foreign(true);
            } else if !matches!(self.registry.home.post(frame), Posted::Done) {
                lost += 1;
            }
        }
        self.owner.shared.count_lost(lost);
        self.registry.move_out(self.index, &self.owner.domain.counters);
    }

    /// The stack ends.
    fn end(mut self, now: Instant) {
        self.owner.end(now);
        self.registry.unregister(&self.flow);
        self.registry.move_out(self.index, &self.owner.domain.counters);
    }
}
