//! What is lost, and what was sent again: kept beside the records, for most
//! connections have neither.

mod again;
mod lost;

pub(crate) use again::{Again, Run};
pub(crate) use lost::Lost;
use smallvec::SmallVec;
use wire::Seq;

/// Most blocks that are told of by SACK and left for the next acknowledgment.
pub(crate) const LEFT: usize = 4;

/// What SACK has told of and is not marked yet: sequence numbers from the first to before the
/// second, from below.
pub(crate) type Unheard = SmallVec<[(Seq, Seq); LEFT]>;

/// Which records are lost, and the retransmissions that are under way: sent again,
/// and neither acknowledged nor lost since.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub lost: Lost,
    pub again: Again,
    /// Records that were looked at for losses, beyond what acknowledgments have paid for since.
    pub spent: u32,
    /// The number of the first record in flight when `spent` was looked at last.
    pub paid_to: u64,
    /// What SACK has told of and is not marked yet. What lies there and beyond may have been delivered.
    pub unheard: Unheard,
}

impl Marks {
    /// Where nothing is lost: is there nothing else to be kept?
    pub(crate) fn is_empty(&self) -> bool {
        self.again.is_empty() && self.spent == 0 && self.unheard.is_empty()
    }

    /// Bytes of heap, its own included, about.
    pub(crate) fn footprint(&self) -> usize {
        size_of::<Marks>() + self.lost.footprint() + self.again.footprint()
    }
}
