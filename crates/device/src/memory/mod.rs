//! Devices in memory: a [`pair`] back to back, and one that loops back.
//!
//! Packets are passed on, not copied: what arrives shares its parts with the
//! sender's retransmission queue. Each receive queue is a bounded ring; a full
//! ring leaves packets with the sender ([`Transmit::room`]). A batch costs one
//! uncontended lock on each side, whether both ends are in one thread or not.

mod ring;

use crate::{Batch, Capabilities, Counts, Device, Medium, Queue, Receive, Transmit};
use platform::atomic::Ordering;
pub(crate) use ring::Ring;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use wire::packet::ChecksumState;
use wire::steering::{Steered, Steering};
use wire::{Address, EthernetAddress, Packet, ethernet};

/// How a device in memory is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// What frames look like.
    pub medium: Medium,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// Queues of each end.
    pub queues: usize,
    /// Packets that a receive queue holds.
    pub ring: usize,
    /// Chooses the receive queue of a packet by its flow.
    pub steering: Steering,
    /// Packets may be sent without a transport checksum
    /// ([`ChecksumState::Partial`]), and arrive so.
    pub transmit_checksum: bool,
    /// TCP packets of up to this many bytes of IP datagram are passed on
    /// uncut; 0: none beyond the MTU.
    pub segmentation: usize,
    /// The addresses of the two ends.
    pub ethernet: [EthernetAddress; 2],
}

impl Default for Config {
    fn default() -> Config {
        Config {
            medium: Medium::Ethernet,
            mtu: 1500,
            queues: 1,
            ring: 256,
            steering: Steering::new(0),
            transmit_checksum: false,
            segmentation: 0,
            ethernet: [
                EthernetAddress([0x02, 0, 0, 0, 0, 1]),
                EthernetAddress([0x02, 0, 0, 0, 0, 2]),
            ],
        }
    }
}

setters! { Config {
    with_medium medium: Medium,
    with_mtu mtu: usize,
    with_queues queues: usize,
    with_ring ring: usize,
    with_steering steering: Steering,
    with_transmit_checksum transmit_checksum: bool,
    with_segmentation segmentation: usize,
    with_ethernet ethernet: [EthernetAddress; 2],
} }

impl Config {
    /// What a device made so can do.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: self.medium,
            mtu: self.mtu,
            transmit_checksum: self.transmit_checksum,
            segmentation: self.segmentation,
            vlan: true,
        }
    }

    /// Bytes of the largest frame that passes.
    fn longest(&self) -> usize {
        let link = if self.medium == Medium::Ethernet { ethernet::LEN + 4 } else { 0 };
        self.mtu.max(self.segmentation).saturating_add(link)
    }
}

/// Two devices back to back: what one transmits the other receives, on the
/// queue that [`Steering`] chooses for the frame (what belongs to no flow, on
/// the first). `queues` and `ring` of 0 count as 1.
pub fn pair(config: Config) -> (Device, Device) {
    let (a, b) = (rings(&config), rings(&config));
    (end(&config, 0, &a, &b), end(&config, 1, &b, &a))
}

/// A device that receives what it transmits, on the queue that [`Steering`] chooses for
/// it: the one behind 127.0.0.1.
pub fn loopback(config: Config) -> Device {
    let rings = rings(&config);
    Device { name: "lo".into(), ..end(&config, 0, &rings, &rings) }
}

fn rings(config: &Config) -> Arc<[Ring]> {
    (0..config.queues.max(1)).map(|_| Ring::new(config.ring.max(1))).collect()
}

fn end(config: &Config, index: usize, own: &Arc<[Ring]>, peer: &Arc<[Ring]>) -> Device {
    let counts = Arc::new(Counts::default());
    let queue = |queue| Queue {
        receive: Box::new(PairReceive {
            rings: own.clone(),
            queue,
            taken: VecDeque::new(),
            longest: config.longest(),
            counts: counts.clone(),
        }),
        transmit: Box::new(PairTransmit {
            peer: peer.clone(),
            steering: config.steering,
            medium: config.medium,
            stages: (0..peer.len()).map(|_| Batch::new()).collect(),
        }),
    };
    Device {
        name: format!("memory{index}"),
        capabilities: config.capabilities(),
        ethernet: config.ethernet[index],
        queues: (0..own.len()).map(queue).collect(),
        queues_detach: false,
        steering: Some(config.steering),
        counts: counts.clone(),
        reports: Vec::new(),
    }
}

