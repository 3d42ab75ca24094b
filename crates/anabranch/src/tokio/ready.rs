//! [`Interest`] and [`Ready`]: as those of `tokio::io`, which need tokio's own
//! reactor.

use std::ops::BitOr;

/// What a task waits for: see [`TcpStream::ready`](super::TcpStream::ready).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    reads: bool,
    writes: bool,
}

impl Interest {
    /// To read.
    pub const READABLE: Interest = Interest { reads: true, writes: false };
    /// To write.
    pub const WRITABLE: Interest = Interest { reads: false, writes: true };

    /// Does it wait to read?
    pub const fn is_readable(self) -> bool {
        self.reads
    }

    /// Does it wait to write?
    pub const fn is_writable(self) -> bool {
        self.writes
    }
}

impl BitOr for Interest {
    type Output = Interest;
    fn bitor(self, other: Interest) -> Interest {
        Interest { reads: self.reads || other.reads, writes: self.writes || other.writes }
    }
}

/// What a socket is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Ready {
    /// Can it be read, or has reading ended?
    pub const fn is_readable(self) -> bool {
        self.reads
    }

    /// Can it be written, or has writing ended?
    pub const fn is_writable(self) -> bool {
        self.writes
    }
}
