//! Answers to questions for names (`--dns`). A name gets addresses that nobody's hosts have;
//! who connects to one of them is carried to the name, which the proxy resolves.

mod message;
mod names;

use super::kernel::Kernel;
use super::proxy::Target;
use super::scratch;
use anabranch::netstack::{TcpSession, UdpSession};
use message::{Code, Kind, Question, Unasked};
use names::Names;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The port of DNS.
pub const PORT: u16 = 53;
/// Bytes of the longest question.
const LONGEST: usize = 4096;
/// How long a session for questions stays after the last one. Each question comes from a port
/// of its own, and sessions are bounded.
const LINGER: Duration = Duration::from_secs(1);
/// How long a connection for questions may be silent (RFC 7766 6.2.3).
const IDLE: Duration = Duration::from_secs(10);

/// The names that were asked for.
#[derive(Debug)]
pub struct Dns(Mutex<Names>);

impl Default for Dns {
    fn default() -> Dns {
        Dns(Mutex::new(Names::new(names::MOST)))
    }
}

impl Dns {
    fn names(&self) -> std::sync::MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where `to` leads: to the name that it stands for.
    ///
    /// # Errors
    /// `AddrNotAvailable` if it stands for none any more.
    pub fn target(&self, to: SocketAddr) -> io::Result<Target> {
        if !names::is_fake(to.ip()) {
            return Ok(to.into());
        }
        match self.names().name(to.ip()) {
            Some(name) => Ok(Target::Name(name, to.port())),
            None => Err(io::Error::new(
                io::ErrorKind::AddrNotAvailable,
                format!("{} stands for no name any more: ask for it again", to.ip()),
            )),
        }
    }

    /// The answer to what is asked in `bytes`, if it is to have one.
    fn answer(&self, bytes: &[u8], now: Instant) -> Option<Vec<u8>> {
        let question = match Question::parse(bytes) {
            Ok(question) => question,
            Err(Unasked::Silence) => return None,
            Err(Unasked::Answer(answer)) => return Some(answer),
        };
        let address = match question.kind {
            Kind::Other => return Some(question.answer(Code::Refused, &[], 0)),
            Kind::Service => return Some(question.answer(Code::Fine, &[], 0)),
            Kind::A | Kind::Aaaa => self.names().addresses(&question.name, now),
        };
        Some(match (address, question.kind) {
            (None, _) => question.answer(Code::Failed, &[], 0),
            (Some((_, v6)), Kind::Aaaa) => question.answer(Code::Fine, &[v6.into()], names::TTL),
            (Some((v4, _)), _) => question.answer(Code::Fine, &[v4.into()], names::TTL),
        })
    }

    /// Answers the questions of a session, until there are no more for a moment.
    pub async fn serve_session<K: Kernel>(&self, session: UdpSession) {
        loop {
            let answer =
                |bytes: &[u8]| self.answer(bytes.get(..LONGEST).unwrap_or(bytes), Instant::now());
            let asked = poll_fn(|cx| scratch::filled(|buf| session.poll_recv(cx, buf), answer));
            let Some(Ok(answer)) = K::within(LINGER, asked).await else { return };
            if let Some(answer) = answer
                && session.send(&answer).await.is_err()
            {
                return;
            }
        }
    }

    /// Answers the questions of a connection: each has its length before it (RFC 1035 4.2.2).
    pub async fn serve_connection<K: Kernel>(&self, mut stream: TcpSession) {
        let mut bytes = vec![0; LONGEST];
        let question = async |stream: &mut TcpSession, bytes: &mut [u8]| -> io::Result<usize> {
            let len = usize::from(stream.read_u16().await?);
            let bytes = bytes.get_mut(..len).ok_or(io::ErrorKind::InvalidData)?;
            stream.read_exact(bytes).await
        };
        loop {
            let asked = K::within(IDLE, question(&mut stream, &mut bytes)).await;
            let Some(Ok(n)) = asked else { return };
            let Some(answer) = self.answer(&bytes[..n], Instant::now()) else { return };
            let framed = [&(answer.len() as u16).to_be_bytes()[..], &answer].concat();
            // Who asks and does not read is no better than who is silent.
            let wrote = K::within(IDLE, stream.write_all(&framed)).await;
            if !matches!(wrote, Some(Ok(()))) {
                return;
            }
        }
    }
}
