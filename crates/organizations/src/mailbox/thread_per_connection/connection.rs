//! The thread of one connection, or of one socket of UDP.

use super::flow_table::{Registry, Tenancy};
use super::migration::move_out;
use crate::mailbox::{Message, Owner};
use crate::runtime::handle::refuse;
use instrument::ThreadTimer;
use net::{Application, Call, Connections};
use std::sync::Arc;
use wire::Instant;

/// A thread and the tenant that lives in it.
pub(super) struct Resident<A: Application> {
    owner: Owner<A>,
    registry: Arc<Registry<A>>,
    index: u16,
    tenancy: Tenancy,
    /// The socket is bound no more.
    unbound: bool,
}

impl<A: Application> Resident<A> {
    pub(super) fn new(
        owner: Owner<A>,
        registry: Arc<Registry<A>>,
        index: u16,
        tenancy: Tenancy,
    ) -> Resident<A> {
        Resident { owner, registry, index, tenancy, unbound: false }
    }

    pub(super) fn run(mut self, watch: ThreadTimer) {
        self.owner.enlist(watch);
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
                refuse(call);
            }
        }
    }

    /// The tenant has ended.
    fn depart(mut self) {
        let Owner { domain, mailbox, shared, .. } = &mut self.owner;
        let tenant = (self.tenancy, self.index);
        let left = move_out(&self.registry, tenant, mailbox, domain.take_closed_flows());
        left.calls.into_iter().for_each(refuse);
        (0..left.reassembled).for_each(|_| domain.drop_foreign(true));
        shared.count_lost(left.lost);
        self.registry.move_out(self.index, &domain.counters);
    }

    /// The stack ends. The registry forgets before the mailbox is closed: a
    /// dispatcher that finds it closed asks again.
    fn end(mut self, now: Instant) {
        self.registry.unregister(self.tenancy, self.index);
        self.owner.end(now);
        self.registry.move_out(self.index, &self.owner.domain.counters);
    }
}

#[cfg(test)]
mod tests;
