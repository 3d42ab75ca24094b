//! [`Listings`]: pages with the names of directories.

use super::cache::{Identity, SETTLED};
use bytes::Bytes;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The pages that are on their way. Those of large directories take megabytes, and a client may take nothing of
/// its page for minutes: all who ask for a directory that has not changed meanwhile have one page together.
#[derive(Default)]
pub(super) struct Listings(Mutex<HashMap<PathBuf, (Identity, Weak<String>)>>);

/// A page, and one who sends it.
struct Shared(Arc<String>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Listings {
    fn with<R>(&self, act: impl FnOnce(&mut HashMap<PathBuf, (Identity, Weak<String>)>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The page of `directory`, which was just opened at `path`: as it is on its way to another, or as `write`
    /// has it.
    ///
    /// # Errors
    /// Those of the directory and of `write`.
    pub(super) fn page(
        &self,
        path: PathBuf,
        directory: &File,
        write: impl FnOnce() -> io::Result<String>,
    ) -> io::Result<Bytes> {
        let identity = Identity::of(&directory.metadata()?);
        let known = self.with(|pages| {
            let (of, page) = pages.get(&path)?;
            page.upgrade().filter(|_| *of == identity)
        });
        let page = match known {
            Some(page) => page,
            None => {
                // Before it is read: a later change may not show in its times.
                let settled = identity.is_older_than(SETTLED);
                let page = Arc::new(write()?);
                if settled {
                    self.with(|pages| {
                        pages.retain(|_, (_, page)| page.strong_count() > 0);
                        pages.insert(path, (identity, Arc::downgrade(&page)));
                    });
                }
                page
            }
        };
        Ok(Bytes::from_owner(Shared(page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_known_while_they_are_on_their_way() {
        let place = tempfile::tempdir().expect("a directory");
        let names: Vec<PathBuf> = (0..5).map(|n| place.path().join(n.to_string())).collect();
        names.iter().for_each(|name| std::fs::create_dir(name).expect("made"));
        std::thread::sleep(2 * SETTLED);
        let listings = Listings::default();
        let page = |name: &PathBuf, text: &str| {
            let directory = File::open(name).expect("there");
            listings.page(name.clone(), &directory, || Ok(text.to_owned())).expect("a page")
        };
        let first = page(&names[0], "one");
        assert_eq!(page(&names[0], "two"), "one", "it is on its way");
        std::fs::write(names[0].join("file"), "").expect("written");
        assert_eq!(page(&names[0], "two"), "two", "the directory has changed");
        drop(first);
        names.iter().for_each(|name| drop(page(name, "three")));
        assert_eq!(page(&names[1], "four"), "four", "nobody sends the one before");
        assert_eq!(listings.with(|pages| pages.len()), 1);
    }
}
