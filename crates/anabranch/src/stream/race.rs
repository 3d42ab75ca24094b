//! [`Race`]: a connection to the first of several addresses that answers (Happy Eyeballs,
//! RFC 8305), and [`sorted`]: in which order they are tried (RFC 6724 6, in short).

use super::shared::Shared;
use crate::names::Candidates;
use crate::options::TcpOptions;
use crate::stack::Stack;
use crate::wait::block_on;
use net::Config;
use net::ip::Routes;
use platform::Instant;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use wire::{Address, Endpoint};

/// How long an attempt has before the next one begins beside it (RFC 8305 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Attempts to reach one of several addresses.
pub(crate) struct Race {
    stack: Stack,
    local: Option<SocketAddr>,
    options: Option<Arc<TcpOptions>>,
    rest: VecDeque<Endpoint>,
    by_name: bool,
    running: Vec<Arc<Shared>>,
    /// When the next one begins, whatever becomes of those that run.
    next: Option<Instant>,
    last: Option<io::Error>,
}

impl Race {
    pub(crate) fn new(
        stack: &Stack,
        local: Option<SocketAddr>,
        options: Option<Arc<TcpOptions>>,
        candidates: Candidates,
    ) -> Race {
        let Candidates { endpoints, by_name } = candidates;
        let endpoints = match by_name {
            true => sorted(endpoints, &stack.config()),
            false => endpoints,
        };
        let (stack, rest) = (stack.clone(), endpoints.into());
        let (running, next, last) = (Vec::new(), None, None);
        Race { stack, local, options, rest, by_name, running, next, last }
    }

    /// Runs it on this thread.
    pub(crate) fn run(mut self) -> io::Result<Arc<Shared>> {
        loop {
            let more = self.by_name && !self.rest.is_empty();
            let left = self.next.map(|at| at.saturating_duration_since(Instant::now()));
            // Before the first attempt that is not known.
            let pause = more.then(|| left.unwrap_or(HEAD_START).max(Duration::from_millis(1)));
            match block_on(pause, |cx| self.poll(cx)) {
                Err(error) if more && error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }

    /// Runs it in a task.
    pub(crate) async fn run_in_task(mut self) -> io::Result<Arc<Shared>> {
        let alarms = self.stack.resolver().alarms().clone();
        std::future::poll_fn(|cx| {
            let polled = self.poll(cx);
            if polled.is_pending()
                && let Some(at) = self.next
            {
                alarms.wake_at(at, cx.waker());
            }
            polled
        })
        .await
    }

    /// The connection that was first; those that still try are given up.
    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<io::Result<Arc<Shared>>> {
        loop {
            let mut at = 0;
            while let Some(attempt) = self.running.get(at) {
                match attempt.socket.poll_connected(cx) {
                    Poll::Pending => at += 1,
                    Poll::Ready(Ok(())) => return Poll::Ready(Ok(self.running.swap_remove(at))),
                    Poll::Ready(Err(error)) => {
                        self.last = Some(error);
                        drop(self.running.remove(at));
                        // The next one begins at once.
                        self.next = None;
                    }
                }
            }
            let waits = !self.running.is_empty()
                && (!self.by_name || self.next.is_some_and(|at| Instant::now() < at));
            if waits {
                return Poll::Pending;
            }
            let Some(remote) = self.rest.pop_front() else {
                self.next = None;
                return match self.running.is_empty() {
                    false => Poll::Pending,
                    true => {
                        let last = self.last.take();
                        Poll::Ready(Err(last.unwrap_or_else(|| io::ErrorKind::InvalidInput.into())))
                    }
                };
            };
            match Shared::connect(&self.stack, self.local, remote, self.options.clone()) {
                Ok(attempt) => self.running.push(attempt),
                Err(error) => self.last = Some(error),
            }
            let has_more = self.by_name && !self.rest.is_empty() && !self.running.is_empty();
            self.next = has_more.then(|| Instant::now() + HEAD_START);
        }
    }
}

/// The addresses of a name in the order in which they are tried: those that can be reached
/// first, the rest as RFC 6724 6 orders them, and the two families in turns (RFC 8305 4).
pub(crate) fn sorted(endpoints: Vec<Endpoint>, config: &Arc<Config>) -> Vec<Endpoint> {
    // RFC 6724 6/10
    let mut routes = Routes::new(config);
    let mut ranked: Vec<_> = endpoints
        .into_iter()
        .map(|end| (rank(end.address, routes.lookup(end.address).map(|r| r.source)), end))
        .collect();
    // Equal ones stay as the name's server had them.
    ranked.sort_by_key(|(rank, _)| *rank);
    let Some(first) = ranked.first().map(|(_, end)| end.address.is_v4()) else { return Vec::new() };
    let (lost, reached): (Vec<_>, Vec<_>) = ranked.into_iter().partition(|(rank, _)| rank.0);
    let (preferred, other): (VecDeque<_>, VecDeque<_>) =
        reached.into_iter().partition(|(_, end)| end.address.is_v4() == first);
    let (mut preferred, mut other) = (preferred, other);
    let mut all = Vec::new();
    while !(preferred.is_empty() && other.is_empty()) {
        all.extend(preferred.pop_front().map(|(_, end)| end));
        all.extend(other.pop_front().map(|(_, end)| end));
    }
    all.extend(lost.into_iter().map(|(_, end)| end));
    all
}

/// What the rules of RFC 6724 6 compare, the better the less: 1 (can it be reached), 2 (is the
/// scope that of our address), 5 (the label), 6 (precedence), 8 (the scope), 9 (bits in common).
type Rank = (bool, bool, bool, u8, u8, u32);

fn rank(destination: Address, source: Option<Address>) -> Rank {
    // RFC 6724 6/1, 6/2, 6/5, 6/6, 6/8, 6/9
    let (precedence, label) = policy(destination);
    let reached = source.filter(|source| !source.is_unspecified());
    let Some(source) = reached else {
        return (true, true, true, 100 - precedence, scope(destination), 0);
    };
    let common = match destination.is_v4() {
        true => 0,
        false => 128 - destination.common_prefix(source).min(64),
    };
    let other_scope = scope(source) != scope(destination);
    let other_label = policy(source).1 != label;
    (false, other_scope, other_label, 100 - precedence, scope(destination), common)
}

/// Precedence and label (RFC 6724 2.1).
fn policy(address: Address) -> (u8, u8) {
    // RFC 6724 2.1/1
    let Some(v6) = address.v6() else { return (35, 4) };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => (50, 0),
        [0x2002, ..] => (30, 2),
        [0x2001, 0, ..] => (5, 5),
        [0xfc00..=0xfdff, ..] => (3, 13),
        [0xfec0..=0xfeff, ..] => (1, 11),
        [0x3ffe, ..] => (1, 12),
        _ => (40, 1),
    }
}

/// 2: of the link; 14: of the world (RFC 6724 3.1, 3.2).
fn scope(address: Address) -> u8 {
    let of_link = match address.v4() {
        Some(v4) => v4.is_loopback() || v4.is_link_local(),
        None => address.is_loopback() || address.is_link_local_v6(),
    };
    if of_link { 2 } else { 14 }
}

#[cfg(test)]
mod tests;
