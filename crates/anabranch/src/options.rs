//! [`TcpOptions`]: what a connection is told before its first segment; and the calls of
//! streams that change the same later.

use crate::{CongestionAlgorithm, Keepalive, TcpListener, TcpStream, tokio};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tcp::Tcb;
use wire::Instant;

/// Options of TCP connections, to open them with
/// ([`TcpStream::connect_with`]) or for those that a listener accepts
/// ([`TcpListener::set_options`]). They have the meaning of Linux's socket options of
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
    /// When the peer is asked whether it is still there (SO_KEEPALIVE and its kin).
    /// Default: the stack's.
    pub keepalive: Option<Keepalive>,
    /// Writing waits once so many bytes are queued that were never sent
    /// (TCP_NOTSENT_LOWAT). Default: no such bound.
    pub notsent_lowat: Option<usize>,
    /// Bytes that may wait unread, whatever the path would need (SO_RCVBUF); at most
    /// [`TcpConfig::max_receive_buffer`](crate::TcpConfig) counts. Default: it starts as
    /// the stack is configured and grows with the path.
    pub receive_buffer: Option<usize>,
    /// A listener's connection is accepted only once the peer has sent data, or after
    /// this time (TCP_DEFER_ACCEPT). Default: at once.
    pub defer_accept: Option<Duration>,
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
    with_keepalive keepalive: Option<Keepalive>,
    with_notsent_lowat notsent_lowat: Option<usize>,
    with_receive_buffer receive_buffer: Option<usize>,
    with_defer_accept defer_accept: Option<Duration>,
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

macro_rules! streams {
    ($($stream:ty),*) => {$(
        impl $stream {
            /// Holds back what does not fill a segment (`true`) until it is switched off
            /// again, a segment is full, or 200 ms have passed (TCP_CORK).
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_cork(&self, cork: bool) -> io::Result<()> {
                self.0.set(Setting::Cork(cork), |options| options.cork = cork);
                Ok(())
            }

            /// What [`set_cork`](Self::set_cork) has set.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn cork(&self) -> io::Result<bool> {
                Ok(self.0.options.lock().cork)
            }

            /// Ends the connection once what was written has made no progress for this
            /// time, also where the peer's window is closed (TCP_USER_TIMEOUT,
            /// RFC 5482); `None`: after as many time-outs as the stack is configured for.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_user_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                self.0.set(Setting::UserTimeout(timeout), |o| o.user_timeout = timeout);
                Ok(())
            }

            /// What [`set_user_timeout`](Self::set_user_timeout) has set.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn user_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.0.options.lock().user_timeout)
            }

            /// Acknowledges the next data at once (`true`) or with company
            /// (TCP_QUICKACK). It does not last: the connection falls back by itself.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
                self.0.set(Setting::QuickAck(quickack), |_| {});
                Ok(())
            }

            /// Goes on with another congestion control (TCP_CONGESTION), from the window
            /// that there is. [`TcpInfo::congestion`](crate::TcpInfo) tells which it has.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_congestion(&self, algorithm: CongestionAlgorithm) -> io::Result<()> {
                self.0.set(Setting::Congestion(algorithm), |_| {});
                Ok(())
            }

            /// Asks the peer whether it is still there as `keepalive` says (TCP_KEEPIDLE,
            /// TCP_KEEPINTVL, TCP_KEEPCNT); `None`: never.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_keepalive_with(&self, keepalive: Option<Keepalive>) -> io::Result<()> {
                self.0.set(Setting::Keepalive(keepalive), |_| {});
                Ok(())
            }

            /// Bounds what waits unread to so many bytes (SO_RCVBUF), whatever the path
            /// would need. At most what the stack is configured for counts
            /// ([`TcpConfig::max_receive_buffer`](crate::TcpConfig)).
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_receive_buffer_size(&self, bytes: usize) -> io::Result<()> {
                self.0.set(Setting::ReceiveBuffer(bytes), |_| {});
                Ok(())
            }

            /// Writing waits once so many bytes are queued that were never sent
            /// (TCP_NOTSENT_LOWAT), so that what is written late goes out soon; `None`:
            /// only the send buffer bounds it.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_notsent_lowat(&self, bytes: Option<usize>) -> io::Result<()> {
                self.0.socket.set_notsent_lowat(bytes);
                Ok(())
            }

            /// Sets the type of service of what the connection sends from now on
            /// (IP_TOS): the upper six bits are the DSCP, the lower two are passed over.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_tos(&self, tos: u8) -> io::Result<()> {
                self.0.socket.set_tos(tos);
                Ok(())
            }

            /// The type of service of what the connection sends.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn tos(&self) -> io::Result<u8> {
                Ok(self.0.socket.tos())
            }
        }
    )*};
}

streams!(TcpStream, tokio::TcpStream);

macro_rules! listeners {
    ($($listener:ty),*) => {$(
        impl $listener {
            /// Sets the options of connections whose first segment comes from now on.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_options(&self, options: &TcpOptions) -> io::Result<()> {
                self.0.socket().set_options(Arc::new(options.clone()));
                Ok(())
            }
        }
    )*};
}

listeners!(TcpListener, tokio::TcpListener);
