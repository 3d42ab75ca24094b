//! How a connection or socket migrates to its thread and back, so that no frame of
//! its flow overtakes another: under the lock of the home's inbox. A dispatcher that
//! has frames for the home asks the flow table again once it holds that lock
//! ([`demux`](super::demux)). So a frame is either in that inbox, and migrates along,
//! or goes where the table says from now on.

use super::demux::tuple_of;
use super::flow_table::{ConnKey, FlowTable, UnitHandle};
use crate::mailbox::{Frame, Inbox, Mailbox, Message, Posted};
use net::{Application, Call, ClosedFlow, Config};
use std::collections::VecDeque;

/// A connection or socket that goes to a thread.
pub(super) struct Migrant<A: Application> {
    pub(super) key: ConnKey,
    pub(super) handle: UnitHandle<A>,
    /// By which it comes.
    pub(super) message: Message<A>,
}

/// Sends these to their threads, and makes them known. Frames that have come
/// home before go with them, before those that their mailboxes get from now on; and
/// no call comes before them. `taken` are frames that the home has taken but not
/// looked at. Returns the messages whose threads have been stopped.
pub(super) fn migrate_in<A: Application>(
    table: &FlowTable<A>,
    config: &Config,
    migrants: Vec<Migrant<A>>,
    taken: &mut VecDeque<Frame>,
) -> Vec<Message<A>> {
    let split = |migrant: Migrant<A>| ((migrant.key, migrant.handle), migrant.message);
    let (handles, messages): (Vec<_>, Vec<_>) = migrants.into_iter().map(split).unzip();
    let (mut refused, mut guards) = (Vec::new(), Vec::new());
    let mut home = table.home.inbox.lock();
    for ((key, handle), message) in handles.iter().zip(messages) {
        let mut inbox = handle.mailbox.inbox.lock();
        if inbox.closed {
            refused.push(message);
            continue;
        }
        inbox.messages.push_back(message);
        table.register(*key, handle);
        guards.push((handle.index, inbox));
    }
    taken.append(&mut home.frames);
    let mut theirs = Vec::new();
    for frame in taken.drain(..) {
        let tuple = tuple_of(config, &frame.packet).filter(|_| frame.whole);
        match tuple.and_then(|tuple| table.with(&tuple, UnitHandle::clone)) {
            Some(handle) => theirs.push((handle, frame)),
            None => home.frames.push_back(frame),
        }
    }
    for (handle, frame) in theirs.into_iter().rev() {
        match guards.iter_mut().find(|(index, _)| *index == handle.index) {
            Some((_, inbox)) => inbox.frames.push_front(frame),
            // Of a socket that is bound to any address, when one was bound to this. If
            // its thread has just been stopped, the home drops the frame.
            None => {
                if let Posted::Closed(frame) = handle.mailbox.post_first(frame) {
                    home.frames.push_front(frame);
                }
            }
        }
    }
    drop((guards, home));
    handles.iter().for_each(|(_, handle)| handle.mailbox.parker.notify());
    refused
}

/// What is left to the thread that a connection or socket has gone from.
pub(super) struct Left<A: Application> {
    /// What nobody will do.
    pub(super) calls: Vec<Call<A>>,
    /// Whole frames for which there was no room.
    pub(super) lost: u64,
    /// Frames put together from fragments, which nobody wants.
    pub(super) reassembled: u64,
}

/// Forgets one that was in unit `index`, with this mailbox. What is left of
/// it goes home, and what has come for it behind that.
pub(super) fn migrate_out<A: Application>(
    table: &FlowTable<A>,
    (key, index): (ConnKey, u16),
    mailbox: &Mailbox<A>,
    remains: Vec<ClosedFlow>,
) -> Left<A> {
    let mut left = Left { calls: Vec::new(), lost: 0, reassembled: 0 };
    let mut home = table.home.inbox.lock();
    table.unregister(key, index);
    let Inbox { messages, frames, .. } = mailbox.close();
    if !home.closed {
        home.messages.extend(remains.into_iter().map(Message::Keep));
    }
    for message in messages {
        // Another socket may have the port by now, and a call for that one have come
        // here.
        match message {
            Message::Call(Call::FlushUdp(socket)) if !home.closed => {
                home.messages.push_back(Message::Call(Call::FlushUdp(socket)));
            }
            Message::Call(call) => left.calls.push(call),
            _ => {}
        }
    }
    for frame in frames {
        match frame.whole {
            true if home.closed || home.room() == 0 => left.lost += 1,
            true => home.frames.push_back(frame),
            false => left.reassembled += 1,
        }
    }
    drop(home);
    table.home.parker.notify();
    left
}

#[cfg(test)]
mod tests;
