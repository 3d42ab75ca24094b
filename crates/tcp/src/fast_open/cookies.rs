//! Cookies of a server with Fast Open (RFC 7413 4.1.2).

use crate::FastOpenKey;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use wire::tcp::FastOpen;
use wire::time::Duration;
use wire::{Address, Instant};

/// How long a key of a host's own is used. A cookie is good until the next one has been used
/// for as long.
const LIFE: Duration = Duration::from_secs(12 * 3600);

impl FastOpenKey {
    /// The cookie of a client at `remote`, for a server at `local`: as on Linux.
    fn cookie(&self, remote: Address, local: Address) -> FastOpen {
        // RFC 7413 4.1.2/1, 4.1.2/2
        let mut hasher = SipHasher24::new_with_key(&self.0);
        for address in [remote, local] {
            match (address.v4(), address.v6()) {
                (Some(v4), _) => hasher.write(&v4.octets()),
                (_, Some(v6)) => hasher.write(&v6.octets()),
                _ => {}
            }
        }
        let cookie = hasher.finish().to_le_bytes();
        FastOpen::new(&cookie).unwrap_or(FastOpen::REQUEST)
    }
}

/// Makes the cookies of a host, and knows them again.
#[derive(Clone, Debug)]
pub struct FastOpenCookies {
    key: FastOpenKey,
    /// The key stays, for others have it, too.
    fixed: bool,
}

/// What a cookie is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worth {
    Nothing,
    Good,
    /// Good, and another is to take its place.
    Old,
}

/// What a listener says of its cookies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// They are made with this key; `None`: with the host's.
    pub key: Option<FastOpenKey>,
    /// None is needed.
    pub without_cookie: bool,
}

/// What a server does about the option of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The connection may be opened at once, and what came with the SYN counts.
    pub open: bool,
    /// The cookie that goes out with the SYN-ACK.
    pub cookie: Option<FastOpen>,
}

impl FastOpenCookies {
    /// Cookies with the `fixed` key, if it is given, or with keys that change twice a day and
    /// come from a secret random `key`.
    pub fn new(key: [u8; 16], fixed: Option<FastOpenKey>) -> FastOpenCookies {
        FastOpenCookies { key: fixed.unwrap_or(FastOpenKey(key)), fixed: fixed.is_some() }
    }

    /// Cookies with this key.
    pub fn of_key(key: FastOpenKey) -> FastOpenCookies {
        FastOpenCookies { key, fixed: true }
    }

    /// The key of a span of time.
    fn key_of(&self, span: u64) -> FastOpenKey {
        if self.fixed {
            return self.key;
        }
        let half = |half: u8| {
            let mut hasher = SipHasher24::new_with_key(&self.key.0);
            hasher.write_u64(span);
            hasher.write_u8(half);
            hasher.finish().to_le_bytes()
        };
        let (a, b) = (half(0), half(1));
        FastOpenKey(std::array::from_fn(|i| if i < 8 { a[i] } else { b[i - 8] }))
    }

    /// What a `cookie` is worth in this span of time.
    fn worth(&self, cookie: FastOpen, (remote, local): (Address, Address), span: u64) -> Worth {
        // RFC 7413 4.1.2/3
        if cookie == self.key_of(span).cookie(remote, local) {
            Worth::Good
        } else if !self.fixed && cookie == self.key_of(span.wrapping_sub(1)).cookie(remote, local) {
            Worth::Old
        } else {
            Worth::Nothing
        }
    }

    /// A SYN from `remote` to `local` has this `option`. `epoch`: the time of day at the
    /// stack's time zero.
    pub fn judge(
        &self,
        option: FastOpen,
        (remote, local): (Address, Address),
        now: Instant,
        epoch: Duration,
    ) -> Verdict {
        // RFC 7413 4.2.1/1, 4.2.2/1, 4.2.2/3
        let span = (epoch.as_secs() + now.as_millis() / 1000) / LIFE.as_secs();
        let worth = match option.is_request() {
            true => Worth::Nothing,
            false => self.worth(option.with_experimental(false), (remote, local), span),
        };
        // In the option that was asked by.
        let fresh = || {
            let cookie = self.key_of(span).cookie(remote, local);
            cookie.with_experimental(option.is_experimental())
        };
        Verdict { open: worth != Worth::Nothing, cookie: (worth != Worth::Good).then(fresh) }
    }
}

#[cfg(test)]
mod tests;
