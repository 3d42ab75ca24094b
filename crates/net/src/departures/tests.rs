use super::*;

#[test]
fn what_was_made_by_then_is_waited_for_and_nothing_else() {
    let departures = Departures::new(3);
    assert!(departures.under_way(0).is_none());
    departures.made(1);
    assert!(departures.under_way(1).is_none(), "its own leaves in order");
    let under_way = departures.under_way(0).expect("made by another");
    assert!(!under_way.has_left(&departures));
    let first = departures.turns(1);
    // More comes, and is not waited for.
    departures.made(1);
    departures.made(2);
    departures.handed_on(1, first);
    assert!(under_way.has_left(&departures));
    let under_way = departures.under_way(0).expect("more");
    departures.handed_on(1, departures.turns(1));
    assert!(!under_way.has_left(&departures), "both are waited for");
    departures.handed_on(2, departures.turns(2));
    assert!(under_way.has_left(&departures) && departures.under_way(0).is_none());
}

#[test]
fn a_late_report_takes_nothing_back() {
    let departures = Departures::new(2);
    departures.made(1);
    let first = departures.turns(1);
    departures.made(1);
    let second = departures.turns(1);
    let under_way = departures.under_way(0).expect("made by another");
    departures.handed_on(1, second);
    departures.handed_on(1, first);
    assert!(under_way.has_left(&departures));
}
