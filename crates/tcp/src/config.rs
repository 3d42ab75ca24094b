//! [`Config`]: what is the same for all connections of a stack.

use crate::congestion;
use wire::time::Duration;

/// The parameters of TCP, shared by all connections of a stack behind an `Arc`.
/// The defaults are those of Linux where it has them.
///
/// ```
/// # use anabranch_tcp::Config;
/// let config = Config::default().with_receive_buffer(4 << 20).with_nagle(false);
/// # assert!(!config.nagle);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Most bytes that wait unread at the beginning, and so the largest window
    /// announced. At most 1 GiB counts (RFC 7323 2.3). They hold at most twice as much
    /// memory, however small the segments were, and a few blocks. Default 1 MiB.
    pub receive_buffer: usize,
    /// What the receive buffer of a connection may become, where more than half of it is
    /// received and read in a round trip. Less than `receive_buffer`, as
    /// [`Config::with_receive_buffer`] has it: it stays as it is. Default 6 MiB.
    pub max_receive_buffer: usize,
    /// Most bytes that are queued: sent and not acknowledged, or unsent. At most
    /// 1 GiB counts. Default 1 MiB.
    pub send_buffer: usize,
    /// What that may become on a long path, for twice what the windows let out. Less than
    /// `send_buffer`, as [`Config::with_send_buffer`] has it: it stays as it is. Default
    /// 6 MiB.
    pub max_send_buffer: usize,
    /// Hold back small segments while one is unacknowledged (RFC 9293 3.7.4,
    /// with Minshall's modification). Default true.
    pub nagle: bool,
    /// Longest time that an acknowledgment waits for company (RFC 9293
    /// 3.8.6.3), up to 4 s. Default 40 ms.
    pub delayed_ack: Duration,
    /// How many segments with data a new connection acknowledges at once, each by
    /// itself, before it waits for company: a peer in slow start grows faster so. It
    /// stops once the connection answers what it receives. Linux has 16, which is one
    /// packet more for a short connection. Default 0.
    pub quick_acks: u8,
    /// On a path of 5 ms or more, what a window of more than 64 KiB lets go of leaves at a rate, and
    /// not in bursts: twice the window in a round trip in slow start, 1.2 times later, as on Linux
    /// with a queueing discipline that paces (fq). Controls that make a model of the path have a
    /// rate of their own. Default true.
    pub pacing: bool,
    /// A segment without the timestamps that both ends have agreed on counts, as on Linux: some
    /// boxes in the path take them out. RFC 7323 3.2 wants it to be dropped, for nothing then
    /// tells whether it is old. Default false.
    pub missing_timestamps: bool,
    /// By how much the retransmission time-out exceeds the smoothed round-trip
    /// time at least: the lower bound of 4 RTTVAR, as Linux's `rto_min`. Default
    /// 200 ms (RFC 6298 2.4 has 1 s as a bound of the whole).
    pub min_rto: Duration,
    /// Upper bound of the retransmission time-out, also when backed off, and of
    /// the time between window probes. Default 120 s.
    pub max_rto: Duration,
    /// The retransmission time-out before there is a measurement (RFC 6298
    /// 2.1). Default 1 s.
    pub initial_rto: Duration,
    /// How many times a SYN or SYN-ACK is sent again. Default 6.
    pub syn_retries: u8,
    /// The first so many of them do not double the time to the next, as on Linux (4 there).
    /// RFC 6298 5.5 wants each to. Default 0.
    pub linear_syn_retries: u8,
    /// R2 of RFC 9293 3.8.3, as a count of time-outs in a row without any
    /// progress, after which the connection is given up. Also the most window
    /// probes in a row that stay without an answer. Default 15.
    pub retries: u8,
    /// How long TIME-WAIT lasts (2 MSL). Default 60 s.
    pub time_wait: Duration,
    /// How long FIN-WAIT-2 lasts once the application has let go. Default 60 s; `Duration::MAX`: until the
    /// peer closes its half.
    pub fin_wait_2: Duration,
    /// How long a connection that the application has let go of may stay without
    /// progress: no new byte acknowledged, though the peer may answer probes of
    /// its closed window. It then ends with a RST. Default 60 s; `Duration::MAX`: never.
    pub orphan: Duration,
    /// Keep-alives of new connections. Default none (RFC 9293 3.8.4).
    pub keepalive: Option<Keepalive>,
    /// Offer and accept window scaling (RFC 7323 2). Default true.
    pub window_scaling: bool,
    /// Offer and accept timestamps (RFC 7323 3). Default true.
    pub timestamps: bool,
    /// Offer and accept selective acknowledgments (RFC 2018). Default true.
    pub sack: bool,
    /// Find out whether a time-out was spurious before more than one segment is sent
    /// again (F-RTO, RFC 5682, with SACK). Time stamps tell it without. Default true.
    pub f_rto: bool,
    /// Find out by probing what segments the path carries where full ones time out again
    /// and again, or where a router has made them smaller ten minutes ago (RFC 4821, RFC
    /// 8899). If not, segments stay as they are. Default true.
    pub path_probing: bool,
    /// Initial congestion window in segments (RFC 6928). Default 10.
    pub initial_window: u32,
    /// Congestion control of new connections. Default
    /// [`Cubic`](congestion::Algorithm::Cubic).
    pub congestion: congestion::Algorithm,
    /// Explicit congestion notification (RFC 3168, RFC 9768). Default
    /// [`EcnMode::Accept`].
    pub ecn: EcnMode,
    /// Which segments have an option with counters of marks, where both ends count them.
    /// Default [`CounterOptions::News`].
    pub counter_options: CounterOptions,
    /// Acknowledgments without data and what is sent again are ECN-capable, too, where both
    /// ends count marks, as on Linux. RFC 3168 forbids it, and RFC 8311 allows experiments.
    /// Default false.
    pub ecn_everywhere: bool,
    /// A connection does without ECN where the handshake shows that the path does not carry
    /// it: its SYN goes again without after time-outs (RFC 3168 6.1.1.1), and nothing of it
    /// is ECN-capable if a SYN arrived with other bits than it was sent with (RFC 9768
    /// 3.2.2.3). Default true.
    pub ecn_fallback: bool,
    /// Compute the sum of the payload while it is copied into the send queue,
    /// so that no one has to touch it again. Switch it off where the device
    /// computes checksums. Default true.
    pub checksum: bool,
    /// Bytes of a chunk of the send queue; 0: the connection's segment size.
    /// Default 0.
    pub chunk: usize,
    /// Most challenge acknowledgments, and answers to other segments without
    /// data that are not acceptable, a second and connection (RFC 5961 7).
    /// Default 100.
    pub challenge_acks_per_second: u16,
    /// The key of the cookies that clients of listeners with Fast Open get (RFC 7413), so that
    /// several servers may know them: Linux's `tcp_fastopen_key`. Default none: keys of the
    /// host's own, which change twice a day.
    pub fast_open_key: Option<FastOpenKey>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            receive_buffer: 1 << 20,
            max_receive_buffer: 6 << 20,
            send_buffer: 1 << 20,
            max_send_buffer: 6 << 20,
            nagle: true,
            // RFC 9293 MUST-40
            // RFC 5681 4.2/2
            delayed_ack: Duration::from_millis(40),
            quick_acks: 0,
            missing_timestamps: false,
            pacing: true,
            // RFC 6298 2.4/1
            min_rto: Duration::from_millis(200),
            // RFC 6298 2.5/1
            max_rto: Duration::from_secs(120),
            // RFC 6298 2.1/1
            initial_rto: Duration::from_secs(1),
            // RFC 9293 MUST-23
            syn_retries: 6,
            linear_syn_retries: 0,
            // RFC 9293 SHLD-11
            retries: 15,
            time_wait: Duration::from_secs(60),
            fin_wait_2: Duration::from_secs(60),
            orphan: Duration::from_secs(60),
            // RFC 9293 MUST-25
            keepalive: None,
            window_scaling: true,
            timestamps: true,
            sack: true,
            f_rto: true,
            path_probing: true,
            initial_window: 10,
            congestion: congestion::Algorithm::Cubic,
            ecn: EcnMode::Accept,
            counter_options: CounterOptions::News,
            ecn_everywhere: false,
            ecn_fallback: true,
            checksum: true,
            chunk: 0,
            challenge_acks_per_second: 100,
            fast_open_key: None,
        }
    }
}

