//! What a socket and its connection share: a cell with a queue each way. The
//! application copies to and from slices on its own thread, outside every lock;
//! the domain's holder moves the slices between cell and TCB.

mod layer;
mod listener;
mod tcp;
mod udp;

pub(crate) use layer::SocketLayer;
pub(crate) use listener::ListenerCell;
pub(crate) use tcp::{Cut, TcpCell};
pub(crate) use udp::UdpCell;
