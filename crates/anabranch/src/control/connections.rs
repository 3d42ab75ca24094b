//! Connections as JSON.

use crate::{Connection, TcpInfo, TcpState};
use serde_json::{Value, json};
use std::time::Duration;

/// The threshold as long as nothing has set it, at least: the largest window.
const NEVER_SET: u32 = 1 << 30;

/// The connections, for programs. Times are in milliseconds, sizes in bytes.
pub(super) fn json(connections: &[Connection]) -> Value {
    let mut all: Vec<&Connection> = connections.iter().collect();
    all.sort_by_key(|connection| (connection.local, connection.remote));
    json!({ "connections": all.into_iter().map(one).collect::<Vec<_>>() })
}

fn one(connection: &Connection) -> Value {
    let info: &TcpInfo = &connection.info;
    json!({
        "local": connection.local.to_string(),
        "remote": connection.remote.to_string(),
        "state": state(info.state),
        "receive_queue": info.unread,
        "send_queue": info.queued,
        "unsent": info.unsent,
        "out_of_order": info.out_of_order,
        "congestion_control": info.congestion.to_string(),
        "recovering": info.recovering,
        "rtt_ms": ms(info.srtt),
        "rtt_variance_ms": ms(info.rttvar),
        "min_rtt_ms": info.min_rtt.map(ms),
        "rto_ms": ms(info.rto),
        "mss": info.mss,
        "path_mss": info.path_mss,
        "peer_mss": info.peer_mss,
        "congestion_window": info.cwnd,
        "slow_start_threshold": (info.ssthresh < NEVER_SET).then_some(info.ssthresh),
        "send_window": info.send_window,
        "receive_window": info.receive_window,
        "window_shifts": [info.send_shift, info.receive_shift],
        "in_flight": info.in_flight,
        "sacked": info.sacked,
        "lost": info.lost,
        "retransmits": info.retransmits,
        "timeouts": info.timeouts,
        "delivered": info.delivered,
        "received": info.received,
        "timestamps": info.timestamps,
        "sack": info.sack,
        "memory": info.footprint,
    })
}

fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The state, as `ss` has it.
fn state(state: TcpState) -> &'static str {
    match state {
        TcpState::Closed => "UNCONN",
        TcpState::Listen => "LISTEN",
        TcpState::SynSent => "SYN-SENT",
        TcpState::SynReceived => "SYN-RECV",
        TcpState::Established => "ESTAB",
        TcpState::FinWait1 => "FIN-WAIT-1",
        TcpState::FinWait2 => "FIN-WAIT-2",
        TcpState::CloseWait => "CLOSE-WAIT",
        TcpState::Closing => "CLOSING",
        TcpState::LastAck => "LAST-ACK",
        TcpState::TimeWait => "TIME-WAIT",
    }
}
