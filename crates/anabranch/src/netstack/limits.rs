//! [`Limits`]: how much a netstack may hold.

use super::rates::Rates;
use crate::builder::Bounds;
use crate::socket::SessionLimits;
use std::time::Duration;
use tcp::Pressure;

/// What a connection takes beside its buffers: its TCB, its socket, and its places in
/// tables. An estimate.
const CONNECTION: usize = 4 * 1024;
/// What a connection may hold where there is no memory left, so that it goes on: what came and
/// is not read takes at most twice its bytes, and so much may be written.
const LEAST: usize = 3 * Pressure::LEAST;
/// Bytes that a connection is ready to receive at first where memory is bounded: 100 Mbit/s over 20 ms.
/// What the path needs beyond that follows, if it is read.
const FIRST: usize = 256 * 1024;
/// Buffers are at most so much smaller than what all connections have together, so that one that
/// is not read, or does not read, leaves room for the others.
const SHARES: usize = 8;
/// What a session takes beside its datagrams. An estimate.
const SESSION: usize = 1024;
/// What the stack takes at rest: threads, tables, blocks that wait to be used again. An
/// estimate.
const REST: usize = 4 << 20;

/// How much a [`Netstack`](super::Netstack) may hold. [`Limits::memory`] says in one number
/// what that comes to; [`Limits::within`] goes the other way.
///
/// ```
/// use anabranch::netstack::Limits;
///
/// // An extension on a phone gets 50 MB for all that it does.
/// let limits = Limits::within(32 << 20);
/// assert!(limits.memory() <= 32 << 20);
/// assert!(limits.connections >= 256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most TCP connections at a time. A SYN beyond is not answered, so that the peer
    /// tries again. Each unit of concurrency takes as many divided by the number of
    /// processors; so this is a bound of the whole for organizations that have no more
    /// units than processors.
    pub connections: usize,
    /// Bytes that a connection may hold each way: received and not read, and written and
    /// not acknowledged. It bounds the throughput over long paths: 1 MiB is some 400 Mbit/s over 20 ms. Default: 6 MiB,
    /// of which a connection takes what its path needs, as long as all together stay within
    /// [`Limits::tcp_bytes`].
    pub buffer: usize,
    /// Bytes of memory that all TCP connections together may hold, as for
    /// [`Builder::memory`](crate::Builder::memory). Above three quarters of it each may have a part of what is left.
    /// When there is none left, each goes on with 8 KiB each way (one segment, if that is longer): data that would
    /// wait unread beyond it is refused, and comes again. Default: what the builder says.
    pub tcp_bytes: usize,
    /// Most UDP sessions at a time. Where there are so many, those of which no datagram was answered end after a twelfth
    /// of [`Limits::idle`], to make room; datagrams that would begin more are dropped.
    pub sessions: usize,
    /// Bytes of memory that unread datagrams of one session may hold.
    pub session_bytes: usize,
    /// Bytes of memory that unread datagrams of all sessions together may hold.
    pub datagram_bytes: usize,
    /// Bytes of memory that datagrams of other protocols may hold each way, if there is a
    /// [`RawSocket`](super::RawSocket).
    pub raw_bytes: usize,
    /// Bytes of fragments that wait for the rest of their datagrams.
    pub fragment_bytes: usize,
    /// A UDP session ends after so long without a datagram either way. Default: 2 minutes,
    /// the least that RFC 4787 (4.3) asks of a NAT.
    pub idle: Duration,
    /// What each session may do, until it is told otherwise; streams of
    /// [`Netstack::accept`](super::Netstack::accept) are none. Default: no bound.
    pub rates: Rates,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1 << 16,
            buffer: 6 << 20,
            tcp_bytes: usize::MAX,
            sessions: 1 << 14,
            session_bytes: 256 << 10,
            datagram_bytes: 16 << 20,
            raw_bytes: 1 << 20,
            fragment_bytes: 4 << 20,
            idle: Duration::from_secs(120),
            rates: Rates::default(),
        }
    }
}

macro_rules! setters {
    ($($with:ident $field:ident: $of:ty,)*) => {
        impl Limits {
            $(#[doc = concat!("With another [`Limits::", stringify!($field), "`].")]
            #[must_use]
            pub fn $with(mut self, $field: $of) -> Limits {
                self.$field = $field;
                self
            })*
        }
    };
}

