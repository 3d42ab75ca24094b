//! Membership in groups, as hosts and routers speak of it: IGMP for IPv4 (RFC 3376; version
//! 2: RFC 2236, version 1: RFC 1112) and MLD for IPv6 (RFC 3810; version 1: RFC 2710).
//!
//! Only messages are here. [`Message::parse_igmp`] checks the sum; that of MLD is ICMP's, with
//! a pseudo-header, and is for the caller.

use crate::address::v6_at;
use crate::time::Duration;
use crate::{Address, Malformed, checksum};
use std::net::Ipv4Addr;

/// How routers and hosts of a link speak. MLD has no first version of its own: its version 1
/// is IGMP's version 2 by other numbers, and is called that here, and so is its version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// IGMPv1: reports only.
    V1,
    /// IGMPv2 and MLDv1: reports, and a word when a group is left.
    V2,
    /// IGMPv3 and MLDv2: with sources.
    V3,
}

/// A router asks who is a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The version that the router speaks.
    pub version: Version,
    /// The group, or the unspecified address: all groups.
    pub group: Address,
    /// How long an answer may take.
    pub max_response: Duration,
    /// The sources that it asks for; none: all.
    pub sources: Vec<Address>,
}

/// A message that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A question.
    Query(Query),
    /// Another host's report of an older version: it is a member of this group.
    Report(Address),
    /// A message for routers only, or of a type that is not known.
    Other,
}

/// What a record of a report says (RFC 3376 4.2.12, RFC 3810 5.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The filter lets these sources pass.
    IsInclude = 1,
    /// The filter lets all but these pass.
    IsExclude = 2,
    /// It has become so: these pass.
    ToInclude = 3,
    /// It has become so: all but these pass.
    ToExclude = 4,
    /// These pass now, too.
    Allow = 5,
    /// These pass no longer.
    Block = 6,
}

/// One record of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it says.
    pub kind: Kind,
    /// Of which group.
    pub group: Address,
    /// And of which sources.
    pub sources: Vec<Address>,
}

impl Record {
    /// Bytes that it takes.
    pub fn len(&self) -> usize {
        match self.group.is_v4() {
            true => 8 + 4 * self.sources.len(),
            false => 20 + 16 * self.sources.len(),
        }
    }
    /// It always takes some.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// 224.0.0.22, all routers that speak IGMPv3.
pub const REPORTS_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);
/// `ff02::16`, all routers that speak MLDv2.
pub const REPORTS_V6: std::net::Ipv6Addr = std::net::Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// 224.0.0.2, all routers.
pub const ROUTERS_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// `ff02::2`, all routers.
pub const ROUTERS_V6: std::net::Ipv6Addr = std::net::Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// IGMP's types.
const QUERY_V4: u8 = 0x11;
const REPORTS_OLD_V4: [u8; 2] = [0x12, 0x16];
const LEAVE_V4: u8 = 0x17;
const REPORT_V4: u8 = 0x22;
/// MLD's types.
const QUERY_V6: u8 = 130;
const REPORT_OLD_V6: u8 = 131;
const DONE_V6: u8 = 132;
const REPORT_V6: u8 = 143;

/// The types of ICMPv6 that are MLD's.
pub const fn is_mld(kind: u8) -> bool {
    matches!(kind, QUERY_V6 | REPORT_OLD_V6 | DONE_V6 | REPORT_V6)
}

fn v4_at(bytes: &[u8], at: usize) -> Address {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]).into()
}

