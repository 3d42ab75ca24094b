//! Loads by httperf, where it is installed: each request on a connection of its own, at a constant
//! rate (Mosberger and Jin 1998; Bohra and Iftode 2007, section 5.3).

use crate::failure::Failure;
use lab::http::{Latency, Load, Outcome};
use std::io;
use std::net::SocketAddr;
use std::process::Command;

/// How long httperf waits for anything of a connection, seconds; then that has failed.
const PATIENCE_S: u64 = 5;

/// What httperf makes of `load` at the server `address`. It has no warm-up. Of latencies it tells the
/// median and the greatest, with the connection's time; the others are no numbers.
///
/// # Errors
/// [`Failure`]: code 2 if httperf is not there or the load is none for it, 1 if it says no figures.
pub fn run(load: &Load, address: SocketAddr) -> Result<Outcome, Failure> {
    let rate = load.schedule.rate().ok_or_else(|| {
        Failure::refused(format!("httperf has one rate, no phases: give one for {}", load.schedule))
    })?;
    let connections = (rate * load.seconds).ceil().max(1.0);
    let output = Command::new("httperf")
        .args(["--hog", "--num-calls", "1", "--server", &address.ip().to_string()])
        .args(["--server-name", &load.host])
        .args(["--port", &address.port().to_string(), "--uri", &load.path])
        .args(["--rate", &rate.to_string(), "--num-conns", &connections.to_string()])
        .args(["--timeout", &PATIENCE_S.to_string()])
        .output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::refused("httperf is not installed: apt-get install httperf")
        }
        _ => Failure::failed(format!("cannot run httperf: {error}")),
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    read(&said, rate).ok_or_else(|| {
        let why = String::from_utf8_lossy(&output.stderr);
        Failure::failed(format!("httperf has said something else than figures: {said} {why}"))
    })
}

/// The number behind `word` in the line that begins with `line`.
fn number(said: &str, line: &str, word: &str) -> Option<f64> {
    let rest =
        said.lines().find_map(|text| text.strip_prefix(line).filter(|r| r.contains(word)))?;
    let (_, value) = rest.split_once(word)?;
    value.split_whitespace().next()?.parse().ok()
}

fn read(said: &str, rate: f64) -> Option<Outcome> {
    let offered = number(said, "Total: ", "connections ")?;
    let completed = number(said, "Reply status: ", "2xx=")?;
    let seconds = number(said, "Total: ", "test-duration ")?;
    let failed = number(said, "Errors: ", "total ")?;
    let bytes = number(said, "Reply size [B]: ", "content ")?;
    let time_us = |word| number(said, "Connection time [ms]: ", word).map(|ms| 1e3 * ms);
    let none = f64::NAN;
    let latency = Latency {
        p50_us: time_us("median ")?,
        p90_us: none,
        p99_us: none,
        p999_us: none,
        max_us: time_us("max ")?,
    };
    Some(Outcome {
        offered: offered as u64,
        completed: completed as u64,
        failed: failed as u64,
        answered_per_s: completed / seconds,
        offered_per_s: rate,
        completed_per_s: completed / seconds,
        bytes: (bytes * completed) as u64,
        latency,
        // It knows no time at which a request was due.
        since_sent: Latency { p50_us: none, max_us: none, ..latency },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Maximum connect burst length: 1\n\n\
        Total: connections 200 requests 190 replies 180 test-duration 2.000 s\n\n\
        Connection rate: 100.0 conn/s (10.0 ms/conn, <=2 concurrent connections)\n\
        Connection time [ms]: min 1.0 avg 2.4 max 11.5 median 1.5 stddev 1.7\n\
        Connection time [ms]: connect 0.0\n\
        Reply size [B]: header 156.0 content 32768.0 footer 0.0 (total 32924.0)\n\
        Reply status: 1xx=0 2xx=178 3xx=0 4xx=2 5xx=0\n\n\
        Errors: total 20 client-timo 20 socket-timo 0 connrefused 0 connreset 0\n";

    #[test]
    fn figures_are_found() {
        let outcome = read(SAID, 100.0).expect("figures");
        assert_eq!((outcome.offered, outcome.completed, outcome.failed), (200, 178, 20));
        assert_eq!((outcome.offered_per_s, outcome.completed_per_s), (100.0, 89.0));
        assert_eq!((outcome.latency.p50_us, outcome.latency.max_us), (1500.0, 11_500.0));
        assert_eq!(outcome.bytes, 178 * 32_768);
        assert!(outcome.latency.p99_us.is_nan());
    }

    #[test]
    fn what_is_cut_off_has_none() {
        for (at, _) in SAID.match_indices('\n').take(10) {
            assert_eq!(read(&SAID[..at], 100.0), None);
        }
    }
}
