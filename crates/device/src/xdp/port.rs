//! A receive queue of the interface, as its sockets share it: the memory, the frames that the
//! kernel may fill, and those that it has sent. Each is locked once a batch.

use super::socket::{Common, Ring, Umem};
use platform::Mutex;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What the sockets of a queue have in common.
pub(super) struct Port {
    pub(super) umem: Umem,
    fill: Mutex<Ring<u64>>,
    sent: Mutex<Sent>,
    /// The first frame that is sent, and how many each sender has.
    first: u64,
    share: u64,
    pub(super) has_metadata: bool,
    /// The program stays at the interface for as long as a queue is there.
    _attached: Arc<OwnedFd>,
}

/// Frames that were sent.
struct Sent {
    ring: Ring<u64>,
    /// Those that their senders have not fetched, by sender.
    back: Vec<Vec<u64>>,
}

impl Port {
    /// One with `entries` frames each way, for so many senders. What arrives may fill its
    /// frames from now on.
    pub(super) fn new(
        common: Common,
        entries: u32,
        senders: usize,
        attached: &Arc<OwnedFd>,
    ) -> Port {
        let Common { umem, mut fill, completion, has_metadata } = common;
        for frame in 0..u64::from(entries) {
            fill.put(frame * umem.chunk as u64);
        }
        fill.publish();
        Port {
            umem,
            fill: Mutex::new(fill),
            sent: Mutex::new(Sent { ring: completion, back: vec![Vec::new(); senders] }),
            first: entries.into(),
            share: u64::from(entries) / senders.max(1) as u64,
            has_metadata,
            _attached: attached.clone(),
        }
    }

    /// The frames that this sender may fill.
    pub(super) fn frames_of(&self, sender: usize) -> Vec<u64> {
        let from = self.first + sender as u64 * self.share;
        (from..from + self.share).map(|frame| frame * self.umem.chunk as u64).collect()
    }

    /// The start of the frame that has this address in it.
    pub(super) fn frame(&self, address: u64) -> u64 {
        address & !(self.umem.chunk as u64 - 1)
    }

    /// Lets the kernel fill the frames that these addresses are in. Says whether it wants to
    /// be woken for that.
    pub(super) fn fill(&self, frames: &mut Vec<u64>) -> bool {
        let mut ring = self.fill.lock();
        // As many entries as frames: there is room.
        frames.drain(..).for_each(|address| {
            ring.put(self.frame(address));
        });
        ring.publish();
        ring.needs_wakeup()
    }

    /// Gives `sender` the frames that were sent, and says how many it has got.
    pub(super) fn reclaim(&self, sender: usize, into: &mut Vec<u64>) {
        let mut sent = self.sent.lock();
        self.sort(&mut sent);
        into.append(&mut sent.back[sender]);
    }

    /// How many frames [`Port::reclaim`] would give.
    pub(super) fn returned(&self, sender: usize) -> usize {
        let mut sent = self.sent.lock();
        self.sort(&mut sent);
        sent.back[sender].len()
    }

    fn sort(&self, sent: &mut Sent) {
        let Sent { ring, back } = sent;
        while let Some(address) = ring.take() {
            let frame = self.frame(address);
            let number = (frame / self.umem.chunk as u64).saturating_sub(self.first);
            if let Some(back) = back.get_mut((number / self.share) as usize) {
                back.push(frame);
            }
        }
        ring.release();
    }
}
