//! [`Message`]: its fields (RFC 2131 2) and options (RFC 2132, RFC 3396, RFC 3442).

use crate::Ignored;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Bytes before the options: the fixed fields, and the cookie.
const FIXED: usize = 236;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Bytes of the shortest message that old relays pass on (RFC 1542 2.1).
const SHORTEST: usize = 300;
/// Bytes of the largest that the client takes, which is what it says it does.
const LARGEST: u16 = 1472;
/// The most routers, or servers for names, that are kept.
const MOST: usize = 8;
/// The most routes that are kept.
const MOST_ROUTES: usize = 32;

/// What a message is for (RFC 2132 9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Which servers are there?
    Discover = 1,
    /// One that would give an address.
    Offer,
    /// The client takes an offer, or wants to keep its address.
    Request,
    /// The client found that somebody else has the address.
    Decline,
    /// The client has it.
    Ack,
    /// It has not.
    Nak,
    /// The client gives it back.
    Release,
}

impl Kind {
    fn parse(code: u8) -> Option<Kind> {
        Some(match code {
            1 => Kind::Discover,
            2 => Kind::Offer,
            3 => Kind::Request,
            4 => Kind::Decline,
            5 => Kind::Ack,
            6 => Kind::Nak,
            7 => Kind::Release,
            _ => return None,
        })
    }
}

/// A way to a network (RFC 3442).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network's first address.
    pub network: Ipv4Addr,
    /// Length of its prefix, bits.
    pub prefix: u8,
    /// By which router; `None`: the network is on the link.
    pub router: Option<Ipv4Addr>,
}

/// The options that the client reads or writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// 50: the address that the client wants.
    pub requested: Option<Ipv4Addr>,
    /// 54: which server.
    pub server: Option<Ipv4Addr>,
    /// 51: seconds of the lease; all ones: for ever.
    pub lease: Option<u32>,
    /// 58: seconds until it is renewed.
    pub renewal: Option<u32>,
    /// 59: seconds until anybody is asked for it.
    pub rebinding: Option<u32>,
    /// 1: the mask of the network.
    pub mask: Option<Ipv4Addr>,
    /// 3: routers, the best first; eight at most.
    pub routers: Vec<Ipv4Addr>,
    /// 121: routes, which count in place of the routers; 32 at most. `None` also if they make no sense.
    pub routes: Option<Vec<Route>>,
    /// 6: servers for names, the best first; eight at most.
    pub dns: Vec<Ipv4Addr>,
    /// 26: bytes of the link's largest datagram.
    pub mtu: Option<u16>,
    /// 12: the name of the client.
    pub host_name: Option<String>,
    /// 56: why it was refused.
    pub text: Option<String>,
    /// 61: what the client is known by.
    pub client_id: Option<Vec<u8>>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is for.
    pub kind: Kind,
    /// Names the exchange.
    pub xid: u32,
    /// Seconds since the client began.
    pub secs: u16,
    /// Must answers be broadcast?
    pub broadcast: bool,
    /// The client's address, if it has one.
    pub ciaddr: Ipv4Addr,
    /// The address that is given.
    pub yiaddr: Ipv4Addr,
    /// The client's Ethernet address.
    pub chaddr: [u8; 6],
    /// The options.
    pub options: Options,
}

impl Message {
    /// A server's message.
    ///
    /// # Errors
    /// [`Ignored::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Message, Ignored> {
        let malformed = Ignored::Malformed;
        let fixed = bytes.first_chunk::<FIXED>().ok_or(malformed)?;
        let rest = bytes[FIXED..].strip_prefix(&COOKIE).ok_or(malformed)?;
        if fixed[..3] != [2, 1, 6] {
            return Err(malformed);
        }
        let mut found = BTreeMap::new();
        gather(rest, &mut found)?;
        //= RFC 2132 9.3: options go on in the fields of the file and of the server's name
        let overload = found.get(&52).and_then(|value: &Cow<'_, [u8]>| value.first().copied());
        if overload.is_some_and(|fields| fields & 1 != 0) {
            gather(&fixed[108..236], &mut found)?;
        }
        if overload.is_some_and(|fields| fields & 2 != 0) {
            gather(&fixed[44..108], &mut found)?;
        }
        let kind = found.get(&53).and_then(|value| value.first()).ok_or(malformed)?;
        let word = |at: usize| [fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]];
        Ok(Message {
            kind: Kind::parse(*kind).ok_or(malformed)?,
            xid: u32::from_be_bytes(word(4)),
            secs: u16::from_be_bytes([fixed[8], fixed[9]]),
            broadcast: fixed[10] & 0x80 != 0,
            ciaddr: word(12).into(),
            yiaddr: word(16).into(),
            chaddr: std::array::from_fn(|i| fixed[28 + i]),
            options: Options::parse(&found)?,
        })
    }

    /// The bytes of a client's message.
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![0; FIXED];
        bytes[..3].copy_from_slice(&[1, 1, 6]);
        bytes[4..8].copy_from_slice(&self.xid.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.secs.to_be_bytes());
        bytes[10] = if self.broadcast { 0x80 } else { 0 };
        bytes[12..16].copy_from_slice(&self.ciaddr.octets());
        bytes[16..20].copy_from_slice(&self.yiaddr.octets());
        bytes[28..34].copy_from_slice(&self.chaddr);
        bytes.extend(COOKIE);
        put(&mut bytes, 53, &[self.kind as u8]);
        self.options.emit(&mut bytes);
        if matches!(self.kind, Kind::Discover | Kind::Request) {
            //= RFC 3442: routes are asked for before routers
            put(&mut bytes, 55, &[1, 121, 3, 6, 26, 51, 54, 58, 59]);
            put(&mut bytes, 57, &LARGEST.to_be_bytes());
        }
        bytes.push(255);
        bytes.resize(bytes.len().max(SHORTEST), 0);
        bytes
    }
}

