//! [`Cache`]: small files in memory.

use super::Body;
use super::document::{Asked, Document};
use anabranch::SharedBytes;
use bytes::Bytes;
use hyper::Response;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// Bytes of the largest file that is kept.
const SMALL: u64 = 256 * 1024;
/// Bytes of all that are kept, with their paths, and how many, at most.
const ALL: usize = 64 << 20;
const FILES: usize = 4096;
/// How long a file is believed to be as it was, ms.
const FRESH: u64 = 1000;
/// Longer than file systems take for the same time.
pub(super) const SETTLED: Duration = Duration::from_millis(100);

/// Small files in memory, by the paths of URIs. A file that was looked at within a second
/// is answered from here without a system call; then it is looked at again, and read again
/// only if it has changed.
pub(super) struct Cache {
    files: RwLock<Files>,
    start: Instant,
}

#[derive(Default)]
struct Files {
    by_path: HashMap<String, Arc<Kept>>,
    /// Of the files and of their paths: a client may write one path in any number of ways, and at any length.
    bytes: usize,
}

/// A file that is kept.
pub(super) struct Kept {
    document: Document,
    /// Where they are short enough, memory of the stack's own, which it sends without a copy.
    bytes: Bytes,
    /// Bytes of memory that they take.
    footprint: usize,
    identity: Identity,
    /// It had not been changed for long enough, when it was read, that a later change shows in
    /// its times.
    settled: bool,
    /// When it was last looked at, ms since the cache's start.
    seen: AtomicU64,
}

/// What is another if the file is another, or was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        let (seconds, nanos) = self.changed;
        let since = Duration::new(seconds.unsigned_abs(), nanos.unsigned_abs() as u32);
        let changed = SystemTime::UNIX_EPOCH + since;
        SystemTime::now().duration_since(changed).is_ok_and(|since| since > age)
    }
}

impl Default for Cache {
    fn default() -> Cache {
        Cache { files: RwLock::default(), start: Instant::now() }
    }
}

impl Kept {
    /// The answer to a request for it.
    ///
    /// # Errors
    /// None.
    pub(super) fn answer(&self, request: &Asked<'_>) -> io::Result<Response<Body>> {
        self.document.answer(request, |start, len| {
            let (start, len) = (start as usize, len as usize);
            Ok(Body::full(self.bytes.slice(start..start + len)))
        })
    }
}

/// Does it take so much memory that it is rather copied each time it is sent?
fn is_wasteful(shared: &SharedBytes) -> bool {
    shared.footprint() > 3 * shared.len()
}

