//! The way onward: connections and datagrams by whatever a proxy speaks.

use super::http;
use super::kernel::Kernel;
use super::proxy::{Protocol, Proxy, Target, bad};
use super::socks::{self, Association};
use std::io::{self, ErrorKind};

/// Connects to `to` by way of `proxy`.
///
/// # Errors
/// What the system says of the proxy, or the proxy of `to`; `TimedOut` if it does not answer
/// for half a minute.
pub async fn connect<K: Kernel>(proxy: &Proxy, to: &Target) -> io::Result<K::Stream> {
    let connected = async {
        match proxy.protocol {
            Protocol::Socks5 => socks::connect::<K>(proxy, to).await,
            Protocol::Http => http::connect::<K>(proxy, to).await,
        }
    };
    in_time::<K, _>(proxy, connected).await
}

/// Asks `proxy` to relay datagrams.
///
/// # Errors
/// `Unsupported` if its protocol has no way for them; as [`connect`].
pub async fn associate<K: Kernel>(proxy: &Proxy) -> io::Result<Association<K>> {
    match proxy.protocol {
        Protocol::Socks5 => in_time::<K, _>(proxy, Association::open(proxy)).await,
        Protocol::Http => {
            Err(io::Error::new(ErrorKind::Unsupported, "an HTTP proxy carries no datagrams"))
        }
    }
}

async fn in_time<K: Kernel, T>(
    proxy: &Proxy,
    request: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let answer = K::within(proxy.patience, request).await;
    let answer =
        answer.ok_or_else(|| io::Error::new(ErrorKind::TimedOut, "the proxy does not answer"))?;
    answer.map_err(|error| match (error.kind(), proxy.protocol) {
        (ErrorKind::UnexpectedEof, Protocol::Socks5) => bad(EOF_OF_SOCKS),
        (ErrorKind::UnexpectedEof, Protocol::Http) => bad(EOF_OF_HTTP),
        _ => error,
    })
}

const EOF_OF_SOCKS: &str = "the proxy hangs up before it answers: see its log, and whether it speaks SOCKS5 (else give http://…)";
const EOF_OF_HTTP: &str = "the proxy hangs up before it answers: see its log, and whether it speaks HTTP (else give socks5://…)";

#[cfg(test)]
mod tests {
    use super::super::kernel::Pool;
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_proxy_that_never_answers_is_given_up() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = silent.local_addr().expect("an address");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            for protocol in [Protocol::Socks5, Protocol::Http] {
                let patience = Duration::from_millis(50);
                let proxy = Proxy { protocol, address, login: None, patience };
                let connected = connect::<Pool>(&proxy, &address.into()).await.map(|_| ());
                assert_eq!(connected.expect_err("no answer").kind(), ErrorKind::TimedOut);
                let associated = associate::<Pool>(&proxy).await.map(|_| ());
                let kind = match protocol {
                    Protocol::Socks5 => ErrorKind::TimedOut,
                    Protocol::Http => ErrorKind::Unsupported,
                };
                assert_eq!(associated.expect_err("no answer").kind(), kind);
            }
        });
    }
}
