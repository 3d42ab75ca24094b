//! [`Offer`]: packets for a device under a wrapper that has to know which of them have left.

use crate::{Batch, Transmit};

/// Gives a device packets, as many at a time as it says that it has room for.
#[derive(Default)]
pub(crate) struct Offer {
    /// What the device is being given; empty between calls.
    stage: Batch,
}

impl Offer {
    /// As [`Transmit::transmit`] of `device`. `before` sees packets that are about to be offered; `after` gets
    /// what it made of them, and how many of them have left, the first ones.
    pub(crate) fn transmit<T>(
        &mut self,
        device: &mut dyn Transmit,
        batch: &mut Batch,
        mut before: impl FnMut(&Batch) -> T,
        mut after: impl FnMut(T, usize),
    ) {
        let stage = &mut self.stage;
        while !batch.is_empty() {
            // One at least: the device may have to be asked before it makes room.
            let offered = device.room().clamp(1, batch.len());
            stage.extend(batch.drain(..offered));
            let seen = before(stage);
            device.transmit(stage);
            after(seen, offered - stage.len());
            if !stage.is_empty() {
                while let Some(packet) = stage.pop_back() {
                    batch.push_front(packet);
                }
                return;
            }
        }
    }
}
