//! Extension headers (RFC 8200 4): what stands between the fixed header and the
//! transport's. They are passed over; those that may not be say so.

use super::{FRAGMENT_LEN, Fragment, LEN};

/// The most extension headers that a datagram may have.
pub const MAX: usize = 8;

/// Where the fixed header says what follows it.
pub const NEXT_HEADER: usize = 6;
/// Hop-by-hop options.
pub const HOP_BY_HOP: u8 = 0;
/// Routing.
pub const ROUTING: u8 = 43;
/// Fragment.
pub const FRAGMENT: u8 = 44;
/// Destination options.
pub const DESTINATION: u8 = 60;

/// Where the extension headers end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// What follows: a protocol, or [`crate::protocol::NO_NEXT_HEADER`].
    pub protocol: u8,
    /// Where that is, from the start of the bytes that were walked over.
    pub len: usize,
    /// Where its number stands, from the start of the fixed header.
    pub named: usize,
    /// The fragment header that ends the chain, its bytes within `len`: what follows is a
    /// part of a datagram. An atomic fragment's header is passed over.
    pub fragment: Option<Fragment>,
}

/// What is wrong with the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// They end too early, or an option says that the datagram is to be discarded, or
    /// there are too many.
    Discard,
    /// The source is to be told, by a parameter problem.
    Tell {
        /// The error's code (RFC 4443 3.4): 0 a field, 1 a next header, 2 an option.
        code: u8,
        /// Where the problem is, from the start of the fixed header, bytes.
        at: usize,
        /// Is an error to be sent even if the datagram was sent to a group?
        even_to_group: bool,
    },
}

/// Walks over extension headers. `bytes` is what follows the fixed header, and begins with
/// a `next` header.
///
/// # Errors
/// [`Problem`].
pub fn walk(bytes: &[u8], next: u8) -> Result<Chain, Problem> {
    // RFC 8200 4/1
    Walk { bytes, at: 0, named: NEXT_HEADER, routing: false, fragment: false }.run(next)
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the number of the header at `at` stands, from the start of the fixed header.
    named: usize,
    routing: bool,
    fragment: bool,
}

impl Walk<'_> {
    fn run(mut self, mut next: u8) -> Result<Chain, Problem> {
        // RFC 8200 4.1/1, 4.4/1
        for count in 0..=MAX {
            let ends = !matches!(next, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION);
            if ends {
                return Ok(self.chain(next, None));
            }
            // Hop-by-hop options come first; no other header but options comes twice.
            let again = match next {
                HOP_BY_HOP => count > 0,
                ROUTING => std::mem::replace(&mut self.routing, true),
                FRAGMENT => std::mem::replace(&mut self.fragment, true),
                _ => false,
            };
            if again {
                return Err(tell(1, self.named));
            }
            let header = self.bytes.get(self.at..self.at + 8).ok_or(Problem::Discard)?;
            let (following, start) = (header[0], self.at);
            if next == FRAGMENT {
                let fragment = Fragment::parse(header).map_err(|_| Problem::Discard)?;
                self.at += FRAGMENT_LEN;
                if !fragment.is_atomic() {
                    self.named = LEN + start;
                    return Ok(self.chain(fragment.next_header, Some(fragment)));
                }
            } else {
                let len = (usize::from(header[1]) + 1) * 8;
                let all = self.bytes.get(start..start + len).ok_or(Problem::Discard)?;
                match next {
                    //= RFC 8200 4.4: with segments left, an unrecognized type is told of;
                    //= so is type 0 (RFC 5095 3)
                    ROUTING if all[3] != 0 => return Err(tell(0, LEN + start + 2)),
                    ROUTING => {}
                    _ => Self::options(all, start)?,
                }
                self.at += len;
            }
            (next, self.named) = (following, LEN + start);
        }
        Err(Problem::Discard)
    }

    fn chain(&self, protocol: u8, fragment: Option<Fragment>) -> Chain {
        Chain { protocol, len: self.at, named: self.named, fragment }
    }

    /// Passes over options (RFC 8200 4.2), and does as the unknown ones say.
    fn options(header: &[u8], start: usize) -> Result<(), Problem> {
        // RFC 8200 4.2/1
        let mut at = 2;
        while at < header.len() {
            let kind = header[at];
            if kind == 0 {
                at += 1;
                continue;
            }
            let len = usize::from(*header.get(at + 1).ok_or(Problem::Discard)?);
            if at + 2 + len > header.len() {
                return Err(Problem::Discard);
            }
            match kind >> 6 {
                0 => {}
                1 => return Err(Problem::Discard),
                action => {
                    let at = start + at + LEN;
                    return Err(Problem::Tell { code: 2, at, even_to_group: action == 2 });
                }
            }
            at += 2 + len;
        }
        Ok(())
    }
}

fn tell(code: u8, at: usize) -> Problem {
    Problem::Tell { code, at, even_to_group: false }
}

#[cfg(test)]
mod tests;
