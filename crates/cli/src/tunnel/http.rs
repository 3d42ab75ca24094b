//! A client of HTTP proxies: connections by the method CONNECT (RFC 9110 9.3.6), with the
//! scheme Basic for who we are (RFC 7617).

use super::kernel::Kernel;
use super::proxy::{Login, Proxy, Target, bad};
use rustix::net::sockopt::set_tcp_nodelay;
use std::io::{self, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes of the longest head of an answer.
const LONGEST: usize = 16 * 1024;

/// Connects to `to` by way of `proxy`.
///
/// # Errors
/// What the system says of the proxy, or the proxy of `to`.
pub(super) async fn connect<K: Kernel>(proxy: &Proxy, to: &Target) -> io::Result<K::Stream> {
    let mut stream = K::connect(proxy.address).await?;
    set_tcp_nodelay(&stream, true)?;
    stream.write_all(request(to, proxy.login.as_ref()).as_bytes()).await?;
    let mut told = status(&head::<K>(&mut stream).await?);
    // What is said in between is not the answer (RFC 9110 15.2); for how long is bounded by time.
    while matches!(told, Some(100..=199)) {
        told = status(&head::<K>(&mut stream).await?);
    }
    match told {
        Some(200..=299) => Ok(stream),
        Some(code) => Err(refusal(code, proxy.login.is_some())),
        None => Err(bad("the proxy does not speak HTTP: if it speaks SOCKS5, give socks5://…")),
    }
}

fn request(to: &Target, login: Option<&Login>) -> String {
    let authorization = match login {
        Some(Login { user, password }) => {
            let credentials = base64(format!("{user}:{password}").as_bytes());
            format!("Proxy-Authorization: Basic {credentials}\r\n")
        }
        None => String::new(),
    };
    format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{authorization}\r\n")
}

/// The head of the answer, and no byte of what follows it, which is the other end's: what has
/// come is looked at before it is taken.
async fn head<K: Kernel>(stream: &mut K::Stream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut peeked = [0; 1024];
    loop {
        let n = K::peek(stream, &mut peeked).await?;
        if n == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let before = head.len();
        head.extend(&peeked[..n]);
        let end = head_len(&head);
        let took = end.unwrap_or(head.len()) - before;
        stream.read_exact(&mut peeked[..took]).await?;
        if let Some(end) = end {
            head.truncate(end);
            return Ok(head);
        }
        if head.len() > LONGEST {
            return Err(bad("the proxy's answer does not end"));
        }
    }
}

/// Bytes of the head that `bytes` start with, with the empty line that ends it.
fn head_len(bytes: &[u8]) -> Option<usize> {
    let at = |end: &[u8]| bytes.windows(end.len()).position(|w| w == end).map(|p| p + end.len());
    match (at(b"\r\n\r\n"), at(b"\n\n")) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The code in the status line (RFC 9112 4).
fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|b| *b == b'\n').next()?;
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    if rest.get(1) != Some(&b' ') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What the proxy says by `code` (RFC 9110 15), as the system would.
fn refusal(code: u16, with_login: bool) -> io::Error {
    let (kind, text) = match code {
        407 if with_login => {
            (ErrorKind::PermissionDenied, "the proxy does not accept user and password".into())
        }
        407 => (
            ErrorKind::PermissionDenied,
            "the proxy wants a user and a password: give http://user:password@…".into(),
        ),
        403 => (ErrorKind::PermissionDenied, "the proxy's rules do not allow it".into()),
        404 | 502 | 503 => {
            (ErrorKind::HostUnreachable, "the proxy finds the host unreachable".into())
        }
        504 => (ErrorKind::TimedOut, "the host does not answer the proxy".into()),
        405 | 501 => (ErrorKind::Unsupported, "the proxy does not know CONNECT".to_owned()),
        _ => (ErrorKind::Other, format!("the proxy answers {code}")),
    };
    io::Error::new(kind, text)
}

/// RFC 4648 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| char::from(DIGITS[(bits & 0x3f) as usize]);
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.extend([digit(bits >> 18), digit(bits >> 12)]);
        text.push(if three.len() > 1 { digit(bits >> 6) } else { '=' });
        text.push(if three.len() > 2 { digit(bits) } else { '=' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Pool;
    use super::*;

    #[test]
    fn base64_as_the_rfc_has_it() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn requests_name_the_target_and_who_asks() {
        let to = Target::from("[2001:db8::1]:443".parse::<std::net::SocketAddr>().unwrap());
        assert_eq!(
            request(&to, None),
            "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n"
        );
        let login = Login { user: "f".into(), password: "o".into() };
        let text = request(&Target::Name("example.org".into(), 80), Some(&login));
        assert!(text.starts_with("CONNECT example.org:80 HTTP/1.1\r\n"));
        assert!(text.ends_with("\r\nProxy-Authorization: Basic Zjpv\r\n\r\n"), "{text}");
    }

    #[test]
    fn heads_end_and_have_a_status() {
        assert_eq!(head_len(b"HTTP/1.1 200 OK\r\n\r\nx"), Some(19));
        assert_eq!(head_len(b"HTTP/1.0 200 OK\n\nx\r\n\r\n"), Some(17));
        assert_eq!(head_len(b"HTTP/1.1 200 OK\r\n"), None);
        assert_eq!(status(b"HTTP/1.0 407 Who?\r\n\r\n"), Some(407));
        assert_eq!(status(b"HTTP/1.1 200\r\n\r\n"), Some(200));
        for wrong in [&b""[..], b"SSH-2.0-x\n\n", b"HTTP/1.1", b"HTTP/1.1 2x0 OK", b"HTTP/1.1200"] {
            assert_eq!(status(wrong), None);
        }
    }

    /// What `connect` comes to with a proxy that answers this, in pieces of so many bytes; and
    /// what comes behind the head.
    fn answered(answer: &'static str, piece: usize) -> io::Result<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.expect("accept");
                stream.set_nodelay(true).expect("set");
                let mut asked = [0; 4096];
                let n = stream.read(&mut asked).await.expect("read");
                assert!(asked[..n].starts_with(b"CONNECT 192.0.2.1:80 HTTP/1.1\r\n"));
                for piece in answer.as_bytes().chunks(piece) {
                    stream.write_all(piece).await.expect("write");
                    tokio::task::yield_now().await;
                }
            });
            let proxy: Proxy = format!("http://{address}").parse().expect("a proxy");
            let to = Target::from("192.0.2.1:80".parse::<std::net::SocketAddr>().unwrap());
            let mut stream = connect::<Pool>(&proxy, &to).await?;
            let mut rest = String::new();
            stream.read_to_string(&mut rest).await?;
            Ok(rest)
        })
    }

    #[test]
    fn what_follows_the_answer_is_the_other_ends() {
        for piece in [1, 7, 1000] {
            for before in ["", "HTTP/1.1 102 Processing\r\nVia: x\r\n\r\nHTTP/1.1 100\n\n"] {
                let fine = "HTTP/1.1 200 Fine\r\nVia: x\r\n\r\nfirst words";
                let answer: &'static str = Box::leak(format!("{before}{fine}").into_boxed_str());
                assert_eq!(answered(answer, piece).expect("connected"), "first words");
            }
        }
        for (answer, kind) in [
            ("HTTP/1.1 407 Who?\r\n\r\n", ErrorKind::PermissionDenied),
            ("HTTP/1.1 502 No\r\n\r\n", ErrorKind::HostUnreachable),
            ("HTTP/1.1 200 Fine\r\n", ErrorKind::UnexpectedEof),
            ("HTTP/1.1 100 Go on\r\n\r\n", ErrorKind::UnexpectedEof),
            ("", ErrorKind::UnexpectedEof),
            ("nonsense\r\n\r\n", ErrorKind::InvalidData),
        ] {
            assert_eq!(answered(answer, 1000).expect_err(answer).kind(), kind, "{answer}");
        }
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let long: &'static str = Box::leak("HTTP/1.1 200 OK\r\n".repeat(2000).into_boxed_str());
        assert_eq!(answered(long, 100_000).expect_err("no end").kind(), ErrorKind::InvalidData);
    }
}
