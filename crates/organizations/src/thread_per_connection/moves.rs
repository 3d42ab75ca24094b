//! How a tenant moves in and out, so that no frame of its flow overtakes another:
//! with the home's letters in hand, whoever it is. A dispatcher that has frames for
//! the home asks the registry again once it has those letters
//! ([`sorter`](super::sorter)); so a frame is either among them, and moves along, or
//! goes where the registry says from now on.

use super::registry::{Place, Registry, Tenancy};
use super::sorter::tuple_of;
use crate::handed::{Frame, Letters, Mailbox, Message};
use net::{Application, Call, Config, Remnant};
use std::collections::VecDeque;

/// Makes these tenants known. Frames that have come home before go to them, and come
/// before those that their mailboxes get from now on; so the tenants must wait until
/// this is done. `taken` are frames that the home has taken but not looked at.
pub(super) fn move_in<A: Application>(
    registry: &Registry<A>,
    config: &Config,
    tenants: &[(Tenancy, Place<A>)],
    taken: &mut VecDeque<Frame>,
) {
    let mut home = registry.home.letters.lock();
    for (tenancy, place) in tenants {
        registry.register(*tenancy, place);
    }
    taken.append(&mut home.frames);
    let mut theirs = Vec::new();
    for frame in taken.drain(..) {
        let tuple = tuple_of(config, &frame.packet).filter(|_| frame.whole);
        match tuple.and_then(|tuple| registry.with(&tuple, |place| place.mailbox.clone())) {
            Some(mailbox) => theirs.push((mailbox, frame)),
            None => home.frames.push_back(frame),
        }
    }
    for (mailbox, frame) in theirs.into_iter().rev() {
        mailbox.post_first(frame);
    }
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
    remains: Vec<Remnant>,
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
