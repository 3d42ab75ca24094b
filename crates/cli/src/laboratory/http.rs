//! `anabranch lab http`: requests at times that are set beforehand, against a web server on each
//! organization, or against one that runs somewhere.

use super::httperf;
use crate::demo::choose_link;
use crate::demo::host::{Host, Wanted};
use crate::demo::pages::{Pages, SMALL};
use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::say::tell;
use crate::table::{render_left, short, thousands};
use anabranch::Organization;
use lab::http::{self, Connect, Load, Outcome, Schedule};
use serde::Serialize;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const MORE: &str = "\
A schedule says when each request is due, whatever the server does. Latency counts from
then, so a server that pauses is charged with all requests that were due meanwhile; those
that never came to be sent count as offered. Without a URL it serves a small page on each
organization in a private network, over TAP where that can be had.

Examples:
  anabranch lab http --rate 1000,4000,16000
  anabranch lab http --organization engines --rate 10ms:20000+40ms:0
  anabranch lab http --httperf --rate 1000,4000
  anabranch lab http http://10.99.0.2/index.html --rate 2000 --connections 64";

/// What to ask, and how often.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// The server and the page, by the kernel's sockets [default: a server on each organization]
    #[arg(value_name = "URL", conflicts_with_all = ["organization", "processors"])]
    url: Option<String>,
    /// Requests a second, or phases that follow each other; several, one after another
    #[arg(long, value_name = "RATE", value_delimiter = ',', default_value = "1000")]
    rate: Vec<Schedule>,
    /// Connections, each with one request outstanding
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Open a connection for each request, and count its time
    #[arg(long)]
    fresh: bool,
    /// Have httperf ask, if it is installed: each request on a connection of its own
    #[arg(long, conflicts_with = "connections")]
    httperf: bool,
    /// Time in which requests count, seconds
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Time before that, seconds
    #[arg(long, default_value_t = 0.2)]
    warm_up: f64,
    /// Organizations [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    organization: Vec<String>,
    /// Processors of the stack [default: all, at most 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    processors: Option<u16>,
    /// Write the figures to this file, as JSON (`-`: to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What one rate gave at one server.
#[derive(Debug, Serialize)]
struct Row {
    server: String,
    schedule: String,
    connections: usize,
    seconds: f64,
    /// Which way it went.
    over: &'static str,
    #[serde(flatten)]
    outcome: Outcome,
}

/// How long a connection may stand still.
const PATIENCE: Duration = Duration::from_secs(15);

impl Args {
    /// Loads, and prints what came of it.
    ///
    /// # Errors
    /// [`Failure`]: code 2 for what makes no sense, 1 if a server cannot be reached.
    pub fn run(&self) -> Result<(), Failure> {
        for schedule in &self.rate {
            self.load(schedule, "x", "/").check().map_err(Failure::refused)?;
        }
        let json = Json::to(self.json.as_deref())?;
        let rows = match &self.url {
            Some(url) => self.somewhere(url)?,
            None => self.everywhere()?,
        };
        json.report(&rows, || table(&rows))
    }

    fn load(&self, schedule: &Schedule, host: &str, path: &str) -> Load {
        Load {
            schedule: schedule.clone(),
            connections: self.connections,
            seconds: self.seconds,
            warm_up: self.warm_up,
            host: host.to_owned(),
            path: path.to_owned(),
            fresh: self.fresh,
        }
    }

