//! How a tenant moves in and out, so that no frame of its flow overtakes another:
//! with the home's letters in hand, whoever it is. A dispatcher that has frames for
//! the home asks the registry again once it has those letters
//! ([`sorter`](super::demux)); so a frame is either among them, and moves along, or
//! goes where the registry says from now on.

use super::demux::tuple_of;
use super::flow_table::{Place, Registry, Tenancy};
use crate::mailbox::{Frame, Letters, Mailbox, Message, Posted};
use net::{Application, Call, ClosedFlow, Config};
use std::collections::VecDeque;

/// One that moves in.
pub(super) struct Tenant<A: Application> {
    pub(super) tenancy: Tenancy,
    pub(super) place: Place<A>,
    /// By which it comes.
    pub(super) message: Message<A>,
}

/// Sends these tenants to their threads, and makes them known. Frames that have come
/// home before go with them, before those that their mailboxes get from now on; and
/// no call comes before them. `taken` are frames that the home has taken but not
/// looked at. Returns the messages whose threads have been stopped.
pub(super) fn move_in<A: Application>(
    registry: &Registry<A>,
    config: &Config,
    tenants: Vec<Tenant<A>>,
    taken: &mut VecDeque<Frame>,
) -> Vec<Message<A>> {
    let split = |tenant: Tenant<A>| ((tenant.tenancy, tenant.place), tenant.message);
    let (places, messages): (Vec<_>, Vec<_>) = tenants.into_iter().map(split).unzip();
    let (mut refused, mut doors) = (Vec::new(), Vec::new());
    let mut home = registry.home.letters.lock();
    for ((tenancy, place), message) in places.iter().zip(messages) {
        let mut letters = place.mailbox.letters.lock();
        if letters.closed {
            refused.push(message);
            continue;
        }
        letters.messages.push_back(message);
        registry.register(*tenancy, place);
        doors.push((place.index, letters));
    }
    taken.append(&mut home.frames);
    let mut theirs = Vec::new();
    for frame in taken.drain(..) {
        let tuple = tuple_of(config, &frame.packet).filter(|_| frame.whole);
        match tuple.and_then(|tuple| registry.with(&tuple, Place::clone)) {
            Some(place) => theirs.push((place, frame)),
            None => home.frames.push_back(frame),
        }
    }
    for (place, frame) in theirs.into_iter().rev() {
        match doors.iter_mut().find(|(index, _)| *index == place.index) {
            Some((_, letters)) => letters.frames.push_front(frame),
            // Of a socket that is bound to any address, when one was bound to this. If
            // its thread has just been stopped, the home drops the frame.
            None => {
                if let Posted::Closed(frame) = place.mailbox.post_first(frame) {
                    home.frames.push_front(frame);
                }
            }
        }
    }
    drop((doors, home));
    places.iter().for_each(|(_, place)| place.mailbox.parker.notify());
    refused
}

/// What a tenant that has gone leaves to the thread it lived in.
pub(super) struct Left<A: Application> {
    /// What nobody will do.
    pub(super) calls: Vec<Call<A>>,
    /// Whole frames for which there was no room.
    pub(super) lost: u64,
    /// Frames put together from fragments, which nobody wants.
    pub(super) reassembled: u64,
}

/// Forgets a tenant, which lived in unit `index` with this mailbox. What is left of
/// it goes home, and what has come for it behind that.
pub(super) fn move_out<A: Application>(
    registry: &Registry<A>,
    (tenancy, index): (Tenancy, u16),
    mailbox: &Mailbox<A>,
    remains: Vec<ClosedFlow>,
) -> Left<A> {
    let mut left = Left { calls: Vec::new(), lost: 0, reassembled: 0 };
    let mut home = registry.home.letters.lock();
    registry.unregister(tenancy, index);
    let Letters { messages, frames, .. } = mailbox.close();
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
    registry.home.parker.notify();
    left
}

#[cfg(test)]
mod tests;
