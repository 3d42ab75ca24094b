//! Doubly linked lists through one table: a key is in at most one of them, and
//! is put in, taken out or found in constant time.

use super::Key;

/// No neighbour.
const NONE: Key = Key::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    before: Key,
    after: Key,
    list: Option<u8>,
}

impl Default for Link {
    fn default() -> Link {
        Link { before: NONE, after: NONE, list: None }
    }
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: Key,
    last: Key,
}

/// A fixed number of lists over the same keys.
#[derive(Clone, Debug)]
pub struct Lists {
    links: Vec<Link>,
    ends: Vec<Ends>,
    len: usize,
}

impl Lists {
    /// `count` empty lists.
    pub fn new(count: u8) -> Lists {
        let ends = vec![Ends { first: NONE, last: NONE }; usize::from(count)];
        Lists { links: Vec::new(), ends, len: 0 }
    }

    /// Keys in all lists together.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are all lists empty?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The list that `key` is in.
    pub fn list_of(&self, key: Key) -> Option<u8> {
        self.links.get(key as usize)?.list
    }

    /// The first key of a list.
    pub fn first(&self, list: u8) -> Option<Key> {
        let first = self.ends[usize::from(list)].first;
        (first != NONE).then_some(first)
    }

    /// The key behind `key` in its list.
    pub fn after(&self, key: Key) -> Option<Key> {
        let after = self.links.get(key as usize)?.after;
        (after != NONE).then_some(after)
    }

    /// Puts a key that is in no list at the end of `list`.
    pub fn push_back(&mut self, list: u8, key: Key) {
        let last = self.ends[usize::from(list)].last;
        self.insert(list, key, last, NONE);
    }

    /// Puts a key that is in no list at the front of `list`.
    pub fn push_front(&mut self, list: u8, key: Key) {
        let first = self.ends[usize::from(list)].first;
        self.insert(list, key, NONE, first);
    }

    /// Takes the first key out of a list.
    pub fn pop_front(&mut self, list: u8) -> Option<Key> {
        let first = self.first(list)?;
        self.remove(first);
        Some(first)
    }

    /// Takes a key out of the list that it is in. Says whether it was in one.
    pub fn remove(&mut self, key: Key) -> bool {
        let Some(list) = self.list_of(key) else { return false };
        let Link { before, after, .. } = self.links[key as usize];
        self.join(list, before, after);
        self.links[key as usize] = Link::default();
        self.len -= 1;
        true
    }

    fn insert(&mut self, list: u8, key: Key, before: Key, after: Key) {
        debug_assert!(key != NONE && self.list_of(key).is_none());
        *super::entry(&mut self.links, key) = Link { before: NONE, after: NONE, list: Some(list) };
        self.join(list, before, key);
        self.join(list, key, after);
        self.len += 1;
    }

    /// Makes two keys neighbours, or one the end of its list.
    fn join(&mut self, list: u8, before: Key, after: Key) {
        let ends = &mut self.ends[usize::from(list)];
        if before == NONE {
            ends.first = after;
        } else {
            self.links[before as usize].after = after;
        }
        if after == NONE {
            ends.last = before;
        } else {
            self.links[after as usize].before = before;
        }
    }
}
