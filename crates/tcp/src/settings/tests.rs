use crate::congestion::Algorithm;
use crate::harness::*;
use crate::{Error, Keepalive, State};
use std::time::Duration;

fn nodelay() -> Peer {
    let mut p = Peer::established(bare());
    p.tcb.set_nagle(false);
    p
}

#[test]
fn a_segment_size_that_was_asked_for_bounds_both_directions() {
    // RFC 9293 MUST-14
    let mut p = Peer::connecting(bare());
    p.tcb.set_max_segment(500);
    let syn = p.outgoing().remove(0).header;
    assert_eq!(syn.options.mss, Some(500));
    p.tcb.input(&Peer::syn("S.", 1, &bare()), wire::Parts::new(), p.now);
    p.out();
    assert_eq!((p.tcb.mss(), p.tcb.info().cwnd), (500, 5000));
    p.tcb.set_max_segment(100);
    assert_eq!(p.tcb.mss(), 500, "too late");
}

#[test]
fn what_is_corked_goes_in_full_segments_until_it_is_let_go() {
    let mut p = nodelay();
    p.tcb.set_cork(true);
    p.send(1300);
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    p.say(".", 1, 1001, 0);
    assert!(p.out().is_empty());
    p.tcb.set_cork(false);
    assert_eq!(p.out(), [s("P.", 1001, 300, 1)]);
    p.say(".", 1, 1301, 0);
    p.tcb.set_cork(true);
    p.send(200);
    assert!(p.out().is_empty());
    assert_eq!(p.timeout(), 200, "no longer than that");
    assert_eq!(p.out(), [s("P.", 1301, 200, 1)]);
}

#[test]
fn switching_nagle_off_pushes_what_is_corked_once() {
    let mut p = nodelay();
    p.tcb.set_cork(true);
    p.send(100);
    assert!(p.out().is_empty());
    p.tcb.set_nagle(false);
    assert_eq!(p.out(), [s("P.", 1, 100, 1)]);
    p.send(100);
    assert!(p.out().is_empty());
}

#[test]
fn a_fin_takes_what_is_corked_with_it() {
    let mut p = nodelay();
    p.tcb.set_cork(true);
    p.send(100);
    assert!(p.out().is_empty());
    p.tcb.shutdown_write();
    assert_eq!(p.out(), [s("FP.", 1, 100, 1)]);
}

#[test]
fn more_to_come_holds_a_small_segment_back_until_an_acknowledgment() {
    let mut p = nodelay();
    p.send(1100);
    p.tcb.set_more(true);
    assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
    p.send(50);
    p.tcb.set_more(true);
    assert!(p.out().is_empty());
    p.say(".", 1, 1001, 0);
    assert_eq!(p.out(), [s(".", 1001, 150, 1)], "and nobody is told to look at it");
    p.send(50);
    p.tcb.set_more(true);
    assert!(p.out().is_empty());
    p.send(50);
    p.tcb.set_more(false);
    assert_eq!(p.out(), [s("P.", 1151, 100, 1)]);
}

#[test]
fn a_peer_that_is_silent_for_as_long_as_the_user_waits_ends_it() {
    // RFC 9293 MUST-21
    let mut p = Peer::established(bare());
    p.tcb.set_user_timeout(Duration::from_secs(3));
    let began = p.now;
    p.send(10);
    p.out();
    while p.tcb.state() != State::Closed {
        p.timeout();
        p.out();
    }
    assert_eq!(p.now.since(began).as_millis(), 3000);
    assert_eq!(p.tcb.error(), Some(Error::TimedOut));
}

#[test]
fn progress_gives_the_peer_its_time_again() {
    let mut p = Peer::established(bare());
    p.tcb.set_user_timeout(Duration::from_secs(3));
    let mut una = 1;
    for _ in 0..3 {
        p.send(10);
        p.out();
        p.timeout();
        p.out();
        p.wait(1500);
        una += 10;
        p.say(".", 1, una, 0);
        assert_eq!(p.tcb.state(), State::Established);
    }
}

