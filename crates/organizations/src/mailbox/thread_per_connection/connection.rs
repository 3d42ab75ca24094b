//! The thread of one connection, or of one UDP socket.

use super::flow_table::{ConnKey, FlowTable};
use super::migration::migrate_out;
use crate::mailbox::{Message, Owner};
use crate::runtime::handle::refuse;
use instrument::ThreadTimer;
use net::{Application, Call, Connections};
use std::sync::Arc;
use wire::Instant;

/// A thread and the connection or socket that it has.
pub(super) struct ConnectionThread<A: Application> {
    owner: Owner<A>,
    table: Arc<FlowTable<A>>,
    index: u16,
    key: ConnKey,
    /// The socket is no longer bound.
    unbound: bool,
}

impl<A: Application> ConnectionThread<A> {
    pub(super) fn new(
        owner: Owner<A>,
        table: Arc<FlowTable<A>>,
        index: u16,
        key: ConnKey,
    ) -> ConnectionThread<A> {
        ConnectionThread { owner, table, index, key, unbound: false }
    }

    pub(super) fn run(mut self, timer: ThreadTimer) {
        self.owner.enlist(timer);
        if !self.wait() {
            let now = self.owner.now();
            return self.end(now);
        }
        loop {
            self.owner.drain_mailbox();
            let now = self.owner.now();
            while let Some(message) = self.owner.inbox.messages.pop_front() {
                self.unbound |= matches!(&message, Message::Call(Call::UnbindUdp(_)));
                self.owner.handle_message(message, now);
            }
            while let Some(frame) = self.owner.inbox.frames.pop_front() {
                self.owner.input(frame, now);
            }
            let round = self.owner.serve(now, |_, _| false);
            self.pass_calls_on();
            if self.has_ended() {
                return self.retire();
            }
            if self.owner.is_over(round, now) {
                return self.end(now);
            }
            self.owner.sleep(round);
        }
    }

    fn has_ended(&self) -> bool {
        match self.key {
            ConnKey::Flow(_) => self.owner.domain.connections().is_empty(),
            // What the socket has sent leaves, though it is gone.
            ConnKey::Port(_) => self.unbound && !self.owner.domain.has_flushes(),
        }
    }

    /// Waits for the connection. Frames that come before it stay where they are, and so do calls
    /// for one that was in this unit before: whoever holds its name may still use it. Returns
    /// whether it is coming; if not, the stack ends.
    fn wait(&self) -> bool {
        let mailbox = &self.owner.mailbox;
        let comes = |message: &Message<A>| match message {
            Message::Adopt(_) | Message::Call(Call::BindUdp(..)) => Some(true),
            Message::Stop => Some(false),
            _ => None,
        };
        let first = || mailbox.inbox.lock().messages.iter().find_map(comes);
        loop {
            if let Some(is_coming) = first() {
                return is_coming;
            }
            mailbox.parker.sleep(None, || first().is_some());
        }
    }

    /// Passes on what the application asks of the host: the control thread does it.
    fn pass_calls_on(&mut self) {
        for call in self.owner.domain.take_calls() {
            if let Err(Message::Call(call)) = self.table.control.send(Message::Call(call)) {
                refuse(call);
            }
        }
    }

    /// Ends the thread after its connection has ended.
    fn retire(mut self) {
        let Owner { domain, mailbox, shared, .. } = &mut self.owner;
        let migrant = (self.key, self.index);
        let left = migrate_out(&self.table, migrant, mailbox, domain.take_closed_flows());
        left.calls.into_iter().for_each(refuse);
        (0..left.reassembled).for_each(|_| domain.drop_foreign(true));
        shared.count_lost(left.lost);
        self.table.vacate(self.index, &domain.counters);
    }

    /// Ends the thread with the stack. The flow table forgets it before the mailbox is
    /// closed: a dispatcher that finds the mailbox closed asks again.
    fn end(mut self, now: Instant) {
        self.table.unregister(self.key, self.index);
        self.owner.end(now);
        self.table.vacate(self.index, &self.owner.domain.counters);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
