//! UDP echo, and `dial`: a datagram makes the stack connect somewhere.

use super::net::Datagrams;
use super::{Context, Net, streams};
use crate::tally::Tally;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

/// Bytes of the largest datagram.
const LARGEST: usize = 65536;
/// Connections that `dial` has at a time; more are refused with EAGAIN.
const MOST_DIALED: usize = 4096;
/// Ports below are those of services, and not of who asks them.
const RESERVED: u16 = 1024;

/// May what comes from this port be answered on our `own`? A service that answers whatever it is sent, as echo on
/// another host, would be answered for ever; and one datagram, whose sender anybody can make up, is enough to have two
/// of them begin.
fn is_answered(from: SocketAddr, own: u16) -> bool {
    from.port() >= RESERVED && from.port() != own
}

/// Is it what `dial` answers? That is not answered, for the same reason.
fn is_answer(datagram: &[u8]) -> bool {
    datagram.starts_with(b"ok ") || datagram.starts_with(b"err ")
}

/// Sends each datagram back (RFC 862), but for those of other services.
///
/// # Errors
/// When the socket is gone.
pub async fn echo(socket: Datagrams, at: &Context) -> io::Result<()> {
    let (tally, own) = (&at.tally, socket.port()?);
    let mut buffer = vec![0; LARGEST];
    loop {
        let (n, from) = socket.recv_from(&mut buffer).await?;
        Tally::add(&tally.served, 1);
        Tally::add(&tally.bytes_in, n);
        if !is_answered(from, own) {
            Tally::add(&tally.errors, 1);
            continue;
        }
        match socket.send_to(&buffer[..n], from).await {
            Ok(n) => Tally::add(&tally.bytes_out, n),
            Err(_) => Tally::add(&tally.errors, 1),
        }
    }
}

/// Takes datagrams `HOST PORT`, an address or a name, and connects there: once connected it answers
/// `ok PORT`, writes `hello\n` and echoes; on failure it answers `err PORT NAME`. What comes from other services, or is
/// such an answer itself, it does not answer.
///
/// # Errors
/// When the socket is gone.
pub async fn dial(socket: Datagrams, at: &Context) -> io::Result<()> {
    let Context { net, tally, .. } = at;
    let (own, socket) = (socket.port()?, Arc::new(socket));
    let free = Arc::new(Semaphore::new(MOST_DIALED));
    let mut buffer = vec![0; LARGEST];
    loop {
        let (n, from) = socket.recv_from(&mut buffer).await?;
        Tally::add(&tally.served, 1);
        if !is_answered(from, own) || is_answer(&buffer[..n]) {
            Tally::add(&tally.errors, 1);
            continue;
        }
        let answer = match (parse(&buffer[..n]), free.clone().try_acquire_owned()) {
            (None, _) => "err 0 EINVAL".into(),
            (Some((_, port)), Err(_)) => format!("err {port} EAGAIN"),
            (Some(target), Ok(permit)) => {
                let (net, socket, tally) = (net.clone(), socket.clone(), tally.clone());
                tokio::spawn(async move {
                    if connect(&net, target, &socket, from, &tally).await.is_err() {
                        Tally::add(&tally.errors, 1);
                    }
                    drop(permit);
                });
                continue;
            }
        };
        Tally::add(&tally.errors, 1);
        let _ = socket.send_to(answer.as_bytes(), from).await;
    }
}

/// A host, and its port.
type Target = (String, u16);

fn parse(datagram: &[u8]) -> Option<Target> {
    let mut words = std::str::from_utf8(datagram).ok()?.split_ascii_whitespace();
    let (host, port) = (words.next()?, words.next()?.parse().ok()?);
    let is_host = host.parse::<IpAddr>().is_ok() || is_name(host);
    (is_host && words.next().is_none()).then(|| (host.to_owned(), port))
}

/// Can it be a host's name (RFC 1123 2.1)? One with digits only is an address that is wrong.
fn is_name(text: &str) -> bool {
    let can = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    text.len() <= 253 && text.chars().all(can) && text.contains(|c: char| c.is_ascii_alphabetic())
}

async fn connect(
    net: &Net,
    target: Target,
    socket: &Datagrams,
    from: SocketAddr,
    tally: &Tally,
) -> io::Result<()> {
    let (host, port) = target;
    let mut stream = match net.connect(&host, port).await {
        Ok(stream) => stream,
        Err(error) => {
            let answer = format!("err {port} {}", errno_name(&error));
            socket.send_to(answer.as_bytes(), from).await?;
            return Err(error);
        }
    };
    socket.send_to(format!("ok {port}").as_bytes(), from).await?;
    stream.write_all(b"hello\n").await?;
    streams::echo(stream, tally).await
}

/// The name that `errno.h` has for an error.
fn errno_name(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
        io::ErrorKind::ConnectionReset => "ECONNRESET",
        io::ErrorKind::ConnectionAborted => "ECONNABORTED",
        io::ErrorKind::TimedOut => "ETIMEDOUT",
        io::ErrorKind::HostUnreachable => "EHOSTUNREACH",
        io::ErrorKind::NetworkUnreachable => "ENETUNREACH",
        io::ErrorKind::NetworkDown => "ENETDOWN",
        io::ErrorKind::AddrInUse => "EADDRINUSE",
        io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::BrokenPipe => "EPIPE",
        io::ErrorKind::NotConnected => "ENOTCONN",
        io::ErrorKind::WouldBlock => "EAGAIN",
        io::ErrorKind::InvalidInput => "EINVAL",
        io::ErrorKind::NotFound => "ENOENT",
        io::ErrorKind::OutOfMemory => "ENOMEM",
        _ => "EIO",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let target = Some(("10.99.0.1".to_owned(), 80));
        assert_eq!(parse(b"10.99.0.1 80"), target);
        assert_eq!(parse(b" 10.99.0.1\t80 \r\n"), target);
        for good in ["fd99::1 80", "host 80", "a.example 80", "10.99.0.1a 80"] {
            assert!(parse(good.as_bytes()).is_some(), "{good}");
        }
        for bad in ["", "10.99.0.1", "10.99.0.1 80 1", "10.99.0.1 65536", "a_b 80", "1 2"] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse(b"\xff"), None);
    }

    #[test]
    fn names_of_errors() {
        assert_eq!(errno_name(&io::ErrorKind::ConnectionRefused.into()), "ECONNREFUSED");
        assert_eq!(errno_name(&io::Error::from_raw_os_error(113)), "EHOSTUNREACH");
        assert_eq!(errno_name(&io::Error::other("x")), "EIO");
    }
}
