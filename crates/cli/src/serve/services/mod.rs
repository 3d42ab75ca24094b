//! The services of `serve`, one row each. A service is a function over a connection or
//! over a socket of UDP (in [`streams`], [`datagrams`]), and its row in [`SERVICES`]:
//! options, help, reports and checks of ports follow from the row.

mod datagrams;
mod net;
mod streams;
mod units;

pub use net::Net;
pub use units::Threads as HttpThreads;

use crate::failure::Failure;
use crate::http::{self, Body, Directory, Site};
use crate::tally::Tally;
use clap::{Arg, ArgMatches, Command, value_parser};
use hyper::{HeaderMap, Response, StatusCode, Uri};
use hyper_util::rt::TokioTimer;
use net::{Datagrams, Listener, Stream};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A service: `--NAME PORT`.
pub struct Service {
    /// Its name, as an option and in reports.
    pub name: &'static str,
    /// What `--help` says of it.
    help: &'static str,
    /// What is done on its port.
    pub handler: Handler,
}

/// The end of a connection, or of a socket.
pub type Ending = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// What is done on a port.
#[derive(Clone, Copy)]
pub enum Handler {
    /// Called with each connection.
    Tcp(fn(Stream, Arc<Context>) -> Ending),
    /// Called once, with the socket.
    Udp(fn(Datagrams, Arc<Context>) -> Ending),
}

/// What a handler may use.
pub struct Context {
    /// What the services stand on.
    pub net: Net,
    /// What the web server serves.
    pub root: Option<Arc<Directory>>,
    /// What the service has done.
    pub tally: Arc<Tally>,
}

/// A handler of connections that counts them. Who takes nothing of what is written is given up, but only while others
/// are refused for want of memory.
macro_rules! tcp {
    ($serve:path) => {
        Handler::Tcp(|stream, at| {
            Box::pin(async move {
                Tally::add(&at.tally.served, 1);
                let (full, times) = (at.net.clone(), (http::UNREAD_WHEN_FULL, Duration::MAX));
                let is_full = move || full.is_full();
                let stream = http::Patient::new(stream, TokioTimer::new(), times, is_full);
                $serve(stream, &at.tally).await
            })
        })
    };
}

/// A handler of a socket.
macro_rules! udp {
    ($serve:path) => {
        Handler::Udp(|socket, at| Box::pin(async move { $serve(socket, &at).await }))
    };
}

/// The web server's name: `--root` is for it.
pub const WEB: &str = "http";

/// All services, in the order of the help.
pub static SERVICES: &[Service] = &[
    Service {
        name: WEB,
        help: "Web server: files, byte ranges, directory listings; PUT and POST answer with length \
               and SHA-256 of what was sent",
        handler: Handler::Tcp(|stream, at| Box::pin(web(stream, at))),
    },
    Service {
        name: "tcp-echo",
        help: "TCP: sends back what comes (RFC 862)",
        handler: tcp!(streams::echo),
    },
    Service {
        name: "tcp-discard",
        help: "TCP: reads all, closes at the end of the stream (RFC 863)",
        handler: tcp!(streams::discard),
    },
    Service {
        name: "tcp-chargen",
        help: "TCP: writes without end from accept on (RFC 864)",
        handler: tcp!(streams::chargen),
    },
    Service {
        name: "tcp-close",
        help: "TCP: after the first byte answers `bye` and closes first",
        handler: tcp!(streams::close),
    },
    Service {
        name: "tcp-sink",
        help: "TCP: accepts, never reads, holds the connection for 60 s",
        handler: tcp!(streams::sink),
    },
    Service {
        name: "udp-echo",
        help: "UDP: sends each datagram back (RFC 862), but for those from its own port or of \
               services that answer anything (7, 13, 17, 19, 37)",
        handler: udp!(datagrams::echo),
    },
    Service {
        name: "udp-dial",
        help: "UDP: a datagram `HOST PORT` makes the stack connect there by TCP; it answers \
               `ok PORT`, writes `hello` and echoes, or `err PORT ECONNREFUSED`; what comes from \
               such ports as `udp-echo` names it ignores, and what echoes `hello` it closes",
        handler: udp!(datagrams::dial),
    },
];

