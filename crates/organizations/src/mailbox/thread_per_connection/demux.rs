//! The packet filter: frames to the threads of their connections.

use super::flow_table::Registry;
use crate::mailbox::{Mailbox, Sorter};
use instrument::{QueueWatch, TraceStamp};
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

/// The frames of a batch, dealt to the units that they are for. A flow's frames are
/// all dealt by one word of the registry, and posted before it can have another:
/// so they stay in order when the connection moves.
pub(super) struct Flows<A: Application> {
    config: Arc<Config>,
    registry: Arc<Registry<A>>,
    /// In the order in which they came.
    frames: Vec<Packet>,
    dealt: Dealt<A>,
}

/// The unit of each frame; what lies in the bins; and which of them have any.
struct Dealt<A: Application> {
    units: Vec<u16>,
    bins: Vec<Bin<A>>,
    touched: Vec<u16>,
}

impl<A: Application> Flows<A> {
    pub(super) fn new(config: &Arc<Config>, registry: &Arc<Registry<A>>) -> Flows<A> {
        let home = Bin { mailbox: None, frames: Vec::new() };
        Flows {
            config: config.clone(),
            registry: registry.clone(),
            frames: Vec::new(),
            dealt: Dealt { units: Vec::new(), bins: vec![home], touched: Vec::new() },
        }
    }

    /// Posts all frames to the units that the registry names; those of a connection
    /// that has ended meanwhile are left. Returns how many were dropped.
    fn deal(&mut self, stamp: TraceStamp, queue: &QueueWatch) -> u64 {
        let Flows { config, registry, frames, dealt } = self;
        let version = registry.version();
        dealt.look_up(frames, config, registry);
        // Who moves has the home's letters in hand: nobody does until ours lie there.
        let mut home = dealt.units.contains(&0).then(|| registry.home.letters.lock());
        if registry.version() != version {
            home.get_or_insert_with(|| registry.home.letters.lock());
            dealt.look_up(frames, config, registry);
        }
        dealt.sort(frames);
        let bin = &mut dealt.bins[0].frames;
        let mut lost = home
            .filter(|_| !bin.is_empty())
            .map_or(0, |letters| registry.home.post_locked(letters, bin, stamp, queue));
        // If the home is closed, so is all.
        bin.clear();
        for unit in dealt.touched.drain(..) {
            let bin = &mut dealt.bins[usize::from(unit)];
            let Some(mailbox) = bin.mailbox.take() else { continue };
            lost += mailbox.post_batch(&mut bin.frames, stamp, queue);
            frames.append(&mut bin.frames);
        }
        lost
    }
}

impl<A: Application> Dealt<A> {
    /// Finds the units of these frames.
    fn look_up(&mut self, frames: &[Packet], config: &Config, registry: &Registry<A>) {
        self.units.clear();
        self.touched.drain(..).for_each(|unit| self.bins[usize::from(unit)].mailbox = None);
        // The last frame's flow and unit: frames come in bursts.
        let mut last: Option<(FiveTuple, u16)> = None;
        for frame in frames {
            let unit = match (tuple_of(config, frame), last) {
                (None, _) => 0,
                (Some(tuple), Some((before, unit))) if tuple == before => unit,
                (Some(tuple), _) => {
                    let unit = self.unit_of(&tuple, registry);
                    last = Some((tuple, unit));
                    unit
                }
            };
            self.units.push(unit);
        }
    }

    fn unit_of(&mut self, tuple: &FiveTuple, registry: &Registry<A>) -> u16 {
        let Dealt { bins, touched, .. } = self;
        let found = registry.with(tuple, |place| {
            let index = usize::from(place.index);
            if bins.len() <= index {
                bins.resize_with(index + 1, || Bin { mailbox: None, frames: Vec::new() });
            }
            // A unit may have changed hands within the batch: then the registry is
            // asked again.
            if bins[index].mailbox.is_none() {
                bins[index].mailbox = Some(place.mailbox.clone());
                touched.push(place.index);
            }
            place.index
        });
        found.unwrap_or(0)
    }

    /// Puts each frame into its unit's bin.
    fn sort(&mut self, frames: &mut Vec<Packet>) {
        for (frame, unit) in frames.drain(..).zip(&self.units) {
            self.bins[usize::from(*unit)].frames.push(frame);
        }
    }
}

impl<A: Application + 'static> Sorter for Flows<A> {
    #[inline]
    fn sort(&mut self, frame: Packet) {
        self.frames.push(frame);
    }

    fn post(&mut self, stamp: TraceStamp, queue: &QueueWatch) -> u64 {
        let mut lost = 0;
        // A mailbox is closed after the registry has forgotten it: each round has
        // others' news to thank for.
        while !self.frames.is_empty() {
            lost += self.deal(stamp, queue);
        }
        lost
    }
}

#[cfg(test)]
mod tests;
