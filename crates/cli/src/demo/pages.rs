//! [`Pages`]: what the demonstration serves, all from memory.

use crate::http::{Body, Site, text};
use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode, Uri};
use sha2::{Digest, Sha256};

/// Path of the large file.
pub const LARGE: &str = "/large";
/// Path of the small one.
pub const SMALL: &str = "/small";
/// What the small file says.
pub const SMALL_TEXT: &str = "A river that runs in many channels, which part and join again.\n";

/// A prime: no multiple of a segment's, page's or buffer's length is one of it,
/// so that what comes at the wrong place is seen.
const BLOCK: usize = 1_048_573;

/// A large file, and a small one.
pub struct Pages {
    block: Bytes,
    large_len: u64,
    digest: [u8; 32],
}

impl Pages {
    /// Pages with `large_len` bytes in the large one.
    pub fn new(large_len: u64) -> Pages {
        // Marsaglia 2003: xorshift64.
        let mut x: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x.to_le_bytes()
        };
        let block: Vec<u8> = (0..BLOCK.div_ceil(8)).flat_map(|_| next()).take(BLOCK).collect();
        let mut digest = Sha256::new();
        let mut left = large_len;
        while left > 0 {
            let len = left.min(BLOCK as u64);
            digest.update(&block[..len as usize]);
            left -= len;
        }
        Pages { block: block.into(), large_len, digest: digest.finalize().into() }
    }

    /// Bytes of the large file.
    pub fn large_len(&self) -> u64 {
        self.large_len
    }

    /// Are these the bytes of the large file?
    pub fn is_large(&self, bytes: &[u8]) -> bool {
        Sha256::digest(bytes)[..] == self.digest
    }
}

impl Site for Pages {
    fn page(&self, uri: &Uri, _: &HeaderMap, _: bool) -> Response<Body> {
        match uri.path() {
            LARGE => Response::new(Body::repeat(self.block.clone(), self.large_len)),
            SMALL => text(StatusCode::OK, SMALL_TEXT),
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}
