//! [`Span`]: a session's life as a span of the crate `tracing`, with the feature of that name;
//! without it, nothing is left of it.

use std::net::SocketAddr;
use std::time::Duration;

/// A session's life.
#[derive(Debug)]
pub(super) struct Span {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

#[cfg(feature = "tracing")]
impl Span {
    pub(super) fn new(protocol: &'static str, local: SocketAddr, peer: SocketAddr) -> Span {
        let span = tracing::debug_span!(target: "anabranch", "session", protocol, %local, %peer);
        Span { span }
    }

    /// The session has ended, and has carried so many bytes from and to the peer.
    pub(super) fn end(&self, (bytes_in, bytes_out): (u64, u64), age: Duration) {
        self.span.in_scope(|| {
            tracing::debug!(target: "anabranch", bytes_in, bytes_out, ?age, "session ended");
        });
    }

    pub(super) fn inner(&self) -> &tracing::Span {
        &self.span
    }
}

#[cfg(not(feature = "tracing"))]
impl Span {
    pub(super) fn new(_: &'static str, _: SocketAddr, _: SocketAddr) -> Span {
        Span {}
    }

    pub(super) fn end(&self, _: (u64, u64), _: Duration) {}
}
