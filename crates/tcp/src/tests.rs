//! Requirements of RFCs that no other test is for.

use crate::harness::*;
use crate::{Config, Error, State};
use std::time::Duration;
use wire::Parts;

fn bytes(all: &[Said]) -> usize {
    all.iter().map(|said| said.2).sum()
}

#[test]
fn a_window_field_has_no_sign() {
    // RFC 9293 MUST-1
    let mut p = Peer::established(Config { initial_window: 80, ..bare() });
    p.input(header(".", 1, 1, 65_000), 0);
    p.send(70_000);
    assert_eq!(bytes(&p.out()), 65_000);
}

#[test]
fn nothing_new_goes_beyond_a_window_that_shrank() {
    // RFC 9293 SHLD-15
    let mut p = Peer::established(bare());
    p.send(10_000);
    assert_eq!(p.out().len(), 10);
    p.input(header(".", 1, 1001, 2000), 0);
    p.send(5000);
    assert_eq!(p.out(), []);
    p.input(header(".", 1, 10_001, 2000), 0);
    assert_eq!(bytes(&p.out()), 2000);
}

#[test]
fn a_window_that_shrank_to_nothing_is_no_reason_to_give_up() {
    // RFC 9293 SHLD-17
    let mut p = Peer::established(Config { retries: 3, ..bare() });
    p.send(3000);
    assert_eq!(p.out().len(), 3);
    for _ in 0..20 {
        p.timeout();
        assert_eq!(p.out(), [s(".", 1, 1000, 1)]);
        p.input(header(".", 1, 1, 0), 0);
    }
    assert_eq!(p.tcb.state(), State::Established);
}

/// Where the peer had no room for what it had asked for (memory is scarce), all of it goes again as soon as it
/// has. Before, it waited for a time-out that had doubled each time.
#[test]
fn what_a_window_that_shut_had_refused_goes_again_when_it_opens() {
    // RFC 9293 SHLD-16
    for sack in [false, true] {
        let mut p = Peer::established(Config { sack, ..bare() });
        p.send(5000);
        assert_eq!(p.out().len(), 5);
        p.input(header(".", 1, 1001, 0), 0);
        assert_eq!(p.out(), []);
        // Nothing has timed out yet, and later much has.
        for refused in [0, 6] {
            for _ in 0..refused {
                p.timeout();
                assert_eq!(p.out(), [s(".", 1001, 1000, 1)]);
                p.input(header(".", 1, 1001, 0), 0);
            }
            if refused == 0 {
                // It may be on its way still.
                p.input(header(".", 1, 1001, 3000), 0);
                assert_eq!(p.out(), []);
                p.input(header(".", 1, 1001, 0), 0);
                p.wait(1000);
            }
            p.input(header(".", 1, 1001, 3000), 0);
            let again = p.out();
            let first = if refused == 0 { 3 } else { 1 };
            assert_eq!(again.len(), first, "{again:?}");
            assert_eq!(again[0], s(".", 1001, 1000, 1));
            p.input(header(".", 1, 1001, 0), 0);
        }
        p.wait(1000);
        p.input(header(".", 1, 1001, 10_000), 0);
        assert_eq!(p.out(), [s(".", 1001, 1000, 1)]);
        p.input(header(".", 1, 2001, 10_000), 0);
        assert_eq!(p.out(), [s(".", 2001, 1000, 1), s(".", 3001, 1000, 1)]);
        p.input(header(".", 1, 4001, 10_000), 0);
        assert_eq!(p.out(), [s("P.", 4001, 1000, 1)]);
    }
}

#[test]
fn a_reset_counts_while_our_window_is_closed() {
    // RFC 9293 MUST-66
    let mut p = Peer::established(Config { receive_buffer: 2000, ..bare() });
    p.say(".", 1, 1, 2000);
    assert_eq!(p.window(), 0);
    p.say("R", 2001, 0, 0);
    assert_eq!(p.tcb.error(), Some(Error::Reset));
}

#[test]
fn without_an_mss_segments_have_536_bytes() {
    // RFC 9293 MUST-15
    let mut p = Peer::connecting(bare());
    p.out();
    let mut answer = Peer::syn("S.", 1, &bare());
    answer.options.mss = None;
    p.input(answer, 0);
    p.send(1000);
    assert_eq!(p.out(), [s(".", 1, 536, 1), s("P.", 537, 464, 1)]);
}

#[test]
fn only_a_syn_says_mss_scale_and_sack_permitted() {
    // RFC 9293 MUST-65
    // RFC 7323 2.2/1
    // RFC 2018 2/1
    let mut p = Peer::connecting(Config::default());
    let syn = p.outgoing().remove(0).header.options;
    assert!(syn.mss.is_some() && syn.window_scale.is_some() && syn.sack_permitted);
    p.input(Peer::syn("S.", 1, &Config::default()), 0);
    p.send(1500);
    p.tcb.shutdown_write();
    let mut after = p.outgoing();
    p.tcb.abort();
    after.extend(p.outgoing());
    assert!(after.len() >= 3, "{after:?}");
    for options in after.iter().map(|o| o.header.options) {
        assert_eq!(
            (options.mss, options.window_scale, options.sack_permitted),
            (None, None, false)
        );
    }
}

