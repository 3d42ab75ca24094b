//! What was sent and not acknowledged, and what is known of its loss. What a
//! connection does about it stands in [`loss`](crate::loss).

mod scoreboard;

pub(crate) use scoreboard::{Record, Scoreboard};
use wire::Seq;

/// DupThresh of RFC 6675.
pub(crate) const DUP_THRESHOLD: u32 = 3;

/// Which recovery is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// None.
    Open,
    /// Fast recovery (RFC 6582, RFC 6675).
    Fast,
    /// After a retransmission time-out.
    Timeout,
}

/// The state of recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    pub phase: Phase,
    /// The next segment that is sent again may exceed cwnd.
    pub force: bool,
    /// A loss above `recover` was found: a recovery of its own follows.
    pub above: bool,
    /// RecoveryPoint: SND.NXT when the last recovery began, or SND.UNA if that is
    /// later and none is going on.
    pub recover: Seq,
    /// Duplicate acknowledgments in a row.
    pub duplicates: u32,
    /// Segments sent again, ever.
    pub retransmits: u32,
}

impl Recovery {
    pub(crate) fn new(iss: Seq) -> Recovery {
        Recovery {
            phase: Phase::Open,
            force: false,
            above: false,
            recover: iss,
            duplicates: 0,
            retransmits: 0,
        }
    }
}
