//! Connections as `ss -ti` shows them.

use crate::table::render_left;
use serde_json::Value;
use std::fmt::Write;

/// What a stack says of its connections, for people: a line for each connection, and one under it with
/// what TCP knows.
pub fn table(answer: &Value) -> String {
    let connections = answer["connections"].as_array().map_or(&[][..], Vec::as_slice);
    let header = ["State", "Recv-Q", "Send-Q", "Local address:port", "Peer address:port"];
    let cell = |connection: &Value, key: &str| match &connection[key] {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let keys = ["state", "receive_queue", "send_queue", "local", "remote"];
    let rows: Vec<Vec<String>> = connections
        .iter()
        .map(|connection| keys.iter().map(|key| cell(connection, key)).collect())
        .collect();
    let text = render_left(1, &header, &rows);
    let mut lines = text.lines();
    let mut shown = String::new();
    for line in lines.by_ref().take(2) {
        let _ = writeln!(shown, "{line}");
    }
    for (line, connection) in lines.zip(connections) {
        let _ = writeln!(shown, "{line}\n    {}", details(connection));
    }
    shown
}

/// What TCP knows of a connection, in the words of `ss`. What is zero is left out.
fn details(connection: &Value) -> String {
    let number = |key: &str| connection[key].as_f64().unwrap_or(0.0);
    let mut words = Vec::new();
    words.extend(connection["congestion_control"].as_str().map(str::to_owned));
    for (option, key) in [("ts", "timestamps"), ("sack", "sack")] {
        if connection[key] == true {
            words.push(option.to_owned());
        }
    }
    let shifts = &connection["window_shifts"];
    words.push(format!("wscale:{},{}", shifts[0], shifts[1]));
    words.push(format!("rto:{}", number("rto_ms")));
    words.push(format!("rtt:{}/{}", number("rtt_ms"), number("rtt_variance_ms")));
    for (word, key) in [
        ("minrtt", "min_rtt_ms"),
        ("mss", "mss"),
        ("pmss", "path_mss"),
        ("rcvmss", "peer_mss"),
        ("cwnd_bytes", "congestion_window"),
        ("ssthresh_bytes", "slow_start_threshold"),
        ("snd_wnd", "send_window"),
        ("rcv_wnd", "receive_window"),
        ("bytes_delivered", "delivered"),
        ("bytes_received", "received"),
        ("unacked_bytes", "in_flight"),
        ("notsent", "unsent"),
        ("retrans", "retransmits"),
        ("lost_bytes", "lost"),
        ("sacked_bytes", "sacked"),
        ("rcv_ooopack_bytes", "out_of_order"),
        ("backoff", "timeouts"),
        ("memory", "memory"),
    ] {
        if number(key) != 0.0 {
            words.push(format!("{word}:{}", number(key)));
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_has_two_lines_for_each_connection() {
        let connection = json!({
            "local": "10.99.0.2:7", "remote": "10.99.0.1:40000", "state": "ESTAB",
            "receive_queue": 0, "send_queue": 1448, "congestion_control": "cubic",
            "timestamps": true, "sack": false, "window_shifts": [7, 8], "rto_ms": 204.5,
            "rtt_ms": 0.25, "rtt_variance_ms": 0.125, "mss": 1448, "retransmits": 0,
            "slow_start_threshold": null,
        });
        let text = table(&json!({ "connections": [connection, connection] }));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 2 * 2, "{text}");
        assert!(lines[0].starts_with("State") && lines[0].ends_with("Peer address:port"));
        let words: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(words, ["ESTAB", "0", "1448", "10.99.0.2:7", "10.99.0.1:40000"]);
        let details = "cubic ts wscale:7,8 rto:204.5 rtt:0.25/0.125 mss:1448";
        assert_eq!(lines[3].trim(), details);
        assert_eq!(table(&json!({ "connections": [] })).lines().count(), 2);
    }
}
