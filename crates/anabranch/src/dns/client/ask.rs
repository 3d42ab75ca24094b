//! What is asked of hickory, whatever sockets it has, and what is made of what it says.

use hickory_resolver::Resolver;
use hickory_resolver::config::{
    LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ServerOrderingStrategy,
};
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::RuntimeProvider;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use wire::Address;

/// How long one question waits for its answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
/// How often a question is asked again.
const AGAIN: usize = 2;
/// The most addresses of a name that are tried.
pub(super) const MOST_ADDRESSES: usize = 16;

/// The addresses of `name`, which is whole, at one of the servers, and until when they are good.
pub(super) async fn lookup<P: RuntimeProvider>(
    provider: P,
    servers: &[SocketAddr],
    name: &str,
) -> io::Result<(Vec<IpAddr>, Instant)> {
    let found = ask(provider, servers, format!("{name}.")).await;
    let found = found.map_err(|error| failed(name, servers, &error))?;
    // What no host has is no answer.
    let is_host = |address: &IpAddr| Address::from(*address).is_unicast();
    let addresses: Vec<_> = found.iter().filter(is_host).take(MOST_ADDRESSES).collect();
    match addresses.is_empty() {
        true => Err(unknown(name)),
        false => Ok((addresses, found.valid_until())),
    }
}

async fn ask<P: RuntimeProvider>(
    provider: P,
    servers: &[SocketAddr],
    name: String,
) -> Result<LookupIp, NetError> {
    let named = servers.iter().map(|server| NameServerConfig::udp_and_tcp(server.ip())).collect();
    let config = ResolverConfig::from_name_servers(named);
    let mut builder = Resolver::builder_with_config(config, provider);
    let options = builder.options_mut();
    (options.timeout, options.attempts) = (TIMEOUT, AGAIN);
    options.use_hosts_file = ResolveHosts::Never;
    // It asks once.
    options.cache_size = 0;
    options.ip_strategy = LookupIpStrategy::Ipv6AndIpv4;
    options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
    builder.build()?.lookup_ip(name).await
}

fn unknown(name: &str) -> io::Error {
    let text = format!("the name {name} has no address, say the servers for names");
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// No server has answered.
pub(super) fn silent(name: &str, servers: &[SocketAddr]) -> io::Error {
    let list = servers.iter().map(|s| s.ip().to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "no server for names has answered for {name}: {list}; is there a way to one of them?"
    );
    io::Error::new(io::ErrorKind::TimedOut, text)
}

fn failed(name: &str, servers: &[SocketAddr], error: &NetError) -> io::Error {
    match error {
        NetError::Timeout => silent(name, servers),
        error if error.is_no_records_found() => unknown(name),
        error => {
            // Part of it may be a server's words.
            let why = error.to_string().replace(char::is_control, " ");
            io::Error::other(format!("the name {name} could not be looked up: {why}"))
        }
    }
}

#[cfg(test)]
mod tests;
