//! The packet filter: frames to the threads of their connections.

use super::flow_table::FlowTable;
use crate::mailbox::{Demux, Mailbox};
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

/// The frames of a batch, by the units that they are for. All frames of a flow go by
/// one answer of the flow table, and are posted before there can be another: so they
/// stay in order when the connection migrates.
pub(super) struct FlowDemux<A: Application> {
    config: Arc<Config>,
    table: Arc<FlowTable<A>>,
    /// In the order in which they came.
    frames: Vec<Packet>,
    classified: Classified<A>,
}

/// The unit of each frame; what lies in the bins; and which of them have any.
struct Classified<A: Application> {
    units: Vec<u16>,
    bins: Vec<Bin<A>>,
    touched: Vec<u16>,
}

impl<A: Application> FlowDemux<A> {
    pub(super) fn new(config: &Arc<Config>, table: &Arc<FlowTable<A>>) -> FlowDemux<A> {
        let control = Bin { mailbox: None, frames: Vec::new() };
        FlowDemux {
            config: config.clone(),
            table: table.clone(),
            frames: Vec::new(),
            classified: Classified { units: Vec::new(), bins: vec![control], touched: Vec::new() },
        }
    }

    /// Posts all frames to the units that the flow table names; those of a connection
    /// that has ended meanwhile are left. Returns how many were dropped.
    fn deal(&mut self, stamp: TraceStamp, queue: &QueueWatch) -> u64 {
        let FlowDemux { config, table, frames, classified } = self;
        let version = table.version();
        classified.look_up(frames, config, table);
        // A migration holds the lock of the control thread's inbox. We hold it, so none
        // runs until our frames are there.
        let mut control = classified.units.contains(&0).then(|| table.control.inbox.lock());
        if table.version() != version {
            control.get_or_insert_with(|| table.control.inbox.lock());
            classified.look_up(frames, config, table);
        }
        classified.classify(frames);
        let bin = &mut classified.bins[0].frames;
        let mut lost = control
            .filter(|_| !bin.is_empty())
            .map_or(0, |inbox| table.control.post_locked(inbox, bin, stamp, queue));
        // If the control thread's inbox is closed, so are all.
        bin.clear();
        for unit in classified.touched.drain(..) {
            let bin = &mut classified.bins[usize::from(unit)];
            let Some(mailbox) = bin.mailbox.take() else { continue };
            lost += mailbox.post_batch(&mut bin.frames, stamp, queue);
            frames.append(&mut bin.frames);
        }
        lost
    }
}

impl<A: Application> Classified<A> {
    /// Finds the units of these frames.
    fn look_up(&mut self, frames: &[Packet], config: &Config, table: &FlowTable<A>) {
        self.units.clear();
        self.touched.drain(..).for_each(|unit| self.bins[usize::from(unit)].mailbox = None);
        // The last frame's flow and unit: frames come in bursts.
        let mut last: Option<(FiveTuple, u16)> = None;
        for frame in frames {
            let unit = match (tuple_of(config, frame), last) {
                (None, _) => 0,
                (Some(tuple), Some((before, unit))) if tuple == before => unit,
                (Some(tuple), _) => {
                    let unit = self.unit_of(&tuple, table);
                    last = Some((tuple, unit));
                    unit
                }
            };
            self.units.push(unit);
        }
    }

    fn unit_of(&mut self, tuple: &FiveTuple, table: &FlowTable<A>) -> u16 {
        let Classified { bins, touched, .. } = self;
        let found = table.with(tuple, |handle| {
            let index = usize::from(handle.index);
            if bins.len() <= index {
                bins.resize_with(index + 1, || Bin { mailbox: None, frames: Vec::new() });
            }
            // Another connection may have got the unit within the batch: then the flow
            // table is asked again.
            if bins[index].mailbox.is_none() {
                bins[index].mailbox = Some(handle.mailbox.clone());
                touched.push(handle.index);
            }
            handle.index
        });
        found.unwrap_or(0)
    }

    /// Puts each frame into its unit's bin.
    fn classify(&mut self, frames: &mut Vec<Packet>) {
        for (frame, unit) in frames.drain(..).zip(&self.units) {
            self.bins[usize::from(*unit)].frames.push(frame);
        }
    }
}

impl<A: Application + 'static> Demux for FlowDemux<A> {
    #[inline]
    fn classify(&mut self, frame: Packet) {
        self.frames.push(frame);
    }

    fn post(&mut self, stamp: TraceStamp, queue: &QueueWatch) -> u64 {
        let mut lost = 0;
        // A mailbox is closed after the flow table has forgotten it: each retry implies
        // a concurrent change of the table, so the loop ends.
        while !self.frames.is_empty() {
            lost += self.deal(stamp, queue);
        }
        lost
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
