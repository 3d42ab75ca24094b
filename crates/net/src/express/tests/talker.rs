//! The application of the hosts that are compared.

use super::*;

/// Reads and writes at random, and ends now and then.
pub(super) struct Talker {
    pub(super) random: SplitMix64,
    pub(super) flows: Vec<FlowKey>,
    /// Nothing may be wrong with what it reads.
    pub(super) read: u64,
    /// It reads all there is at once.
    pub(super) eager: bool,
    /// It waits for data with buffers of so many bytes.
    pub(super) posts: usize,
    /// Bytes that came there, and how often they were wrong.
    pub(super) posted: (u64, u64),
    /// It says little on a connection and closes it, and opens others.
    pub(super) brief: bool,
}

impl Talker {
    pub(super) fn new(random: SplitMix64) -> Talker {
        let (flows, read, posts, posted) = (Vec::new(), 0, 0, (0, 0));
        Talker { random, flows, read, eager: false, posts, posted, brief: false }
    }
}

/// What a connection has read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(*byte) + 1);
        }
    }
}

impl Application for Talker {
    type Connection = Digest;
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<Digest> {
        Some(Digest::default())
    }
    fn half_open_limit_reached(&self, (): &()) -> bool {
        false
    }
    fn refused(&mut self, _: Digest) {}
    fn opened(&mut self, _: &mut Digest, _: ConnId, flow: &FlowKey) {
        self.flows.push(*flow);
    }
    fn connect_failed(&mut self, _: Digest, _: ConnectError) {}
    fn has_posted(&self) -> bool {
        self.posts > 0
    }
    fn posted(
        &mut self,
        digest: &mut Digest,
        len: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> bool {
        let mut buffer = vec![0; len];
        if len > self.posts {
            return false;
        }
        if !fill(&mut buffer) {
            self.posted.1 += 1;
            return false;
        }
        digest.add(&buffer);
        self.read += len as u64;
        self.posted.0 += len as u64;
        true
    }
    fn ready(&mut self, digest: &mut Digest, tcb: &mut Tcb, _: Events, _: Instant) -> bool {
        let choice = self.random.next_u64();
        if choice & 3 > 0 || self.eager {
            while let Some(slice) = tcb.pop_slice(usize::MAX) {
                digest.add(&slice);
                self.read += slice.len() as u64;
            }
        }
        if self.eager {
            tcb.set_unread_outside(0);
        }
        let len = match choice >> 8 & 7 {
            0 => 0,
            1..=4 => 1 + (choice >> 16) % 200,
            5 | 6 => 1 + (choice >> 16) % 5_000,
            _ => 1 + (choice >> 16) % 60_000,
        };
        let len = if self.brief { len.min(choice >> 40 & 3) * 50 } else { len };
        let bytes: Vec<u8> = (0..len).map(|n| (choice ^ n) as u8).collect();
        let _ = tcb.send(&bytes);
        if choice >> 32 & if self.brief { 3 } else { 0x1ff } == 0 {
            tcb.shutdown_write();
        }
        false
    }
    fn closed(&mut self, _: Digest, _: &mut Tcb) {}
    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        true
    }
    fn datagram_error(&mut self, (): &(), _: FlowKey, _: tcp::Error) {}
    fn next_datagram(&mut self, (): &()) -> Option<Datagram> {
        None
    }
    fn listener_closed(&mut self, (): ()) {}
    fn udp_closed(&mut self, (): ()) {}
}
