//! The client for IPv6 that asks for servers of names, and for no address: the
//! information-request of RFC 8415 18.2.6.

use crate::Ignored;
use platform::SplitMix64;
use std::net::Ipv6Addr;
use wire::Instant;
use wire::time::Duration;

/// The client's port.
pub const CLIENT_PORT: u16 = 546;
/// The servers' port.
pub const SERVER_PORT: u16 = 547;
/// All servers and relays of the link: where requests go.
pub const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// The types of messages.
const REPLY: u8 = 7;
const INFORMATION_REQUEST: u8 = 11;
/// Codes of options.
const CLIENT_ID: u16 = 1;
const SERVER_ID: u16 = 2;
const WISHES: u16 = 6;
const ELAPSED: u16 = 8;
const STATUS: u16 = 13;
const DNS: u16 = 23;
const REFRESH: u16 = 32;
const LONGEST_RETRY: u16 = 83;
/// The times of RFC 8415 7.6.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3600);
const REFRESH_USUAL: u32 = 86_400;
const REFRESH_LEAST: u32 = 600;
/// The most servers for names that are kept.
const MOST: usize = 8;

/// A client.
#[derive(Debug)]
pub struct Client {
    duid: Vec<u8>,
    transaction: [u8; 3],
    began: Instant,
    /// How long the last wait for an answer was, if one is waited for.
    wait: Option<Duration>,
    longest: Duration,
    timer: Option<Instant>,
    transmit: Option<Vec<u8>>,
    random: SplitMix64,
}

impl Client {
    /// A client of the host with this Ethernet address, which names it (DUID-LL, RFC 8415
    /// 11.4). It begins within a second after `now`, at random.
    pub fn new(ethernet: [u8; 6], seed: u64, now: Instant) -> Client {
        let mut random = SplitMix64::new(seed);
        let delay = Duration::from_nanos(random.below(1_000_000_000));
        Client {
            duid: [&[0, 3, 0, 1][..], &ethernet].concat(),
            transaction: [0; 3],
            began: now,
            wait: None,
            longest: LONGEST,
            timer: Some(now + delay),
            transmit: None,
            random,
        }
    }

    /// When [`Client::on_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timer
    }

    /// The payload to send from port 546 to [`SERVERS`], port 547, if there is one.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.take()
    }

    /// Lets time pass: call it when [`Client::next_timeout`] has come.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        //= RFC 8415 15: each wait is twice the last, a tenth more or less
        let wait = match self.wait {
            None => {
                let [a, b, c, ..] = self.random.next_u64().to_be_bytes();
                (self.transaction, self.began) = ([a, b, c], now);
                FIRST
            }
            Some(wait) => (wait * 2).min(self.longest),
        };
        let tenth = u64::try_from(wait.as_nanos() / 10).unwrap_or(u64::MAX);
        let spread = Duration::from_nanos(self.random.below(2 * tenth + 1));
        let wait = wait - Duration::from_nanos(tenth) + spread;
        (self.wait, self.timer) = (Some(wait), Some(now + wait));
        self.transmit = Some(self.request(now));
    }

    fn request(&self, now: Instant) -> Vec<u8> {
        let mut bytes = vec![INFORMATION_REQUEST];
        bytes.extend(self.transaction);
        put(&mut bytes, CLIENT_ID, &self.duid);
        let wishes = [DNS, REFRESH, LONGEST_RETRY].map(u16::to_be_bytes);
        put(&mut bytes, WISHES, wishes.as_flattened());
        let hundredths = u16::try_from(now.since(self.began).as_millis() / 10).unwrap_or(u16::MAX);
        put(&mut bytes, ELAPSED, &hundredths.to_be_bytes());
        bytes
    }

    /// Takes a payload that came to port 546: the servers for names that it tells, the best
    /// first.
    ///
    /// # Errors
    /// [`Ignored`]: why it was passed over.
    pub fn input(&mut self, bytes: &[u8], now: Instant) -> Result<Vec<Ipv6Addr>, Ignored> {
        let (fixed, options) = bytes.split_first_chunk::<4>().ok_or(Ignored::Malformed)?;
        if fixed[0] != REPLY {
            return Err(Ignored::Unexpected);
        }
        let reply = Reply::parse(options)?;
        let is_ours = fixed[1..] == self.transaction && reply.client == Some(&self.duid);
        if self.wait.is_none() || !is_ours {
            return Err(Ignored::Foreign);
        }
        //= RFC 8415 16.10: a reply names its server
        if !reply.has_server {
            return Err(Ignored::Malformed);
        }
        //= RFC 8415 18.2.10: what the server says of waits counts, whatever else it says
        if let Some(longest @ 60..=86_400) = reply.longest {
            self.longest = Duration::from_secs(longest.into());
        }
        if reply.status != 0 {
            return Err(Ignored::Unusable);
        }
        self.wait = None;
        let refresh = reply.refresh.unwrap_or(REFRESH_USUAL).max(REFRESH_LEAST);
        let forever = refresh == u32::MAX;
        self.timer = (!forever).then(|| now + Duration::from_secs(refresh.into()));
        Ok(reply.dns)
    }
}

fn put(bytes: &mut Vec<u8>, code: u16, value: &[u8]) {
    bytes.extend(code.to_be_bytes());
    bytes.extend((value.len() as u16).to_be_bytes());
    bytes.extend(value);
}

/// The options of a reply.
#[derive(Default)]
struct Reply<'a> {
    client: Option<&'a [u8]>,
    has_server: bool,
    status: u16,
    dns: Vec<Ipv6Addr>,
    refresh: Option<u32>,
    longest: Option<u32>,
}

impl<'a> Reply<'a> {
    fn parse(mut bytes: &'a [u8]) -> Result<Reply<'a>, Ignored> {
        let malformed = Ignored::Malformed;
        let mut reply = Reply::default();
        while !bytes.is_empty() {
            let ([a, b, c, d], rest) = bytes.split_first_chunk::<4>().ok_or(malformed)?;
            let len = u16::from_be_bytes([*c, *d]).into();
            let (value, rest) = rest.split_at_checked(len).ok_or(malformed)?;
            let number = || value.try_into().map(u32::from_be_bytes).map_err(|_| malformed);
            match u16::from_be_bytes([*a, *b]) {
                CLIENT_ID => reply.client = Some(value),
                SERVER_ID => reply.has_server = true,
                STATUS => {
                    let code = value.first_chunk::<2>().ok_or(malformed)?;
                    reply.status = u16::from_be_bytes(*code);
                }
                DNS if value.len() % 16 != 0 => return Err(malformed),
                DNS => {
                    let (chunks, _) = value.as_chunks::<16>();
                    let hosts = chunks.iter().map(|octets| Ipv6Addr::from(*octets));
                    let can = |a: &Ipv6Addr| {
                        let address = wire::Address::from(*a);
                        !address.is_v4() && address.can_be_source()
                    };
                    let room = MOST - reply.dns.len();
                    reply.dns.extend(hosts.filter(can).take(room));
                }
                REFRESH => reply.refresh = Some(number()?),
                LONGEST_RETRY => reply.longest = Some(number()?),
                _ => {}
            }
            bytes = rest;
        }
        Ok(reply)
    }
}

#[cfg(test)]
mod tests;
