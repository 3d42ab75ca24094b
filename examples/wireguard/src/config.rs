//! The file that `wg` reads, with one peer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boringtun::x25519::{PublicKey, StaticSecret};
use std::net::{IpAddr, SocketAddr};

/// What a file says.
#[derive(Clone)]
pub struct Config {
    /// Our key.
    pub private_key: StaticSecret,
    /// The port of our UDP socket; 0: any.
    pub port: u16,
    /// Our addresses inside, with their networks' prefixes: those of the peer's side.
    pub addresses: Vec<String>,
    /// The peer's key.
    pub public_key: PublicKey,
    /// A key that both have beside.
    pub preshared_key: Option<[u8; 32]>,
    /// Where the peer is; it may tell by what it sends.
    pub endpoint: Option<SocketAddr>,
    /// Whose datagrams may come from the peer, and go there.
    pub allowed: Vec<Network>,
    /// Seconds between signs of life, for a peer behind a NAT.
    pub keepalive: Option<u16>,
}

/// A network: an address, and how many of its bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpAddr, u8);

impl Network {
    /// Is `address` in it?
    pub fn has(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, bits: u32| match u32::from(self.1) {
            0 => true,
            prefix => (a ^ b) >> (bits - prefix) == 0,
        };
        match (self.0, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }

    fn parse(text: &str) -> Option<Network> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u8 = prefix.unwrap_or(bits);
        (prefix <= bits).then_some(Network(address, prefix))
    }
}

/// A key as it stands in files.
pub fn to_text(key: &[u8; 32]) -> String {
    STANDARD.encode(key)
}

fn key(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// A key of our own, by the system's chance.
///
/// # Errors
/// Those of the system.
pub fn new_key() -> std::io::Result<StaticSecret> {
    let mut bytes = [0; 32];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.into())
}

impl std::str::FromStr for Config {
    type Err = String;

    fn from_str(text: &str) -> Result<Config, String> {
        let (mut private, mut public, mut preshared) = (None, None, None);
        let (mut port, mut endpoint, mut keepalive) = (0, None, None);
        let (mut addresses, mut allowed) = (Vec::new(), Vec::new());
        let mut peers = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            peers += u32::from(line.eq_ignore_ascii_case("[peer]"));
            if peers > 1 {
                return Err(format!("line {number}: there is one [Peer] here, and no second"));
            }
            if line.is_empty() || line.starts_with('[') {
                continue;
            }
            // Not the value: it may be a key.
            let wrong = || format!("line {number} makes no sense: write it as for `wg`");
            let (name, value) = line.split_once('=').ok_or_else(wrong)?;
            let (name, value) = (name.trim(), value.trim());
            let list = || value.split(',').map(str::trim);
            match name.to_ascii_lowercase().as_str() {
                "privatekey" => private = Some(key(value).ok_or_else(wrong)?),
                "publickey" => public = Some(key(value).ok_or_else(wrong)?),
                "presharedkey" => preshared = Some(key(value).ok_or_else(wrong)?),
                "listenport" => port = value.parse().map_err(|_| wrong())?,
                "endpoint" => {
                    let address = value.parse().map_err(|_| {
                        format!("line {number}: write Endpoint as ADDRESS:PORT, without a name")
                    })?;
                    endpoint = Some(address);
                }
                "persistentkeepalive" => keepalive = Some(value.parse().map_err(|_| wrong())?),
                "address" => addresses.extend(list().map(str::to_owned)),
                "allowedips" => {
                    for network in list() {
                        allowed.push(Network::parse(network).ok_or_else(wrong)?);
                    }
                }
                _ => return Err(format!("line {number}: {name} is not known here")),
            }
        }
        Ok(Config {
            private_key: private.ok_or("there is no PrivateKey")?.into(),
            port,
            addresses,
            public_key: public.ok_or("there is no PublicKey")?.into(),
            preshared_key: preshared,
            endpoint,
            allowed,
            keepalive,
        })
    }
}
