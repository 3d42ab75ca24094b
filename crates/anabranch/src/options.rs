//! [`TcpOptions`]: what a connection is told before its first segment; and what it may be
//! told later.

use crate::{CongestionAlgorithm, EcnMode, FastOpenKey, Keepalive};
use std::time::Duration;
use tcp::Tcb;
use wire::Instant;

/// Options of TCP connections, to open them with
/// ([`TcpStream::connect_with`](crate::TcpStream::connect_with)) or for those that a
/// listener accepts ([`TcpListener::set_options`](crate::TcpListener::set_options)). They have the meaning of Linux's socket options of
/// the same names.
///
/// ```
/// use anabranch::{Stack, TcpListener, TcpOptions, TcpStream, device::memory};
/// use std::time::Duration;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (left, right) = memory::pair(memory::Config::default());
/// let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
/// let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
/// let listener = TcpListener::bind(&server, "10.0.0.1:80")?;
///
/// let options = TcpOptions::default()
///     .with_user_timeout(Some(Duration::from_secs(20)))
///     .with_max_segment(Some(1200));
/// let stream = TcpStream::connect_with(&client, &options, "10.0.0.1:80")?;
/// assert_eq!(stream.user_timeout()?, Some(Duration::from_secs(20)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TcpOptions {
    /// Nagle's algorithm is off (TCP_NODELAY).
    pub nodelay: bool,
    /// Bytes of payload and TCP options of the largest segment, both ways (TCP_MAXSEG),
    /// 88 to 32,767. Default: what the link takes.
    pub max_segment: Option<u16>,
    /// How long written data may make no progress before the connection is given up
    /// (TCP_USER_TIMEOUT, RFC 5482), also where the peer's window is closed. Default:
    /// [`TcpConfig::retries`](crate::TcpConfig) time-outs in a row.
    pub user_timeout: Option<Duration>,
    /// The congestion control (TCP_CONGESTION). Default: the stack's.
    pub congestion: Option<CongestionAlgorithm>,
    /// The type of service of datagrams (IP_TOS): the upper six bits are the DSCP, the
    /// lower two are passed over. Default: 0.
    pub tos: u8,
    /// Routers may cut datagrams of IPv4 into fragments, instead of telling the path's MTU
    /// (IP_MTU_DISCOVER: IP_PMTUDISC_DONT). Default: they may not.
    pub allow_fragments: bool,
    /// When the peer is asked whether it is still there (SO_KEEPALIVE and its kin).
    /// Default: the stack's.
    pub keepalive: Option<Keepalive>,
    /// Writing waits once so many bytes are queued that were never sent
    /// (TCP_NOTSENT_LOWAT). Default, and as 0: no such bound.
    pub notsent_lowat: Option<usize>,
    /// Bytes that may wait unread, whatever the path would need (SO_RCVBUF); at most
    /// [`TcpConfig::max_receive_buffer`](crate::TcpConfig) counts. Default: it starts as
    /// the stack is configured and grows with the path.
    pub receive_buffer: Option<usize>,
    /// A listener's connection is accepted only once the peer has sent data, or after
    /// this time (TCP_DEFER_ACCEPT). Default: at once.
    pub defer_accept: Option<Duration>,
    /// Explicit congestion notification of this connection. Default:
    /// [`TcpConfig::ecn`](crate::TcpConfig).
    pub ecn: Option<EcnMode>,
    /// How many of a listener's connections may be accepted before their handshake is over, at a
    /// time (TCP_FASTOPEN, RFC 7413); beyond, handshakes are ordinary ones. Their clients have
    /// shown a cookie that they got at an earlier handshake, and what they send with their SYN is
    /// read at once. A SYN may come twice: what it says must be such that it may be done twice.
    /// Default: 0, none.
    pub fast_open: usize,
    /// The key of the cookies that a listener's clients get (TCP_FASTOPEN_KEY), where servers
    /// on several hosts are to know each other's. Default:
    /// [`TcpConfig::fast_open_key`](crate::TcpConfig).
    pub fast_open_key: Option<FastOpenKey>,
    /// A listener with Fast Open needs no cookie (TCP_FASTOPEN_NO_COOKIE): whoever writes
    /// another's address as its own is heard too, so it is for networks that let none in who
    /// does. Default: it needs one.
    pub fast_open_without_cookie: bool,
    /// Opens a connection with Fast Open (TCP_FASTOPEN_CONNECT, RFC 7413): where a cookie of the
    /// server is known, it is open at once, and what is written first goes with its SYN, which
    /// does not go before, unless writing is shut down. Who reads before either waits for ever; why it
    /// cannot be opened, what is written or read next says; and of a name's addresses the first with a cookie wins the
    /// race. Otherwise it is opened as ever, and a cookie asked for. What is written first may reach the server twice.
    /// Default: false.
    pub fast_open_connect: bool,
}