/// A key of cookies that several servers may have, as that of Linux (`tcp_fastopen_key`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FastOpenKey(pub [u8; 16]);

impl std::fmt::Debug for FastOpenKey {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FastOpenKey").finish_non_exhaustive()
    }
}

/// Whether connections use explicit congestion notification: as Linux's `tcp_ecn` 0, 2, 1,
/// 5, 4 and 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// Never.
    Off,
    /// If the peer asks for it.
    #[default]
    Accept,
    /// Ask for it, and use it if the peer agrees.
    Ask,
    /// As [`EcnMode::Accept`], and count each mark if the peer asks for that (RFC 9768).
    AcceptAccurate,
    /// As [`EcnMode::Ask`], and count each mark if the peer asks for that.
    AskAcceptAccurate,
    /// Ask for counts of each mark (RFC 9768), and use what the peer agrees to: that, RFC
    /// 3168, or nothing.
    AskAccurate,
}

/// Which segments of a connection that counts marks have an option with its counters (RFC
/// 9768 3.2.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterOptions {
    /// None.
    Never,
    /// Those of the handshake, and acknowledgments where a counter has changed.
    #[default]
    News,
    /// All with room for it, once the peer has sent such an option, as on Linux.
    Always,
}

impl EcnMode {
    /// Does a SYN ask for it?
    pub(crate) fn asks(self) -> bool {
        matches!(self, EcnMode::Ask | EcnMode::AskAcceptAccurate | EcnMode::AskAccurate)
    }

    /// Are marks counted if the peer agrees?
    pub(crate) fn is_accurate(self) -> bool {
        self == EcnMode::AskAccurate
            || matches!(self, EcnMode::AcceptAccurate | EcnMode::AskAcceptAccurate)
    }
}

