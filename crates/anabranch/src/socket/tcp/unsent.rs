//! [`Unsent`]: what was written and is not with TCP yet.

use std::collections::VecDeque;
use wire::Slice;

/// A slice, and the sum of its bytes if that is known.
type Part = (Slice, Option<u16>);

/// Slices in the order in which they were written. Mostly there is one at a time, which has its
/// place here: so a connection that never wrote much at once has no list.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    /// None only if there is nothing.
    first: Option<Part>,
    rest: VecDeque<Part>,
}

impl Unsent {
    /// Room for so many slices more is kept, for those that follow.
    const KEPT: usize = 256;

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn push_back(&mut self, part: Part) {
        match self.first {
            None => self.first = Some(part),
            Some(_) => self.rest.push_back(part),
        }
    }

    pub(super) fn push_front(&mut self, part: Part) {
        if let Some(second) = self.first.replace(part) {
            self.rest.push_front(second);
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<Part> {
        let part = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(part)
    }

    pub(super) fn clear(&mut self) {
        self.first = None;
        self.rest.clear();
    }

    /// Gives back room that was needed once only.
    pub(super) fn shrink(&mut self) {
        if self.rest.capacity() > Unsent::KEPT {
            self.rest();
        }
    }

    /// Gives back all room that is not needed now.
    pub(super) fn rest(&mut self) {
        if self.is_empty() {
            self.rest = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(n: u16) -> Part {
        (Slice::copy_of(&n.to_be_bytes()), Some(n))
    }

    #[test]
    fn one_at_a_time_needs_no_list() {
        let mut unsent = Unsent::default();
        for n in 0..100 {
            unsent.push_back(part(n));
            let (slice, sum) = unsent.pop_front().expect("it is there");
            unsent.push_front((slice, sum));
            assert_eq!(unsent.pop_front().and_then(|(_, sum)| sum), Some(n));
            assert!(unsent.is_empty());
        }
        assert_eq!(unsent.rest.capacity(), 0);
        (0..1000).for_each(|n| unsent.push_back(part(n)));
        while unsent.pop_front().is_some() {}
        unsent.shrink();
        assert_eq!(unsent.rest.capacity(), 0);
        (0..10).for_each(|n| unsent.push_back(part(n)));
        unsent.rest();
        while unsent.pop_front().is_some() {}
        unsent.shrink();
        assert!(unsent.rest.capacity() > 0, "a busy one keeps some");
        unsent.rest();
        assert_eq!(unsent.rest.capacity(), 0);
    }

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(0..8u8, 0..200)) {
            let (mut unsent, mut queue) = (Unsent::default(), VecDeque::new());
            for (n, step) in (0..).zip(steps) {
                match step {
                    0..=3 => (unsent.push_back(part(n)), queue.push_back(n)),
                    4 => (unsent.push_front(part(n)), queue.push_front(n)),
                    5 | 6 => {
                        let popped = unsent.pop_front().and_then(|(_, sum)| sum);
                        prop_assert_eq!(popped, queue.pop_front());
                        ((), ())
                    }
                    _ if n % 16 == 0 => (unsent.clear(), queue.clear()),
                    _ => (unsent.shrink(), ()),
                };
                prop_assert_eq!(unsent.is_empty(), queue.is_empty());
            }
        }
    }
}