macro_rules! setters {
    ($($with:ident $field:ident: $of:ty,)*) => {
        impl TcpOptions {
            $(#[doc = concat!("With another [`TcpOptions::", stringify!($field), "`].")]
            #[must_use]
            pub fn $with(mut self, $field: $of) -> TcpOptions {
                self.$field = $field;
                self
            })*
        }
    };
}

setters! {
    with_nodelay nodelay: bool,
    with_max_segment max_segment: Option<u16>,
    with_user_timeout user_timeout: Option<Duration>,
    with_congestion congestion: Option<CongestionAlgorithm>,
    with_tos tos: u8,
    with_allow_fragments allow_fragments: bool,
    with_keepalive keepalive: Option<Keepalive>,
    with_notsent_lowat notsent_lowat: Option<usize>,
    with_receive_buffer receive_buffer: Option<usize>,
    with_defer_accept defer_accept: Option<Duration>,
    with_ecn ecn: Option<EcnMode>,
    with_fast_open fast_open: usize,
    with_fast_open_key fast_open_key: Option<FastOpenKey>,
    with_fast_open_without_cookie fast_open_without_cookie: bool,
    with_fast_open_connect fast_open_connect: bool,
}

impl TcpOptions {
    /// Tells a control block that has sent nothing yet.
    pub(crate) fn apply(&self, tcb: &mut Tcb, now: Instant) {
        if self.nodelay {
            tcb.set_nagle(false);
        }
        if let Some(bytes) = self.max_segment {
            tcb.set_max_segment(bytes);
        }
        if let Some(timeout) = self.user_timeout {
            tcb.set_user_timeout(timeout);
        }
        if let Some(algorithm) = self.congestion {
            tcb.set_congestion(algorithm);
        }
        if self.keepalive.is_some() {
            tcb.set_keepalive(self.keepalive);
        }
        if let Some(bytes) = self.receive_buffer {
            tcb.set_receive_buffer(bytes);
        }
        if let Some(time) = self.defer_accept.filter(|_| tcb.is_passive()) {
            tcb.set_deferred(now + time);
        }
        if self.fast_open_connect {
            tcb.want_fast_open();
        }
        // Behind the congestion control, which may ask for it.
        if let Some(mode) = self.ecn {
            tcb.set_ecn(mode);
        }
    }
}

/// What a stream tells its control block later.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Setting {
    Nodelay(bool),
    Keepalive(Option<Keepalive>),
    Cork(bool),
    UserTimeout(Option<Duration>),
    QuickAck(bool),
    Congestion(CongestionAlgorithm),
    ReceiveBuffer(usize),
}

impl Setting {
    pub(crate) fn apply(self, tcb: &mut Tcb) {
        match self {
            Setting::Nodelay(on) => tcb.set_nagle(!on),
            Setting::Keepalive(keepalive) => tcb.set_keepalive(keepalive),
            Setting::Cork(on) => tcb.set_cork(on),
            Setting::UserTimeout(timeout) => tcb.set_user_timeout(timeout.unwrap_or_default()),
            Setting::QuickAck(on) => tcb.set_quick_ack(on),
            Setting::ReceiveBuffer(bytes) => tcb.set_receive_buffer(bytes),
            Setting::Congestion(algorithm) => tcb.set_congestion(algorithm),
        }
    }
}
