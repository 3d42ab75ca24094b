//! The load on a web server: that of wrk, or our own.

use super::name_of;
use crate::failure::Failure;
use clap::ValueEnum;
use lab::http::{self, Connection, Load, Schedule};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the load comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Generator {
    /// Wrk if it is installed, else our own
    Best,
    /// The program wrk
    Wrk,
    /// Our own
    Own,
}

impl Generator {
    /// One that is here.
    ///
    /// # Errors
    /// If wrk is asked for, and is not.
    pub fn found(self) -> Result<Generator, Failure> {
        let is_here = || {
            let mut wrk = Command::new("wrk");
            wrk.arg("-v").stdout(Stdio::null()).stderr(Stdio::null());
            wrk.status().is_ok()
        };
        match self {
            Generator::Own => Ok(Generator::Own),
            Generator::Best | Generator::Wrk if is_here() => Ok(Generator::Wrk),
            Generator::Best => Ok(Generator::Own),
            Generator::Wrk => Err(Failure::refused(
                "there is no program wrk: install it (apt install wrk), or use --load own",
            )),
        }
    }

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Generator::Wrk => "wrk",
            Generator::Best | Generator::Own => "own",
        }
    }
}

/// What is asked of whom.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The server.
    pub address: SocketAddr,
    /// Connections.
    pub connections: usize,
    /// Seconds.
    pub seconds: u16,
    /// Bytes that the file has.
    pub bytes: u32,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub requests: u64,
    pub per_s: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub failed: u64,
    /// Processor time of the server, seconds.
    pub server_s: f64,
}

/// How long a connection may stand still.
const PATIENCE: Duration = Duration::from_secs(15);
/// Requests that are due in a second, of our own load: more than anybody answers, so that each
/// connection asks again at once.
const WITHOUT_END: f64 = 500_000.0;
/// Time before a sample, seconds.
const WARM_UP: f64 = 0.3;

impl Task {
    /// Does it.
    ///
    /// # Errors
    /// If the server does not answer as it should.
    pub fn run(&self, generator: Generator) -> Result<Figures, Failure> {
        let figures = match generator {
            Generator::Wrk => self.wrk()?,
            Generator::Best | Generator::Own => self.own()?,
        };
        if figures.requests == 0 {
            return Err(Failure::failed(format!("{} has not answered once", self.address)));
        }
        Ok(figures)
    }

    fn wrk(&self) -> Result<Figures, Failure> {
        let Task { address, connections, seconds, .. } = self;
        let threads = if *connections > 1 { "-t2" } else { "-t1" };
        let output = Command::new("wrk")
            .args([threads, "--latency", &format!("-c{connections}"), &format!("-d{seconds}s")])
            .arg(format!("http://{address}{}", super::servers::FILE))
            .output();
        let output = output.map_err(|error| Failure::failed(format!("cannot run wrk: {error}")))?;
        let said = String::from_utf8_lossy(&output.stdout);
        read(&said).ok_or_else(|| {
            let why = String::from_utf8_lossy(&output.stderr);
            Failure::failed(format!("wrk has said something else than figures: {said} {why}"))
        })
    }

    fn own(&self) -> Result<Figures, Failure> {
        let run = |seconds| {
            let load = Load {
                schedule: Schedule::constant(WITHOUT_END),
                connections: self.connections,
                seconds,
                // Requests are far behind their schedule: none would count that is due later.
                warm_up: 0.0,
                host: "anabranch".to_owned(),
                path: super::servers::FILE.to_owned(),
                fresh: false,
            };
            http::run(&load, &|| connect(self.address)).map_err(Failure::failed)
        };
        run(WARM_UP)?;
        let outcome = run(self.seconds.into())?;
        if outcome.bytes != outcome.completed * u64::from(self.bytes) {
            return Err(Failure::failed(format!("{} answers with another file", self.address)));
        }
        Ok(Figures {
            requests: outcome.completed,
            per_s: outcome.completed_per_s,
            p50_us: outcome.since_sent.p50_us,
            p99_us: outcome.since_sent.p99_us,
            failed: outcome.failed,
            server_s: 0.0,
        })
    }
}

fn connect(address: SocketAddr) -> io::Result<Box<dyn Connection>> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}

/// The figures in what wrk says.
fn read(said: &str) -> Option<Figures> {
    let of = |start: &str| said.lines().find_map(|line| line.trim().strip_prefix(start));
    let all = said.lines().find(|line| line.contains(" requests in "))?;
    let numbers = |text: &str| -> u64 {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok()).sum()
    };
    let failed = [of("Socket errors:"), of("Non-2xx or 3xx responses:")];
    Some(Figures {
        requests: all.split_whitespace().next()?.parse().ok()?,
        per_s: of("Requests/sec:")?.trim().parse().ok()?,
        p50_us: micros(of("50%")?)?,
        p99_us: micros(of("99%")?)?,
        failed: failed.into_iter().flatten().map(numbers).sum(),
        server_s: 0.0,
    })
}

/// A time as wrk writes it: `1.24ms`.
fn micros(text: &str) -> Option<f64> {
    let text = text.trim();
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 60e6), ("h", 3600e6)];
    let (number, unit) =
        units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    Some(number.parse::<f64>().ok()? * unit)
}

impl std::fmt::Display for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&name_of(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
Running 3s test @ http://10.99.0.2/file
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.30ms  500.00us  12.00ms   90.00%
    Req/Sec    45.10k     2.10k   50.00k    70.00%
  Latency Distribution
     50%    1.24ms
     75%    1.50ms
     90%  990.00us
     99%    2.39s
  135306 requests in 3.00s, 4.16GB read
  Socket errors: connect 1, read 2, write 0, timeout 4
  Non-2xx or 3xx responses: 5
Requests/sec:  45102.12
Transfer/sec:      1.39GB
";

    #[test]
    fn wrk_is_understood() {
        let figures = read(SAID).expect("figures");
        let expected = Figures {
            requests: 135_306,
            per_s: 45_102.12,
            p50_us: 1240.0,
            p99_us: 2_390_000.0,
            failed: 12,
            server_s: 0.0,
        };
        assert_eq!(figures, expected);
        for cut in [0, 100, 300, SAID.len() - 60] {
            assert_eq!(read(&SAID[..cut]), None);
        }
        let units = ["3us", "3ms", "3s", "3m", "3h"].map(|text| micros(text).expect(text));
        assert_eq!(units, [3.0, 3e3, 3e6, 180e6, 10_800e6]);
        assert_eq!(micros("3"), None);
    }
}
