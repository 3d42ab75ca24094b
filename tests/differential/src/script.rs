//! What is called.

use crate::state::Both;
use anabranch_conformance::Pattern;
use std::fmt;

/// A call, or a few that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Writes so many bytes.
    Write(u64),
    /// Reads so many bytes that have been written.
    Read(u64),
    /// Looks at what comes next.
    Peek,
    /// Reads without waiting, where nothing can be.
    ReadNothing,
    /// Reads for a moment, where nothing can be.
    ReadInVain,
    /// Writes so many bytes, which the other end reads meanwhile.
    Transfer(u64),
    /// Both ends write and read so many bytes at once.
    Exchange(u64),
    /// Writes without waiting, as far as it is taken; the other end then reads that.
    Fill,
    /// Shuts writing down.
    Shutdown,
    /// Writes after that.
    WriteInVain,
    /// Reads what is left, and the end.
    ReadEnd,
    /// Reads again after the end.
    ReadAgain,
    /// Closes, with nothing unread.
    Close,
    /// Writes to an end that has closed until that is known, and then reads.
    WriteToClosed,
    /// Closes with unread data.
    CloseUnread,
    /// Closes with a linger time of zero.
    Reset,
    /// Finds out that the other end has reset.
    HearReset,
    /// Sets options, and asks for them.
    Options(bool),
    /// Asks for addresses and errors.
    Ask,
    /// Waits for so many milliseconds.
    Pause(u64),
}

/// A step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which end calls: 0 has connected, 1 has accepted.
    pub side: usize,
    /// What.
    pub what: What,
}

/// What is called on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// What it follows from.
    pub seed: u64,
    /// Does the stack connect, or Linux?
    pub we_connect: bool,
    /// Does somebody first connect to a port where nobody listens?
    pub refused_first: bool,
    /// What is called while the connection waits to be accepted: so many bytes are written.
    pub before_accept: u64,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Bytes that may wait unread, far less than any buffer has.
const UNREAD: u64 = 30_000;
/// Steps of a script, at most.
const STEPS: u64 = 24;

impl Script {
    /// The script of `seed`.
    pub fn new(seed: u64) -> Script {
        let mut random = Pattern::new(seed ^ 0x5eed);
        let mut both = Both::default();
        let before_accept = if random.below(4) == 0 { 1 + random.below(5000) } else { 0 };
        both.of(0).sent = before_accept;
        let mut script = Script {
            seed,
            we_connect: random.below(2) == 0,
            refused_first: random.below(8) == 0,
            before_accept,
            steps: Vec::new(),
        };
        for _ in 0..4 + random.below(STEPS - 4) {
            let side = random.below(2) as usize;
            if let Some(what) = step(&mut random, &mut both, side) {
                script.steps.push(Step { side, what });
            }
        }
        // Nothing ends without both having heard of it.
        for side in [0, 1] {
            while let Some(what) = last(&mut both, side) {
                script.steps.push(Step { side, what });
            }
        }
        script
    }
}

/// A step that `side` may take, drawn at random; `None` if what was drawn may not be.
fn step(random: &mut Pattern, both: &mut Both, side: usize) -> Option<What> {
    let other = 1 - side;
    let waiting = both.waiting(side);
    match random.below(24) {
        0..=4 if both.may_write(side) => {
            let room = UNREAD.saturating_sub(both.waiting(other));
            let n = 1 + random.below(8000);
            (n <= room).then(|| {
                both.of(side).sent += n;
                What::Write(n)
            })
        }
        5..=9 if both.is_there(side) && waiting > 0 => {
            let n = 1 + random.below(waiting);
            both.of(side).read += n;
            Some(What::Read(n))
        }
        10 if both.is_there(side) && waiting > 0 => Some(What::Peek),
        11 if both.is_quiet(side) => Some(What::ReadNothing),
        12 if both.is_quiet(side) => Some(What::ReadInVain),
        13 if both.may_write(side) && both.waiting(other) == 0 => {
            Some(transfer(both, side, What::Transfer(1 + random.below(200_000))))
        }
        14 if both.may_write(side)
            && both.may_write(other)
            && waiting == 0
            && both.waiting(other) == 0 =>
        {
            Some(transfer(both, side, What::Exchange(1 + random.below(100_000))))
        }
        15 if both.may_write(side) && both.waiting(other) == 0 && random.below(8) == 0 => {
            Some(What::Fill)
        }
        16 => ending(random, both, side),
        17 if both.is_there(side) && both.0[side].fin => Some(What::WriteInVain),
        18 | 19 => settling(both, side),
        20 | 21 if both.is_there(side) => Some(What::Options(random.below(2) == 0)),
        // Where both have shut down, the connection may be over, and then it has no peer.
        22 if both.is_there(side) && both.is_there(other) && !both.is_over() => Some(What::Ask),
        23 => Some(What::Pause(random.below(4))),
        _ => None,
    }
}

fn transfer(both: &mut Both, side: usize, what: What) -> What {
    let moves = |both: &mut Both, side: usize, n: u64| {
        both.of(side).sent += n;
        both.of(1 - side).read += n;
    };
    match what {
        What::Transfer(n) => moves(both, side, n),
        What::Exchange(n) => (0..2).for_each(|side| moves(both, side, n)),
        _ => {}
    }
    what
}

/// A way to end one direction, or all.
fn ending(random: &mut Pattern, both: &mut Both, side: usize) -> Option<What> {
    let clean = both.waiting(side) == 0 && both.is_there(side);
    match random.below(5) {
        0 | 1 if both.is_there(side) && !both.0[side].fin => {
            both.of(side).fin = true;
            Some(What::Shutdown)
        }
        2 if clean && !both.0[1 - side].gone => {
            both.of(side).gone = true;
            Some(What::Close)
        }
        3 if both.may_reset(side) && both.waiting(side) > 0 => {
            both.of(side).gone = true;
            Some(hears(both, side, What::CloseUnread))
        }
        4 if both.may_reset(side) => {
            both.of(side).gone = true;
            Some(hears(both, side, What::Reset))
        }
        _ => None,
    }
}

/// Notes that the end opposite to `side` can only hear of a reset now.
fn hears(both: &mut Both, side: usize, what: What) -> What {
    both.of(1 - side).told = true;
    what
}

/// A step that finds out how the other end has gone.
fn settling(both: &mut Both, side: usize) -> Option<What> {
    let own = both.0[side];
    if both.0[1 - side].gone && own.told && !own.gone {
        both.of(side).gone = true;
        return Some(What::HearReset);
    }
    if both.may_read_end(side) {
        let waiting = both.waiting(side);
        both.of(side).read += waiting;
        both.of(side).eof = true;
        return Some(What::ReadEnd);
    }
    if !both.is_there(side) || !own.eof {
        return None;
    }
    if both.0[1 - side].gone && !own.fin {
        both.of(side).gone = true;
        return Some(What::WriteToClosed);
    }
    Some(What::ReadAgain)
}

/// What is still to be found out at the end.
fn last(both: &mut Both, side: usize) -> Option<What> {
    let own = both.0[side];
    let open = both.0[1 - side].gone && !own.gone && !(own.eof && own.fin);
    if open { settling(both, side) } else { None }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.we_connect { "the stack" } else { "Linux" };
        writeln!(f, "seed {}: {who} connects (0)", self.seed)?;
        if self.refused_first {
            writeln!(f, "  to a port where nobody listens, first")?;
        }
        writeln!(f, "  0 writes {} bytes before 1 accepts", self.before_accept)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {} {:?}", step.side, step.what))
    }
}
