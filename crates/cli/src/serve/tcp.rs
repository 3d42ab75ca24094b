//! TCP's parameters of servers.

use anabranch::{Keepalive, TcpConfig};
use rustix::net::sockopt;
use std::os::fd::AsFd;
use std::time::Duration;

/// Bytes of send and of receive buffer of a connection.
const SOCKET_BUFFER: usize = 4 << 20;

/// TCP's parameters over a TAP device.
pub fn tcp_config(offload: bool) -> TcpConfig {
    TcpConfig::default()
        .with_receive_buffer(SOCKET_BUFFER)
        .with_send_buffer(SOCKET_BUFFER)
        // Else the device does it.
        .with_checksum(!offload)
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
