//! Datagrams without end. So that a sender neither outruns the link nor waits
//! for a clock, the receiver reports from time to time which datagram came last,
//! and the sender keeps a window outstanding. A datagram that is lost so costs
//! nothing but itself.

use super::pattern::PERIOD;
use super::{Call, Load, with_buffer};
use net::Datagram;
use wire::{Endpoint, Parts, Slice};

/// Datagrams of a flow that may be outstanding.
const WINDOW: u64 = 64;
/// The receiver reports each time when this many have come.
const REPORT: u64 = 16;
/// Bytes of the number that each datagram starts with.
const NUMBER: usize = 8;

/// Names a flow at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its index.
    pub flow: u32,
}

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Send,
    /// Sends without a window, to nobody who reports.
    Stream,
    Receive,
    /// Receives what is not in the loads' pattern, and does not report.
    Drain,
}

/// One end of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    way: Way,
    local: Endpoint,
    remote: Endpoint,
    /// Sender: the datagrams sent; receiver: the number of the latest.
    last: u64,
    /// The latest number that the receiver has reported.
    reported: u64,
}

impl Flow {
    pub(crate) fn new(way: Way, local: Endpoint, remote: Endpoint) -> Flow {
        Flow { way, local, remote, last: 0, reported: 0 }
    }
}

impl Load {
    /// A datagram has come.
    pub(super) fn arrived(&mut self, socket: Socket, datagram: &Datagram) {
        let Some(flow) = self.flows.get_mut(socket.flow as usize) else { return };
        let Some(number) = number(&datagram.payload) else {
            return self.meter.fail("a datagram came out too short");
        };
        match flow.way {
            Way::Send => {
                flow.reported = flow.reported.max(number);
                if flow.last < flow.reported {
                    return self.meter.fail("a report about a datagram that was never sent");
                }
                self.calls.push_back(Call::FlushUdp(socket));
            }
            Way::Stream => {}
            Way::Drain => self.take(None, &datagram.payload),
            Way::Receive => {
                flow.last = flow.last.max(number);
                if flow.last - flow.reported >= REPORT {
                    self.calls.push_back(Call::FlushUdp(socket));
                }
                self.take(Some(number), &datagram.payload);
            }
        }
    }

    /// Copies the payload out, as an application that receives does.
    fn take(&mut self, number: Option<u64>, payload: &Parts) {
        let total = with_buffer(self.bytes.max(65536), |buffer| {
            let mut at = 0;
            for part in payload {
                buffer[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            if let Some(number) = number
                && (at != self.bytes || !self.pattern.fits(place(number), &buffer[NUMBER..at]))
            {
                self.meter.fail("received a wrong datagram");
            }
            at
        });
        self.tally.received.add(total as u64);
    }

    /// The next call that streams make: each has a turn in each round.
    pub(super) fn next_turn(&mut self) -> Option<Call> {
        if self.turns >= self.streams.len() {
            // Each had its turn in this round.
            self.turns = 0;
            return None;
        }
        self.turns += 1;
        self.streams.pop_front().map(Call::FlushUdp)
    }

    /// The next datagram of a flow, if it may send one.
    pub(super) fn compose(&mut self, socket: Socket) -> Option<Datagram> {
        let flow = self.flows.get_mut(socket.flow as usize)?;
        let (local, remote) = (flow.local, flow.remote);
        let payload = match flow.way {
            Way::Send | Way::Stream if flow.last - flow.reported < WINDOW => {
                flow.last += 1;
                let mut slice = Slice::with_capacity(self.bytes);
                slice.append(&flow.last.to_be_bytes());
                slice.append(self.pattern.from(place(flow.last), self.bytes - NUMBER));
                self.tally.sent.add(self.bytes as u64);
                slice
            }
            Way::Receive if flow.last - flow.reported >= REPORT => {
                flow.reported = flow.last;
                Slice::copy_of(&flow.last.to_be_bytes())
            }
            Way::Stream => {
                // A turn is over; the next one comes with the next round.
                flow.reported = flow.last - (WINDOW - REPORT);
                self.streams.push_back(socket);
                return None;
            }
            _ => return None,
        };
        let payload = std::iter::once(payload).collect();
        Some(Datagram { local, remote, payload })
    }
}

/// Where the payload behind `number` starts in the pattern.
fn place(number: u64) -> u32 {
    (number % PERIOD as u64) as u32
}

/// The number at the start of a payload, whichever parts it lies in.
fn number(payload: &Parts) -> Option<u64> {
    let mut bytes = payload.iter().flat_map(|part| part.iter().copied());
    let mut number = 0;
    for _ in 0..NUMBER {
        number = number << 8 | u64::from(bytes.next()?);
    }
    Some(number)
}
