//! [`Scenario`]: what arrives, and in which order.

use proptest::prelude::*;

/// Places in a stream at which segments begin and end are this many bytes apart.
pub const UNIT: usize = 300;
/// Units of each stream.
pub const PLACES: u16 = 16;
/// Flows of UDP.
pub const DATAGRAM_FLOWS: usize = 3;

/// The side that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    /// The far end does.
    Peer,
    /// The stack does.
    Stack,
}

/// What the application does on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Sends back all that comes, and closes after the far end.
    Echo,
    /// Sends back this many bytes, and closes.
    Close(usize),
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The side that opens it.
    pub opener: Opener,
    /// What the application does.
    pub manner: Manner,
}

/// What arrives; `flow` is a connection, modulo their number.
#[derive(Clone, Debug)]
pub enum Step {
    /// A segment with `len` units of data from `place` on; its bytes are those
    /// of `twist`.
    Data { flow: usize, place: u16, len: u16, twist: u8 },
    /// Segments of two units each, one behind the other.
    Train { flow: usize, place: u16, count: u16, twist: u8 },
    /// A FIN behind this place.
    Fin { flow: usize, place: u16 },
    /// A RST at this place.
    Reset { flow: usize, place: u16 },
    /// The SYN once more.
    Syn { flow: usize },
    /// A datagram with this many units of payload.
    Datagram { flow: usize, len: u16 },
}

/// Connections, what arrives for them, and how much of it at once.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The connections.
    pub plans: Vec<Plan>,
    /// What arrives.
    pub steps: Vec<Step>,
    /// Frames that the far end sends at once, in turn.
    pub batches: Vec<usize>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let opener = prop_oneof![2 => Just(Opener::Peer), 1 => Just(Opener::Stack)];
    let manner = prop_oneof![
        2 => Just(Manner::Echo),
        1 => (1..3000usize).prop_map(Manner::Close),
    ];
    (opener, manner).prop_map(|(opener, manner)| Plan { opener, manner })
}

fn step() -> impl Strategy<Value = Step> {
    let flow = 0..6usize;
    let place = 0..PLACES - 4;
    prop_oneof![
        12 => (flow.clone(), place.clone(), 1..=4u16, 0..3u8)
            .prop_map(|(flow, place, len, twist)| Step::Data { flow, place, len, twist }),
        4 => (flow.clone(), 0..8u16, 2..=4u16, 0..3u8)
            .prop_map(|(flow, place, count, twist)| Step::Train { flow, place, count, twist }),
        1 => (flow.clone(), 0..=PLACES).prop_map(|(flow, place)| Step::Fin { flow, place }),
        1 => (flow.clone(), place).prop_map(|(flow, place)| Step::Reset { flow, place }),
        1 => flow.clone().prop_map(|flow| Step::Syn { flow }),
        4 => (flow, 0..=4u16).prop_map(|(flow, len)| Step::Datagram { flow, len }),
    ]
}

/// Scenarios of one to six connections.
pub fn scenarios() -> impl Strategy<Value = Scenario> {
    let plans = prop::collection::vec(plan(), 1..=6);
    let steps = prop::collection::vec(step(), 0..=80);
    let batches = prop::collection::vec(1..=12usize, 1..=8);
    (plans, steps, batches).prop_map(|(plans, steps, batches)| Scenario { plans, steps, batches })
}

/// The byte at `at` of the stream of connection `flow`, as `twist` has it.
pub fn byte(flow: usize, at: usize, twist: u8) -> u8 {
    let mixed = (at as u64 ^ (flow as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (mixed as u8).wrapping_add(twist)
}
