//! TCP's parameters of servers.

use anabranch::{Keepalive, TcpConfig};
use rustix::net::sockopt;
use std::os::fd::AsFd;
use std::time::Duration;

/// TCP's parameters over a TAP device. Buffers grow as a connection's path needs it, so a client that reads
/// nothing takes little memory.
pub fn tcp_config(offload: bool) -> TcpConfig {
    // Else the device does it.
    TcpConfig::default().with_checksum(!offload)
}

/// When a peer is asked whether it is still there that has said nothing: after two minutes, and it is given
/// up two minutes later. Who echoes or discards waits for peers that may have vanished, and would for ever.
pub(crate) fn keepalive() -> Keepalive {
    Keepalive::new(Duration::from_secs(120)).with_interval(Duration::from_secs(30)).with_probes(4)
}

/// Has the kernel ask the peer of a socket of its own whether it is still there, as the stack does by its
/// configuration.
pub(crate) fn keep_alive(socket: impl AsFd) {
    let keepalive = keepalive();
    // It serves without, too.
    let _ = sockopt::set_tcp_keepidle(&socket, keepalive.idle)
        .and_then(|()| sockopt::set_tcp_keepintvl(&socket, keepalive.interval))
        .and_then(|()| sockopt::set_tcp_keepcnt(&socket, keepalive.probes.into()))
        .and_then(|()| sockopt::set_socket_keepalive(&socket, true));
}

/// TCP's parameters of what serves.
pub(super) fn server_config(offload: bool) -> TcpConfig {
    tcp_config(offload).with_keepalive(Some(keepalive()))
}
