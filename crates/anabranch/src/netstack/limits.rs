//! [`Limits`]: how much a netstack may hold.

use super::rates::Rates;
use crate::builder::Bounds;
use crate::socket::SessionLimits;
use std::time::Duration;

/// What a connection takes beside its buffers: its TCB, its socket, and a block each way
/// that is partly filled. An estimate.
const CONNECTION: usize = 16 * 1024;
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
    /// [`Builder::memory`](crate::Builder::memory).
    pub buffer: usize,
    /// Most UDP sessions at a time. Datagrams beyond are dropped.
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
    with_sessions sessions: usize,
    with_session_bytes session_bytes: usize,
    with_datagram_bytes datagram_bytes: usize,
    with_raw_bytes raw_bytes: usize,
    with_fragment_bytes fragment_bytes: usize,
    with_idle idle: Duration,
    with_rates rates: Rates,
}

impl Limits {
    /// Bytes of memory that the stack holds at most, if every connection has its buffers
    /// full both ways and every session as much as it may: the worst case, of which a
    /// usual load needs a small part. What the program itself keeps is not in it.
    pub fn memory(&self) -> usize {
        // Unread bytes hold at most twice as much memory, however small segments were.
        let connection = 3 * self.buffer + CONNECTION;
        let datagrams = 2 * self.datagram_bytes + self.sessions * SESSION;
        // UDP's way out holds 1 MiB, for all sessions together.
        self.connections
            .saturating_mul(connection)
            .saturating_add(datagrams + 2 * self.raw_bytes)
            .saturating_add(self.fragment_bytes + REST + (1 << 20))
    }

    /// Limits such that [`Limits::memory`] is at most `bytes`, for 8 MiB and more: 256
    /// connections with as large buffers as that leaves, and more connections
    /// once these are 256 KiB; 1024 UDP sessions, and more from 16 MiB on, as many as a sixteenth of it has room for.
    pub fn within(bytes: usize) -> Limits {
        let limits = Limits {
            sessions: (bytes / (16 * SESSION)).clamp(1024, 1 << 14),
            datagram_bytes: bytes / 32,
            session_bytes: (bytes / 128).min(256 << 10),
            raw_bytes: (bytes / 128).min(1 << 20),
            fragment_bytes: bytes / 64,
            connections: 0,
            buffer: 0,
            ..Limits::default()
        };
        let left = bytes.saturating_sub(limits.memory());
        let least: usize = 256;
        let buffer = (left / least).saturating_sub(CONNECTION) / 3;
        let buffer = buffer.clamp(4096, 256 << 10);
        Limits { buffer, connections: (left / (3 * buffer + CONNECTION)).max(1), ..limits }
    }

    pub(super) fn of_stack(&self) -> Bounds {
        Bounds {
            buffer: self.buffer,
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
        assert!(Limits::default().memory() > 1 << 30);
    }
}
