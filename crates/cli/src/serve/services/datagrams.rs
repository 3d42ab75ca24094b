//! UDP echo, and `dial`: a datagram makes the stack connect somewhere.

use super::net::Datagrams;
use super::streams::{self, Stream};
use super::{Context, Net};
use crate::tally::Tally;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;

/// Bytes of the largest datagram.
const LARGEST: usize = 65536;
/// Connections that `dial` has at a time; more are refused with EAGAIN.
const MOST_DIALED: usize = 4096;
/// What `dial` writes first.
const HELLO: &[u8] = b"hello\n";
/// Ports of services that answer whatever they are sent: echo, daytime, quote of the day, character generator, time
/// (RFC 862, 867, 865, 864, 868).
const ANSWERERS: [u16; 5] = [7, 13, 17, 19, 37];

/// May what comes from this port be answered on our `own`? A service that answers whatever it is sent, as echo on
/// another host, would be answered for ever; and one datagram, whose sender anybody can make up, is enough to have two
/// of them begin.
fn is_answered(from: SocketAddr, own: u16) -> bool {
    from.port() != own && !ANSWERERS.contains(&from.port())
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
/// `ok PORT`, writes `hello\n` and echoes; on failure, and if that is this host, it answers `err PORT NAME`. What comes
/// from other services, or is such an answer itself, it does not answer.
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
    let connected = net.connect(&host, port).await.and_then(|stream| match stream.is_to_itself() {
        // One of our services and we would answer each other for ever.
        true => Err(io::ErrorKind::InvalidInput.into()),
        false => Ok(stream),
    });
    let stream = match connected {
        Ok(stream) => stream,
        Err(error) => {
            let answer = format!("err {port} {}", errno_name(&error));
            socket.send_to(answer.as_bytes(), from).await?;
            return Err(error);
        }
    };
    socket.send_to(format!("ok {port}").as_bytes(), from).await?;
    converse(stream, tally).await
}

/// Says [`HELLO`], and echoes; but ends if that comes back: two that echo would go on for ever.
async fn converse(mut stream: impl Stream, tally: &Tally) -> io::Result<()> {
    stream.write_all(HELLO).await?;
    let mut left = HELLO;
    while !left.is_empty() {
        let mut bytes = [0; HELLO.len()];
        let n = stream.read(&mut bytes[..left.len()]).await?;
        Tally::add(&tally.bytes_in, n);
        let bytes = &bytes[..n];
        left = match left.strip_prefix(bytes) {
            Some([]) => return stream.shutdown().await,
            _ if n == 0 => return stream.shutdown().await,
            Some(rest) => rest,
            None => &[],
        };
        stream.write_all(bytes).await?;
        Tally::add(&tally.bytes_out, n);
    }
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
    use std::time::Duration;
    use tokio::io::{DuplexStream, duplex};

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

    /// What `peer` makes of a connection of `dial`, and whether that ends after it.
    fn converses(peer: impl AsyncFnOnce(DuplexStream)) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let (ours, theirs) = duplex(1000);
            let tally = Tally::default();
            let both = async { tokio::join!(converse(ours, &tally), peer(theirs)).0 };
            let ended = tokio::time::timeout(Duration::from_secs(60), both).await;
            ended.expect("it ends").expect("no error");
        });
    }

    /// Before, an echo at the other end and this one went on for ever.
    #[test]
    fn two_that_echo_end() {
        converses(async |mut peer| {
            let mut bytes = [0; 100];
            for _ in 0..10 {
                match peer.read(&mut bytes).await.expect("no error") {
                    0 => return,
                    n => peer.write_all(&bytes[..n]).await.expect("written"),
                }
            }
            panic!("they go on");
        });
        // So they do if it comes byte by byte.
        converses(async |mut peer| {
            for _ in 0..HELLO.len() {
                let byte = peer.read_u8().await.expect("a byte");
                peer.write_u8(byte).await.expect("written");
            }
            peer.read_to_end(&mut Vec::new()).await.expect("an end");
        });
    }

    #[test]
    fn what_is_no_echo_is_echoed() {
        for said in ["again", "\n", "hello", "help", "hello!", "x hello\n"] {
            converses(async |mut peer| {
                peer.read_exact(&mut [0; HELLO.len()]).await.expect("hello");
                peer.write_all(said.as_bytes()).await.expect("written");
                peer.shutdown().await.expect("shut");
                let mut back = String::new();
                peer.read_to_string(&mut back).await.expect("an end");
                assert_eq!(back, said);
            });
        }
    }

    #[test]
    fn names_of_errors() {
        assert_eq!(errno_name(&io::ErrorKind::ConnectionRefused.into()), "ECONNREFUSED");
        assert_eq!(errno_name(&io::Error::from_raw_os_error(113)), "EHOSTUNREACH");
        assert_eq!(errno_name(&io::Error::other("x")), "EIO");
    }
}