setters! {
    with_connections connections: usize,
    with_buffer buffer: usize,
    with_tcp_bytes tcp_bytes: usize,
    with_sessions sessions: usize,
    with_session_bytes session_bytes: usize,
    with_datagram_bytes datagram_bytes: usize,
    with_raw_bytes raw_bytes: usize,
    with_fragment_bytes fragment_bytes: usize,
    with_idle idle: Duration,
    with_rates rates: Rates,
}

impl Limits {
    /// Bytes of memory that the stack holds at most, if connections hold all that they may
    /// together and every session as much as it may: the worst case, of which a
    /// usual load needs a small part. What the program itself keeps is not in it.
    pub fn memory(&self) -> usize {
        // Unread bytes hold at most twice as much memory, however small segments were.
        let each = self.buffer.saturating_mul(3).saturating_add(CONNECTION);
        let full = self.connections.saturating_mul(each);
        let together = self.tcp_bytes.saturating_add(self.reserve());
        // UDP's way out holds 1 MiB, for all sessions together.
        full.min(together)
            .saturating_add(self.datagram_bytes.saturating_mul(2))
            .saturating_add(self.sessions.saturating_mul(SESSION))
            .saturating_add(self.raw_bytes.saturating_mul(2))
            .saturating_add(self.fragment_bytes)
            .saturating_add(REST + (1 << 20))
    }

    /// Do connections have a bound together that their number follows from?
    fn is_hard(&self) -> bool {
        self.tcp_bytes != usize::MAX
    }

    /// Bytes that keep all connections going when there are no others left.
    fn reserve(&self) -> usize {
        self.connections.saturating_mul(CONNECTION + LEAST)
    }

    /// Limits such that [`Limits::memory`] is at most `bytes`, for 8 MiB and more. Two thirds of what
    /// the others leave keep connections going, 28 KiB each, which says how many there may be; one third is
    /// what they hold beyond that together, and each of them an eighth of it at most each way. There are 1024 UDP
    /// sessions, and more from 16 MiB on, as many as a sixteenth of it has room for.
    pub fn within(bytes: usize) -> Limits {
        let limits = Limits {
            sessions: (bytes / (16 * SESSION)).clamp(1024, 1 << 14),
            datagram_bytes: bytes / 32,
            session_bytes: (bytes / 128).min(256 << 10),
            raw_bytes: (bytes / 128).min(1 << 20),
            fragment_bytes: bytes / 64,
            connections: 0,
            ..Limits::default()
        };
        let left = bytes.saturating_sub(limits.memory());
        let connections = (left / 3 * 2 / (CONNECTION + LEAST)).max(1);
        let tcp_bytes = left / 3;
        let buffer = (tcp_bytes / SHARES).clamp(Pressure::LEAST, limits.buffer);
        Limits { buffer, tcp_bytes, connections, ..limits }
    }

    pub(super) fn of_stack(&self) -> Bounds {
        Bounds {
            buffer: self.buffer,
            first: if self.is_hard() { FIRST } else { self.buffer },
            memory: self.tcp_bytes,
            reserve: self.is_hard().then(|| self.reserve()),
            connections: self.connections,
            fragment_bytes: self.fragment_bytes,
        }
    }

    pub(super) fn of_sessions(&self) -> SessionLimits {
        SessionLimits {
            sessions: self.sessions,
            session_bytes: self.session_bytes,
            all_bytes: self.datagram_bytes,
            idle: self.idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_keep_within_what_they_are_given() {
        for mib in [8, 15, 32, 50, 256, 4096] {
            let limits = Limits::within(mib << 20);
            assert!(limits.memory() <= mib << 20, "{mib}: {limits:?}");
            assert!(limits.memory() > (mib << 20) * 7 / 8, "{mib}: {limits:?}");
        }
        // So many connections, and so many bytes for one each way.
        for (mib, connections, kib) in
            [(8, 30, 53), (15, 185, 320), (50, 900, 1500), (256, 5100, 6144)]
        {
            let limits = Limits::within(mib << 20);
            assert!(limits.connections >= connections, "{mib}: {limits:?}");
            assert!(limits.buffer >> 10 >= kib, "{mib}: {limits:?}");
        }
        assert!(Limits::default().memory() > 1 << 30);
    }
}