    /// Every rate against a server that runs.
    fn somewhere(&self, url: &str) -> Result<Vec<Row>, Failure> {
        let Place { host, address, path } = place(url)?;
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(Box::new(stream) as Box<dyn http::Connection>)
        };
        let one = |schedule| {
            let load = self.load(schedule, &host, &path);
            self.one(url, "the kernel", &load, Client { connect: &connect, address: Some(address) })
        };
        self.rate.iter().map(one).collect()
    }

    /// Every rate against a server on each organization.
    fn everywhere(&self) -> Result<Vec<Row>, Failure> {
        let names = self.names()?;
        let link = choose_link(&|line| tell(line))?;
        let all = std::thread::available_parallelism().map_or(1, usize::from).min(16);
        let processors = self.processors.map_or(all, usize::from);
        let pages = Arc::new(Pages::new(0));
        let bar = progress::spinner();
        let mut rows = Vec::new();
        for organization in names {
            let processors = if organization.is_single() { 1 } else { processors };
            let host = Host::start(&Wanted::plain(link, organization.name(), processors), &pages)?;
            for schedule in &self.rate {
                bar.set_message(format!("{} at {schedule}/s", organization.name()));
                let connect = || {
                    let connection = host.connect()?;
                    Ok(Box::new(connection) as Box<dyn http::Connection>)
                };
                let load = self.load(schedule, "anabranch", SMALL);
                let client = Client { connect: &connect, address: host.address() };
                rows.push(self.one(organization.name(), link.way, &load, client)?);
            }
            host.stop();
        }
        bar.finish_and_clear();
        Ok(rows)
    }

    fn names(&self) -> Result<Vec<Organization>, Failure> {
        if self.organization.is_empty() || self.organization == ["all"] {
            return Ok(Organization::all().collect());
        }
        let parse = |name: &String| name.parse::<Organization>().map_err(Failure::refused);
        self.organization.iter().map(parse).collect()
    }

    fn one(
        &self,
        server: &str,
        over: &'static str,
        load: &Load,
        client: Client<'_>,
    ) -> Result<Row, Failure> {
        let wrong = |error: lab::Error| {
            let mend = match &error {
                lab::Error::System(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    ": start the server, or name the one that runs"
                }
                _ => "",
            };
            Failure::failed(format!("{server}: {error}{mend}"))
        };
        let outcome = match (self.httperf, client.address) {
            (false, _) => http::run(load, client.connect).map_err(wrong)?,
            (true, Some(address)) => httperf::run(load, address)?,
            (true, None) => {
                return Err(Failure::refused(
                    "httperf reaches no server in memory: run it as root, or name a URL",
                ));
            }
        };
        Ok(Row {
            server: server.to_owned(),
            schedule: load.schedule.to_string(),
            connections: load.connections,
            seconds: load.seconds,
            over,
            outcome,
        })
    }
}

/// How a server is reached.
struct Client<'a> {
    connect: &'a Connect<'a>,
    /// By other programs.
    address: Option<SocketAddr>,
}

/// Where a page is.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    host: String,
    address: SocketAddr,
    path: String,
}

fn place(url: &str) -> Result<Place, Failure> {
    let wrong = |why: &str| {
        Failure::refused(format!("'{url}' is no page{why}: write one like http://10.99.0.2/small"))
    };
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong(""))?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let is_with_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let with_port = if is_with_port { host.to_owned() } else { format!("{host}:80") };
    let unknown = |error: io::Error| wrong(&format!(" ({error})"));
    let address = with_port.to_socket_addrs().map_err(unknown)?.next();
    let address = address.ok_or_else(|| wrong(" (the name has no address)"))?;
    Ok(Place { host: host.to_owned(), address, path: path.to_owned() })
}

fn table(rows: &[Row]) -> String {
    let header = [
        "server",
        "rate",
        "over",
        "offered\n/s",
        "completed\n/s",
        "failed",
        "p50\nus",
        "p99\nus",
        "p99.9\nus",
        "max\nus",
        "p99 since\nsent, us",
    ];
    let cells = |row: &Row| {
        let Outcome { latency, since_sent, .. } = &row.outcome;
        let mut cells = vec![
            row.server.clone(),
            row.schedule.clone(),
            row.over.trim_start_matches("over ").to_owned(),
            thousands(row.outcome.offered_per_s),
            thousands(row.outcome.completed_per_s),
            row.outcome.failed.to_string(),
        ];
        let times = [latency.p50_us, latency.p99_us, latency.p999_us, latency.max_us];
        let shown = |time: f64| if time.is_nan() { "-".to_owned() } else { short(time) };
        cells.extend(times.into_iter().chain([since_sent.p99_us]).map(shown));
        cells
    };
    render_left(3, &header, &rows.iter().map(cells).collect::<Vec<_>>()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {

    #[test]
    fn pages_have_places() {
        let place = |url: &str| super::place(url).expect(url);
        assert_eq!(place("http://127.0.0.1:8080/a/b?c").path, "/a/b?c");
        assert_eq!(place("http://127.0.0.1:8080/a").address.port(), 8080);
        let plain = place("http://127.0.0.1");
        assert_eq!((plain.path.as_str(), plain.address.port()), ("/", 80));
        for bad in ["", "127.0.0.1/x", "https://127.0.0.1/", "http://", "http://127.0.0.1:x/"] {
            assert!(super::place(bad).is_err(), "{bad}");
        }
    }
}
