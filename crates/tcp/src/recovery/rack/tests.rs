use super::*;
use crate::recovery::rate::Rate;

fn newest(sent: u64, end: u32) -> Newest {
    let sent = Instant::from_millis(sent);
    let then = Rate::new(sent).on_send(false, 0, (0, 0), sent);
    Newest { sent, end: Seq(end), again: false, then }
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn the_window_is_nothing_until_there_was_reordering() {
    // RFC 8985 6.2/4
    let mut rack = Rack::new(Seq(0));
    let window = |rack: &Rack, recovering, sacked| rack.window(recovering, sacked, 100_000, 90_000);
    assert_eq!(window(&rack, false, 2), ms(25), "a quarter of a round trip");
    assert_eq!(window(&rack, false, 3), ms(0), "DupThresh");
    assert_eq!(window(&rack, true, 0), ms(0));
    rack.reordered = true;
    assert_eq!(window(&rack, true, 9), ms(25));
}

#[test]
fn it_grows_by_dsacks_once_a_round_trip_up_to_srtt_and_shrinks_after_16_recoveries() {
    // RFC 8985 6.2/5, 6.2/6, 6.2/7
    let mut rack = Rack::new(Seq(0));
    rack.reordered = true;
    let window = |rack: &Rack| rack.window(true, 9, 100_000, 90_000);
    rack.on_dsack(Seq(10), Seq(50));
    rack.on_dsack(Seq(20), Seq(60));
    assert_eq!(window(&rack), ms(50));
    rack.on_dsack(Seq(50), Seq(90));
    assert_eq!(window(&rack), ms(75));
    rack.forget_round(Seq(90));
    rack.on_dsack(Seq(0x9000_0000), Seq(0x9000_0050));
    assert_eq!(window(&rack), ms(90), "also after half of the sequence space; SRTT is the most");
    (0..15).for_each(|_| rack.on_recovered());
    assert_eq!(window(&rack), ms(90));
    rack.on_recovered();
    assert_eq!(window(&rack), ms(25));
}

#[test]
fn the_front_is_what_was_sent_last() {
    // RFC 8985 6.2/2
    let mut rack = Rack::new(Seq(0));
    rack.on_news(&newest(100, 50), Instant::from_millis(130));
    rack.on_news(&newest(90, 60), Instant::from_millis(140));
    let at = Instant::from_millis(140);
    let front = rack.front(ms(5), &mut 0, (false, true), at);
    assert_eq!((front.sent, front.end), (Instant::from_millis(100), Seq(50)));
    assert_eq!(front.wait, ms(55), "the round trip is that of the last news");
    rack.on_news(&newest(100, 55), Instant::from_millis(140));
    assert_eq!(rack.front(ms(0), &mut 0, (false, true), at).end, Seq(55));
}

#[test]
fn while_something_is_waited_for_the_longest_round_trip_counts() {
    // RFC 8985 6.2/8
    let (mut rack, mut slowest) = (Rack::new(Seq(0)), 0);
    let mut at = |sent, came, waiting| {
        let now = Instant::from_millis(came);
        rack.on_news(&newest(sent, 50), now);
        rack.front(ms(5), &mut slowest, (waiting, true), now).wait
    };
    assert_eq!(at(100, 130, false), ms(35));
    assert_eq!(at(110, 150, true), ms(45), "it takes longer");
    assert_eq!(at(130, 151, true), ms(45), "the queue has become shorter");
    assert_eq!(at(105, 155, true), ms(45), "what was held up does not count");
    let later = Instant::from_millis(160);
    assert_eq!(rack.front(ms(5), &mut slowest, (true, false), later).wait, ms(45), "nor does time");
    assert_eq!(
        rack.front(ms(5), &mut slowest, (false, true), later).wait,
        ms(55),
        "nothing was waited for"
    );
}
