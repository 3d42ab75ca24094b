//! A client of SOCKS5 (RFC 1928): connections and datagrams by way of a proxy.

use super::kernel::Kernel;
use super::proxy::{Login, Proxy, Target, bad};
use super::scratch;
use rustix::net::sockopt::set_tcp_nodelay;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const VERSION: u8 = 5;
/// The system's error for a datagram that is too long.
const MSGSIZE: i32 = rustix::io::Errno::MSGSIZE.raw_os_error();
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const CONNECT: u8 = 1;
const ASSOCIATE: u8 = 3;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
/// Bytes of the longest header of a datagram, with a name in it (RFC 1928 7).
const DATAGRAM_HEADER: usize = 3 + 1 + 256 + 2;

/// What the proxy says by `code` (RFC 1928 6), as the system would.
fn refusal(code: u8) -> io::Error {
    let (kind, text) = match code {
        2 => (ErrorKind::PermissionDenied, "the proxy's rules do not allow it"),
        3 => (ErrorKind::NetworkUnreachable, "the proxy finds the network unreachable"),
        4 => (ErrorKind::HostUnreachable, "the proxy finds the host unreachable"),
        5 => (ErrorKind::ConnectionRefused, "the host refused the proxy"),
        6 => (ErrorKind::HostUnreachable, "the proxy finds the way to the host too long"),
        7 => (ErrorKind::Unsupported, "the proxy does not know this command"),
        8 => (ErrorKind::Unsupported, "the proxy does not know this kind of address"),
        _ => (ErrorKind::Other, "the proxy failed"),
    };
    io::Error::new(kind, text)
}

/// Appends `to` as SOCKS has addresses and names.
fn put_target(to: &Target, into: &mut Vec<u8>) {
    let port = match to {
        Target::Address(SocketAddr::V4(to)) => {
            into.push(IPV4);
            into.extend(to.ip().octets());
            to.port()
        }
        Target::Address(SocketAddr::V6(to)) => {
            into.push(IPV6);
            into.extend(to.ip().octets());
            to.port()
        }
        Target::Name(name, port) => {
            // A name of DNS has 253 bytes at most.
            into.extend([NAME, name.len() as u8]);
            into.extend(name.bytes());
            *port
        }
    };
    into.extend(port.to_be_bytes());
}

/// What follows the address or name at the start of `bytes`, if it is one.
fn behind_target(bytes: &[u8]) -> Option<&[u8]> {
    let len = match *bytes.first()? {
        IPV4 => 4,
        IPV6 => 16,
        NAME => 1 + usize::from(*bytes.get(1)?),
        _ => return None,
    };
    bytes.get(1 + len + 2..)
}

/// May what begins so be an answer of `target`? What is asked for by a name has an address that
/// only the proxy knows.
fn is_from(bytes: &[u8], target: &Target) -> bool {
    let canonical = |address: SocketAddr| (address.ip().to_canonical(), address.port());
    match (target, take_address(bytes)) {
        // Some proxies say nothing of the sender.
        (Target::Address(wanted), Some((sender, _))) => {
            sender.ip().is_unspecified() || canonical(*wanted) == canonical(sender)
        }
        _ => true,
    }
}

/// The address at the start of `bytes`, if it is one, and what follows it.
fn take_address(bytes: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (ip, rest): (IpAddr, _) = match kind {
        IPV4 => {
            let (octets, rest) = rest.split_first_chunk::<4>()?;
            (Ipv4Addr::from(*octets).into(), rest)
        }
        IPV6 => {
            let (octets, rest) = rest.split_first_chunk::<16>()?;
            (Ipv6Addr::from(*octets).into(), rest)
        }
        _ => return None,
    };
    let (port, rest) = rest.split_first_chunk::<2>()?;
    Some((SocketAddr::new(ip, u16::from_be_bytes(*port)), rest))
}

/// Datagrams by way of a proxy. They go through for as long as this is there.
pub struct Association<K: Kernel> {
    control: K::Stream,
    relay: K::Datagrams,
}

