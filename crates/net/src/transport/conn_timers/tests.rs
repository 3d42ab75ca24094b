use super::*;
use crate::Call;
use crate::connections::Armed;
use crate::harness::*;
use proptest::prelude::*;
use std::sync::Arc;
use wire::Seq;
use wire::tcp::{Flags, Header};
use wire::time::Duration;

const TWO_HOURS: Duration = Duration::from_secs(7200);

/// A host that probes connections which have been idle for two hours.
fn host() -> Host {
    let mut host = Host::new(|config| {
        let (idle, interval) = (TWO_HOURS, Duration::from_secs(75));
        let keepalive = tcp::Keepalive::new(idle).with_interval(interval);
        config.tcp = Arc::new(tcp::Config::default().with_keepalive(Some(keepalive)));
    });
    host.call(Call::Listen(end(US, 80), ()));
    host
}

fn segment(port: u16, flags: Flags, seq: u32, ack: Seq) -> Header {
    Header { window: 10_000, ..tcp_header(port, flags, seq, ack) }
}

/// A peer's connection from `port`; our next sequence number.
fn accepted(host: &mut Host, port: u16) -> Seq {
    let answer = host.take(&tcp_frame(&segment(port, Flags::SYN, 0, Seq(0)), b""));
    let ours = parse_tcp(&answer[0]).seq + 1;
    host.take(&tcp_frame(&segment(port, Flags::ACK, 1, ours), b""));
    ours
}

#[test]
fn delayed_acknowledgments_leave_no_entries_behind() {
    let mut host = host();
    let ours = accepted(&mut host, 5000);
    for i in 0..10_000 {
        host.take(&tcp_frame(&segment(5000, Flags::ACK, 1 + i, ours), b"x"));
        host.wait(Duration::from_millis(45));
        assert!(host.domain.timer_entries() <= MOST, "{}", host.domain.timer_entries());
    }
}

#[test]
fn connections_that_end_leave_few_entries_behind() {
    let mut host = host();
    for i in 0..20_000u32 {
        let port = 1024 + i as u16 % 30_000;
        accepted(&mut host, port);
        host.take(&tcp_frame(&segment(port, Flags::RST, 1, Seq(0)), b""));
    }
    assert!(host.domain.connections().is_empty());
    assert!(host.domain.timer_entries() <= SOME, "{}", host.domain.timer_entries());
}

/// A connection whose delayed acknowledgment is due while it stands on the ready list keeps its
/// memory, and is looked at again.
#[test]
fn a_connection_with_something_to_do_rests_later() {
    let mut host = Host::new(|_| {});
    host.call(Call::Listen(end(US, 80), ()));
    let ours = accepted(&mut host, 5000);
    // One segment after the first few, so that its acknowledgment waits.
    for i in 0..40 {
        host.take(&tcp_frame(&segment(5000, Flags::ACK, 1 + i, ours), b"x"));
    }
    host.wait(Duration::from_millis(1));
    let before = host.domain.app.rested;
    let due = host.domain.next_timeout().expect("a delayed acknowledgment");
    host.take_batch(&[tcp_frame(&segment(5000, Flags::ACK, 41, ours), b"y")]);
    host.now = due + Duration::from_millis(1);
    host.expire();
    assert_eq!(host.domain.app.rested, before, "it stands on the ready list");
    host.settle();
    assert_eq!(host.domain.app.rested, before);
    host.wait(Duration::from_secs(2));
    assert_eq!(host.domain.app.rested, before + 1, "it has nothing to do");
    assert_eq!(host.domain.next_timeout(), None);
}

proptest! {
    /// Whatever the deadline does, entries are few, and one fires no later than it
    /// or than `POLL` from the moment at which it was set.
    #[test]
    fn few_entries_and_none_too_late(
        steps in prop::collection::vec((0u64..3_000, 1u64..200_000), 1..300),
    ) {
        let mut armed = Armed::NONE;
        let (mut now, mut entries) = (Instant::from_millis(1000), Vec::new());
        for (pass, deadline) in steps {
            now += Duration::from_millis(pass);
            entries.retain(|at| *at > now || !armed.remove(*at));
            let deadline = now + Duration::from_millis(deadline);
            if let Some(at) = armed.needed(deadline, now) {
                armed.add(at);
                entries.push(at);
            }
            prop_assert!(entries.len() <= MOST);
            let first = entries.iter().min().copied();
            prop_assert!(first.is_some_and(|at| at <= deadline.max(now + Armed::POLL)));
        }
    }
}
