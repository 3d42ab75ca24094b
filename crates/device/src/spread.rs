//! [`over`]: a device of one queue for several processors.
//!
//! One processor reads the device, and hands each packet on to the queue of the processor
//! that its flow belongs to; all send by the one queue, in turn where it is the bottleneck.
//! So a tunnel that has one descriptor, or a source of packets that is one, serves every
//! organization. It costs the hand-off: a device that has queues of its own is better.

mod turns;

use crate::memory::{Ring, queue_of};
use crate::{Batch, Counts, Device, Medium, Queue, Receive};
use platform::atomic::Ordering;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use wire::Packet;
use wire::steering::Steering;

/// Packets that may wait for each of the other processors.
const RING: usize = 1024;

/// `device`, whose first queue is its only one, with `queues` queues; as it is if it has
/// several, or no more are asked for. Flows are spread by `steering`.
pub fn over(device: Device, queues: usize, steering: Steering) -> Device {
    if device.queues.len() != 1 || queues < 2 {
        return device;
    }
    let Device { name, capabilities, ethernet, queues: mut own, counts, reports, .. } = device;
    let Queue { receive, transmit } = own.pop().expect("it has one");
    let rings: Arc<[Ring]> = (1..queues).map(|_| Ring::new(RING)).collect();
    let shared = turns::Shared::new(transmit, queues);
    let mut reader = Some(Reader {
        receive,
        rings: rings.clone(),
        stages: rings.iter().map(|_| Batch::new()).collect(),
        read: Vec::new(),
        steering,
        medium: capabilities.medium,
        counts: counts.clone(),
    });
    let queue = |index: usize| Queue {
        receive: match reader.take() {
            Some(reader) => Box::new(reader),
            None => {
                Box::new(Handed { rings: rings.clone(), index: index - 1, taken: Batch::new() })
            }
        },
        transmit: Box::new(shared.turn(index)),
    };
    Device {
        name,
        capabilities,
        ethernet,
        queues: (0..queues).map(queue).collect(),
        steering: Some(steering),
        queues_detach: false,
        counts,
        reports,
    }
}

/// The first queue: it reads the device.
struct Reader {
    receive: Box<dyn Receive>,
    rings: Arc<[Ring]>,
    /// By ring; empty between calls.
    stages: Vec<Batch>,
    read: Vec<Packet>,
    steering: Steering,
    medium: Medium,
    counts: Arc<Counts>,
}

impl Receive for Reader {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let (before, queues) = (into.len(), self.rings.len() + 1);
        // What is for others leaves room for more of ours; but not for ever.
        for _ in 0..2 {
            let left = max - (into.len() - before);
            let read = self.receive.receive(&mut self.read, left);
            for packet in self.read.drain(..) {
                match queue_of(&self.steering, self.medium, packet.front(), queues) {
                    0 => into.push(packet),
                    other => self.stages[other - 1].push_back(packet),
                }
            }
            if read < left || into.len() - before == max {
                break;
            }
        }
        for (ring, stage) in self.rings.iter().zip(&mut self.stages) {
            if !stage.is_empty() {
                ring.put(stage);
                // As a card whose receive ring is full.
                self.counts.receive_dropped.fetch_add(stage.len() as u64, Ordering::Relaxed);
                stage.clear();
            }
        }
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.receive.wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.receive.arm()
    }

    fn disarm(&mut self) {
        self.receive.disarm();
    }

    fn deadline(&self) -> Option<platform::Instant> {
        self.receive.deadline()
    }
}

/// Another queue: it gets what the reader hands on.
struct Handed {
    rings: Arc<[Ring]>,
    index: usize,
    /// Packets that have left the ring but were not asked for yet.
    taken: Batch,
}

impl Receive for Handed {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        if self.taken.is_empty() {
            self.rings[self.index].take(&mut self.taken);
        }
        let n = max.min(self.taken.len());
        into.extend(self.taken.drain(..n));
        n
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.rings[self.index].wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.taken.is_empty() && self.rings[self.index].arm()
    }

    fn disarm(&mut self) {
        self.rings[self.index].disarm();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;
    use wire::{ipv4, protocol, udp};

    fn datagram(port: u16) -> Packet {
        let mut packet = Packet::copy_of(b"x");
        let header =
            udp::Header { source_port: port, destination_port: 53, length: 9, checksum: 0 };
        header.emit(packet.push(udp::LEN));
        let (from, to) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        ipv4::Header::new(from, to, protocol::UDP, 9).emit(packet.push(ipv4::LEN));
        packet
    }

    #[test]
    fn packets_come_up_where_their_flow_is_and_overflow_is_counted() {
        let steering = Steering::new(3);
        let config = memory::Config::default().with_medium(Medium::Ip).with_ring(8192);
        let (device, mut peer) = memory::pair(config);
        let mut device = over(device, 4, steering);
        assert_eq!((device.queues.len(), device.steering), (4, Some(steering)));
        let mut batch: Batch = (0..1000).map(datagram).collect();
        peer.queues[0].transmit.transmit(&mut batch);
        let mut got = [0; 4];
        for _ in 0..100 {
            for (index, queue) in device.queues.iter_mut().enumerate() {
                let mut packets = Vec::new();
                assert_eq!(queue.receive.receive(&mut packets, 32), packets.len());
                for packet in &packets {
                    assert_eq!(queue_of(&steering, Medium::Ip, packet.front(), 4), index);
                }
                got[index] += packets.len();
            }
        }
        assert!(got.iter().sum::<usize>() == 1000 && got.iter().all(|&n| n > 150), "{got:?}");
        assert!(device.queues.iter_mut().all(|queue| queue.receive.arm()), "all may sleep");
        device.queues.iter_mut().for_each(|queue| queue.receive.disarm());
        // One of the processors does not come: what is for it waits, but not without end.
        let mut batch: Batch = (0..8000).map(datagram).collect();
        peer.queues[0].transmit.transmit(&mut batch);
        let mut own = Vec::new();
        while device.queues[0].receive.receive(&mut own, 64) > 0 {}
        let dropped = device.counts.receive_dropped.load(Ordering::Relaxed) as usize;
        assert!(!device.queues[1].receive.arm());
        let mut waiting = Vec::new();
        device.queues[1..]
            .iter_mut()
            .for_each(|queue| while queue.receive.receive(&mut waiting, 64) > 0 {});
        assert!(dropped > 0 && waiting.len() == 3 * RING);
        assert_eq!(own.len() + waiting.len() + dropped, 8000);
        // All send by the one queue.
        for queue in &mut device.queues {
            queue.transmit.transmit(&mut Batch::from([datagram(1)]));
        }
        let mut arrived = Vec::new();
        assert_eq!(peer.queues[0].receive.receive(&mut arrived, 64), 4);
    }
}
