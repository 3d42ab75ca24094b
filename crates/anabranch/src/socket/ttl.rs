//! [`Ttl`]: the time to live of what a socket sends.

use platform::atomic::{AtomicU8, Ordering};
use std::io;

/// A time to live that a thread of the application sets, and one of the stack reads.
#[derive(Debug, Default)]
pub(crate) struct Ttl(AtomicU8);

impl Ttl {
    /// The same as another socket has now.
    pub(crate) fn like(other: &Ttl) -> Ttl {
        Ttl(AtomicU8::new(other.wire()))
    }

    /// What goes with packets: 0 if nobody has set any.
    #[inline]
    pub(crate) fn wire(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// The time to live, hops.
    pub(crate) fn get(&self) -> u32 {
        match self.wire() {
            0 => net::ip::TTL.into(),
            ttl => ttl.into(),
        }
    }

    /// Sets it, in hops.
    ///
    /// # Errors
    /// `InvalidInput` if it is not from 1 to 255.
    pub(crate) fn set(&self, ttl: u32) -> io::Result<()> {
        match u8::try_from(ttl) {
            Ok(ttl) if ttl > 0 => self.0.store(ttl, Ordering::Relaxed),
            _ => {
                let text = format!("a time to live is from 1 to 255 hops, not {ttl}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
        Ok(())
    }
}
