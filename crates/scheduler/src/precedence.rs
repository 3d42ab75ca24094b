//! Established sockets before new connections (Bohra and Iftode 2007, 3.3), also
//! before those whose packets a device still has; but not for ever.

use super::Serves;

/// How long new connections wait for established sockets, in nanoseconds: then they have
/// one turn, even if others wait.
pub const PATIENCE: u64 = 4_000_000;
/// Such turns have one part in this many of the time at most. After a long turn they
/// wait longer, up to this many times [`PATIENCE`]. What takes longer than that is no
/// turn: the thread did not run.
pub const PARTS: u64 = 16;

/// What the engine that serves all classes serves next.
///
/// The classes' order alone holds among packets that are in receive queues. Those
/// of established sockets that come next are as urgent; so new connections have to
/// wait until a look at the devices has shown none of them.
#[derive(Clone, Debug, Default)]
pub struct Precedence {
    /// There were packets of established sockets.
    pressing: bool,
    /// New connections may have been waiting since then, nanoseconds.
    since: Option<u64>,
    /// How long their last turn out of order took, nanoseconds.
    took: u64,
}

impl Precedence {
    /// Nobody has come.
    pub fn new() -> Precedence {
        Precedence::default()
    }

    /// A device has given a packet of an established socket.
    pub fn came(&mut self) {
        self.pressing = true;
    }

    /// Which classes have their turns, by what came since the last call.
    pub fn serves(&mut self) -> Serves {
        if std::mem::take(&mut self.pressing) { Serves::Pressing } else { Serves::All }
    }

    /// Have new connections waited long enough for a turn ([`Serves::New`])?
    /// `now` is in nanoseconds.
    pub fn is_overdue(&mut self, now: u64) -> bool {
        let since = *self.since.get_or_insert(now);
        now.saturating_sub(since) >= (self.took * (PARTS - 1)).max(PATIENCE)
    }

    /// New connections had that turn, from one time to another, nanoseconds.
    pub fn had_turn(&mut self, from: u64, to: u64) {
        (self.since, self.took) = (Some(to), to.saturating_sub(from).min(PATIENCE));
    }

    /// New connections had a turn in order, or none waits.
    pub fn served(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_for_established_sockets_keeps_new_connections_waiting_once() {
        let mut precedence = Precedence::new();
        assert_eq!(precedence.serves(), Serves::All);
        precedence.came();
        precedence.came();
        assert_eq!(precedence.serves(), Serves::Pressing);
        assert_eq!(precedence.serves(), Serves::All, "nothing has come since");
    }

    /// Always pressed, they have a turn every four milliseconds, but a sixteenth of the
    /// time at most.
    #[test]
    fn new_connections_have_a_share_however_pressing_others_are() {
        for (turn, turns, part) in [(1_000, 245..=250, 0.001), (1_000_000, 62..=63, 0.063)] {
            let (mut precedence, mut now, mut count) = (Precedence::new(), 0, 0u64);
            while now < 1_000_000_000 {
                precedence.came();
                if precedence.is_overdue(now) {
                    precedence.had_turn(now, now + turn);
                    now += turn;
                    count += 1;
                }
                assert_eq!(precedence.serves(), Serves::Pressing);
                now += 5_000;
            }
            assert!(turns.contains(&count), "{count} turns of {turn} ns in a second");
            assert!((count * turn) as f64 / 1e9 <= part);
        }
    }

    #[test]
    fn a_thread_that_was_away_in_a_turn_keeps_nobody_waiting_for_long() {
        let mut precedence = Precedence::new();
        let stopped = 3_600_000_000_000;
        precedence.had_turn(0, stopped);
        assert!(precedence.is_overdue(stopped + PARTS * PATIENCE));
    }

    #[test]
    fn who_was_served_is_not_overdue() {
        let mut precedence = Precedence::new();
        assert!(!precedence.is_overdue(0));
        precedence.served();
        assert!(!precedence.is_overdue(PATIENCE), "waits from now on");
        assert!(precedence.is_overdue(2 * PATIENCE));
    }
}
