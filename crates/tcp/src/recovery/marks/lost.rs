//! [`Lost`]: which records are lost.

use std::collections::VecDeque;

/// The numbers of records of which something is lost. Mostly it is one, as of whoever sent
/// one segment and waited in vain: it lies here, and takes no memory of its own.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// The only one, as long as there were never several.
    one: Option<u64>,
    /// All, if they are several, or were.
    all: Option<Box<Set>>,
}

impl Lost {
    /// Puts `name` in, where `first` is the number of the first record that is in flight: none
    /// below it is there, or will be.
    pub(crate) fn insert(&mut self, name: u64, first: u64) {
        if let Some(all) = &mut self.all {
            return all.insert(name, first);
        }
        match self.one {
            None => self.one = Some(name),
            Some(one) if one == name => {}
            Some(one) => {
                self.one = None;
                let all = self.all.insert(Box::new(Set::new(first)));
                all.insert(one, first);
                all.insert(name, first);
            }
        }
    }

    pub(crate) fn remove(&mut self, name: u64) {
        if let Some(all) = &mut self.all {
            all.remove(name);
        } else if self.one == Some(name) {
            self.one = None;
        }
    }

    pub(crate) fn contains(&self, name: u64) -> bool {
        self.one == Some(name) || self.all.as_ref().is_some_and(|all| all.contains(name))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.as_ref().map_or(usize::from(self.one.is_some()), |all| all.len)
    }

    /// The lowest.
    pub(crate) fn first(&self) -> Option<u64> {
        self.next(0)
    }

    /// The lowest that is not below `name`.
    pub(crate) fn next(&self, name: u64) -> Option<u64> {
        match &self.all {
            Some(all) => all.next(name),
            None => self.one.filter(|one| *one >= name),
        }
    }

    /// Bytes of heap.
    pub(crate) fn footprint(&self) -> usize {
        self.all.as_ref().map_or(0, |all| {
            size_of::<Set>() + (all.words.capacity() + all.any.capacity()) * size_of::<u64>()
        })
    }
}

/// A set of numbers that lie near each other and grow: a bit each, and a bit for each word of
/// those that is not zero. Nothing is looked for.
#[derive(Debug)]
struct Set {
    words: VecDeque<u64>,
    /// Which words are not zero: bit `w % 64` of number `w / 64` for the word `w`.
    any: VecDeque<u64>,
    /// Which word is the first of `words`.
    base: u64,
    /// Words below are zero.
    lowest: u64,
    len: usize,
}

impl Set {
    fn new(first: u64) -> Set {
        let base = first / 64;
        Set { words: VecDeque::new(), any: VecDeque::new(), base, lowest: base, len: 0 }
    }

    /// Lets go of the words below `first`, where nothing is any more.
    fn trim(&mut self, first: u64) {
        let base = first / 64;
        while self.base < base && self.words.pop_front().is_some() {
            self.base += 1;
            if self.base.is_multiple_of(64) {
                self.any.pop_front();
            }
        }
        if self.words.is_empty() {
            self.any.clear();
            self.base = self.base.max(base);
        }
        self.lowest = self.lowest.max(self.base);
    }

    /// Where word `word` and its bit among those that are not zero are.
    fn places(&self, word: u64) -> Option<(usize, usize)> {
        let at = word.checked_sub(self.base)? as usize;
        (at < self.words.len()).then_some((at, (word / 64 - self.base / 64) as usize))
    }

    fn insert(&mut self, name: u64, first: u64) {
        let word = name / 64;
        self.trim(first);
        debug_assert!(word >= self.base, "{name} lies below {first}");
        let at = word.saturating_sub(self.base) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
            self.any.resize((word / 64 - self.base / 64) as usize + 1, 0);
        }
        let Some((at, group)) = self.places(word) else { return };
        let bit = 1 << (name % 64);
        self.len += usize::from(self.words[at] & bit == 0);
        self.words[at] |= bit;
        self.any[group] |= 1 << (word % 64);
        self.lowest = self.lowest.min(word);
    }

    fn remove(&mut self, name: u64) {
        let word = name / 64;
        let Some((at, group)) = self.places(word) else { return };
        let bit = 1 << (name % 64);
        self.len -= usize::from(self.words[at] & bit != 0);
        self.words[at] &= !bit;
        if self.words[at] == 0 {
            self.any[group] &= !(1 << (word % 64));
            if word == self.lowest {
                self.lowest = self.next_word(word).unwrap_or(self.base + self.words.len() as u64);
            }
        }
    }

    fn contains(&self, name: u64) -> bool {
        self.places(name / 64).is_some_and(|(at, _)| self.words[at] >> (name % 64) & 1 == 1)
    }

    fn next(&self, name: u64) -> Option<u64> {
        let mut word = (name / 64).max(self.lowest);
        let mut wanted = if word == name / 64 { u64::MAX << (name % 64) } else { u64::MAX };
        loop {
            let (at, _) = self.places(word)?;
            let bits = self.words[at] & wanted;
            if bits != 0 {
                return Some(64 * word + u64::from(bits.trailing_zeros()));
            }
            word = self.next_word(word + 1)?;
            wanted = u64::MAX;
        }
    }

    /// The lowest word that is not zero, from `word` on.
    fn next_word(&self, word: u64) -> Option<u64> {
        let (_, from) = self.places(word)?;
        let mut wanted = u64::MAX << (word % 64);
        for (group, any) in self.any.iter().enumerate().skip(from) {
            if any & wanted != 0 {
                let bit = u64::from((any & wanted).trailing_zeros());
                return Some(64 * (self.base / 64 + group as u64) + bit);
            }
            wanted = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests;
