//! What is known of a connection while a script is made: which calls have one outcome only.

/// One end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Half {
    /// Bytes written.
    pub(crate) sent: u64,
    /// Bytes read of what the other end has written.
    pub(crate) read: u64,
    /// It has shut down writing.
    pub(crate) fin: bool,
    /// It has closed, or reset.
    pub(crate) gone: bool,
    /// It has read the end.
    pub(crate) eof: bool,
    /// It has been told of a reset.
    pub(crate) told: bool,
}

/// Both.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Both(pub(crate) [Half; 2]);

impl Both {
    /// The end `side`.
    pub(crate) fn of(&mut self, side: usize) -> &mut Half {
        &mut self.0[side]
    }

    /// Bytes that wait for `side`, or are on their way to it.
    pub(crate) fn waiting(&self, side: usize) -> u64 {
        self.0[1 - side].sent - self.0[side].read
    }

    /// May the connection be over, since both ends have shut writing down?
    pub(crate) fn is_over(&self) -> bool {
        self.0[0].fin && self.0[1].fin
    }

    /// May `side` call at all?
    pub(crate) fn is_there(&self, side: usize) -> bool {
        !self.0[side].gone && !self.0[side].told
    }

    /// May `side` write, with somebody there to read it?
    pub(crate) fn may_write(&self, side: usize) -> bool {
        self.is_there(side) && !self.0[side].fin && self.is_there(1 - side)
    }

    /// Will nothing come for `side` unless the other end calls?
    pub(crate) fn is_quiet(&self, side: usize) -> bool {
        let other = &self.0[1 - side];
        self.is_there(side) && self.waiting(side) == 0 && !other.fin && !other.gone
    }

    /// May `side` read up to the end?
    pub(crate) fn may_read_end(&self, side: usize) -> bool {
        let (own, other) = (&self.0[side], &self.0[1 - side]);
        self.is_there(side) && !own.eof && (other.fin || other.gone)
    }

    /// May `side` go in a way that resets? The other end has all that was sent to it, and
    /// can find out by writing.
    pub(crate) fn may_reset(&self, side: usize) -> bool {
        let other = 1 - side;
        self.is_there(side)
            && self.is_there(other)
            && !self.0[side].fin
            && !self.0[other].fin
            && self.waiting(other) == 0
    }
}
