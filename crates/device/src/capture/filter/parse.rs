//! From text to a filter.

use super::{Expression, Match, Protocol, Side};
use std::net::IpAddr;

/// Words of the longest filter; so its depth is bounded, too.
const WORDS: usize = 256;

/// Why text is no filter: a sentence with the mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(String);

impl FilterError {
    pub(super) fn sentence(&self) -> &str {
        &self.0
    }
}

type Parsed<T> = Result<T, FilterError>;

fn wrong<T>(text: impl Into<String>) -> Parsed<T> {
    Err(FilterError(text.into()))
}

pub(super) fn parse(text: &str) -> Parsed<Option<Expression>> {
    let words = words(text);
    if words.is_empty() {
        return Ok(None);
    }
    if words.len() > WORDS {
        return wrong(format!("the filter has {} words: use {WORDS} at most", words.len()));
    }
    let mut parser = Parser { words: &words, last: None };
    let expression = parser.any()?;
    match parser.words.first() {
        None => Ok(Some(expression)),
        Some(word) => wrong(format!("`{word}` is one too much: join parts by `and` or `or`")),
    }
}

/// Brackets and `!` stand for themselves, with or without spaces round them.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '(' | ')' | '!' => spaced.extend([' ', character, ' ']),
            character => spaced.push(character),
        }
    }
    let spaced = spaced.replace("&&", " and ").replace("||", " or ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

#[derive(Clone, Copy)]
enum Kind {
    Host,
    Net,
    Port,
    Range,
}

/// The words before an address or a port.
#[derive(Clone, Copy)]
struct Qualifier {
    protocol: Option<Protocol>,
    side: Side,
    kind: Kind,
}

struct Parser<'a> {
    words: &'a [String],
    /// What an address or port without words is taken for.
    last: Option<Qualifier>,
}

impl Parser<'_> {
    fn take(&mut self, word: &str) -> bool {
        let found = self.words.first().is_some_and(|first| first == word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }

    fn next(&mut self, wanted: &str) -> Parsed<String> {
        let Some((first, rest)) = self.words.split_first() else {
            return wrong(format!("the filter ends where {wanted} should be: add it"));
        };
        self.words = rest;
        Ok(first.clone())
    }

    fn any(&mut self) -> Parsed<Expression> {
        let mut left = self.one()?;
        loop {
            if self.take("and") {
                left = Expression::And(Box::new(left), Box::new(self.one()?));
            } else if self.take("or") {
                left = Expression::Or(Box::new(left), Box::new(self.one()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn one(&mut self) -> Parsed<Expression> {
        if self.take("not") || self.take("!") {
            return Ok(Expression::Not(Box::new(self.one()?)));
        }
        if self.take("(") {
            let inner = self.any()?;
            return match self.take(")") {
                true => Ok(inner),
                false => wrong("a bracket is not closed: add `)`"),
            };
        }
        self.primitive()
    }

    fn primitive(&mut self) -> Parsed<Expression> {
        for (word, outbound) in [("inbound", false), ("outbound", true)] {
            if self.take(word) {
                return Ok(Expression::Outbound(outbound));
            }
        }
        if self.take("less") {
            return Ok(Expression::Less(self.length()?));
        }
        if self.take("greater") {
            return Ok(Expression::Greater(self.length()?));
        }
        let protocol = self.protocol();
        let side = self.side()?;
        let kind = [
            ("host", Kind::Host),
            ("net", Kind::Net),
            ("portrange", Kind::Range),
            ("port", Kind::Port),
        ];
        let kind = kind.into_iter().find(|(word, _)| self.take(word)).map(|(_, kind)| kind);
        let qualifier = match (protocol, side, kind) {
            (Some(protocol), None, None) => return Ok(Expression::Protocol(protocol)),
            (None, None, None) => self.last,
            // `src 10.0.0.1` means a host.
            (_, side, kind) => Some(Qualifier {
                protocol,
                side: side.unwrap_or(Side::Either),
                kind: kind.unwrap_or(Kind::Host),
            }),
        };
        let value = self.next("an address, a port or a protocol")?;
        let Some(qualifier) = qualifier else {
            return wrong(format!(
                "`{value}` is no word of a filter: use host, net, port, portrange, ip, ip6, arp, \
                 tcp, udp, icmp, icmp6, inbound, outbound, less, greater, and, or, not"
            ));
        };
        self.last = Some(qualifier);
        qualified(qualifier, &value)
    }

    fn length(&mut self) -> Parsed<usize> {
        let text = self.next("a length in bytes")?;
        text.parse().or_else(|_| wrong(format!("`{text}` is no length: give it in bytes")))
    }

    fn protocol(&mut self) -> Option<Protocol> {
        let names = [
            ("ip", Protocol::Ip),
            ("ip6", Protocol::Ip6),
            ("arp", Protocol::Arp),
            ("tcp", Protocol::Tcp),
            ("udp", Protocol::Udp),
            ("icmp", Protocol::Icmp),
            ("icmp6", Protocol::Icmp6),
        ];
        names.into_iter().find(|(word, _)| self.take(word)).map(|(_, protocol)| protocol)
    }

    /// `src`, `dst`, `src or dst`, `src and dst`.
    fn side(&mut self) -> Parsed<Option<Side>> {
        let second = |words: &[String]| words.get(1).is_some_and(|word| word == "dst");
        if self.take("dst") {
            return Ok(Some(Side::Destination));
        }
        if !self.take("src") {
            return Ok(None);
        }
        let joined = second(self.words);
        if joined && self.take("or") {
            self.next("dst")?;
            return Ok(Some(Side::Either));
        }
        if joined && self.take("and") {
            self.next("dst")?;
            return Ok(Some(Side::Both));
        }
        Ok(Some(Side::Source))
    }
}

fn qualified(qualifier: Qualifier, value: &str) -> Parsed<Expression> {
    let Qualifier { protocol, side, kind } = qualifier;
    let wanted = match kind {
        Kind::Host => {
            let Ok(address) = value.parse::<IpAddr>() else {
                if let Some((address, _)) = value.split_once('%')
                    && address.parse::<IpAddr>().is_ok()
                {
                    return wrong(format!("a packet does not say its link: write host {address}"));
                }
                return wrong(format!("`{value}` is no address: write it like 10.0.0.1"));
            };
            Match::Net(address, if address.is_ipv4() { 32 } else { 128 })
        }
        Kind::Net => net(value)?,
        Kind::Port => {
            let port = port(value)?;
            Match::Ports(port, port)
        }
        Kind::Range => match value.split_once('-') {
            Some((one, other)) => {
                let (one, other) = (port(one)?, port(other)?);
                Match::Ports(one.min(other), one.max(other))
            }
            None => return wrong(format!("`{value}` is no range: write it like 8000-8080")),
        },
    };
    let matched = Expression::Side(side, wanted);
    Ok(match protocol {
        None => matched,
        Some(protocol) => {
            Expression::And(Box::new(Expression::Protocol(protocol)), Box::new(matched))
        }
    })
}

fn port(text: &str) -> Parsed<u16> {
    text.parse().or_else(|_| wrong(format!("`{text}` is no port: give a number up to 65535")))
}

fn net(text: &str) -> Parsed<Match> {
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    let parsed = address.parse::<IpAddr>().ok().and_then(|address| {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = if prefix.is_empty() { Some(most) } else { prefix.parse().ok() };
        bits.filter(|bits| *bits <= most).map(|bits: u8| Match::Net(address, bits))
    });
    parsed.map_or_else(|| wrong(format!("`{text}` is no network: write it like 10.0.0.0/8")), Ok)
}
