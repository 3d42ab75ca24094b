//! [`FastOpen`]: what all units of a host share of Fast Open (RFC 7413): whether it is used, and
//! what is known of servers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tcp::FastOpenServer;
use wire::tcp::FastOpen as Cookie;
use wire::time::Duration;
use wire::{Address, FlowKey, Instant};

/// Servers that are known at most; then the one that was asked for least lately goes.
const MOST: usize = 1024;
/// After the second SYN in a row that was lost with the option, it is not sent for twice this
/// long, and twice that after the next.
const PAUSE: Duration = Duration::from_secs(60);
/// How often that doubles.
const DOUBLES: u32 = 10;

/// What the answer to a SYN with the option says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) cookie: Option<Cookie>,
    /// Bytes of payload and options that the server takes in a segment.
    pub(crate) mss: u16,
    /// It has come, as the option has: no other SYN was sent, or what it took along is acknowledged.
    pub(crate) arrived: bool,
    /// What it took along is not.
    pub(crate) refused: bool,
}

/// Our address and a server's: a cookie is of both (RFC 7413 4.1.3), and so is a path. The port is
/// none of it, as on Linux.
type Path = (Address, Address);

fn path(flow: &FlowKey) -> Path {
    (flow.local.address, flow.remote.address)
}

/// What is known of a server.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cookie: Option<Cookie>,
    mss: u16,
    /// SYNs with the option that were lost in a row.
    losses: u32,
    /// Until then it is not sent.
    deaf_until: Instant,
    /// When it was asked for last, as a number that grows.
    used: u64,
}

#[derive(Debug, Default)]
struct Servers {
    entries: HashMap<Path, Entry>,
    uses: u64,
}

impl Servers {
    fn entry(&mut self, server: Path) -> &mut Entry {
        self.uses += 1;
        if !self.entries.contains_key(&server) && self.entries.len() >= MOST {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let oldest = oldest.map(|(path, _)| *path);
            oldest.map(|path| self.entries.remove(&path));
        }
        let new = Entry { cookie: None, mss: 0, losses: 0, deaf_until: Instant::ZERO, used: 0 };
        let entry = self.entries.entry(server).or_insert(new);
        entry.used = self.uses;
        entry
    }
}

/// What all units of a host share of Fast Open.
#[derive(Debug, Default)]
pub struct FastOpen {
    used: AtomicBool,
    servers: Mutex<Servers>,
}

impl FastOpen {
    /// Somebody uses it from now on. Before that, options of SYNs are not looked at.
    pub fn turn_on(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the server of `flow`.
    pub(crate) fn server(&self, flow: &FlowKey, now: Instant) -> FastOpenServer {
        // RFC 7413 4.1.3/1, 4.1.3/3
        let (server, mut servers) = (path(flow), self.servers());
        if !servers.entries.contains_key(&server) {
            return FastOpenServer::Unknown;
        }
        let entry = servers.entry(server);
        match entry.cookie {
            _ if now < entry.deaf_until => FastOpenServer::Deaf,
            Some(cookie) => FastOpenServer::Known(cookie, entry.mss),
            None => FastOpenServer::Unknown,
        }
    }

    /// The server of `flow` has answered our SYN.
    pub(crate) fn answered(&self, flow: &FlowKey, answer: Answer) {
        // RFC 7413 4.1.3/1
        let Answer { cookie, mss, arrived, refused } = answer;
        let cookie = cookie.filter(|cookie| !cookie.is_request());
        let (server, mut servers) = (path(flow), self.servers());
        if cookie.is_none() && !servers.entries.contains_key(&server) {
            return;
        }
        let entry = servers.entry(server);
        entry.mss = mss;
        if cookie.is_some() || refused {
            entry.cookie = cookie;
        }
        // Nobody gives a cookie who has not seen the option.
        if arrived || cookie.is_some() {
            (entry.losses, entry.deaf_until) = (0, Instant::ZERO);
        }
    }

    /// A SYN of `flow` with the option got no answer.
    pub(crate) fn lost(&self, flow: &FlowKey, now: Instant) {
        // RFC 7413 4.1.3/3
        let mut servers = self.servers();
        let entry = servers.entry(path(flow));
        entry.losses = entry.losses.saturating_add(1);
        if entry.losses > 1 {
            entry.deaf_until = now + PAUSE * (1 << (entry.losses - 1).min(DOUBLES));
        }
    }
}

#[cfg(test)]
mod tests;
