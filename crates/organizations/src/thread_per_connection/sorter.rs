//! The packet filter: frames to the threads of their connections.

use super::registry::Registry;
use crate::handed::{Mailbox, Sorter};
use crate::instrument::{QueueWatch, Stamp};
use net::{Application, Config};
use std::sync::Arc;
use wire::Packet;
use wire::filter::{self, FiveTuple};

/// The five-tuple of a frame.
#[inline]
pub(super) fn tuple_of(config: &Config, frame: &Packet) -> Option<FiveTuple> {
    let interface = config.interfaces.get(usize::from(frame.meta().interface))?;
    let parse = if interface.is_ethernet { filter::frame } else { filter::datagram };
    parse(frame.front()).or_else(|| scattered(frame, parse))
}

/// What an ICMP error quotes need not lie in one piece with its header.
#[cold]
fn scattered(frame: &Packet, parse: fn(&[u8]) -> Option<FiveTuple>) -> Option<FiveTuple> {
    if frame.front().len() >= frame.len().min(filter::FRONT) {
        return None;
    }
    let mut front = [0; filter::FRONT];
    let len = frame.copy_front(&mut front);
    parse(&front[..len])
}

/// The frames of a batch for one unit.
struct Bin<A: Application> {
    mailbox: Option<Arc<Mailbox<A>>>,
    frames: Vec<Packet>,
}

/// The frames of a batch, by unit; and which units have any.
pub(super) struct Flows<A: Application> {
    config: Arc<Config>,
    registry: Arc<Registry<A>>,
    bins: Vec<Bin<A>>,
    touched: Vec<u16>,
    /// The last frame's flow and unit: frames come in bursts.
    last: Option<(FiveTuple, u16)>,
}

impl<A: Application> Flows<A> {
    pub(super) fn new(config: &Arc<Config>, registry: &Arc<Registry<A>>) -> Flows<A> {
        Flows {
            config: config.clone(),
            registry: registry.clone(),
            bins: Vec::new(),
            touched: Vec::new(),
            last: None,
        }
    }

    /// The unit that a flow's frames go to in this batch.
    #[inline]
    fn unit_of(&mut self, tuple: FiveTuple) -> u16 {
        if let Some((last, unit)) = self.last
            && last == tuple
        {
            return unit;
        }
        let Flows { registry, bins, touched, .. } = self;
        let found = registry.with(&tuple, |place| {
            let index = usize::from(place.index);
            if bins.len() <= index {
                bins.resize_with(index + 1, || Bin { mailbox: None, frames: Vec::new() });
            }
            // The place may have changed hands within the batch: then what is
            // sorted already comes back, and goes home.
            if bins[index].mailbox.is_none() {
                bins[index].mailbox = Some(place.mailbox.clone());
                touched.push(place.index);
            }
            place.index
        });
        let unit = found.unwrap_or(0);
        self.last = Some((tuple, unit));
        unit
    }

    fn put_home(&mut self, frame: Packet) {
        if self.bins.is_empty() {
            self.bins.push(Bin { mailbox: None, frames: Vec::new() });
        }
        if self.bins[0].mailbox.is_none() {
            self.bins[0].mailbox = Some(self.registry.home.clone());
            self.touched.push(0);
        }
        self.bins[0].frames.push(frame);
    }
}

impl<A: Application + 'static> Sorter for Flows<A>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    #[inline]
    fn sort(&mut self, frame: Packet) {
        match tuple_of(&self.config, &frame).map(|tuple| self.unit_of(tuple)) {
            None | Some(0) => self.put_home(frame),
            Some(unit) => self.bins[usize::from(unit)].frames.push(frame),
        }
    }

    fn post(&mut self, stamp: Stamp, queue: &QueueWatch) -> u64 {
        self.last = None;
        let mut lost = 0;
        for unit in self.touched.drain(..) {
            let bin = &mut self.bins[usize::from(unit)];
            let Some(mailbox) = bin.mailbox.take() else { continue };
            lost += mailbox.post_batch(&mut bin.frames, stamp, queue);
            if !bin.frames.is_empty() && unit != 0 {
                // Its connection has just ended: what is left of it is at home.
                lost += self.registry.home.post_batch(&mut bin.frames, stamp, queue);
            }
            bin.frames.clear();
        }
        lost
    }
}

#[cfg(test)]
mod tests;
