//! A web server in an experiment: requests at set times against a server on the stack under test.
//!
//! A server is an application: it needs sockets, which the lab has none of. So whoever runs an
//! experiment brings a [`WebServers`], and the lab brings the load ([`crate::http`]).

use crate::Error;
use crate::http::{Connect, Load, Schedule};
use organizations::Options;

/// Requests at set times against a web server.
#[derive(Clone, Debug)]
pub struct Web {
    /// The organization of the server's stack.
    pub organization: String,
    /// Its processors.
    pub processors: usize,
    /// What the organization leaves open.
    pub options: Options,
    /// Packets that a connection may send in its turn.
    pub burst: usize,
    /// Bytes of the largest IP datagram on the link.
    pub mtu: usize,
    /// Bytes of the page that is asked for.
    pub page: usize,
    /// The requests.
    pub load: Load,
}

/// The most bytes of a page.
const MOST_BYTES: usize = 16 << 20;

/// The page that servers have.
pub const PATH: &str = "/page";

/// Starts web servers.
pub trait WebServers {
    /// Starts the server of `web`, which has its page at [`PATH`]; lets `load` use the way to it; and
    /// ends it.
    ///
    /// # Errors
    /// A line that says what could not be had.
    fn serve(&self, web: &Web, load: &mut dyn FnMut(&Connect<'_>)) -> Result<(), String>;
}

/// For programs that have no web server.
#[derive(Clone, Copy, Debug)]
pub struct NoWebServers;

impl WebServers for NoWebServers {
    fn serve(&self, _: &Web, _: &mut dyn FnMut(&Connect<'_>)) -> Result<(), String> {
        Err("this program has no web server: use `anabranch lab`".to_owned())
    }
}

impl Web {
    /// Does it make sense?
    ///
    /// # Errors
    /// [`Error::Plan`], in one line.
    pub fn check(&self) -> Result<(), Error> {
        if self.page > MOST_BYTES {
            return Err(Error::Plan(format!("a page has at most {MOST_BYTES} bytes")));
        }
        self.load.check()
    }
}

/// The schedule that a level of `rate` says.
///
/// # Errors
/// A line that says how to write one.
pub(super) fn schedule(level: &super::level::Level) -> Result<Schedule, String> {
    let schedule = match level.number() {
        Some(rate) => Schedule::constant(rate),
        None => level.to_string().parse::<Schedule>()?,
    };
    schedule.check().map_err(|error| error.to_string())?;
    Ok(schedule)
}

#[cfg(test)]
mod tests;
