//! [`Options`]: what a socket was told.

use crate::errno::Answer;
use anabranch::{CongestionAlgorithm, FastOpenKey, Keepalive, TcpOptions, TcpStream};
use libc::c_int;
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
    /// Bytes that may wait unread; half of what Linux says, which also counts what it needs
    /// beside them.
    pub(crate) receive_buffer: Option<u32>,
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
    /// Linux's `IP_PMTUDISC_…`.
    pub(crate) mtu_discovery: MtuDiscovery,
    /// A message that is read says how many bytes are left (`TCP_INQ`).
    pub(crate) tells_unread: bool,
    pub(crate) congestion: Option<CongestionAlgorithm>,
    /// How many handshakes of a listener may go on with Fast Open; `None`: as the host has it.
    pub(crate) fast_open: Option<u32>,
    pub(crate) fast_open_key: Option<FastOpenKey>,
    /// Handshakes need no cookie.
    pub(crate) fast_open_without_cookie: bool,
    /// What is written first may go with the SYN.
    pub(crate) fast_open_connect: bool,
}

/// Whether the path's MTU is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MtuDiscovery {
    /// No: routers may cut.
    Dont,
    /// Yes.
    #[default]
    Want,
}

impl MtuDiscovery {
    /// That of one of Linux's numbers; `None` if the stack has it not.
    pub(crate) fn of(number: c_int) -> Option<MtuDiscovery> {
        match number {
            libc::IP_PMTUDISC_DONT => Some(MtuDiscovery::Dont),
            // To TCP both are the same.
            libc::IP_PMTUDISC_WANT | libc::IP_PMTUDISC_DO => Some(MtuDiscovery::Want),
            _ => None,
        }
    }

    /// Linux's number.
    pub(crate) fn number(self) -> c_int {
        match self {
            MtuDiscovery::Dont => libc::IP_PMTUDISC_DONT,
            MtuDiscovery::Want => libc::IP_PMTUDISC_WANT,
        }
    }
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
            .with_allow_fragments(self.mtu_discovery == MtuDiscovery::Dont)
            .with_receive_buffer(self.receive_buffer.map(|bytes| bytes as usize))
            .with_fast_open_key(self.fast_open_key)
            .with_fast_open_without_cookie(self.fast_open_without_cookie)
            .with_defer_accept((self.defer_accept > 0).then(|| seconds(self.defer_accept)))
            .with_notsent_lowat(self.notsent_lowat.map(|bytes| bytes as usize))
            .with_fast_open(self.fast_open.unwrap_or(0) as usize)
            .with_fast_open_connect(self.fast_open_connect)
    }

    /// The socket listens. Whether Fast Open is on, the host says by Linux's `tcp_fastopen`.
    pub(crate) fn listens(&mut self, host: u32, backlog: usize) {
        const SERVERS: u32 = 2;
        const WITHOUT_COOKIE: u32 = 0x200;
        const WITHOUT_OPTION: u32 = 0x400;
        self.fast_open_without_cookie |= host & WITHOUT_COOKIE != 0;
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
        stream.set_allow_fragments(self.mtu_discovery == MtuDiscovery::Dont)?;
        if let Some(algorithm) = self.congestion {
            stream.set_congestion(algorithm)?;
        }
        Ok(())
    }
}
