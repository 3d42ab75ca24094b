//! [`Work`]: the operation that a load consists of.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// What connections (or flows of UDP) do, as the stack sees it. An *operation* is
/// one packet with data if data goes one way, and a transaction (a message and its
/// echo) for `rr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// TCP: data without end, to the peer; it acknowledges every other packet.
    TcpSend,
    /// TCP: data without end, from the peer.
    TcpReceive,
    /// TCP: the peer sends a message and the stack echoes it, one outstanding on
    /// each connection.
    TcpRr,
    /// UDP: datagrams without end, to the peer.
    UdpSend,
    /// UDP: datagrams without end, from the peer.
    UdpReceive,
    /// UDP: the peer sends a datagram and the stack echoes it, one outstanding on
    /// each flow.
    UdpRr,
    /// TCP: the stack opens a connection, sends a message, gets its echo and closes; then
    /// again, without end. What the peer does counts, too: it is a stack.
    TcpCrr,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 7] = [
        Work::TcpSend,
        Work::TcpReceive,
        Work::TcpRr,
        Work::UdpSend,
        Work::UdpReceive,
        Work::UdpRr,
        Work::TcpCrr,
    ];

    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Work::TcpSend => "tcp-send",
            Work::TcpReceive => "tcp-receive",
            Work::TcpRr => "tcp-rr",
            Work::UdpSend => "udp-send",
            Work::UdpReceive => "udp-receive",
            Work::UdpRr => "udp-rr",
            Work::TcpCrr => "tcp-crr",
        }
    }

    /// True if an operation is a transaction, and not a packet one way.
    pub const fn is_transactions(self) -> bool {
        matches!(self, Work::TcpRr | Work::UdpRr | Work::TcpCrr)
    }
}

impl Display for Work {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
