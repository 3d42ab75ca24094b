//! [`Proxy`]: where a proxy is, what it speaks and who we are to it; and [`Target`]s.

use crate::zone::Zoned;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How long a proxy may take to answer a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where something is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To this address.
    Address(SocketAddr),
    /// To this name, of at most 253 bytes, and port; the proxy resolves it.
    Name(Arc<str>, u16),
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Target {
        Target::Address(address)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Address(address) => fmt::Display::fmt(address, f),
            Target::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// What a proxy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SOCKS5 (RFC 1928).
    Socks5,
    /// CONNECT of HTTP (RFC 9110 9.3.6).
    Http,
}

/// Who we are to the proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// 1 to 255 bytes.
    pub user: String,
    /// 1 to 255 bytes.
    pub password: String,
}

/// A proxy: `socks5://[USER:PASSWORD@]ADDRESS:PORT` or `http://[USER:PASSWORD@]ADDRESS:PORT`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(super) protocol: Protocol,
    pub(super) address: SocketAddr,
    pub(super) login: Option<Login>,
    /// How long it may take to answer a request.
    pub(super) patience: Duration,
}

impl FromStr for Proxy {
    type Err = String;
    fn from_str(text: &str) -> Result<Proxy, String> {
        // Not the text itself: it may have a password in it.
        let wrong = || {
            "write it like socks5://127.0.0.1:1080, socks5://user:password@… or http://127.0.0.1:3128"
                .to_owned()
        };
        let (protocol, rest) = match text.split_once("://") {
            Some(("socks5" | "socks5h", rest)) => (Protocol::Socks5, rest),
            Some(("http", rest)) => (Protocol::Http, rest),
            _ => return Err(wrong()),
        };
        let (login, address) = match rest.rsplit_once('@') {
            Some((login, address)) => {
                let (user, password) = login.split_once(':').ok_or_else(wrong)?;
                let fits = |part: &str| (1..=255).contains(&part.len());
                if !fits(user) || !fits(password) {
                    return Err("user and password have 1 to 255 bytes each".into());
                }
                let (user, password) = (user.to_owned(), password.to_owned());
                (Some(Login { user, password }), address)
            }
            None => (None, rest),
        };
        let address = address_of(address.trim_end_matches('/')).map_err(|why| match why {
            Some(why) => why,
            None => wrong(),
        })?;
        if address.port() == 0 {
            return Err("nothing listens at port 0: write the proxy's, such as 1080 or 3128".into());
        }
        Ok(Proxy { protocol, address, login, patience: PATIENCE })
    }
}

/// An address and a port; why not, if that can be said.
fn address_of(text: &str) -> Result<SocketAddr, Option<String>> {
    match text.parse() {
        // One of some link is looked at below.
        Ok(SocketAddr::V6(v6)) if v6.scope_id() == 0 && v6.ip().is_unicast_link_local() => {}
        Ok(address) => return Ok(address),
        Err(_) => {}
    }
    let (host, port) = text.rsplit_once(':').ok_or(None)?;
    let port = port.parse().map_err(|_| None)?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare.map(str::parse::<Zoned>) {
        Some(Ok(zoned)) => zoned.of_kernel(port).map_err(Some),
        Some(Err(why)) => Err(Some(why)),
        None if host.chars().any(char::is_alphabetic) && !host.contains(['/', ':']) => {
            Err(Some("write the proxy's address, not its name, as socks5://127.0.0.1:1080".into()))
        }
        None => Err(None),
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            Protocol::Socks5 => "socks5",
            Protocol::Http => "http",
        };
        write!(f, "{protocol}://{}", self.address)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the other side says makes no sense.
pub(super) fn bad(text: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_named_by_urls() {
        let proxy: Proxy = "socks5://127.0.0.1:1080".parse().expect("a proxy");
        assert_eq!((proxy.protocol, proxy.address.port()), (Protocol::Socks5, 1080));
        assert!(proxy.login.is_none());
        let proxy: Proxy = "http://me:pass@word@[::1]:1/".parse().expect("a proxy");
        let login = proxy.login.as_ref().expect("a login");
        assert_eq!((login.user.as_str(), login.password.as_str()), ("me", "pass@word"));
        assert_eq!(
            (proxy.to_string(), format!("{proxy:?}").contains("pass")),
            ("http://[::1]:1".into(), false)
        );
        for wrong in
            ["127.0.0.1:1080", "socks5://", "socks5://me@127.0.0.1:1", "https://127.0.0.1:1"]
        {
            let error = wrong.parse::<Proxy>().expect_err(wrong);
            assert!(!error.contains('\n') && error.contains("socks5://"), "{error}");
        }
        assert!("socks5://:x@127.0.0.1:1".parse::<Proxy>().is_err());
        let proxy: Proxy = "socks5://[fe80::1%lo]:1080".parse().expect("a proxy on a link");
        assert_eq!(proxy.address.to_string(), "[fe80::1%1]:1080");
        let error = "socks5://[fe80::1]:1080".parse::<Proxy>().expect_err("no link");
        assert!(error.contains("write which"), "{error}");
        let error = "http://localhost:3128".parse::<Proxy>().expect_err("a name");
        assert!(error.contains("not its name"), "{error}");
    }
}
