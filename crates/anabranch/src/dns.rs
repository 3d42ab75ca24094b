//! Names by DNS (RFC 1034, RFC 1035), over the stack's own sockets (feature `dns`), at the
//! servers that it knows.

#[cfg(feature = "dns")]
mod client;

use crate::error::SocketError;
use crate::names::Resolver;
use crate::stack::{Stack, WeakStack};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

/// The resolver of the stack that will be found there.
pub(crate) fn resolver(stack: Arc<OnceLock<WeakStack>>) -> Arc<Resolver> {
    Resolver::elsewhere(move |host, port| {
        lookup(stack.get().and_then(WeakStack::upgrade), host, port)
    })
}

/// The addresses of `host`, each with the port, by the servers of the stack.
///
/// # Errors
/// `Unsupported` without the feature; `NotFound` if no server is known, or none knows the name;
/// `TimedOut` if none answers.
fn lookup(stack: Option<Stack>, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let stack = stack.ok_or(SocketError::STOPPED)?;
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    //= RFC 6761 6.3: names of this host are not asked for
    let addresses = match name == "localhost" || name.ends_with(".localhost") {
        true => vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()],
        false => asked(&stack, &name)?,
    };
    Ok(addresses.into_iter().map(|address| (address, port).into()).collect())
}

#[cfg(not(feature = "dns"))]
fn asked(_: &Stack, name: &str) -> io::Result<Vec<IpAddr>> {
    let text = format!(
        "the name {name} cannot be looked up: build with the feature `dns` of anabranch, or give \
         Builder::resolver, or Builder::system_resolver for the one of the system"
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

#[cfg(feature = "dns")]
fn asked(stack: &Stack, name: &str) -> io::Result<Vec<IpAddr>> {
    let servers = stack.servers();
    if let Some(known) = servers.answers.get(name) {
        return Ok(known);
    }
    let network = servers.answers.network();
    let all = servers.all();
    if all.is_empty() {
        let text = format!(
            "the name {name} cannot be looked up: no server for names is known; give one by \
             Builder::dns, or get one by DHCP, or take the system's by Builder::system_resolver"
        );
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    let (addresses, until) = client::lookup(stack, &all, name)?;
    servers.answers.put(name, &addresses, (network, until));
    Ok(addresses)
}

#[cfg(all(test, feature = "dns"))]
mod tests;