/// What the web server serves, whosever threads do it.
impl Site for Context {
    fn page(&self, uri: &Uri, fields: &HeaderMap, wants_body: bool) -> Response<Body> {
        match &self.root {
            Some(root) => root.page(uri, fields, wants_body),
            None => http::text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }

    fn is_full(&self) -> bool {
        self.net.is_full()
    }
}

async fn web(stream: Stream, at: Arc<Context>) -> io::Result<()> {
    let _ = stream.set_nodelay(true);
    let tally = at.tally.clone();
    http::serve(stream, at, tally).await.map_err(io::Error::other)
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Service {
    /// Do both want the same ports?
    fn shares_ports_with(&self, other: &Service) -> bool {
        let is_tcp = |service: &Service| matches!(service.handler, Handler::Tcp(_));
        is_tcp(self) == is_tcp(other)
    }
}

/// What each service that runs has done, with its name and port.
pub type Tallies = Vec<(&'static str, u16, Arc<Tally>)>;

/// What helps where a port cannot be had.
fn mend(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => "give --kernel an address of this host",
        io::ErrorKind::PermissionDenied => "choose a port from 1024 on, or run it by sudo",
        _ => "choose another port",
    }
}

/// Binds the services to their ports, and has them serve from now on.
///
/// # Errors
/// If a port is taken.
pub async fn bind(
    net: &Net,
    services: &Services,
    root: Option<&Arc<Directory>>,
    threads: HttpThreads,
) -> Result<Tallies, Failure> {
    let mut tallies = Vec::new();
    for &(service, port) in &services.0 {
        let tally = Arc::new(Tally::default());
        let at = Context { net: net.clone(), root: root.cloned(), tally: tally.clone() };
        let at = Arc::new(at);
        let taken = |error: io::Error| {
            let (name, mend) = (service.name, mend(&error));
            Failure::refused(format!("cannot serve --{name} {port}: {error}: {mend}"))
        };
        match service.handler {
            _ if service.name == WEB && threads == HttpThreads::Own => {
                units::web(net, port, at)?;
            }
            Handler::Tcp(serve) => {
                let listener = net.listen(port).await.map_err(taken)?;
                tokio::spawn(accept(listener, serve, at));
            }
            Handler::Udp(serve) => {
                tokio::spawn(serve(net.bind(port).await.map_err(taken)?, at));
            }
        }
        tallies.push((service.name, port, tally));
    }
    Ok(tallies)
}

/// Serves each connection to its end.
async fn accept(
    listener: Listener,
    serve: fn(Stream, Arc<Context>) -> Ending,
    at: Arc<Context>,
) -> io::Result<()> {
    loop {
        let stream = match (&listener, listener.accept().await) {
            (_, Ok(stream)) => stream,
            (Listener::Stack(_), Err(error)) => return Err(error),
            (Listener::Kernel(_), Err(_)) => {
                // For want of descriptors, which others give back.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let at = at.clone();
        tokio::spawn(async move {
            if serve(stream, at.clone()).await.is_err() {
                Tally::add(&at.tally.errors, 1);
            }
        });
    }
}

/// The services that were asked for, with their ports: an option for each row.
#[derive(Clone, Debug, Default)]
pub struct Services(pub Vec<(&'static Service, u16)>);

impl Services {
    /// Is this one of them?
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(service, _)| service.name == name)
    }

    /// Two services that want the same port, and that port.
    pub fn clash(&self) -> Option<(&'static str, &'static str, u16)> {
        self.0.iter().enumerate().find_map(|(n, (service, port))| {
            let same = |(other, at): &&(&'static Service, u16)| {
                at == port && service.shares_ports_with(other)
            };
            self.0[..n].iter().find(same).map(|(other, _)| (other.name, service.name, *port))
        })
    }
}

impl clap::FromArgMatches for Services {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Services, clap::Error> {
        let asked =
            |service: &'static Service| Some((service, *matches.get_one::<u16>(service.name)?));
        Ok(Services(SERVICES.iter().filter_map(asked).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Services::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Services {
    fn augment_args(command: Command) -> Command {
        SERVICES.iter().fold(command, |command, service| {
            let port = value_parser!(u16).range(1..);
            let option = Arg::new(service.name).long(service.name).value_name("PORT");
            command.arg(option.help(service.help).help_heading("Services").value_parser(port))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Services::augment_args(command)
    }
}

#[cfg(test)]
mod tests;
