//! [`Options`]: what a socket was told.

use crate::errno::Answer;
use anabranch::{CongestionAlgorithm, Keepalive, TcpOptions, TcpStream};
use std::time::Duration;

/// What a socket was told, also before there was a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) nodelay: bool,
    pub(crate) cork: bool,
    pub(crate) reuse: bool,
    /// How long closing waits, seconds; as Linux has it.
    pub(crate) linger: Option<u32>,
    /// Bytes, as Linux has it: twice what was asked for.
    pub(crate) send_buffer: Option<u32>,
    pub(crate) keepalive: bool,
    /// Seconds, as Linux has it.
    pub(crate) keepalive_idle: Option<u32>,
    /// Seconds.
    pub(crate) keepalive_interval: Option<u32>,
    pub(crate) keepalive_probes: Option<u8>,
    /// Milliseconds; 0: none.
    pub(crate) user_timeout: u32,
    /// Bytes; 0: as the link has it.
    pub(crate) max_segment: u16,
    /// Seconds; 0: none.
    pub(crate) defer_accept: u32,
    /// Bytes.
    pub(crate) notsent_lowat: Option<u32>,
    pub(crate) tos: u8,
    pub(crate) congestion: Option<CongestionAlgorithm>,
    /// How many handshakes of a listener may go on with Fast Open; `None`: as the host has it.
    pub(crate) fast_open: Option<u32>,
    /// What is written first may go with the SYN.
    pub(crate) fast_open_connect: bool,
}

/// Linux's `tcp_keepalive_time`, seconds.
pub(crate) const KEEPALIVE_IDLE: u32 = 7200;
/// Linux's `tcp_keepalive_intvl`, seconds.
pub(crate) const KEEPALIVE_INTERVAL: u32 = 75;
/// Linux's `tcp_keepalive_probes`.
pub(crate) const KEEPALIVE_PROBES: u8 = 9;

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}

impl Options {
    /// What counts from the first segment on.
    pub(crate) fn to_open(self) -> TcpOptions {
        TcpOptions::default()
            .with_nodelay(self.nodelay)
            .with_max_segment((self.max_segment > 0).then_some(self.max_segment))
            .with_user_timeout(self.user_timeout())
            .with_congestion(self.congestion)
            .with_tos(self.tos)
            .with_defer_accept((self.defer_accept > 0).then(|| seconds(self.defer_accept)))
            .with_notsent_lowat(self.notsent_lowat.map(|bytes| bytes as usize))
            .with_fast_open(self.fast_open.unwrap_or(0) as usize)
            .with_fast_open_connect(self.fast_open_connect)
    }

    /// The socket listens. Whether Fast Open is on, the host says by Linux's `tcp_fastopen`.
    pub(crate) fn listens(&mut self, host: u32, backlog: usize) {
        const SERVERS: u32 = 2;
        const WITHOUT_OPTION: u32 = 0x400;
        let backlog = u32::try_from(backlog).unwrap_or(u32::MAX);
        match self.fast_open {
            _ if host & SERVERS == 0 => self.fast_open = Some(0),
            None if host & WITHOUT_OPTION != 0 => self.fast_open = Some(backlog),
            _ => {}
        }
    }

    fn user_timeout(self) -> Option<Duration> {
        (self.user_timeout > 0).then(|| Duration::from_millis(self.user_timeout.into()))
    }

    /// Tells a connection.
    pub(crate) fn apply(self, stream: &TcpStream) -> Answer<()> {
        stream.set_linger(self.linger.map(seconds))?;
        if let Some(bytes) = self.send_buffer {
            stream.set_send_buffer_size(bytes as usize)?;
        }
        let idle = self.keepalive_idle.unwrap_or(KEEPALIVE_IDLE);
        let mut keepalive = Keepalive::new(seconds(idle))
            .with_probes(self.keepalive_probes.unwrap_or(KEEPALIVE_PROBES));
        if let Some(interval) = self.keepalive_interval {
            keepalive.interval = seconds(interval);
        }
        stream.set_keepalive_with(self.keepalive.then_some(keepalive))?;
        stream.set_user_timeout(self.user_timeout())?;
        stream.set_notsent_lowat(self.notsent_lowat.map(|bytes| bytes as usize))?;
        stream.set_tos(self.tos)?;
        if let Some(algorithm) = self.congestion {
            stream.set_congestion(algorithm)?;
        }
        Ok(())
    }
}