/// Options by their codes.
type Found<'a> = BTreeMap<u8, Cow<'a, [u8]>>;

/// Adds the options of a field to `found`. What comes twice is one value in pieces (RFC 3396).
fn gather<'a>(mut bytes: &'a [u8], found: &mut Found<'a>) -> Result<(), Ignored> {
    // RFC 2131 2/1
    loop {
        match bytes {
            // Some servers leave the end out.
            [] | [255, ..] => return Ok(()),
            [0, rest @ ..] => bytes = rest,
            [code, len, rest @ ..] => {
                let (value, rest) =
                    rest.split_at_checked((*len).into()).ok_or(Ignored::Malformed)?;
                let pieces = found.entry(*code);
                pieces
                    .and_modify(|before| before.to_mut().extend(value))
                    .or_insert(Cow::Borrowed(value));
                bytes = rest;
            }
            [_] => return Err(Ignored::Malformed),
        }
    }
}

fn put(bytes: &mut Vec<u8>, code: u8, value: &[u8]) {
    for piece in value.chunks(255) {
        bytes.extend([code, piece.len() as u8]);
        bytes.extend(piece);
    }
}

impl Options {
    fn parse(found: &Found<'_>) -> Result<Options, Ignored> {
        let fixed = |code: u8, len: usize| match found.get(&code) {
            None => Ok(None),
            Some(value) if value.len() == len => Ok(Some(&**value)),
            Some(_) => Err(Ignored::Malformed),
        };
        let number =
            |code| fixed(code, 4).map(|v| v.map(|v| u32::from_be_bytes([v[0], v[1], v[2], v[3]])));
        let address = |code| number(code).map(|n| n.map(Ipv4Addr::from_bits));
        let list = |code: u8| match found.get(&code) {
            None => Ok(Vec::new()),
            Some(value) if value.len() % 4 == 0 => {
                let hosts = value.chunks_exact(4).map(|b| Ipv4Addr::new(b[0], b[1], b[2], b[3]));
                Ok(hosts.filter(|host| is_host(*host)).take(MOST).collect())
            }
            Some(_) => Err(Ignored::Malformed),
        };
        let text = |code: u8| {
            let value = found.get(&code)?;
            let clean = |c: char| if c.is_control() { '?' } else { c };
            Some(String::from_utf8_lossy(value).trim_end_matches('\0').chars().map(clean).collect())
        };
        Ok(Options {
            requested: address(50)?,
            server: address(54)?,
            lease: number(51)?,
            renewal: number(58)?,
            rebinding: number(59)?,
            mask: address(1)?,
            routers: list(3)?,
            routes: found.get(&121).and_then(|value| routes(value)),
            dns: list(6)?,
            mtu: fixed(26, 2)?.map(|v| u16::from_be_bytes([v[0], v[1]])),
            host_name: text(12),
            text: text(56),
            client_id: found.get(&61).map(|id| id.to_vec()),
        })
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        let addresses = [(50, self.requested), (54, self.server), (1, self.mask)];
        for (code, address) in addresses {
            address.into_iter().for_each(|a| put(bytes, code, &a.octets()));
        }
        for (code, n) in [(51, self.lease), (58, self.renewal), (59, self.rebinding)] {
            n.into_iter().for_each(|n| put(bytes, code, &n.to_be_bytes()));
        }
        for (code, list) in [(3, &self.routers), (6, &self.dns)] {
            if !list.is_empty() {
                let octets: Vec<u8> = list.iter().flat_map(Ipv4Addr::octets).collect();
                put(bytes, code, &octets);
            }
        }
        if let Some(routes) = &self.routes {
            put(bytes, 121, &routes.iter().flat_map(written).collect::<Vec<u8>>());
        }
        self.mtu.iter().for_each(|mtu| put(bytes, 26, &mtu.to_be_bytes()));
        for (code, text) in [(12, &self.host_name), (56, &self.text)] {
            text.iter().for_each(|text| put(bytes, code, text.as_bytes()));
        }
        self.client_id.iter().for_each(|id| put(bytes, 61, id));
    }
}

/// The routes of option 121: the length of a prefix, as many octets of the network as that has, and the router.
fn routes(mut value: &[u8]) -> Option<Vec<Route>> {
    let mut routes = Vec::new();
    while let [prefix @ 0..=32, rest @ ..] = value {
        let (network, rest) = rest.split_at_checked(prefix.div_ceil(8).into())?;
        let (router, rest) = rest.split_first_chunk::<4>()?;
        let mut octets = [0; 4];
        octets[..network.len()].copy_from_slice(network);
        let host = u32::MAX.checked_shr((*prefix).into()).unwrap_or(0);
        let network = Ipv4Addr::from_bits(u32::from_be_bytes(octets) & !host);
        let router = Some(Ipv4Addr::from(*router)).filter(|router| !router.is_unspecified());
        routes.push(Route { network, prefix: *prefix, router });
        value = rest;
    }
    routes.truncate(MOST_ROUTES);
    value.is_empty().then_some(routes)
}

fn written(route: &Route) -> Vec<u8> {
    let octets = route.network.octets();
    let network = &octets[..route.prefix.div_ceil(8).into()];
    let router = route.router.unwrap_or(Ipv4Addr::UNSPECIFIED).octets();
    [&[route.prefix], network, &router].concat()
}

/// Can it be a host's address?
pub(super) fn is_host(address: Ipv4Addr) -> bool {
    wire::Address::from(address).can_be_source()
}

#[cfg(test)]
pub(super) mod tests;
