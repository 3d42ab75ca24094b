//! The thread of a processor: it receives, and enters the groups that packets are for,
//! that have a timer due, or that have more to send.

use super::Shared;
use crate::runtime::worker;
use device::Receive;
use instrument::{ThreadTimer, observed};
use net::{Application, Connections, Domain, Egress, Observer, OwnedTable};
use platform::atomic::Ordering;
use std::sync::Arc;
use sync::RawLock;
use wire::{Instant, Packet};

/// A processor's thread.
pub(super) struct Thread<L, A: Application> {
    shared: Arc<Shared<L, A, OwnedTable<A::Connection>>>,
    index: usize,
    receivers: Vec<Box<dyn Receive>>,
    received: Vec<Packet>,
    egress: Egress,
    /// The frames received, by group; and which groups have any.
    bins: Vec<Vec<Packet>>,
    touched: Vec<usize>,
}

impl<L: RawLock, A: Application> Thread<L, A> {
    pub(super) fn new(
        shared: Arc<Shared<L, A, OwnedTable<A::Connection>>>,
        index: usize,
        receivers: Vec<Box<dyn Receive>>,
    ) -> Self {
        Thread {
            egress: Egress::new(shared.config.interfaces.len()),
            bins: shared.groups.iter().map(|_| Vec::new()).collect(),
            touched: Vec::new(),
            received: Vec::new(),
            shared,
            index,
            receivers,
        }
    }

    pub(super) fn run(&mut self, timer: &mut ThreadTimer) {
        while !self.shared.stopping.load(Ordering::Relaxed) {
            timer.begin();
            let received = worker::receive(&mut self.receivers, &mut self.received);
            timer.received(&self.received);
            self.sort();
            self.frames(timer);
            let busy = self.shared.own_groups(self.index, &mut self.egress, timer);
            let full = self.shared.processors[self.index].transmitter.flush(timer);
            timer.end();
            if received > 0 {
                continue;
            }
            worker::rest(full, busy, timer, |most| {
                self.shared.sleep(self.index, &mut self.receivers, most, || false);
            });
        }
    }

    /// Puts the frames received into the bins of their groups.
    fn sort(&mut self) {
        let count = self.bins.len() as u16;
        for frame in self.received.drain(..) {
            // A frame for all groups is for the table of neighbours that they share.
            let group = net::domain::unit_of(&self.shared.config, &frame, count).unwrap_or(0);
            put(&mut self.bins, &mut self.touched, usize::from(group), frame);
        }
    }

    /// Enters each group that frames have come for.
    fn frames(&mut self, timer: &mut ThreadTimer) {
        for group in self.touched.drain(..) {
            let bin = &mut self.bins[group];
            while !bin.is_empty() {
                let stay = bin.len().min(self.shared.stay);
                self.shared.visit(group, &mut self.egress, timer, |domain, now, egress, timer| {
                    domain.look_ahead(bin[..stay].iter());
                    let frames = bin.drain(..stay);
                    observed!(timer, observer => input(domain, frames, now, egress, observer));
                });
            }
        }
    }
}

/// Brings frames into a domain.
#[inline]
pub(crate) fn input<A: Application, C: Connections<A::Connection>>(
    domain: &mut Domain<A, C>,
    frames: impl Iterator<Item = Packet>,
    now: Instant,
    egress: &mut Egress,
    observer: &mut impl Observer,
) {
    for frame in frames {
        domain.input_observed(frame, now, egress, observer);
    }
}

#[inline]
fn put(bins: &mut [Vec<Packet>], touched: &mut Vec<usize>, group: usize, frame: Packet) {
    if bins[group].is_empty() {
        touched.push(group);
    }
    bins[group].push(frame);
}
