//! Questions and answers of DNS (RFC 1035 4), as far as a resolver with answers of its own
//! needs them: one question, addresses as answers.

use std::net::IpAddr;

/// Bytes of the header.
const HEADER: usize = 12;
/// The most bytes of a name, with the lengths of its labels (RFC 1035 2.3.4): 253 as it is written with dots.
const LONGEST_NAME: usize = 255;
/// The class of the Internet.
const INTERNET: u16 = 1;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Addresses of IPv4.
    A,
    /// Addresses of IPv6.
    Aaaa,
    /// How a service is reached (RFC 9460). That there is nothing of the kind is the truth
    /// for who goes by way of a proxy.
    Service,
    /// Anything else.
    Other,
}

/// How an answer begins (RFC 1035 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// It is one, even if it says that there is nothing.
    Fine = 0,
    /// The question makes no sense.
    Malformed = 1,
    /// There is no room for another name at present.
    Failed = 2,
    /// This kind of request is not known.
    NotImplemented = 4,
    /// It is not answered here.
    Refused = 5,
}

/// A question.
#[derive(Debug, PartialEq, Eq)]
pub struct Question<'a> {
    bytes: &'a [u8],
    /// Where the question ends in `bytes`.
    end: usize,
    /// The name, in lower case, without the last dot; that of a host, but for other kinds.
    pub name: String,
    /// What is asked of it.
    pub kind: Kind,
}

/// Why there is no question.
#[derive(Debug, PartialEq, Eq)]
pub enum Unasked {
    /// It is no request: an answer to it could go on for ever.
    Silence,
    /// Its sender is to be told so.
    Answer(Vec<u8>),
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The answer to the request that `request` starts with, without its question.
fn bare(request: &[u8], code: Code) -> Vec<u8> {
    let mut answer = request[..HEADER].to_vec();
    set_flags(&mut answer, code);
    answer[4..].fill(0);
    answer
}

/// Answer, recursion available; opcode and "recursion desired" are as they were asked.
fn set_flags(answer: &mut [u8], code: Code) {
    answer[2] = 0x80 | (answer[2] & 0x79);
    answer[3] = 0x80 | code as u8;
}

impl<'a> Question<'a> {
    /// The question in `bytes`.
    ///
    /// # Errors
    /// What is to be said of it instead.
    pub fn parse(bytes: &'a [u8]) -> Result<Question<'a>, Unasked> {
        if bytes.len() < HEADER || bytes[2] & 0x80 != 0 {
            return Err(Unasked::Silence);
        }
        let refuse = |code| Unasked::Answer(bare(bytes, code));
        if bytes[2] & 0x78 != 0 {
            return Err(refuse(Code::NotImplemented));
        }
        if word(bytes, 4) != Some(1) {
            return Err(refuse(Code::Malformed));
        }
        let (name, at) = name(bytes).ok_or_else(|| refuse(Code::Malformed))?;
        let (Some(kind), Some(class)) = (word(bytes, at), word(bytes, at + 2)) else {
            return Err(refuse(Code::Malformed));
        };
        let kind = match (kind, class) {
            (1, INTERNET) => Kind::A,
            (28, INTERNET) => Kind::Aaaa,
            (64 | 65, INTERNET) => Kind::Service,
            _ => Kind::Other,
        };
        match name {
            // What is refused may have any name.
            None if kind != Kind::Other => Err(refuse(Code::Malformed)),
            name => Ok(Question { bytes, end: at + 4, name: name.unwrap_or_default(), kind }),
        }
    }

    /// The answer with these addresses, which hold for `ttl` seconds.
    pub fn answer(&self, code: Code, addresses: &[IpAddr], ttl: u32) -> Vec<u8> {
        let mut answer = self.bytes[..self.end].to_vec();
        set_flags(&mut answer, code);
        answer[4..HEADER].copy_from_slice(&[0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
        for address in addresses {
            // The name is the question's (RFC 1035 4.1.4).
            answer.extend([0xc0, HEADER as u8]);
            let (kind, octets) = match address {
                IpAddr::V4(v4) => (1, v4.octets().to_vec()),
                IpAddr::V6(v6) => (28, v6.octets().to_vec()),
            };
            answer.extend([0, kind, 0, INTERNET as u8]);
            answer.extend(ttl.to_be_bytes());
            answer.extend([0, octets.len() as u8]);
            answer.extend(octets);
        }
        answer
    }
}

/// The name of the question, if it is that of a host, and where it ends. Those are of letters, digits,
/// hyphens and underscores. Others could mean something to whom they are handed on to.
fn name(bytes: &[u8]) -> Option<(Option<String>, usize)> {
    let (mut at, mut name, mut is_host) = (HEADER, String::new(), true);
    loop {
        let len = usize::from(*bytes.get(at)?);
        at += 1;
        if len == 0 {
            break;
        }
        // More than 63 is a pointer, which has nothing to point to in a question.
        if len > 63 {
            return None;
        }
        let label = bytes.get(at..at + len)?;
        is_host &= label.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.iter().map(|b| char::from(b.to_ascii_lowercase())));
        at += len;
    }
    let name = (is_host && !name.is_empty()).then_some(name);
    (at - HEADER <= LONGEST_NAME).then_some((name, at))
}

#[cfg(test)]
mod tests;
