use super::*;
use std::net::SocketAddr;
use wire::{Endpoint, Parts, Slice};

const LIMITS: SessionLimits = SessionLimits {
    sessions: 3,
    session_bytes: 1 << 14,
    all_bytes: 1 << 15,
    idle: Duration::from_secs(100),
};

fn end(text: &str) -> Endpoint {
    text.parse::<SocketAddr>().expect("an address").into()
}

fn datagram(from: u16, len: usize) -> Datagram {
    let remote = Endpoint { port: from, ..end("10.0.0.2:1") };
    let payload = Parts::from_iter([Slice::copy_of(&vec![7; len])]);
    Datagram { local: end("192.0.2.1:53"), remote, payload }
}

fn accept(sessions: &Sessions) -> Option<Arc<Session>> {
    match sessions.poll_accept(&Context::from_waker(Waker::noop())) {
        Poll::Ready(session) => session,
        Poll::Pending => None,
    }
}

#[test]
fn sessions_are_told_apart_counted_and_bounded() {
    let sessions = Sessions::new(LIMITS);
    let mut wakes = Vec::new();
    for port in [1, 2, 1, 3] {
        assert!(sessions.arrived(datagram(port, 10), &mut wakes));
    }
    assert!(!sessions.arrived(datagram(4, 10), &mut wakes), "a fourth");
    assert_eq!((sessions.len(), sessions.refused()), (3, 1));
    let first = accept(&sessions).expect("the first");
    assert_eq!(first.flow().remote.port, 1);
    for _ in 0..2 {
        assert!(matches!(sessions.poll_receive(&first, None), Poll::Ready(Ok(_))));
    }
    assert!(matches!(sessions.poll_receive(&first, None), Poll::Ready(Err(_))));
    assert_eq!((first.counters().datagrams_in, first.counters().bytes_in), (2, 20));
    // Who is let go of makes room, and begins anew.
    sessions.release(&first);
    assert!(sessions.arrived(datagram(1, 10), &mut wakes));
    assert_eq!(sessions.len(), 3);
    let ports: Vec<_> =
        std::iter::from_fn(|| accept(&sessions)).map(|s| s.flow().remote.port).collect();
    assert_eq!(ports, [2, 3, 1]);
    // To port 0 there is no way back, and none from a group.
    assert!(!sessions.arrived(datagram(0, 10), &mut wakes));
    let group = Datagram { local: end("224.0.0.251:53"), ..datagram(1, 10) };
    assert!(!sessions.arrived(group, &mut wakes));
}

#[test]
fn memory_is_bounded_and_given_back() {
    let sessions = Sessions::new(LIMITS);
    let mut wakes = Vec::new();
    let mut taken = 0;
    for port in 1..=3 {
        for _ in 0..100 {
            taken += u64::from(sessions.arrived(datagram(port, 1000), &mut wakes));
        }
    }
    assert!(sessions.bytes() > LIMITS.all_bytes / 2 && sessions.bytes() <= LIMITS.all_bytes);
    let all = sessions.all();
    let sum = |f: fn(&SessionCounters) -> u64| all.iter().map(|s| f(&s.counters())).sum::<u64>();
    assert_eq!((sum(|c| c.datagrams_in), sum(|c| c.dropped_in)), (taken, 300 - taken));
    sessions.release(&all[0]);
    while let Poll::Ready(Ok(_)) = sessions.poll_receive(&all[1], None) {}
    sessions.close(&mut wakes);
    assert_eq!((sessions.bytes(), sessions.len()), (0, 0));
    assert!(!sessions.arrived(datagram(9, 1), &mut wakes), "it is over");
}

#[test]
fn idle_sessions_end_and_wake_their_readers() {
    let mut limits = LIMITS;
    limits.idle = Duration::ZERO;
    let sessions = Sessions::new(limits);
    let mut wakes = Vec::new();
    assert!(sessions.arrived(datagram(1, 1), &mut wakes));
    let session = accept(&sessions).expect("one");
    assert!(matches!(sessions.poll_receive(&session, None), Poll::Ready(Ok(_))));
    let cx = Context::from_waker(Waker::noop());
    assert!(sessions.poll_receive(&session, Some(&cx)).is_pending());
    assert_eq!(sessions.expire(&mut wakes), None);
    assert_eq!((sessions.len(), wakes.len()), (0, 1));
    let Poll::Ready(Err(error)) = sessions.poll_receive(&session, None) else { panic!("alive") };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(sessions.may_send(&session).expect_err("over").kind(), io::ErrorKind::TimedOut);
    let unheard = Sessions::new(LIMITS);
    assert!(unheard.arrived(datagram(1, 1), &mut wakes));
    assert!(unheard.expire(&mut wakes).is_some_and(|next| next > Duration::from_secs(50)));
    assert_eq!(unheard.len(), 1);
}

/// Before, one datagram each to as many ports as there may be sessions shut out all others for two minutes.
#[test]
fn those_that_nobody_answers_make_room() {
    let sessions = Sessions::new(LIMITS);
    let mut wakes = Vec::new();
    for port in 1..=3 {
        assert!(sessions.arrived(datagram(port, 10), &mut wakes));
    }
    let all: Vec<_> = std::iter::from_fn(|| accept(&sessions)).collect();
    let [answered, unanswered, lively] = &all[..] else { panic!("{}", all.len()) };
    answered.sent(10);
    let rests = |session: &Session, time| session.state.lock().last -= time;
    rests(answered, LIMITS.idle / 2);
    rests(unanswered, LIMITS.idle / UNANSWERED);
    assert!(sessions.arrived(datagram(4, 10), &mut wakes), "one has had its time");
    let ended = |session| match sessions.poll_receive(session, None) {
        Poll::Ready(Err(error)) => error.kind() == io::ErrorKind::TimedOut,
        _ => false,
    };
    for (session, is_over) in [(answered, false), (unanswered, true), (lively, false)] {
        // What has come is read first, but for one that is over.
        assert_eq!(ended(session), is_over, "{:?}", session.flow());
    }
    // They are not looked for with each datagram.
    rests(lively, LIMITS.idle / UNANSWERED);
    assert!(!sessions.arrived(datagram(5, 10), &mut wakes));
    sessions.table.lock().looked = None;
    assert!(sessions.arrived(datagram(5, 10), &mut wakes));
    assert_eq!((sessions.len(), sessions.refused(), sessions.bytes() > 0), (3, 1, true));
}
