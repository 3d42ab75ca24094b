//! [`Topic`]: what a run is about. A run of few kinds of steps takes less time, so that more
//! inputs can be tried, and each input says more of them.

/// What a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// All that there is.
    All,
    /// Segments of connections, some of which are open from the beginning, calls of their users,
    /// and time.
    Segments,
    /// Pieces of datagrams, whole ones, and time.
    Fragments,
    /// ICMP about a connection that is open, of which there is data on its way.
    Icmp,
}

impl Topic {
    /// The kinds of steps, by the numbers that `World::step` has for them.
    pub(crate) fn steps(self) -> &'static [u8] {
        const ALL: [u8; 24] =
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23];
        match self {
            Topic::All => &ALL,
            Topic::Segments => &[0, 0, 0, 0, 9, 10, 10, 14, 16, 16, 16, 20, 21, 23, 0, 14],
            Topic::Fragments => &[11, 11, 11, 11, 11, 14, 19, 21],
            Topic::Icmp => &[13, 13, 13, 13, 10, 14, 16, 21],
        }
    }

    /// Are connections open from the beginning?
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Topic::Segments | Topic::Icmp)
    }
}
