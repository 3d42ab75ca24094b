//! The client of the loads of short questions: sockets that take turns by edges of epoll, with
//! two calls of the system for a question and its answer (beside the wait, which many share, and
//! what it takes to open a connection), so that the client is the limit as late as may be.

use crate::client::{MEASURED, SIZE, WARM, busy};
use crate::services::ECHO;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// What the sockets are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Question after question on one connection.
    Echo,
    /// A connection for each question.
    Connect,
    /// Datagrams, one at a time.
    Udp,
}

/// Whoever has had no answer between two looks, so long apart, has lost its datagram.
const PATIENCE: Duration = Duration::from_millis(200);

/// A socket, and what it has of its answer.
struct Asker {
    socket: OwnedFd,
    asked: bool,
    /// Bytes of the answer that have come.
    got: usize,
    answers: u64,
    /// Of these, what there was when somebody last looked.
    seen: u64,
}

/// All sockets of a load.
struct Askers {
    kind: Kind,
    to: SocketAddr,
    poll: OwnedFd,
    askers: Vec<Asker>,
    done: u64,
}

impl Askers {
    fn new(kind: Kind, to: SocketAddr, count: usize) -> std::io::Result<Askers> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut all = Askers { kind, to, poll, askers: Vec::with_capacity(count), done: 0 };
        for at in 0..count {
            let asker = all.open(at)?;
            all.askers.push(asker);
        }
        Ok(all)
    }

    /// A socket whose events are those of `at`. It has asked if it could at once.
    fn open(&self, at: usize) -> std::io::Result<Asker> {
        let (socket, mut events): (OwnedFd, _) = match self.kind {
            Kind::Echo => {
                let stream = TcpStream::connect_timeout(&self.to, Duration::from_secs(3))?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                (stream.into(), epoll::EventFlags::IN)
            }
            Kind::Connect => (self.connecting()?, epoll::EventFlags::IN | epoll::EventFlags::OUT),
            Kind::Udp => {
                let any = if self.to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(self.to)?;
                socket.set_nonblocking(true)?;
                (socket.into(), epoll::EventFlags::IN)
            }
        };
        events |= epoll::EventFlags::ET;
        epoll::add(&self.poll, &socket, epoll::EventData::new_u64(at as u64), events)?;
        let mut asker = Asker { socket, asked: false, got: 0, answers: 0, seen: 0 };
        if self.kind != Kind::Connect {
            asker.ask()?;
        }
        Ok(asker)
    }

    /// A connection that is on its way.
    fn connecting(&self) -> Result<OwnedFd, Errno> {
        let family = if self.to.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &self.to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    }

    /// Something happened to the socket of `at`.
    fn turn(&mut self, at: usize) -> std::io::Result<()> {
        let asker = &mut self.askers[at];
        if !asker.asked {
            // It is connected; if it could not be, this says why.
            return Ok(asker.ask()?);
        }
        match recv(&asker.socket, &mut [0; SIZE], RecvFlags::empty()) {
            Ok((0, _)) => return Err(Errno::CONNRESET.into()),
            Ok((n, _)) => asker.got += n,
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if asker.got < SIZE {
            return Ok(());
        }
        asker.answers += 1;
        self.done += 1;
        if self.kind == Kind::Connect {
            self.askers[at] = self.open(at)?;
            return Ok(());
        }
        Ok(asker.ask()?)
    }

    /// Takes turns until `end`.
    fn run(&mut self, end: Instant) -> std::io::Result<()> {
        let mut events = Vec::with_capacity(256);
        let mut look = Instant::now() + PATIENCE;
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(());
            }
            if now >= look {
                look = now + PATIENCE;
                self.begin_anew_where_lost()?;
            }
            events.clear();
            let wait = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), Some(&wait))
            {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let at = event.data.u64() as usize;
                if let Err(error) = self.turn(at) {
                    eprintln!("{error}");
                    // A connection that was to last is missed, so the sample counts for nothing.
                    if self.kind == Kind::Echo {
                        return Err(error);
                    }
                    self.askers[at] = self.open(at)?;
                }
            }
        }
    }

    /// Opens another socket in place of each that had no answer since the last look.
    fn begin_anew_where_lost(&mut self) -> std::io::Result<()> {
        for at in 0..self.askers.len() {
            let asker = &mut self.askers[at];
            let lost = std::mem::replace(&mut asker.seen, asker.answers) == asker.answers;
            if lost && self.kind == Kind::Udp {
                self.askers[at] = self.open(at)?;
            }
        }
        Ok(())
    }
}

impl Asker {
    fn ask(&mut self) -> Result<(), Errno> {
        (self.asked, self.got) = (true, 0);
        send(&self.socket, &[b'q'; SIZE], SendFlags::NOSIGNAL).map(|_| ())
    }
}

/// What `count` of a load did in a second, and this thread's share of a processor; `None` if the load
/// is not of this sort.
pub fn measured(load: &str, stack: &str, count: usize) -> Option<std::io::Result<(f64, f64)>> {
    let kind = match load {
        "echo" => Kind::Echo,
        "connect" => Kind::Connect,
        "udp" => Kind::Udp,
        _ => return None,
    };
    let measure = || {
        let to = SocketAddr::new(stack.parse().map_err(std::io::Error::other)?, ECHO);
        let mut askers = Askers::new(kind, to, count)?;
        askers.run(Instant::now() + WARM)?;
        let (start, before, had) = (Instant::now(), askers.done, busy());
        askers.run(start + MEASURED)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(((askers.done - before) as f64 / seconds, (busy() - had).as_secs_f64() / seconds))
    };
    Some(measure())
}