/// Connects to `to` by way of `proxy`.
///
/// # Errors
/// What the system says of the proxy, or the proxy of `to`.
pub(super) async fn connect<K: Kernel>(proxy: &Proxy, to: &Target) -> io::Result<K::Stream> {
    Ok(ask::<K>(proxy, CONNECT, to).await?.0)
}

/// Makes a request; the connection, and the address in the answer.
async fn ask<K: Kernel>(
    proxy: &Proxy,
    command: u8,
    to: &Target,
) -> io::Result<(K::Stream, SocketAddr)> {
    let mut stream = K::connect(proxy.address).await?;
    set_tcp_nodelay(&stream, true)?;
    log_in(&mut stream, proxy.login.as_ref()).await?;
    let mut request = vec![VERSION, command, 0];
    put_target(to, &mut request);
    stream.write_all(&request).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    if head[0] != VERSION {
        return Err(bad("the proxy does not speak SOCKS5: if it speaks HTTP, give http://…"));
    }
    if head[1] != 0 {
        return Err(refusal(head[1]));
    }
    let bound = match head[3] {
        IPV4 | IPV6 => {
            let mut bytes = [0; 19];
            let bytes = &mut bytes[..if head[3] == IPV4 { 7 } else { 19 }];
            bytes[0] = head[3];
            stream.read_exact(&mut bytes[1..]).await?;
            take_address(bytes).ok_or_else(|| bad("no address"))?.0
        }
        NAME => {
            let len = stream.read_u8().await?;
            let mut name = vec![0; usize::from(len) + 2];
            stream.read_exact(&mut name).await?;
            let port = u16::from_be_bytes([name[name.len() - 2], name[name.len() - 1]]);
            // Only the proxy itself can be meant.
            SocketAddr::new(proxy.address.ip(), port)
        }
        _ => return Err(bad("the proxy answers with no address")),
    };
    Ok((stream, bound))
}

/// Agrees on who we are (RFC 1928 3, RFC 1929).
async fn log_in(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    login: Option<&Login>,
) -> io::Result<()> {
    let offer: &[u8] = match login {
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
        None => &[VERSION, 1, NO_AUTHENTICATION],
    };
    stream.write_all(offer).await?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await?;
    match (chosen, login) {
        ([VERSION, NO_AUTHENTICATION], _) => Ok(()),
        ([VERSION, USER_AND_PASSWORD], Some(Login { user, password })) => {
            let mut login = vec![1, user.len() as u8];
            login.extend(user.bytes());
            login.push(password.len() as u8);
            login.extend(password.bytes());
            stream.write_all(&login).await?;
            stream.read_exact(&mut chosen).await?;
            match chosen[1] {
                0 => Ok(()),
                _ => Err(io::Error::new(
                    ErrorKind::PermissionDenied,
                    "the proxy does not accept user and password",
                )),
            }
        }
        ([VERSION, _], Some(_)) => Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "the proxy takes no user and password, and wants to know more: see its settings",
        )),
        ([VERSION, _], None) => Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "the proxy wants a user and a password: give socks5://user:password@…",
        )),
        _ => Err(bad("the proxy does not speak SOCKS5: if it speaks HTTP, give http://…")),
    }
}

