//! [`SharedBytes`]: what many connections send, in memory of the stack's own.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use wire::Slice;

/// A part is copied if the block takes more memory than so many times its bytes: a
/// connection counts the memory of the block among what it holds.
const WASTE: usize = 3;

/// All that there are, by the address of their first byte. While they stand here they are held, so
/// that nothing else is at the address.
static KNOWN: RwLock<BTreeMap<usize, Slice>> = RwLock::new(BTreeMap::new());
/// How many there are, so that others need not look.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are sent again and again, as the files of a server, in memory of the stack's own.
///
/// Whoever writes them to a stream of this crate, by any of its ways
/// (`stream.write_all(&shared)`), has them sent from where they are: they are not copied. The
/// stream knows them by their address, so that holds through hyper as well, if a body hands out
/// `bytes::Bytes::from_owner(shared)`. It holds for [`SharedBytes::LEAST`] bytes or more; for a part
/// (`&shared[at..]`), if that is a third of [`SharedBytes::footprint`] at least; and by devices that cut segments
/// and sum them: for others, bytes are summed while they are copied.
///
/// ```
/// use anabranch::SharedBytes;
///
/// let page = SharedBytes::copy_of(&[7; 32 * 1024]).expect("it is not too long");
/// assert_eq!(page[100..200], [7; 100]);
/// assert!(SharedBytes::copy_of(&[7; SharedBytes::MOST + 1]).is_none());
/// ```
///
/// A clone is the same bytes. They stay as long as there is a clone, or a connection has not
/// had them acknowledged. Each connection counts their memory among what it holds, though it is there
/// but once.
#[derive(Clone)]
pub struct SharedBytes(Arc<Held>);

struct Held(Slice);

impl SharedBytes {
    /// Bytes that are written at once at least, to be sent without a copy. Less is copied as fast as it is
    /// found where it is.
    pub const LEAST: usize = 8 * 1024;
    /// The most that there can be, bytes.
    pub const MOST: usize = 64 * 1024;

    /// A copy of these; `None` if there are more than [`SharedBytes::MOST`].
    pub fn copy_of(bytes: &[u8]) -> Option<SharedBytes> {
        if bytes.len() > SharedBytes::MOST {
            return None;
        }
        let slice = Slice::copy_of(bytes);
        if slice.len() != bytes.len() {
            return None;
        }
        let known = slice.clone();
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(address(&slice), known);
        COUNT.fetch_add(1, Ordering::Relaxed);
        Some(SharedBytes(Arc::new(Held(slice))))
    }

    /// Are they, or a part of them, on their way: written to a stream, and not acknowledged, or not read
    /// by the peer, if that is a stack of the same process? It may have changed when it is told.
    pub fn is_on_its_way(&self) -> bool {
        // One here, and one among those that are known.
        self.0.0.references() > 2
    }

    /// Bytes of memory that they take: of the smallest block that holds them, of 256 bytes, 2,
    /// 4.5, 16 or 65 KiB.
    pub fn footprint(&self) -> usize {
        self.0.0.footprint()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).remove(&address(&self.0));
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.0
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.len())
    }
}

fn address(bytes: &[u8]) -> usize {
    bytes.as_ptr().addr()
}

/// What `bytes` are, if they are [`SharedBytes`], or a large enough part: a slice of those. (Whoever has
/// `bytes` has borrowed them from what is there; and what stands among [`KNOWN`] is there.)
pub(crate) fn find(bytes: &[u8]) -> Option<Slice> {
    if bytes.len() < SharedBytes::LEAST || COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let (at, slice) = known.range(..=address(bytes)).next_back()?;
    let from = address(bytes) - at;
    let is_part = from + bytes.len() <= slice.len();
    let is_enough = bytes.len() == slice.len() || slice.footprint() <= WASTE * bytes.len();
    (is_part && is_enough).then(|| slice.range(from, bytes.len()))
}

#[cfg(test)]
mod tests;
