//! How a connection or socket migrates to its thread, and what is left of it back, so
//! that no frame of its flow overtakes another: under the lock of the control thread's
//! inbox. A dispatcher that has frames for the control thread asks the flow table again
//! once it holds that lock ([`demux`](super::demux)). So a frame is either in that
//! inbox, and migrates along, or goes where the table says from now on.

use super::demux::tuple_of;
use super::flow_table::{ConnKey, FlowTable, UnitHandle};
use crate::mailbox::{Frame, Inbox, Mailbox, Message, Posted};
use net::{Application, Call, ClosedFlow, Config};
use std::collections::VecDeque;

/// A connection or socket that goes to a thread.
pub(super) struct Migrant<A: Application> {
    pub(super) key: ConnKey,
    pub(super) handle: UnitHandle<A>,
    /// What brings it there.
    pub(super) message: Message<A>,
}

/// Sends connections and sockets to their threads, and registers them. Frames that the
/// control thread has got for them go along, before those that their mailboxes get from
/// now on; and no call comes before them. `taken` are frames that the control thread has
/// taken but not looked at. Returns the messages whose threads have been stopped.
pub(super) fn migrate_in<A: Application>(
    table: &FlowTable<A>,
    config: &Config,
    migrants: Vec<Migrant<A>>,
    taken: &mut VecDeque<Frame>,
) -> Vec<Message<A>> {
    let split = |migrant: Migrant<A>| ((migrant.key, migrant.handle), migrant.message);
    let (handles, messages): (Vec<_>, Vec<_>) = migrants.into_iter().map(split).unzip();
    let (mut refused, mut guards) = (Vec::new(), Vec::new());
    let mut control = table.control.inbox.lock();
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
    taken.append(&mut control.frames);
    let mut theirs = Vec::new();
    for frame in taken.drain(..) {
        let tuple = tuple_of(config, &frame.packet).filter(|_| frame.whole);
        match tuple.and_then(|tuple| table.with(&tuple, UnitHandle::clone)) {
            Some(handle) => theirs.push((handle, frame)),
            None => control.frames.push_back(frame),
        }
    }
    for (handle, frame) in theirs.into_iter().rev() {
        match guards.iter_mut().find(|(index, _)| *index == handle.index) {
            Some((_, inbox)) => inbox.frames.push_front(frame),
            // A socket that is bound to any address gets it, while another is being
            // bound to this one. If its thread has just been stopped, the control thread
            // drops the frame.
            None => {
                if let Posted::Closed(frame) = handle.mailbox.post_first(frame) {
                    control.frames.push_front(frame);
                }
            }
        }
    }
    drop((guards, control));
    handles.iter().for_each(|(_, handle)| handle.mailbox.parker.notify());
    refused
}

/// What the thread of a connection or socket that has ended is left with.
pub(super) struct Left<A: Application> {
    /// Calls that nobody will do.
    pub(super) calls: Vec<Call<A>>,
    /// Whole frames for which there was no room.
    pub(super) lost: u64,
    /// Packets put together from fragments, which nobody wants.
    pub(super) reassembled: u64,
}

/// Forgets a connection or socket that was in unit `index`, with this mailbox. What is
/// left of it goes to the control thread, and what has come for it behind that.
pub(super) fn migrate_out<A: Application>(
    table: &FlowTable<A>,
    (key, index): (ConnKey, u16),
    mailbox: &Mailbox<A>,
    closed_flows: Vec<ClosedFlow>,
) -> Left<A> {
    let mut left = Left { calls: Vec::new(), lost: 0, reassembled: 0 };
    let mut control = table.control.inbox.lock();
    table.unregister(key, index);
    let Inbox { messages, frames, .. } = mailbox.close();
    if !control.closed {
        control.messages.extend(closed_flows.into_iter().map(Message::Keep));
    }
    for message in messages {
        // Another socket may have the port by now, and a call for that one have come
        // here.
        match message {
            Message::Call(Call::FlushUdp(socket)) if !control.closed => {
                control.messages.push_back(Message::Call(Call::FlushUdp(socket)));
            }
            Message::Call(call) => left.calls.push(call),
            _ => {}
        }
    }
    for frame in frames {
        match frame.whole {
            true if control.closed || control.room() == 0 => left.lost += 1,
            true => control.frames.push_back(frame),
            false => left.reassembled += 1,
        }
    }
    drop(control);
    table.control.parker.notify();
    left
}

#[cfg(all(test, not(loom)))]
mod tests;
