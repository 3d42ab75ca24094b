//! The option of Fast Open (RFC 7413 4.1.1). Only SYNs have it, so it stands apart from
//! [`Options`](super::Options), which every segment has.

/// Its number.
const KIND: u8 = 34;
/// The number of options of experiments, and what says that one is this (RFC 7413 9, RFC 6994).
const EXPERIMENT: u8 = 254;
const MAGIC: [u8; 2] = [0xf9, 0x89];
/// Bytes of the largest cookie.
const MOST: usize = 16;
/// Bytes of the least.
const LEAST: usize = 4;

/// The option: a cookie, or the request of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FastOpen {
    len: u8,
    experimental: bool,
    cookie: [u8; MOST],
}

impl std::fmt::Debug for FastOpen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", if self.experimental { "FOEXP" } else { "FO" })?;
        self.cookie().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FastOpen {
    /// The request of a cookie.
    pub const REQUEST: FastOpen = FastOpen { len: 0, experimental: false, cookie: [0; MOST] };

    /// The option with this cookie, or, if that is empty, the request of one. `None` if none is
    /// of this length: a cookie has 4 to 16 bytes, and an even number.
    pub fn new(cookie: &[u8]) -> Option<FastOpen> {
        // RFC 7413 4.1.1/1
        let len = cookie.len();
        let fits = len == 0 || ((LEAST..=MOST).contains(&len) && len.is_multiple_of(2));
        let mut option = FastOpen { len: len as u8, ..FastOpen::REQUEST };
        fits.then(|| option.cookie[..len].copy_from_slice(cookie))?;
        Some(option)
    }

    /// The same cookie, or request, in the option of the experiments that there were before
    /// RFC 7413 (its section 9), if `experimental`, or in its own.
    #[must_use]
    pub fn with_experimental(self, experimental: bool) -> FastOpen {
        FastOpen { experimental, ..self }
    }

    /// Is it the option of the experiments?
    pub fn is_experimental(&self) -> bool {
        self.experimental
    }

    /// The first among the options of a SYN, which are these `bytes`. One of a length that
    /// cannot be is passed over.
    pub fn find(mut bytes: &[u8]) -> Option<FastOpen> {
        // RFC 7413 4.1.1/2
        while let [kind, rest @ ..] = bytes {
            match (*kind, rest.first()) {
                (super::options::END, _) | (_, None) => return None,
                (super::options::NOP, _) => bytes = rest,
                (kind, Some(&len)) => {
                    let value = bytes.get(2..len.into())?;
                    let experiment = || value.strip_prefix(&MAGIC[..]).map(|value| (value, true));
                    let ours = match kind {
                        KIND => Some((value, false)),
                        EXPERIMENT => experiment(),
                        _ => None,
                    };
                    if let Some((cookie, experimental)) = ours
                        && let Some(option) = FastOpen::new(cookie)
                    {
                        return Some(option.with_experimental(experimental));
                    }
                    bytes = &bytes[len.into()..];
                }
            }
        }
        None
    }

    /// The cookie; none in a request.
    pub fn cookie(&self) -> &[u8] {
        &self.cookie[..self.len.into()]
    }

    /// Does it ask for a cookie?
    pub fn is_request(&self) -> bool {
        self.len == 0
    }

    /// Bytes in front of the cookie.
    fn front(&self) -> usize {
        if self.experimental { 2 + MAGIC.len() } else { 2 }
    }

    /// Bytes that [`FastOpen::emit`] writes: a multiple of 4, 20 at most.
    #[expect(clippy::len_without_is_empty, reason = "no option is empty")]
    pub fn len(&self) -> usize {
        (self.front() + usize::from(self.len)).next_multiple_of(4)
    }

    /// Writes it, padded behind as Linux does.
    ///
    /// # Panics
    /// If `bytes` is not [`FastOpen::len`] long.
    pub fn emit(&self, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.len());
        let front = self.front();
        let (option, padding) = bytes.split_at_mut(front + usize::from(self.len));
        option[1] = option.len() as u8;
        if self.experimental {
            option[0] = EXPERIMENT;
            option[2..front].copy_from_slice(&MAGIC);
        } else {
            option[0] = KIND;
        }
        option[front..].copy_from_slice(self.cookie());
        padding.fill(super::options::NOP);
    }
}

#[cfg(test)]
mod tests;