impl Message {
    /// The message of IGMP in `bytes`, which is all of it.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse_igmp(bytes: &[u8]) -> Result<Message, Malformed> {
        let b = bytes.first_chunk::<8>().ok_or(Malformed::Truncated)?;
        if !checksum::is_right(checksum::sum(bytes)) {
            return Err(Malformed::Checksum);
        }
        let group = v4_at(b, 4);
        match b[0] {
            QUERY_V4 => {}
            kind if REPORTS_OLD_V4.contains(&kind) => {
                return if group.is_multicast() {
                    Ok(Message::Report(group))
                } else {
                    Err(Malformed::Field)
                };
            }
            _ => return Ok(Message::Other),
        }
        let tenths = |n: u64| Duration::from_millis(100 * n);
        //= RFC 3376 7.1: the version is told by the length and the code
        let (version, max_response) = match (bytes.len(), b[1]) {
            (8, 0) => (Version::V1, tenths(100)),
            (8, code) => (Version::V2, tenths(code.into())),
            (9..12, _) => return Err(Malformed::Truncated),
            (_, code @ 0..128) => (Version::V3, tenths(code.into())),
            (_, code) => {
                let (mantissa, exponent) = (code & 0x0f | 0x10, code >> 4 & 0x07);
                (Version::V3, tenths(u64::from(mantissa) << (exponent + 3)))
            }
        };
        let sources = match version {
            Version::V3 => sources(bytes, 12, 4, v4_at)?,
            _ => Vec::new(),
        };
        query(Query { version, group, max_response, sources })
    }

    /// The message of MLD in `bytes`, an ICMP message of such a type ([`is_mld`]).
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse_mld(bytes: &[u8]) -> Result<Message, Malformed> {
        let b = bytes.first_chunk::<8>().ok_or(Malformed::Truncated)?;
        if !matches!(b[0], QUERY_V6 | REPORT_OLD_V6) {
            return Ok(Message::Other);
        }
        if bytes.len() < 24 {
            return Err(Malformed::Truncated);
        }
        let group = Address::from(v6_at(bytes, 8));
        if group.is_v4() {
            return Err(Malformed::Field);
        }
        if b[0] == REPORT_OLD_V6 {
            return if group.is_multicast() {
                Ok(Message::Report(group))
            } else {
                Err(Malformed::Field)
            };
        }
        let code = u16::from_be_bytes([b[4], b[5]]);
        //= RFC 3810 8.1: the version is told by the length
        let (version, millis) = match (bytes.len(), code) {
            (24, code) => (Version::V2, u64::from(code)),
            (25..28, _) => return Err(Malformed::Truncated),
            (_, code @ 0..0x8000) => (Version::V3, u64::from(code)),
            (_, code) => {
                let (mantissa, exponent) = (code & 0x0fff | 0x1000, code >> 12 & 0x07);
                (Version::V3, u64::from(mantissa) << (exponent + 3))
            }
        };
        let at = |bytes: &[u8], at: usize| Address::from(v6_at(bytes, at));
        let sources = match version {
            Version::V3 => sources(bytes, 28, 16, at)?,
            _ => Vec::new(),
        };
        query(Query { version, group, max_response: Duration::from_millis(millis), sources })
    }
}

fn query(query: Query) -> Result<Message, Malformed> {
    let is_possible = match query.group.is_unspecified() {
        true => query.sources.is_empty(),
        false => query.group.is_multicast(),
    };
    if is_possible { Ok(Message::Query(query)) } else { Err(Malformed::Field) }
}

/// The sources of a query from `start` on, `len` bytes each; their number stands before.
fn sources(
    bytes: &[u8],
    start: usize,
    len: usize,
    at: impl Fn(&[u8], usize) -> Address,
) -> Result<Vec<Address>, Malformed> {
    let count = usize::from(u16::from_be_bytes([bytes[start - 2], bytes[start - 1]]));
    if bytes.len() < start + count * len {
        return Err(Malformed::Truncated);
    }
    Ok((0..count).map(|i| at(bytes, start + i * len)).collect())
}

/// A report with these records, of the family of the first. MLD's has a zero checksum.
///
/// # Panics
/// If there are more than 65,535 records, or as many sources in one.
pub fn report(records: &[Record], is_v4: bool) -> Vec<u8> {
    let mut bytes = vec![if is_v4 { REPORT_V4 } else { REPORT_V6 }, 0, 0, 0, 0, 0];
    bytes.extend(u16::try_from(records.len()).expect("few records").to_be_bytes());
    for record in records {
        bytes.extend([record.kind as u8, 0]);
        bytes.extend(u16::try_from(record.sources.len()).expect("few sources").to_be_bytes());
        put(&mut bytes, record.group);
        record.sources.iter().for_each(|source| put(&mut bytes, *source));
    }
    summed(bytes, is_v4)
}

/// What a host says in an older version: that it is a member of `group`, or no longer.
/// `None` if the version has no word for it. MLD's has a zero checksum.
pub fn old_report(version: Version, group: Address, is_member: bool) -> Option<Vec<u8>> {
    let kind = match (group.is_v4(), version, is_member) {
        (true, Version::V1, true) => REPORTS_OLD_V4[0],
        (true, _, true) => REPORTS_OLD_V4[1],
        (_, Version::V1, false) => return None,
        (true, _, false) => LEAVE_V4,
        (false, _, true) => REPORT_OLD_V6,
        (false, _, false) => DONE_V6,
    };
    let mut bytes = vec![kind, 0, 0, 0];
    if !group.is_v4() {
        bytes.extend([0; 4]);
    }
    put(&mut bytes, group);
    Some(summed(bytes, group.is_v4()))
}

fn summed(mut bytes: Vec<u8>, is_v4: bool) -> Vec<u8> {
    if is_v4 {
        let sum = !checksum::sum(&bytes);
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

fn put(bytes: &mut Vec<u8>, address: Address) {
    match (address.v4(), address.v6()) {
        (Some(v4), _) => bytes.extend(v4.octets()),
        (_, Some(v6)) => bytes.extend(v6.octets()),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