impl Cache {
    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    fn get(&self, uri: &str) -> Option<Arc<Kept>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.by_path.get(uri).cloned()
    }

    /// The file of this path, if it was looked at a moment ago.
    pub(super) fn fresh(&self, uri: &str) -> Option<Arc<Kept>> {
        let kept = self.get(uri)?;
        let age = self.now().saturating_sub(kept.seen.load(Ordering::Relaxed));
        (age < FRESH).then_some(kept)
    }

    /// What is kept of `file`, which was just opened at `path` for the path of a URI; it is
    /// read if need be. Nothing if it is too large, or becomes shorter meanwhile.
    pub(super) fn keep(
        &self,
        uri: &str,
        path: &Path,
        file: &File,
        metadata: &Metadata,
    ) -> Option<Arc<Kept>> {
        if metadata.len() > SMALL {
            return None;
        }
        // Before it is looked at: what is written later is seen in time.
        let seen = self.now();
        let identity = Identity::of(metadata);
        let is_same = |kept: &Arc<Kept>| kept.settled && kept.identity == identity;
        if let Some(kept) = self.get(uri).filter(is_same) {
            kept.seen.store(seen, Ordering::Relaxed);
            return Some(kept);
        }
        let settled = identity.is_older_than(SETTLED);
        let mut bytes = vec![0; metadata.len() as usize];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let document = Document::of(path, metadata);
        let seen = AtomicU64::new(seen);
        let shared = (bytes.len() >= SharedBytes::LEAST).then(|| SharedBytes::copy_of(&bytes));
        let (bytes, footprint) = match shared.flatten().filter(|shared| !is_wasteful(shared)) {
            Some(shared) => (Bytes::from_owner(shared.clone()), shared.footprint()),
            None => (Bytes::from(bytes), metadata.len() as usize),
        };
        let kept = Arc::new(Kept { document, bytes, footprint, identity, settled, seen });
        self.put(uri, kept.clone());
        Some(kept)
    }

    fn put(&self, uri: &str, kept: Arc<Kept>) {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let len = uri.len() + kept.footprint;
        if files.bytes + len > ALL || files.by_path.len() >= FILES {
            // Those that are wanted come back.
            *files = Files::default();
        }
        files.bytes += len;
        if let Some(before) = files.by_path.insert(uri.to_owned(), kept) {
            files.bytes -= uri.len() + before.footprint;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Looks at the file for `uri`, as a request does that finds nothing fresh.
    fn look(cache: &Cache, uri: &str, path: &Path) -> Option<Arc<Kept>> {
        let file = File::open(path).expect("there");
        let metadata = file.metadata().expect("there");
        cache.keep(uri, path, &file, &metadata)
    }

    #[test]
    fn a_file_is_read_again_only_if_it_has_changed() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.txt");
        fs::write(&path, "one").expect("written");
        std::thread::sleep(2 * SETTLED);
        let cache = Cache::default();
        assert!(cache.fresh("/x").is_none());
        let one = look(&cache, "/x", &path).expect("small");
        assert_eq!(one.bytes, "one");
        assert!(Arc::ptr_eq(&one, &cache.fresh("/x").expect("just seen")));
        assert!(Arc::ptr_eq(&one, &look(&cache, "/x", &path).expect("small")), "not read again");
        // Long ago.
        let later = Cache { start: cache.start - Duration::from_secs(2), ..cache };
        assert!(later.fresh("/x").is_none());
        assert!(Arc::ptr_eq(&one, &look(&later, "/x", &path).expect("small")));
        assert!(later.fresh("/x").is_some(), "it was looked at");
        // Another file takes its place, of the same length.
        fs::write(place.path().join("y"), "two").expect("written");
        fs::rename(place.path().join("y"), &path).expect("renamed");
        assert_eq!(look(&later, "/x", &path).expect("small").bytes, "two");
        // Just changed: another change may not show in its times.
        fs::write(&path, "six").expect("written");
        assert_eq!(look(&later, "/x", &path).expect("small").bytes, "six");
        assert_eq!(later.files.read().expect("whole").bytes, "/x".len() + 3);
        // What is sent without a copy takes a block.
        fs::write(&path, [7; 30_000]).expect("written");
        assert_eq!(look(&later, "/x", &path).expect("small").bytes, [7; 30_000][..]);
        let bytes = later.files.read().expect("whole").bytes;
        assert!((30_000..90_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x");
        fs::write(&path, vec![0; SMALL as usize]).expect("written");
        let cache = Cache::default();
        for n in 0..300 {
            assert!(look(&cache, &format!("/{n}"), &path).is_some());
            let files = cache.files.read().expect("whole");
            let paths: usize = files.by_path.keys().map(String::len).sum();
            assert!(files.bytes <= ALL);
            assert_eq!(files.bytes, files.by_path.len() * SMALL as usize + paths);
        }
        fs::write(&path, "x").expect("written");
        (0..FILES + 10).for_each(|n| drop(look(&cache, &format!("/small{n}"), &path)));
        assert!(cache.files.read().expect("whole").by_path.len() <= FILES);
        fs::write(&path, vec![0; SMALL as usize + 1]).expect("written");
        assert!(look(&cache, "/large", &path).is_none());
    }
    /// Before, only the bytes of files counted: a client could have 256 MiB of paths kept.
    #[test]
    fn long_paths_count() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x");
        fs::write(&path, "x").expect("written");
        let cache = Cache::default();
        for n in 0..FILES {
            let uri = format!("/{}{n}", "./".repeat(30_000));
            assert!(look(&cache, &uri, &path).is_some());
        }
        let files = cache.files.read().expect("whole");
        let held: usize = files.by_path.iter().map(|(uri, kept)| uri.len() + kept.footprint).sum();
        assert!(held == files.bytes && held <= ALL, "{held}");
    }
}
