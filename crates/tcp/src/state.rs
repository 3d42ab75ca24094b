//! States, events and errors of a connection.

/// The states of RFC 9293 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a connection request; no [`Tcb`](crate::Tcb) is ever in it,
    /// see [`listen`](crate::input::listen).
    Listen,
    /// Waiting for an answer to our SYN.
    SynSent,
    /// Waiting for the acknowledgment of our SYN, having received the peer's.
    SynReceived,
    /// Open both ways.
    Established,
    /// We have closed and wait for the acknowledgment of it, or the peer's FIN.
    FinWait1,
    /// We have closed, the peer knows, and may still send.
    FinWait2,
    /// The peer has closed, we may still send.
    CloseWait,
    /// Both have closed, and we wait for the acknowledgment of our FIN.
    Closing,
    /// The peer had closed first, and we wait for the acknowledgment of our FIN.
    LastAck,
    /// Waiting until no old segment can be left in the network.
    TimeWait,
}

impl State {
    /// May data be queued for sending?
    #[inline]
    pub fn may_send(self) -> bool {
        use State::*;
        matches!(self, Established | CloseWait | SynSent | SynReceived)
    }
    /// Can the peer still send data?
    #[inline]
    pub fn may_receive(self) -> bool {
        use State::*;
        matches!(self, Established | FinWait1 | FinWait2)
    }
    /// Does data in the send queue go out?
    #[inline]
    pub(crate) fn transmits(self) -> bool {
        use State::*;
        matches!(self, Established | CloseWait | FinWait1 | Closing | LastAck)
    }
    /// Have we been asked to close our half (and so a FIN stands behind the
    /// queue)?
    #[inline]
    pub(crate) fn fin_queued(self) -> bool {
        use State::*;
        matches!(self, FinWait1 | FinWait2 | Closing | LastAck | TimeWait)
    }
}

/// What has happened since [`Tcb::take_events`](crate::Tcb::take_events) was
/// called last: a set.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Events(pub u8);

impl Events {
    /// Nothing.
    pub const NONE: Events = Events(0);
    /// The connection is established.
    pub const CONNECTED: Events = Events(1);
    /// There is more to receive.
    pub const READABLE: Events = Events(2);
    /// There is room to send again.
    pub const WRITABLE: Events = Events(4);
    /// The peer's FIN came: there is an end behind what there is to receive.
    pub const PEER_CLOSED: Events = Events(8);
    /// The connection is over. The TCB may be removed once nothing is left to
    /// transmit and the application wants nothing more of it;
    /// [`Tcb::error`](crate::Tcb::error) says why.
    pub const CLOSED: Events = Events(16);
    /// The connection has entered TIME-WAIT; see
    /// [`TimeWait`](crate::time_wait::TimeWait).
    pub const TIME_WAIT: Events = Events(32);

    /// Are all of `other` in it?
    #[inline]
    pub const fn has(self, other: Events) -> bool {
        self.0 & other.0 == other.0
    }
    /// Is any of `other` in it?
    #[inline]
    pub const fn any(self, other: Events) -> bool {
        self.0 & other.0 != 0
    }
    /// Is there none?
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Both sets together.
    #[inline]
    pub const fn with(self, other: Events) -> Events {
        Events(self.0 | other.0)
    }
    #[inline]
    pub(crate) fn add(&mut self, other: Events) {
        self.0 |= other.0;
    }
}

impl std::ops::BitOr for Events {
    type Output = Events;
    fn bitor(self, other: Events) -> Events {
        self.with(other)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [(Events, &str); 6] = [
            (Events::CONNECTED, "connected"),
            (Events::READABLE, "readable"),
            (Events::WRITABLE, "writable"),
            (Events::PEER_CLOSED, "peer closed"),
            (Events::CLOSED, "closed"),
            (Events::TIME_WAIT, "time-wait"),
        ];
        let set = NAMES.into_iter().filter(|(e, _)| self.has(*e)).map(|(_, n)| n);
        f.debug_list().entries(set).finish()
    }
}

/// What an ICMP destination unreachable message said (RFC 792, RFC 1122
/// 3.2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// The network.
    Network,
    /// The host.
    Host,
    /// The protocol.
    Protocol,
    /// The port.
    Port,
    /// Communication is administratively prohibited.
    Prohibited,
    /// The source route failed, or fragmentation is needed where nobody said
    /// how much.
    Other,
}

/// An ICMP error about a segment of a connection (RFC 5461 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// It may pass: remembered, and told if the connection times out.
    Soft(Unreachable),
    /// It ends an attempt to connect; for a synchronized connection it is as a
    /// soft one (RFC 5461 4.1: anyone can forge it).
    Hard(Unreachable),
}

/// Why a call failed, or a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nothing to receive, or no room to send, now.
    WouldBlock,
    /// The connection does not exist, or not any more.
    NotConnected,
    /// Our half is closed: no more can be sent. Or the peer, which has closed its own, has reset
    /// the connection.
    Shutdown,
    /// The peer refused to connect.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// We aborted the connection.
    Aborted,
    /// The peer did not answer for too long.
    TimedOut,
    /// The peer cannot be reached.
    Unreachable(Unreachable),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Error::WouldBlock => "operation would block",
            Error::NotConnected => "not connected",
            Error::Shutdown => "the sending half is closed",
            Error::Refused => "connection refused",
            Error::Reset => "connection reset by peer",
            Error::Aborted => "connection aborted",
            Error::TimedOut => "connection timed out",
            Error::Unreachable(what) => match what {
                Unreachable::Network => "network unreachable",
                Unreachable::Host => "host unreachable",
                Unreachable::Protocol => "protocol unreachable",
                Unreachable::Port => "port unreachable",
                Unreachable::Prohibited => "communication prohibited on the way",
                Unreachable::Other => "destination unreachable",
            },
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