/// The unspecified address of the family of `address`.
fn unspecified(address: SocketAddr) -> IpAddr {
    match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

impl<K: Kernel> Association<K> {
    /// Asks the proxy to relay datagrams.
    ///
    /// # Errors
    /// What the system says of the proxy, or the proxy itself.
    pub(super) async fn open(proxy: &Proxy) -> io::Result<Association<K>> {
        let nobody = Target::Address((unspecified(proxy.address), 0).into());
        let (control, mut relay) = ask::<K>(proxy, ASSOCIATE, &nobody).await?;
        // A proxy that listens on both families may say an address of IPv4 as one of IPv6.
        relay.set_ip(relay.ip().to_canonical());
        if relay.ip().is_unspecified() {
            relay.set_ip(proxy.address.ip());
        }
        if let (SocketAddr::V6(relay), SocketAddr::V6(proxy)) = (&mut relay, proxy.address)
            && relay.ip().is_unicast_link_local()
        {
            // It does not say on which link: that of the proxy.
            relay.set_scope_id(proxy.scope_id());
        }
        let socket = UdpSocket::bind((unspecified(relay), 0))?;
        socket.connect(relay)?;
        socket.set_nonblocking(true)?;
        Ok(Association { control, relay: K::datagrams(socket)? })
    }

    /// Sends a datagram to `to`.
    ///
    /// # Errors
    /// Those of the system.
    pub async fn send(&self, bytes: &[u8], to: &Target) -> io::Result<()> {
        let mut framed = Vec::with_capacity(DATAGRAM_HEADER + bytes.len());
        framed.extend([0, 0, 0]);
        put_target(to, &mut framed);
        framed.extend(bytes);
        match K::send(&self.relay, &framed).await {
            // What is too long with the proxy's header is lost, as it would be on a link.
            Err(error) if error.raw_os_error() == Some(MSGSIZE) => Ok(()),
            sent => sent.map(|_| ()),
        }
    }

    /// The next datagram's payload. What makes no sense, or comes in
    /// fragments, which hardly any proxy sends, is dropped, and so is what another address has
    /// sent than `from`, if that is one: a relay may take datagrams of anybody.
    ///
    /// # Errors
    /// Those of the system; `UnexpectedEof` once the proxy has ended the association.
    pub async fn receive(&mut self, from: &Target) -> io::Result<Vec<u8>> {
        let mut byte = [0];
        let Association { relay, control } = self;
        loop {
            let payload = |bytes: &[u8]| {
                let (&[_, _, 0], rest) = bytes.split_first_chunk()? else { return None };
                behind_target(rest).filter(|_| is_from(rest, from)).map(<[u8]>::to_vec)
            };
            let came = poll_fn(|cx| scratch::filled(|buf| K::poll_recv(relay, cx, buf), payload));
            tokio::select! {
                payload = came => match payload? {
                    Some(payload) => return Ok(payload),
                    None => continue,
                },
                n = control.read(&mut byte) => match n? {
                    0 => return Err(ErrorKind::UnexpectedEof.into()),
                    // It has nothing to say there.
                    _ => continue,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Pool;
    use super::*;
    use std::time::Duration;
    use tokio::net::{TcpStream, UdpSocket};

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(future)
    }

    #[test]
    fn a_datagram_that_is_too_long_ends_nothing() {
        run(async {
            let relay = UdpSocket::bind("127.0.0.1:0").await.expect("bind");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bind");
            let to = listener.local_addr().expect("an address");
            let control = TcpStream::connect(to).await.expect("connect");
            relay.connect(relay.local_addr().expect("an address")).await.expect("connect");
            let association = Association::<Pool> { control, relay };
            let sent = association.send(&[0; 65_507], &to.into()).await;
            sent.expect("lost, and no more");
        });
    }

    #[test]
    fn each_refusal_has_its_own_words() {
        let told: std::collections::HashSet<_> = (1..=8).map(|n| refusal(n).to_string()).collect();
        assert_eq!(told.len(), 8, "{told:?}");
    }

    /// What comes of logging in to a proxy that chooses this.
    fn logged_in(chosen: u8, login: Option<&Login>) -> io::Result<()> {
        run(async {
            let (mut ours, mut proxy) = tokio::io::duplex(1000);
            proxy.write_all(&[VERSION, chosen]).await.expect("write");
            log_in(&mut ours, login).await
        })
    }

    #[test]
    fn who_has_said_who_he_is_is_not_asked_to() {
        let none = 0xff;
        let error = logged_in(none, None).expect_err("refused").to_string();
        assert!(error.contains("give socks5://user:password@"), "{error}");
        let login = Login { user: "me".into(), password: "secret".into() };
        let error = logged_in(none, Some(&login)).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        let error = error.to_string();
        assert!(!error.contains("give socks5://") && error.contains("see its"), "{error}");
    }

    /// A proxy at `stream` that relays at `relay`, and says the address of nobody in particular.
    async fn associate(mut stream: TcpStream, relay: SocketAddr) {
        stream.read_exact(&mut [0; 3]).await.expect("methods");
        stream.write_all(&[VERSION, NO_AUTHENTICATION]).await.expect("write");
        stream.read_exact(&mut [0; 22]).await.expect("a request");
        let mut answer = vec![VERSION, 0, 0];
        put_target(&Target::Address((unspecified(relay), relay.port()).into()), &mut answer);
        stream.write_all(&answer).await.expect("write");
    }

    /// Waits until the kernel uses an address that it was given a moment ago.
    fn used(address: SocketAddr) {
        let pause = Duration::from_millis(20);
        for _ in 0..500 {
            let heard = std::net::UdpSocket::bind(address).and_then(|socket| {
                socket.set_read_timeout(Some(pause))?;
                socket.send_to(b"x", socket.local_addr()?)?;
                socket.recv(&mut [0])
            });
            if heard.is_ok() {
                return;
            }
            std::thread::sleep(pause);
        }
        panic!("the kernel does not use {address}");
    }

    #[test]
    fn a_relay_is_on_the_link_of_its_proxy() {
        let made = device::namespace::in_private(|| {
            let words = "address add fe80::7/64 dev lo nodad".split(' ');
            match std::process::Command::new("ip").args(words).status() {
                Ok(done) if done.success() => {}
                _ => return println!("skipped: lo gets no address of IPv6"),
            }
            let here: SocketAddr = "[fe80::7%1]:0".parse().expect("an address");
            used(here);
            run(async {
                let relay = UdpSocket::bind(here).await.expect("bind");
                let listener = tokio::net::TcpListener::bind(here).await.expect("bind");
                let address = listener.local_addr().expect("an address");
                let proxy: Proxy = format!("socks5://{address}").parse().expect("a proxy");
                let at = relay.local_addr().expect("an address");
                let proxying = async {
                    associate(listener.accept().await.expect("accept").0, at).await;
                };
                let opened = async {
                    // Here, for nobody comes to the proxy if it fails.
                    Association::<Pool>::open(&proxy).await.expect("its link is the proxy's")
                };
                let (association, ()) = tokio::join!(opened, proxying);
                association.send(b"x", &address.into()).await.expect("sent");
                let n = relay.recv(&mut [0; 64]).await.expect("received");
                assert_eq!(n, 3 + 19 + 1);
            });
        });
        if let Err(error) = made {
            println!("skipped: {error}");
        }
    }

    #[test]
    fn nobody_else_answers() {
        let header = |address: &str| {
            let mut bytes = Vec::new();
            put_target(&Target::Address(address.parse().expect("an address")), &mut bytes);
            bytes
        };
        let asked = Target::Address("192.0.2.1:53".parse().expect("an address"));
        for (from, is) in [
            ("192.0.2.1:53", true),
            ("[::ffff:192.0.2.1]:53", true),
            ("0.0.0.0:0", true),
            ("192.0.2.1:54", false),
            ("192.0.2.2:53", false),
            ("[2001:db8::1]:53", false),
        ] {
            assert_eq!(is_from(&header(from), &asked), is, "{from}");
            assert!(is_from(&header(from), &Target::Name("example.org".into(), 53)));
        }
    }

    #[test]
    fn addresses_there_and_back_and_cut_off() {
        for to in ["192.0.2.1:53", "[2001:db8::1]:443"] {
            let to: SocketAddr = to.parse().expect("an address");
            let mut bytes = Vec::new();
            put_target(&to.into(), &mut bytes);
            assert!((0..bytes.len()).all(|n| take_address(&bytes[..n]).is_none()));
            assert!((0..bytes.len()).all(|n| behind_target(&bytes[..n]).is_none()));
            bytes.push(7);
            assert_eq!(take_address(&bytes), Some((to, &[7][..])));
            assert_eq!(behind_target(&bytes), Some(&[7][..]));
        }
        let mut bytes = Vec::new();
        put_target(&Target::Name("example.org".into(), 80), &mut bytes);
        assert_eq!(bytes, b"\x03\x0bexample.org\0\x50");
        assert!((0..bytes.len()).all(|n| behind_target(&bytes[..n]).is_none()));
        assert_eq!(behind_target(&bytes), Some(&[][..]));
        assert!(take_address(&[9, 1, 2, 3, 4, 5, 6]).is_none());
    }
}
