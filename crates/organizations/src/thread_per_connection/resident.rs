//! The thread of one connection, or of one socket of UDP.

use super::registry::{Registry, Tenancy};
use crate::handed::{Letters, Message, Owner, Posted};
use net::{Application, Call, Connections};
use std::sync::Arc;
use wire::Instant;

/// A thread and the tenant that lives in it.
pub(super) struct Resident<A: Application> {
    owner: Owner<A>,
    registry: Arc<Registry<A>>,
    index: u16,
    tenancy: Tenancy,
    /// By instruments, if there are any.
    watched: bool,
    /// The socket is bound no more.
    unbound: bool,
}

impl<A: Application> Resident<A> {
    pub(super) fn new(
        owner: Owner<A>,
        registry: Arc<Registry<A>>,
        index: u16,
        tenancy: Tenancy,
        watched: bool,
    ) -> Resident<A> {
        Resident { owner, registry, index, tenancy, watched, unbound: false }
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
                self.unbound |= matches!(&message, Message::Call(Call::UnbindUdp(_)));
                self.owner.obey(message, now);
            }
            while let Some(frame) = self.owner.letters.frames.pop_front() {
                self.owner.input(frame, now);
            }
            let round = self.owner.speak(now, |_, _| false);
            self.ask_home();
            if self.has_ended() {
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

    fn has_ended(&self) -> bool {
        match self.tenancy {
            Tenancy::Flow(_) => self.owner.domain.connections().is_empty(),
            Tenancy::Port(_) => self.unbound,
        }
    }

    /// Waits for the tenant: frames that come before it stay where they are.
    /// Returns whether it is coming, and nobody stops us.
    fn wait(&self) -> bool {
        let mailbox = &self.owner.mailbox;
        let first = || {
            let letters = mailbox.letters.lock();
            letters.messages.front().map(|message| !matches!(message, Message::Stop))
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

    /// The tenant has ended. What is left of it goes home first, so that it
    /// is there when frames come there.
    fn depart(mut self) {
        for remnant in self.owner.domain.take_remains() {
            let _ = self.registry.home.send(Message::Keep(remnant));
        }
        self.registry.unregister(self.tenancy, self.index);
        let Letters { messages, frames, .. } = self.owner.mailbox.close();
        // Another socket may have the port by now, and a call for that one have
        // come here.
        for message in messages {
            if matches!(&message, Message::Call(Call::FlushUdp(_)))
                && let Err(Message::Call(call)) = self.registry.home.send(message)
            {
                crate::refuse(call);
            }
        }
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
        self.registry.unregister(self.tenancy, self.index);
        self.registry.move_out(self.index, &self.owner.domain.counters);
    }
}