#[test]
fn the_users_patience_may_be_longer_than_any_count() {
    let mut p = Peer::established(crate::Config { retries: 3, ..bare() });
    p.tcb.set_user_timeout(Duration::from_secs(3600));
    let began = p.now;
    p.send(10);
    p.out();
    while p.tcb.state() != State::Closed {
        p.timeout();
        p.out();
    }
    assert_eq!(p.now.since(began).as_secs(), 3600);
}

#[test]
fn a_window_that_stays_closed_ends_it_although_probes_are_answered() {
    let mut p = Peer::established(bare());
    p.tcb.set_user_timeout(Duration::from_secs(10));
    p.input(header(".", 1, 1, 0), 0);
    let began = p.now;
    p.send(3000);
    p.out();
    while p.tcb.state() != State::Closed {
        p.timeout();
        p.out();
        if p.tcb.state() != State::Closed {
            p.input(header(".", 1, 1, 0), 0);
        }
    }
    assert_eq!(p.now.since(began).as_secs(), 10);
    assert_eq!(p.tcb.error(), Some(Error::TimedOut));
}

#[test]
fn keep_alives_go_on_for_as_long_as_the_user_waits() {
    let mut p = Peer::established(bare());
    let s = Duration::from_secs;
    p.tcb.set_keepalive(Some(Keepalive { idle: s(10), interval: s(3), probes: 2 }));
    p.tcb.set_user_timeout(s(30));
    let began = p.now;
    while p.tcb.state() != State::Closed {
        p.timeout();
        p.out();
    }
    assert_eq!(p.now.since(began).as_secs(), 31, "the first look at 30 s or later");
}

#[test]
fn a_deferred_handshake_waits_for_data() {
    let mut p = Peer::accepting(bare());
    p.tcb.set_deferred(p.now + Duration::from_secs(10));
    p.out();
    p.wait(100);
    p.say(".", 1, 1, 0);
    assert!(p.out().is_empty());
    assert_eq!(p.tcb.state(), State::SynReceived);
    p.wait(3000);
    p.say("P.", 1, 1, 10);
    assert_eq!((p.tcb.state(), p.tcb.received()), (State::Established, 10));
}

#[test]
fn a_deferred_handshake_ends_when_its_time_is_over() {
    let mut p = Peer::accepting(bare());
    p.tcb.set_deferred(p.now + Duration::from_secs(10));
    p.out();
    p.say(".", 1, 1, 0);
    assert_eq!(p.timeout(), 10_000);
    assert_eq!(p.out(), [s("S.", 0, 0, 1)], "so that the peer says it again");
    p.say(".", 1, 1, 0);
    assert_eq!(p.tcb.state(), State::Established);
}

#[test]
fn acknowledgments_come_at_once_when_the_user_wants_them() {
    let mut p = Peer::established(bare());
    p.say("P.", 1, 1, 10);
    assert!(p.out().is_empty());
    p.tcb.set_quick_ack(true);
    assert_eq!(p.out(), [s(".", 1, 0, 11)]);
    p.say("P.", 11, 1, 10);
    assert_eq!(p.out(), [s(".", 1, 0, 21)]);
    p.tcb.set_quick_ack(false);
    p.say("P.", 21, 1, 10);
    assert!(p.out().is_empty());
}

#[test]
fn another_congestion_control_keeps_the_window() {
    let mut p = Peer::established(bare());
    p.send(20_000);
    assert_eq!(p.out().len(), 10);
    p.rto();
    let before = p.tcb.info();
    p.tcb.set_congestion(Algorithm::Cubic);
    let after = p.tcb.info();
    assert_eq!(after.congestion, Algorithm::Cubic);
    assert_eq!((after.cwnd, after.ssthresh), (before.cwnd, before.ssthresh));
}

#[test]
fn a_path_that_took_less_is_tried_again_after_ten_minutes() {
    let mut p = Peer::established(bare());
    p.send(1000);
    p.out();
    p.tcb.on_mss(wire::Seq(ISS) + 1, 500);
    let again = [s(".", 1, 500, 1), s("P.", 501, 500, 1)];
    assert_eq!(p.out(), again, "what was too large goes again in pieces");
    p.say(".", 1, 1001, 0);
    p.tcb.set_nagle(false);
    let size = |p: &mut Peer, at: u32| {
        p.send(1000);
        let first = p.out()[0].2;
        p.say(".", 1, at + 500, 0);
        p.out();
        p.say(".", 1, at + 1000, 0);
        first
    };
    p.wait(590_000);
    assert_eq!(size(&mut p, 1001), 500);
    p.wait(11_000);
    assert_eq!(size(&mut p, 2001), 1000);
    // A router that says it again is believed again.
    p.send(1000);
    p.out();
    p.tcb.on_mss(wire::Seq(ISS) + 3001, 400);
    assert_eq!(p.tcb.mss(), 400);
}

