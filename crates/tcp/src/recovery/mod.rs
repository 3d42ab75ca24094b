//! What was sent and not acknowledged, and what is known of its loss. What a
//! connection does about it stands in [`loss`](crate::loss).

mod marks;
mod news;
mod prr;
mod rack;
mod rate;
mod record;
mod scoreboard;

pub(crate) use news::News;
pub(crate) use prr::Prr;
pub(crate) use rack::Rack;
pub(crate) use rate::{Measured, Newest, Rate, Taken};
pub(crate) use record::{MAX_SEGMENTS, Record};
pub(crate) use scoreboard::{Hole, LOOKED_AT, Piece, Scoreboard};
use wire::Seq;

/// DupThresh of RFC 6675 and RFC 8985.
pub(crate) const DUP_THRESHOLD: u32 = 3;

/// Which recovery is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// None.
    Open,
    /// Fast recovery (RFC 6582, RFC 9937).
    Fast,
    /// After a retransmission time-out.
    Timeout,
}

/// A tail loss probe that has not been judged (RFC 8985 7.4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// TLP.end_seq: SND.NXT when it was sent.
    pub end: Seq,
    /// When it was sent, if it was sent before (TLP.is_retrans): milliseconds.
    pub again: Option<u32>,
}

/// How far F-RTO is (RFC 5682 3.1). It goes on while nothing but the first segment was
/// sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forward {
    /// It is not under way.
    Off,
    /// The first segment, which ends here, was sent again (step 1).
    Waiting(Seq),
    /// Just that segment was acknowledged, and new data is sent (step 2b).
    Probing(Seq),
}

/// A reduction of the window, as long as it may turn out to have been for nothing.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    /// What may be sent in fast recovery; without SACK the window says, or if the
    /// congestion control wants it so.
    pub prr: Option<Prr>,
    /// It began with what SACK has shown to be lost.
    pub sacked: bool,
    /// SND.UNA when it began.
    pub from: Seq,
    /// When the first retransmission of it was sent, milliseconds.
    pub stamp: Option<u32>,
    /// Bytes sent again that the peer has not said it had twice.
    pub unproven: u32,
    /// The congestion control has heard of it. If not, its window was reduced before, for marks or
    /// for another loss, and that stands.
    pub reduced: bool,
    /// Whether the time-out that it began with was spurious is being found out.
    pub forward: Forward,
    /// The recovery is over; D-SACKs count until this is acknowledged.
    pub until: Option<Seq>,
}

impl Episode {
    pub(crate) fn new(from: Seq, prr: Option<Prr>) -> Box<Episode> {
        Box::new(Episode {
            prr,
            sacked: false,
            from,
            stamp: None,
            unproven: 0,
            reduced: true,
            forward: Forward::Off,
            until: None,
        })
    }
}

/// The state of recovery.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Recovery {
    /// Which segment of those delivered was sent last, and what follows from it.
    pub rack: Rack,
    /// RecoveryPoint: SND.NXT when the last recovery began, or SND.UNA if that is
    /// later and none is going on.
    pub recover: Seq,
    /// Duplicate acknowledgments in a row, without SACK.
    pub duplicates: u32,
    pub phase: Phase,
    /// The next segment that is sent again may exceed cwnd.
    pub force: bool,
    /// A loss above `recover` was found: a recovery of its own follows.
    pub above: bool,
    /// A tail loss probe has to be sent.
    pub tail_due: bool,
    /// Segments sent again, ever.
    pub retransmits: u32,
    /// Segments that the peer said it had twice, ever.
    pub duplicates_told: u32,
    /// The tail loss probe that is under way.
    pub tail: Option<Tail>,
    /// The reduction that may be undone.
    pub episode: Option<Box<Episode>>,
}

impl Recovery {
    /// So many of its first bytes are what plain segments touch.
    pub(crate) const HOT: usize = std::mem::offset_of!(Recovery, retransmits);

    pub(crate) fn new(iss: Seq) -> Recovery {
        Recovery {
            phase: Phase::Open,
            force: false,
            above: false,
            tail_due: false,
            recover: iss,
            duplicates: 0,
            retransmits: 0,
            duplicates_told: 0,
            rack: Rack::new(iss),
            tail: None,
            episode: None,
        }
    }

    /// Is what is lost held back until F-RTO knows whether it is?
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        let forward = self.episode.as_ref().map(|e| e.forward);
        self.phase == Phase::Timeout && matches!(forward, Some(Forward::Probing(_)))
    }

    /// Up to where a time-out that may be spurious lets be sent again, until the first
    /// acknowledgment (RFC 5682 3.1 step 1: one segment).
    pub(crate) fn waits_for(&self) -> Option<wire::Seq> {
        match self.episode.as_ref()?.forward {
            Forward::Waiting(end) if self.phase == Phase::Timeout => Some(end),
            _ => None,
        }
    }

    /// How many bytes may go, new or again, if `pipe` bytes are in the network and
    /// the congestion window is `window`: in fast recovery as PRR says.
    #[inline]
    pub(crate) fn allowance(&self, window: u32, pipe: u32) -> u32 {
        // RFC 6675 5/4
        if self.phase != Phase::Fast {
            return window.saturating_sub(pipe);
        }
        let prr = self.episode.as_ref().and_then(|e| e.prr.as_ref());
        prr.map_or(window, |prr| prr.window).saturating_sub(pipe)
    }

    /// As [`Recovery::allowance`], for what is lost: one segment of `mss` bytes goes
    /// if it is the first of a recovery, or nothing else is in the network.
    pub(crate) fn allowance_again(&self, window: u32, pipe: u32, mss: u32) -> u32 {
        let most = self.allowance(window, pipe);
        if self.force || pipe == 0 { most.max(mss) } else { most }
    }
}