#[test]
fn a_reset_in_syn_received_is_told_to_who_connects() {
    // RFC 9293 MUST-11
    let mut p = Peer::connecting(bare());
    p.out();
    p.input(Peer::syn("S", 0, &bare()), 0);
    assert_eq!(p.tcb.state(), State::SynReceived);
    p.say("R", 1, 0, 0);
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, Some(Error::Refused)));
    // Who listens goes on listening.
    let mut p = Peer::at(State::SynReceived, bare());
    p.say("R", 1, 0, 0);
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, None));
}

#[test]
fn a_reset_may_bring_data() {
    // RFC 9293 SHLD-2
    let mut p = Peer::established(bare());
    p.say("R", 1, 0, 10);
    assert_eq!((p.tcb.error(), p.tcb.received()), (Some(Error::Reset), 0));
}

#[test]
fn nagles_algorithm_can_be_switched_off() {
    // RFC 9293 MUST-17
    let mut p = Peer::established(Config { nagle: true, ..bare() });
    p.send(100);
    assert_eq!(p.out().len(), 1);
    p.send(100);
    assert_eq!(p.out(), [], "one is unacknowledged");
    p.tcb.set_nagle(false);
    assert_eq!(p.out(), [s("P.", 101, 100, 1)]);
    p.send(100);
    assert_eq!(p.out().len(), 1);
}

#[test]
fn data_is_sent_again_for_more_than_100_seconds() {
    // RFC 9293 SHLD-11
    let mut p = Peer::established(bare());
    p.send(100);
    p.out();
    let since = p.now;
    while p.tcb.state() == State::Established {
        p.timeout();
        p.out();
    }
    assert_eq!(p.tcb.error(), Some(Error::TimedOut));
    assert!(p.now.since(since) >= Duration::from_secs(100), "{:?}", p.now.since(since));
}

#[test]
fn nothing_is_asked_of_an_idle_peer_by_default() {
    // RFC 9293 MUST-25
    let p = Peer::established(Config::default());
    assert_eq!(p.tcb.next_timeout(), None);
}

#[test]
fn an_acknowledgment_starts_the_timer_anew() {
    // RFC 6298 5.3/1
    let mut p = Peer::established(bare());
    p.send(2000);
    p.out();
    p.wait(150);
    p.say(".", 1, 1001, 0);
    let left = p.tcb.next_timeout().expect("the timer runs").since(p.now);
    assert!(left >= Duration::from_millis(200), "{left:?}");
}

#[test]
fn windows_are_scaled_both_ways() {
    // RFC 7323 2.3/1
    let config = Config { window_scaling: true, receive_buffer: 1 << 20, ..bare() };
    let mut p = Peer::established(config);
    p.input(header(".", 1, 1, 1000), 0);
    assert_eq!(p.tcb.info().send_window, 8000);
    p.say(".", 1, 1, 2000);
    let field = p.outgoing().remove(0).header.window;
    let window = u32::from(field) << p.tcb.info().receive_shift;
    assert!((1_000_000..=1 << 20).contains(&window), "{window}");
}

#[test]
fn each_segment_has_a_time_stamp() {
    // RFC 7323 3.2/2, 3.2/4, 5.4/2
    let config = Config { timestamps: true, ..bare() };
    let mut p = Peer::connecting(config.clone());
    let (first, echo) = p.outgoing().remove(0).header.options.timestamps.expect("a SYN has one");
    assert_eq!(echo, 0, "nothing is acknowledged");
    p.wait(7);
    p.tcb.input(&Peer::syn("S.", 1, &config), Parts::new(), p.now);
    p.send(2000);
    p.tcb.shutdown_write();
    let all = p.outgoing();
    assert!(all.len() >= 3);
    for o in all {
        let stamp = o.header.options.timestamps;
        assert_eq!(stamp, Some((first + 7, 5000)), "a millisecond a tick");
    }
}

#[test]
fn blocks_never_make_a_segment_too_large() {
    // RFC 6691 2/3
    let mut p = Peer::established(sack());
    p.say(".", 1001, 1, 500);
    p.say(".", 3001, 1, 500);
    p.send(3000);
    let all = p.outgoing();
    assert!(all.iter().any(|o| !o.header.options.sack.is_empty()));
    assert!(all.iter().any(|o| !o.payload.is_empty()));
    for o in all {
        let payload: usize = o.payload.iter().map(|part| part.len()).sum();
        assert!(payload + o.header.options.len() <= MSS.into(), "{o:?}");
    }
}
