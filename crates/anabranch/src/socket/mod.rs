//! What a socket and its connection share: state with a queue each way. The
//! application copies to and from slices on its own thread, outside every lock;
//! the domain's holder moves the slices between that state and the TCB.

mod backlog;
mod early;
mod footprint;
mod groups;
mod layer;
mod on_link;
mod queue;
mod raw;
mod registry;
mod sessions;
mod tcp;
mod ttl;
mod udp;

pub(crate) use backlog::Acceptor;
pub(crate) use layer::SocketLayer;
pub(crate) use on_link::OnLink;
pub use raw::RawCounters;
pub(crate) use raw::RawShared;
pub(crate) use registry::Registry;
pub use sessions::SessionCounters;
pub(crate) use sessions::{Session, SessionLimits, Sessions};
pub(crate) use tcp::posted::NotPosted;
pub(crate) use tcp::{ListenerShared, TcpShared, WriteLimits};
pub(crate) use udp::UdpShared;
