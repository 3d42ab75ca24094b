//! What a connection knows of itself beside its numbers: values that tell nothing of how
//! they are used.

use crate::{Config, Keepalive};
use wire::tcp::FastOpen;
use wire::time::Duration;
use wire::{Instant, Seq};

/// Yes-or-no facts of a connection.
#[derive(Debug)]
pub(crate) struct Flags {
    /// It began in LISTEN.
    pub passive: bool,
    /// The application has let go of it.
    pub released: bool,
    /// The user has closed in SYN-RECEIVED.
    pub close_pending: bool,
    /// Nagle's algorithm is on.
    pub nagle: bool,
    /// Both ends speak timestamps.
    pub timestamps: bool,
    /// Both ends speak SACK.
    pub sack: bool,
    /// A SYN or SYN-ACK has to be sent.
    pub syn_due: bool,
    /// A segment that makes the peer answer has to be sent.
    pub probe_due: bool,
    /// The override time-out of sender silly window avoidance has passed.
    pub override_sws: bool,
    /// A RST has to be sent: the connection was aborted.
    pub abort_due: bool,
    /// How scarce memory is.
    pub pressure: Pressure,
    /// [`crate::Tcb::poll_transmit`] may have something to say.
    pub dirty: bool,
    /// What the window lets go of leaves at a rate, by the pacer of [`crate::congestion::Validation`].
    pub paced: bool,
}

/// A yes that was noted and can be found again: what it says is true of what else is there, so
/// it is no state of its own, and nobody is shown it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Note(pub bool);

impl std::fmt::Debug for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

impl Flags {
    pub(crate) fn new(config: &Config) -> Flags {
        Flags {
            passive: false,
            released: false,
            close_pending: false,
            nagle: config.nagle,
            timestamps: config.timestamps,
            sack: config.sack,
            syn_due: true,
            probe_due: false,
            override_sws: false,
            abort_due: false,
            pressure: Pressure::NONE,
            dirty: true,
            paced: false,
        }
    }
}

/// What the user has set for a connection.
#[derive(Debug)]
pub(crate) struct Settings {
    /// What does not fill a segment is held back (TCP_CORK).
    pub cork: bool,
    /// More follows what ends here (MSG_MORE); said when SND.UNA stood there.
    pub more: Option<(Seq, Seq)>,
    /// If this is the end of what is queued, that goes whatever `cork` and `more` say.
    pub pushed: Option<Seq>,
    /// How long there may be no progress (RFC 5482); zero: as configured.
    pub user_timeout: Duration,
    /// SND.UNA that does not move, and since when.
    pub stuck: Option<(Seq, Instant)>,
    /// A handshake is over only with data, or after this time.
    pub deferred_until: Option<Instant>,
    /// When the peer is asked whether it is there.
    pub keepalive: Option<Keepalive>,
    /// The search for the largest segment that the path carries, if that is less than both
    /// ends take.
    pub search: Option<Search>,
    /// The handshake, if it is one with Fast Open (RFC 7413).
    pub early: Option<Box<Early>>,
}

/// The search for the path MTU. Sizes are bytes of payload and options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// What segments had before they were too large: it goes no further.
    pub most: u16,
    /// The most that may arrive.
    pub high: u16,
    /// The size of the next probe.
    pub next: u16,
    /// Do routers say what is too large? Then nothing else has to tell it.
    pub told: bool,
    /// When that may go.
    pub at: Instant,
    /// The probe that is under way, and its size.
    pub probe: Option<(Seq, u16)>,
    /// How many of this size were lost.
    pub failed: u8,
}

/// What a connection knows of a handshake with Fast Open.
#[derive(Debug, Default)]
pub(crate) struct Early {
    /// It is the user's before the handshake is over.
    pub open: bool,
    /// What our SYN has beside its other options.
    pub option: Option<FastOpen>,
    /// When our SYN-ACK was sent last, which stands in no queue.
    pub sent: Option<Instant>,
    /// It was sent more than once.
    pub twice: bool,
    /// Data came with the peer's SYN and counts, or ours was acknowledged with it.
    pub data: bool,
    /// The user wants to open with it.
    pub wanted: bool,
    /// Our SYN waits for data.
    pub waits: bool,
    /// Bytes that it may take along, at most, and that it has.
    pub most: u16,
    /// See `most`.
    pub len: u32,
}

/// How scarce memory is, on the whole host: how much a connection may hold each way, as a power of
/// two. A connection goes on, however little that is: see [`Pressure::LEAST`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pressure(u8);

impl Pressure {
    /// There is enough: as much as is configured.
    pub const NONE: Pressure = Pressure(u8::MAX);
    /// There is none left. Data that would wait unread is refused though its window was told, and
    /// what came out of order goes.
    pub const FULL: Pressure = Pressure(0);

    /// Bytes that a connection may have each way in any case: four segments at most, and one at
    /// least, however long.
    pub const LEAST: usize = 8 * 1024;

    /// A connection may hold `bytes` each way, rounded down to a power of two.
    pub fn up_to(bytes: usize) -> Pressure {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Pressure(bytes.checked_ilog2().map_or(1, |bits| bits.max(1) as u8))
    }

    /// Bytes that a connection may hold each way, beyond those that it always may.
    #[inline]
    pub fn most(self) -> u32 {
        match self {
            Pressure::NONE => u32::MAX,
            Pressure(bits) => 1 << bits,
        }
    }
}

impl std::fmt::Debug for Pressure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Pressure::NONE => f.write_str("None"),
            Pressure::FULL => f.write_str("Full"),
            some => write!(f, "UpTo({})", some.most()),
        }
    }
}
