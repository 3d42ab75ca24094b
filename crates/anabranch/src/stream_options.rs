//! The calls of streams and listeners that set what [`TcpOptions`] has.

use crate::options::{Setting, TcpOptions};
use crate::{CongestionAlgorithm, Keepalive, TcpListener, TcpStream, tokio};
use std::io;
use std::time::Duration;

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
                self.0.set(Setting::UserTimeout(timeout), |options| {
                    options.set_times(|times| times.user_timeout = timeout);
                });
                Ok(())
            }

            /// What [`set_user_timeout`](Self::set_user_timeout) has set.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn user_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.0.options.lock().times().user_timeout)
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
            /// `InvalidInput` if a time, or the number of probes, is zero.
            pub fn set_keepalive_with(&self, keepalive: Option<Keepalive>) -> io::Result<()> {
                self.0.set_keepalive(keepalive)
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
            /// (TCP_NOTSENT_LOWAT), so that what is written late goes out soon; `None`,
            /// or 0: only the send buffer bounds it.
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
                // RFC 9293 MUST-48, SHLD-21, SHLD-22
                // RFC 1122 3.2.1.6/1
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

            /// Says whether routers may cut what the connection sends from now on into fragments
            /// (IP_MTU_DISCOVER: IP_PMTUDISC_DONT), instead of telling the path's MTU: where
            /// what they tell is lost. Of IPv4; routers of IPv6 never do.
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn set_allow_fragments(&self, allow: bool) -> io::Result<()> {
                self.0.socket.set_allow_fragments(allow);
                Ok(())
            }

            /// May routers cut what the connection sends into fragments?
            ///
            /// # Errors
            /// None; it is like the other options.
            pub fn allow_fragments(&self) -> io::Result<bool> {
                Ok(self.0.socket.allow_fragments())
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
                self.0.set_options(options);
                Ok(())
            }
        }
    )*};
}

listeners!(TcpListener, tokio::TcpListener);
