//! The option of Fast Open (RFC 7413 4.1.1). Only SYNs have it, so it stands apart from
//! [`Options`](super::Options), which every segment has.

/// Its number.
const KIND: u8 = 34;
/// Bytes of the largest cookie.
const MOST: usize = 16;
/// Bytes of the least.
const LEAST: usize = 4;

/// The option: a cookie, or the request of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FastOpen {
    len: u8,
    cookie: [u8; MOST],
}

impl std::fmt::Debug for FastOpen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FO ")?;
        self.cookie().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FastOpen {
    /// The request of a cookie.
    pub const REQUEST: FastOpen = FastOpen { len: 0, cookie: [0; MOST] };

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
                    if kind == KIND
                        && let Some(option) = FastOpen::new(value)
                    {
                        return Some(option);
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

    /// Bytes that [`FastOpen::emit`] writes: a multiple of 4, 20 at most.
    #[expect(clippy::len_without_is_empty, reason = "no option is empty")]
    pub fn len(&self) -> usize {
        (2 + usize::from(self.len)).next_multiple_of(4)
    }

    /// Writes it, padded behind as Linux does.
    ///
    /// # Panics
    /// If `bytes` is not [`FastOpen::len`] long.
    pub fn emit(&self, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.len());
        let (option, padding) = bytes.split_at_mut(2 + usize::from(self.len));
        option[..2].copy_from_slice(&[KIND, 2 + self.len]);
        option[2..].copy_from_slice(self.cookie());
        padding.fill(super::options::NOP);
    }
}

#[cfg(test)]
mod tests;
