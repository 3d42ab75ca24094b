//! Tickets: the packets of a flow come to their connection in the order in which
//! they came up, whichever threads have them.
//!
//! Tickets are drawn while the queue that the packets came by is locked. A thread
//! waits for a turn only with packets that were drawn before those that it still
//! holds: so among all threads that wait, the one whose packet was drawn first
//! waits for nobody.

use platform::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use sync::primitive::Backoff;
use wire::steering::Steered;
use wire::{Packet, ethernet, protocol};

/// Flows that share a turn, by the low bits of their steering hash.
const WINDOWS: usize = 1024;

/// Draws the tickets of one queue.
pub(super) struct TicketDispenser {
    next: Vec<u32>,
    serving: Arc<[AtomicU32]>,
}

/// A turn, or several in a row, at one window.
pub(super) struct Ticket {
    serving: Arc<[AtomicU32]>,
    window: usize,
    first: u32,
    count: u32,
}

impl TicketDispenser {
    pub(super) fn new() -> TicketDispenser {
        let serving = (0..WINDOWS).map(|_| AtomicU32::new(0)).collect();
        TicketDispenser { next: vec![0; WINDOWS], serving }
    }

    /// The ticket of a frame, if it is a segment of TCP.
    pub(super) fn draw(&mut self, config: &net::Config, frame: &Packet) -> Option<Ticket> {
        let interface = &config.interfaces[frame.meta().interface as usize];
        let front = frame.front();
        let datagram = if interface.is_ethernet {
            front.get(ethernet::Header::parse(front).ok()?.1..)?
        } else {
            front
        };
        if datagram.get(9) != Some(&protocol::TCP) {
            return None;
        }
        let Steered::Flow(hash) = config.steering.datagram(datagram) else { return None };
        let window = hash as usize % WINDOWS;
        let first = self.next[window];
        self.next[window] = first.wrapping_add(1);
        Some(Ticket { serving: self.serving.clone(), window, first, count: 1 })
    }
}

impl Ticket {
    /// Is `next` the turn after these, at the same window?
    pub(super) fn continues(&self, next: &Ticket) -> bool {
        self.window == next.window
            && self.first.wrapping_add(self.count) == next.first
            && Arc::ptr_eq(&self.serving, &next.serving)
    }

    /// Takes that turn, too.
    pub(super) fn extend(&mut self, next: &Ticket) {
        self.count += next.count;
    }

    /// Waits until it is this one's turn.
    pub(super) fn wait(&self) {
        let mut backoff = Backoff::new();
        while self.serving[self.window].load(Ordering::Acquire) != self.first {
            backoff.snooze();
        }
    }

    /// The turns are over: lets the next one come.
    pub(super) fn done(self) {
        let next = self.first.wrapping_add(self.count);
        self.serving[self.window].store(next, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
