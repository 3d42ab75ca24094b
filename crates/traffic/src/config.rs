//! [`Config`]: how simulated peers are made.

use device::memory::Config as Link;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// How simulated peers are made.
#[derive(Clone, Debug)]
pub struct Config {
    /// The link; `ethernet[0]` and queues are the stack's, `ethernet[1]` is the
    /// peers', and `ring` bounds the answers that wait to be received.
    pub link: Link,
    /// The stack's address.
    pub stack: IpAddr,
    /// The peers' address, of the same family: a device with two families panics. Questions by ARP or
    /// neighbour discovery for any other than the stack's are answered too.
    pub peer: IpAddr,
    /// How many connections (or flows of UDP) the peers open, over all queues;
    /// there are 64 512 ports.
    pub connections: usize,
    /// The stack's port that they open them to.
    pub stack_port: u16,
    /// The constant window that the peers advertise, bytes. Beyond 65 535 only
    /// for connections with window scaling.
    pub window: u32,
    /// Bytes of payload that a source puts into a packet; what the MTU does not
    /// hold is cut.
    pub payload: usize,
    /// Bytes of payload that TCP peers let the stack put into a segment: what
    /// the MTU does not hold is cut.
    pub mss: usize,
    /// Bytes of the circular list of payload buffers that each queue's source
    /// sends from; the paper's is twice the second-level cache.
    pub buffers: usize,
    /// Bytes that a source sends on each connection before it closes it.
    pub limit: u64,
    /// Bytes of the blocks that clients acknowledge with a message; 0: none.
    pub block: u64,
    /// Bytes of that message.
    pub answer: u64,
    /// Bytes of the messages (or datagrams) that peers of [`echoed`](crate::echoed) and
    /// [`udp_echoed`](crate::udp_echoed) send.
    pub message: usize,
    /// Connections a second, over all queues, that clients open to `short_port`
    /// and close as soon as they are established.
    pub short_lived: f64,
    /// The stack's port for short-lived connections.
    pub short_port: u16,
    /// Peers begin nothing before [`PeerCounts::begin`](crate::PeerCounts::begin), since the stack has to be
    /// ready for them; and those of TCP only open connections, with closed windows,
    /// before [`PeerCounts::go`](crate::PeerCounts::go): handshakes starve beside data without end.
    pub held: bool,
    /// Peers send right transport checksums. If not, they send a dummy, and the
    /// device vouches for it.
    pub checksum: bool,
    /// How long a sink lets a single packet wait for its acknowledgment.
    pub ack_delay: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            link: Link::default(),
            stack: Ipv4Addr::new(10, 0, 0, 1).into(),
            peer: Ipv4Addr::new(10, 0, 0, 2).into(),
            connections: 0,
            stack_port: 5001,
            window: 65_535,
            payload: usize::MAX,
            mss: usize::MAX,
            buffers: 64 * 1024,
            limit: u64::MAX,
            block: 0,
            answer: 16,
            message: 64,
            short_lived: 0.0,
            short_port: 5002,
            held: false,
            checksum: true,
            ack_delay: Duration::from_millis(1),
        }
    }
}
