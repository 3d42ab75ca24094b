//! What simulated TCP peers do because time has passed: late acknowledgments, repetitions,
//! probes of closed windows.

use super::connection::{Next, Phase};
use super::{Peer, REPEAT};
use crate::Peer as _;
use device::Batch;
use platform::Instant;

impl Peer {
    /// Nothing else to do, or for long not looked: acknowledges what has waited
    /// long enough, and repeats what seems lost.
    pub(super) fn pause(&mut self, out: &mut Batch) {
        if self.deadline().is_none() && self.by_ports.is_empty() {
            return;
        }
        let now = Instant::now();
        self.start_timers(now);
        if self.pending_since.is_some_and(|since| now >= since + self.config.ack_delay) {
            self.pending_since = None;
            for index in std::mem::take(&mut self.pending) {
                let c = &mut self.connections[index as usize];
                c.in_pending = false;
                if c.unacked > 0 && c.phase == Phase::Open {
                    out.push_back(self.ack(index));
                }
                self.release(index);
            }
        }
        if self.repeat_at.is_some_and(|at| now >= at) {
            self.repeat_at = Some(now + REPEAT);
            self.repeat(out);
        }
    }

    pub(super) fn start_timers(&mut self, now: Instant) {
        if !self.pending.is_empty() {
            self.pending_since.get_or_insert(now);
        }
        if !self.by_ports.is_empty() {
            self.repeat_at.get_or_insert(now + REPEAT);
        }
    }

    fn repeat(&mut self, out: &mut Batch) {
        for index in 0..self.connections.len() as u32 {
            let c = &mut self.connections[index as usize];
            match c.phase {
                // Each of these is repeated at a time of its own.
                Phase::SynSent if c.short => {}
                Phase::SynSent | Phase::SynReceived => out.push_back(self.syn(index)),
                Phase::Open => {
                    if c.is_stuck() {
                        c.go_back();
                        self.may_send(index);
                    } else if c.wants_probe() {
                        out.push_back(self.send(index, Next::Data(1)));
                    }
                }
                Phase::Closed => {}
            }
        }
        if self.by_ports.is_empty() {
            self.repeat_at = None;
        }
    }
}
