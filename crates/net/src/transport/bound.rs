//! [`Bound`]: what stands for local ends, as listeners and sockets do.

use crate::hash::Keyed;
use hashbrown::HashMap;
use wire::Endpoint;

/// Listeners or sockets by their local ends. Nearly always the same is looked up as the last
/// time, which costs a comparison and no hash.
pub(crate) struct Bound<T> {
    entries: Vec<(Endpoint, T)>,
    /// Where in `entries` an end is.
    places: HashMap<Endpoint, usize, Keyed>,
    /// The end that was looked up last, and where what stands for it is.
    last: Option<(Endpoint, usize)>,
}

impl<T> Bound<T> {
    pub(super) fn new(hasher: Keyed) -> Bound<T> {
        Bound { entries: Vec::new(), places: HashMap::with_hasher(hasher), last: None }
    }

    /// The hash that it uses.
    pub(super) fn hasher(&self) -> &Keyed {
        self.places.hasher()
    }

    /// `value` stands for `local` from now on.
    pub(super) fn insert(&mut self, local: Endpoint, value: T) {
        self.last = None;
        match self.places.get(&local) {
            Some(&at) => self.entries[at].1 = value,
            None => {
                self.places.insert(local, self.entries.len());
                self.entries.push((local, value));
            }
        }
    }

    /// Nothing stands for `local` from now on.
    pub(super) fn remove(&mut self, local: &Endpoint) {
        self.last = None;
        let Some(at) = self.places.remove(local) else { return };
        self.entries.swap_remove(at);
        if let Some((moved, _)) = self.entries.get(at) {
            self.places.insert(*moved, at);
        }
    }

    /// Takes all out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.last = None;
        self.places.clear();
        self.entries.drain(..).map(|(_, value)| value)
    }

    /// What stands for `local`: for the very address, else for any of its family, else for any
    /// address of its family and any port (port 0).
    #[inline]
    // RFC 9293 MUST-42
    pub(super) fn find(&mut self, local: &Endpoint) -> Option<&T> {
        let at = match self.last {
            Some((last, at)) if last == *local => at,
            _ => self.search(local)?,
        };
        self.entries.get(at).map(|(_, value)| value)
    }

    #[inline(never)]
    fn search(&mut self, local: &Endpoint) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let any = Endpoint { address: local.address.unspecified(), port: local.port };
        let all = Endpoint { port: 0, ..any };
        let places = &self.places;
        let at = *[local, &any, &all].into_iter().find_map(|end| places.get(end))?;
        self.last = Some((*local, at));
        Some(at)
    }
}

#[cfg(test)]
mod tests;