#[test]
fn a_router_that_says_the_same_again_is_asked_again_later() {
    let mut p = Peer::established(bare());
    p.tcb.set_nagle(false);
    p.send(1000);
    p.out();
    p.tcb.on_mss(wire::Seq(ISS) + 1, 500);
    p.out();
    p.say(".", 1, 1001, 0);
    for at in [1001, 2001, 3001] {
        p.wait(601_000);
        p.send(1000);
        assert_eq!(p.out()[0].2, 1000, "ten minutes later it is tried, after {at}");
        p.tcb.on_mss(wire::Seq(ISS) + at, 500);
        assert_eq!(p.out()[0].2, 500);
        p.say(".", 1, at + 1000, 0);
    }
}

#[test]
fn what_a_pace_held_back_goes_on_without_it() {
    let config = crate::Config { congestion: Algorithm::Bbr, ..bare() };
    let answer = Peer::syn("S.", 1, &config);
    let mut p = Peer::connecting(config);
    p.out();
    p.wait(100);
    p.input(answer, 0);
    let mut acked = 1;
    // A slow path, and then an answer at once: nothing is in flight, and the pace still holds.
    for wait in [100, 100, 0] {
        p.send(15_000);
        acked += p.out().iter().map(|said| said.2 as u32).sum::<u32>();
        p.wait(wait);
        p.say(".", 1, acked, 0);
    }
    assert!(p.tcb.is_paced_out());
    assert!(p.tcb.unsent() > 0 && p.out().is_empty());
    assert_eq!(p.tcb.snd.una, p.tcb.snd.nxt);
    p.tcb.set_congestion(Algorithm::Cubic);
    assert!(!p.out().is_empty());
}

/// Before, the user's time was counted from the peer's last segment, so what was corked or met a
/// closed window after a pause ended the connection at once.
#[test]
fn the_users_patience_begins_when_something_waits() {
    let mut p = nodelay();
    p.tcb.set_user_timeout(Duration::from_secs(10));
    p.tcb.set_cork(true);
    p.wait(3_600_000);
    p.send(100);
    assert!(p.out().is_empty());
    assert_eq!(p.timeout(), 200);
    assert_eq!(p.out(), [s("P.", 1, 100, 1)], "corked for as long as that may last");

    let mut p = Peer::established(bare());
    p.tcb.set_user_timeout(Duration::from_secs(10));
    p.input(header(".", 1, 1, 0), 0);
    p.wait(3_600_000);
    let began = p.now;
    p.send(100);
    assert!(p.out().is_empty());
    p.timeout();
    assert_eq!(p.tcb.state(), State::Established, "the peer has not been asked once");
    while p.tcb.state() != State::Closed {
        if !p.out().is_empty() {
            p.input(header(".", 1, 1, 0), 0);
        }
        p.timeout();
    }
    assert_eq!(p.now.since(began).as_secs(), 10);
}

/// Of a window that was closed, too: it is over when that opens.
#[test]
fn a_window_that_opens_gives_the_user_new_patience() {
    let mut p = Peer::established(bare());
    p.tcb.set_user_timeout(Duration::from_secs(10));
    p.input(header(".", 1, 1, 0), 0);
    p.send(100);
    p.out();
    for _ in 0..5 {
        p.timeout();
        p.out();
        p.input(header(".", 1, 1, 0), 0);
    }
    assert_eq!(p.tcb.state(), State::Established);
    p.wait(2000);
    p.input(header(".", 1, 1, 50_000), 0);
    let began = p.now;
    assert_eq!(p.out(), [s("P.", 1, 100, 1)]);
    while p.tcb.state() != State::Closed {
        p.timeout();
        p.out();
    }
    assert_eq!(p.now.since(began).as_secs(), 10);
}
