use crate::harness::*;

/// A connection of New Reno with a round trip of 100 ms, the window of which slow start has
/// brought to 80 segments; and SND.UNA.
fn fast() -> (Peer, u32) {
    let mut p = Peer::established(sack());
    let mut una = 1;
    for segments in [10, 20, 40] {
        round(&mut p, &mut una, segments);
    }
    assert_eq!(p.tcb.info().cwnd, 80_000);
    (p, una)
}

/// So many segments are sent, and acknowledged 100 ms later.
fn round(p: &mut Peer, una: &mut u32, segments: u32) {
    p.send(1000 * segments as usize);
    assert_eq!(p.out().len(), segments as usize);
    p.wait(100);
    *una += 1000 * segments;
    p.say(".", 1, *una, 0);
    p.out();
}

#[test]
fn a_window_stays_over_a_pause_and_leaves_over_a_round_trip() {
    // RFC 5681 4.1/1
    // RFC 7661 4.3/2, 4.4.2/1
    let (mut p, _) = fast();
    p.now += std::time::Duration::from_secs(10);
    let began = p.now;
    p.send(40_000);
    let mut sent = p.out().len();
    assert!((10..=12).contains(&sent), "the initial window goes at once: {sent}");
    assert_eq!(p.tcb.info().cwnd, 80_000);
    while sent < 40 {
        p.timeout();
        sent += p.out().len();
    }
    // Half of a window.
    let (took, round) = (p.now.since(began), p.tcb.info().srtt);
    assert!(took > round / 4 && took < round, "{took:?} of {round:?}");
    assert_eq!((p.tcb.info().timeouts, p.tcb.info().retransmits), (0, 0));
    // Then acknowledgments say when more may go.
    p.wait(110);
    p.say(".", 1, 110_001, 0);
    p.send(40_000);
    assert_eq!(p.out().len(), 40);
}

#[test]
fn what_is_not_used_is_halved_every_five_minutes() {
    // RFC 7661 4.4.3/1, 4.4.3/2
    for (seconds, left) in [(299, 80_000), (301, 40_000), (601, 20_000), (100_000, 10_000)] {
        let (mut p, _) = fast();
        p.now += std::time::Duration::from_secs(seconds);
        p.send(1000);
        p.out();
        assert_eq!(p.tcb.info().cwnd, left, "{seconds}");
    }
    // The same if a little is sent all the time.
    let (mut p, mut una) = fast();
    for _ in 0..2990 {
        round(&mut p, &mut una, 1);
    }
    assert_eq!(p.tcb.info().cwnd, 80_000);
    for _ in 0..40 {
        round(&mut p, &mut una, 1);
    }
    assert_eq!((p.tcb.info().cwnd, p.tcb.info().retransmits), (40_000, 0));
}

/// The first of five segments in flight is lost, and sent again: the window after that.
fn lose_one(p: &mut Peer, una: u32) -> u32 {
    p.send(5000);
    p.out();
    p.wait(100);
    p.sack(una, &[(una + 1000, una + 5000)]);
    assert!(p.out().contains(&s(".", una, 1000, 1)));
    p.wait(100);
    p.say(".", 1, una + 5000, 0);
    assert!(!p.tcb.info().recovering);
    p.tcb.info().cwnd
}

#[test]
fn a_loss_counts_for_what_was_in_use() {
    // RFC 7661 4.3/1, 4.4.1/1, 4.4.1/2, 4.4.1/3, 4.5.1/1
    // Half of the five segments in flight, less what was sent again.
    let (mut p, mut una) = fast();
    (0..20).for_each(|_| round(&mut p, &mut una, 5));
    assert_eq!(lose_one(&mut p, una), 2000);
    let known = p.tcb.validation.as_ref().expect("it was large").pipe_ack();
    assert_eq!(known, u32::MAX, "nothing any more");
    // A round trip of the last second has carried twenty.
    let (mut p, mut una) = fast();
    (0..20).for_each(|_| round(&mut p, &mut una, 5));
    round(&mut p, &mut una, 20);
    round(&mut p, &mut una, 5);
    assert_eq!(lose_one(&mut p, una), 9500);
}

#[test]
fn a_window_that_is_in_use_is_reduced_as_ever() {
    // RFC 7661 4.2/1
    let (mut p, una) = fast();
    p.send(40_000);
    p.out();
    p.wait(100);
    p.sack(una, &[(una + 1000, una + 40_000)]);
    p.out();
    p.wait(100);
    p.say(".", 1, una + 40_000, 0);
    assert_eq!(p.tcb.info().cwnd, 20_000, "half of what was in flight");
}

/// A loss that only a tail loss probe has repaired is a loss as any other.
#[test]
fn a_loss_that_the_probe_repaired_counts_for_what_was_in_use() {
    // RFC 7661 4.4.1/1, 4.4.1/2
    let (mut p, mut una) = fast();
    (0..20).for_each(|_| round(&mut p, &mut una, 5));
    round(&mut p, &mut una, 20);
    p.send(5000);
    p.out();
    p.wait(100);
    p.say(".", 1, una + 4000, 0);
    p.out();
    while !p.tcb.wants_transmit() {
        p.timeout();
    }
    assert_eq!(p.out(), [s("P.", una + 4000, 1000, 1)]);
    p.wait(100);
    p.say(".", 1, una + 5000, 0);
    p.send(1000);
    p.out();
    p.wait(50);
    p.say(".", 1, una + 6000, 0);
    let info = p.tcb.info();
    assert_eq!((info.cwnd, info.timeouts), (9500, 0), "not half of what was in flight at the end");
}