/// `with_…` for the fields of a configuration, which may get more fields.
macro_rules! setters {
    ($type:ident { $($with:ident $field:ident: $of:ty,)* }) => {
        impl $type {
            $(#[doc = concat!("With another [`", stringify!($type), "::", stringify!($field), "`].")]
            #[must_use]
            pub fn $with(mut self, $field: $of) -> $type {
                self.$field = $field;
                self
            })*
        }
    };
}

setters! { Config {
    with_max_receive_buffer max_receive_buffer: usize,
    with_max_send_buffer max_send_buffer: usize,
    with_nagle nagle: bool,
    with_delayed_ack delayed_ack: Duration,
    with_quick_acks quick_acks: u8,
    with_missing_timestamps missing_timestamps: bool,
    with_pacing pacing: bool,
    with_min_rto min_rto: Duration,
    with_max_rto max_rto: Duration,
    with_initial_rto initial_rto: Duration,
    with_syn_retries syn_retries: u8,
    with_linear_syn_retries linear_syn_retries: u8,
    with_retries retries: u8,
    with_time_wait time_wait: Duration,
    with_fin_wait_2 fin_wait_2: Duration,
    with_orphan orphan: Duration,
    with_keepalive keepalive: Option<Keepalive>,
    with_window_scaling window_scaling: bool,
    with_timestamps timestamps: bool,
    with_sack sack: bool,
    with_f_rto f_rto: bool,
    with_path_probing path_probing: bool,
    with_initial_window initial_window: u32,
    with_congestion congestion: congestion::Algorithm,
    with_ecn ecn: EcnMode,
    with_counter_options counter_options: CounterOptions,
    with_ecn_everywhere ecn_everywhere: bool,
    with_ecn_fallback ecn_fallback: bool,
    with_checksum checksum: bool,
    with_chunk chunk: usize,
    with_challenge_acks_per_second challenge_acks_per_second: u16,
    with_fast_open_key fast_open_key: Option<FastOpenKey>,
} }

setters! { Keepalive {
    with_interval interval: Duration,
    with_probes probes: u8,
} }

impl Config {
    /// With a [`Config::receive_buffer`] that does not change.
    #[must_use]
    pub fn with_receive_buffer(mut self, receive_buffer: usize) -> Config {
        (self.receive_buffer, self.max_receive_buffer) = (receive_buffer, 0);
        self
    }

    /// With a [`Config::send_buffer`] that does not change.
    #[must_use]
    pub fn with_send_buffer(mut self, send_buffer: usize) -> Config {
        (self.send_buffer, self.max_send_buffer) = (send_buffer, 0);
        self
    }
}

/// The largest window there is (RFC 7323 2.3).
const MAX_WINDOW: usize = 1 << 30;

impl Config {
    /// Bytes of receive buffer that count.
    #[inline]
    pub(crate) fn receive_limit(&self) -> u32 {
        self.receive_buffer.clamp(1, MAX_WINDOW) as u32
    }

    /// What the receive buffer may become, as far as it counts.
    pub(crate) fn receive_most(&self) -> u32 {
        self.receive_limit().max(self.max_receive_buffer.min(MAX_WINDOW) as u32)
    }

    /// What the send buffer may become, as far as it counts.
    pub(crate) fn send_most(&self) -> u32 {
        self.send_limit().max(self.max_send_buffer.min(MAX_WINDOW) as u32)
    }

    /// Bytes of send buffer that count.
    #[inline]
    pub(crate) fn send_limit(&self) -> u32 {
        self.send_buffer.clamp(1, MAX_WINDOW) as u32
    }

    /// The least shift with which the largest receive buffer can be announced.
    pub(crate) fn window_shift(&self) -> u8 {
        window_shift(self.receive_most())
    }
}

/// The least shift with which a window of so many bytes can be announced (RFC 7323 2.3).
pub(crate) fn window_shift(bytes: u32) -> u8 {
    let mut shift = 0;
    while shift < 14 && (u32::from(u16::MAX) << shift) < bytes {
        shift += 1;
    }
    shift
}

/// Keep-alive probes (RFC 9293 3.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keepalive {
    /// How long nothing has to arrive before the first probe.
    pub idle: Duration,
    /// Time between probes that are not answered. Default 75 s, or `idle` if that is
    /// less.
    pub interval: Duration,
    /// How many probes without an answer end the connection. Default 9.
    pub probes: u8,
}

impl Keepalive {
    /// Probes after this time without a segment; the rest as Linux has it.
    pub fn new(idle: Duration) -> Keepalive {
        Keepalive { idle, interval: idle.min(Duration::from_secs(75)), probes: 9 }
    }

    /// As TCP takes it: at times of zero a timer would go off for ever, and without a probe nobody is asked.
    pub(crate) fn at_least(self) -> Keepalive {
        const LEAST: Duration = Duration::from_millis(1);
        let Keepalive { idle, interval, probes } = self;
        Keepalive { idle: idle.max(LEAST), interval: interval.max(LEAST), probes: probes.max(1) }
    }
}

#[cfg(test)]
mod tests;
