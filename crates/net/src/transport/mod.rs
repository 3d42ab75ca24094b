//! ④ ⑥ The transport layer: finds the connection or socket that a segment or
//! datagram is for, and lets connections send in turn.

mod blocked;
mod bound;
mod calls;
mod coalesce;
mod conn_timers;
mod context;
mod early_syns;
mod errors;
mod fast_open;
mod group;
mod half_open;
mod held_back;
mod posted;
mod raw;
mod ready_list;
mod rejected;
mod residence;
mod serve;
mod tcp_input;
mod tcp_output;
mod udp;

pub use context::Cx;
pub use raw::input as raw_input;
pub(crate) use residence::Residence;
pub use tcp_input::input as tcp_input;
pub use udp::input as udp_input;

use crate::application::Application;
use crate::config::{Config, Unit};
use crate::connections::{ConnId, Connections};
use crate::hash::{Keyed, Purpose};
use crate::rate_limit::RateLimit;
use crate::share::Share;
use blocked::Blocked;
use bound::Bound;
use conn_timers::ConnTimers;
use early_syns::EarlySyns;
use held_back::HeldBack;
use ready_list::ReadyList;
use std::collections::VecDeque;
use std::sync::Arc;
use wire::{FlowKey, Instant, Packet};

/// The state of the transport layer, but for the connections themselves.
pub struct Transport<A: Application> {
    pub(crate) config: Arc<Config>,
    pub(crate) unit: Unit,
    pub(crate) isn: tcp::isn::Generator,
    cookies: tcp::Cookies,
    fast_open: tcp::FastOpenCookies,
    /// TCP's parameters by interface: they depend on what its device does.
    pub(crate) tcp: Vec<Arc<tcp::Config>>,
    pub(crate) listeners: Bound<A::Listener>,
    pub(crate) udp: Bound<A::Udp>,
    pub(crate) timers: ConnTimers,
    pub(crate) ready: ReadyList,
    early_syns: EarlySyns,
    blocked: Blocked,
    held_back: HeldBack,
    /// Passive opens whose handshake is going on, roughly the oldest first, and names of
    /// some that have ended.
    pub(crate) half_open: VecDeque<ConnId>,
    pub(crate) resets: Arc<RateLimit>,
    /// Packets on their way down, for IP.
    pub(crate) down: Vec<Packet>,
    /// The connection that the last segment was for, and what waits for it.
    batch: Option<coalesce::GroBatch>,
    /// The flow of the last datagram that not every link carries, and its hash.
    last_large: Option<(FlowKey, u64)>,
    /// Memory and orphans.
    pub(crate) share: Share,
    /// Where the connections live.
    pub(crate) residence: Residence<A>,
}

opaque_debug!([A: Application] Transport<A>, "Transport");

impl<A: Application> Transport<A> {
    /// The transport layer of one unit.
    pub fn new(config: Arc<Config>, unit: Unit) -> Transport<A> {
        let hasher = Keyed::new(&config, Purpose::Tables);
        Transport {
            isn: tcp::isn::Generator::new(key(&config, Purpose::SequenceNumbers), config.epoch),
            cookies: tcp::Cookies::new(key(&config, Purpose::Cookies)),
            fast_open: tcp::FastOpenCookies::new(
                key(&config, Purpose::FastOpen),
                config.tcp.fast_open_key,
            ),
            tcp: (0..config.interfaces.len()).map(|i| Arc::new(for_device(&config, i))).collect(),
            listeners: Bound::new(hasher),
            udp: Bound::new(hasher),
            timers: ConnTimers::default(),
            ready: ReadyList::default(),
            early_syns: EarlySyns::default(),
            blocked: Blocked::default(),
            held_back: HeldBack::new(unit.index),
            half_open: VecDeque::new(),
            resets: Arc::new(RateLimit::new(&config, unit.share(config.errors_per_second))),
            down: Vec::new(),
            batch: None,
            last_large: None,
            share: Share::new(&config, unit),
            residence: Residence::Settled,
            unit,
            config,
        }
    }

    /// The host has this configuration from now on ([`crate::Published`]). Connections from
    /// an address that is gone stay: what they send is lost, and they end when they give up.
    pub fn configure(&mut self, config: Arc<Config>) {
        self.config = config;
    }

    /// The packets that the layer has made of its own accord since the last time,
    /// for IP: resets, answers of TIME-WAIT, datagrams of [`crate::Call::FlushUdp`].
    /// What connections send goes down by [`Transport::serve`].
    #[inline]
    pub fn take_down(&mut self) -> std::vec::Drain<'_, Packet> {
        self.down.drain(..)
    }

    /// Is data of so many bytes to be compared with what came before it, or with what will follow?
    #[inline(always)]
    pub(crate) fn is_apart(&self, len: usize) -> bool {
        self.batch.is_some() || len >= coalesce::WORTH
    }

    /// The earliest time at which something has to be done.
    #[inline]
    pub fn next_timeout<C: Connections<A::Connection>>(&self, conns: &C) -> Option<Instant> {
        Instant::earlier(self.timers.next_deadline(), conns.next_expiry())
    }
}

/// The key for `purpose`, as bytes.
fn key(config: &Config, purpose: Purpose) -> [u8; 16] {
    let [a, b] = config.key(purpose).map(u64::to_le_bytes);
    std::array::from_fn(|i| if i < 8 { a[i] } else { b[i - 8] })
}

/// TCP's parameters on interface `index`: where the device sums and segments,
/// the send queue need not sum, and is kept in larger chunks.
fn for_device(config: &Config, index: usize) -> tcp::Config {
    let interface = &config.interfaces[index];
    let mut tcp = (*config.tcp).clone();
    if interface.transmit_checksum {
        tcp.checksum = false;
    }
    if interface.segmentation > 0 {
        tcp.chunk = 16 * 1024;
    }
    tcp
}

#[cfg(test)]
mod tests;