/// So many packets are asked of the memory before they are looked at.
const AHEAD: usize = 8;

struct PairReceive {
    rings: Arc<[Ring]>,
    queue: usize,
    /// Packets that have left the ring but were not asked for yet.
    taken: Batch,
    longest: usize,
    counts: Arc<Counts>,
}

impl PairReceive {
    fn ring(&self) -> &Ring {
        &self.rings[self.queue]
    }

    /// Drops what came from `before` on and is longer than frames may be.
    #[cold]
    fn drop_longer(&self, into: &mut Vec<Packet>, before: usize) {
        let longer = |packet: &mut Packet| packet.len() > self.longest;
        let dropped = into.extract_if(before.., longer).count() as u64;
        self.counts.receive_dropped.fetch_add(dropped, Ordering::Relaxed);
    }
}

impl Receive for PairReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        if self.taken.is_empty() {
            self.rings[self.queue].take(&mut self.taken);
        }
        let before = into.len();
        let n = max.min(self.taken.len());
        self.taken.iter().take(AHEAD).for_each(Packet::prefetch);
        if into.is_empty() && n == self.taken.len() {
            // All of them at once: each for itself would take more than all that is done here.
            let empty = VecDeque::from(std::mem::take(into));
            *into = std::mem::replace(&mut self.taken, empty).into();
        } else {
            into.extend(self.taken.drain(..n));
        }
        let mut longer = false;
        for at in before..into.len() {
            if let Some(packet) = into.get(at + AHEAD) {
                packet.prefetch();
            }
            let packet = &mut into[at];
            longer |= packet.len() > self.longest;
            arrive(packet);
        }
        if longer {
            self.drop_longer(into, before);
        }
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.ring().wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.taken.is_empty() && self.ring().arm()
    }

    fn disarm(&mut self) {
        self.ring().disarm();
    }
}

/// Leaves of the sender's facts only those that travel with a frame.
#[inline(always)]
fn arrive(packet: &mut Packet) {
    let meta = packet.meta_mut();
    if meta.checksum == ChecksumState::Verified {
        meta.checksum = ChecksumState::Complete;
    }
    meta.interface = 0;
    meta.protocol = 0;
    meta.ttl = 0;
    meta.group = false;
    meta.source = Address::UNSPECIFIED_V4;
    meta.destination = Address::UNSPECIFIED_V4;
    meta.next_hop = Address::UNSPECIFIED_V4;
}

struct PairTransmit {
    peer: Arc<[Ring]>,
    steering: Steering,
    medium: Medium,
    /// By receive queue of the peer; empty between calls.
    stages: Vec<Batch>,
}

impl Transmit for PairTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let queues = self.peer.len();
        if queues == 1 {
            return self.peer[0].put(batch);
        }
        for packet in batch.drain(..) {
            let queue = queue_of(&self.steering, self.medium, packet.front(), queues);
            self.stages[queue].push_back(packet);
        }
        for (ring, stage) in self.peer.iter().zip(&mut self.stages) {
            if !stage.is_empty() {
                ring.put(stage);
                // Packets of one flow stay in order: they are in one stage.
                batch.append(stage);
            }
        }
    }

    fn room(&self) -> usize {
        self.peer.iter().map(Ring::room).min().unwrap_or(0)
    }
}

/// The queue out of `queues` that the frame starting with `front` belongs to.
pub fn queue_of(steering: &Steering, medium: Medium, front: &[u8], queues: usize) -> usize {
    let steered = match medium {
        Medium::Ethernet => steering.frame(front),
        Medium::Ip => steering.datagram(front),
    };
    match steered {
        Steered::Flow(hash) => hash as usize % queues,
        Steered::Broadcast | Steered::Any => 0,
    }
}

#[cfg(test)]
mod tests;
