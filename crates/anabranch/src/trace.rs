//! Events of the crate `tracing`, with the feature of that name; without it, nothing
//! is left of them.
//!
//! They are made on the stack's threads, while a connection is exclusively held.

use crate::error::SocketError;
use crate::organization::Organization;
use wire::FlowKey;

#[cfg(feature = "tracing")]
macro_rules! event {
    ($level:ident, $($rest:tt)*) => {
        tracing::$level!(target: "anabranch", $($rest)*)
    };
}
/// Names the values, so that they are used.
#[cfg(not(feature = "tracing"))]
macro_rules! event {
    ($level:ident, $($field:ident = %$value:expr,)* $text:literal) => {{
        $(let _ = &$value;)*
    }};
}

pub(crate) fn started(organization: Organization, processors: usize) {
    event!(info, organization = %organization, processors = %processors, "stack started");
}

pub(crate) fn stopped() {
    event!(info, "stack stopped");
}

/// A handshake is done.
pub(crate) fn opened(flow: &FlowKey) {
    event!(debug, local = %flow.local, remote = %flow.remote, "connection opened");
}

/// A connection has ended; `None`: in good order.
pub(crate) fn closed(flow: &FlowKey, error: Option<SocketError>) {
    match error {
        None => event!(debug, local = %flow.local, remote = %flow.remote, "connection closed"),
        Some(SocketError::Tcp(tcp::Error::Reset)) => {
            event!(debug, local = %flow.local, remote = %flow.remote, "connection reset by peer");
        }
        Some(SocketError::Tcp(tcp::Error::Refused)) => {
            event!(debug, local = %flow.local, remote = %flow.remote, "connection refused");
        }
        Some(error) => {
            event!(debug, local = %flow.local, remote = %flow.remote, error = %error, "connection failed");
        }
    }
}

/// A connection could not be opened.
pub(crate) fn not_opened(error: SocketError) {
    event!(debug, error = %error, "connection not opened");
}
