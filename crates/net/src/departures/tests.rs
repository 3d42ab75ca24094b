use super::*;

#[test]
fn what_was_made_by_then_is_waited_for_and_nothing_else() {
    let departures = Departures::new(3);
    assert!(departures.under_way(0).is_none());
    departures.made(1);
    assert!(departures.under_way(1).is_none(), "its own leaves in order");
    let under_way = departures.under_way(0).expect("made by another");
    assert!(!under_way.has_left(&departures));
    let first = departures.to_report(1).expect("made");
    // More comes, and is not waited for.
    departures.made(1);
    departures.made(2);
    departures.handed_on(1, first);
    assert!(under_way.has_left(&departures));
    let under_way = departures.under_way(0).expect("more");
    let (second, other) = (departures.to_report(1), departures.to_report(2));
    departures.handed_on(1, second.expect("made"));
    assert!(!under_way.has_left(&departures), "both are waited for");
    departures.handed_on(2, other.expect("made"));
    assert!(under_way.has_left(&departures) && departures.under_way(0).is_none());
    assert_eq!((departures.to_report(1), departures.to_report(0)), (None, None));
}

#[test]
fn a_late_report_takes_nothing_back() {
    let departures = Departures::new(2);
    departures.made(1);
    let first = departures.to_report(1).expect("made");
    departures.made(1);
    let second = departures.to_report(1).expect("made");
    let under_way = departures.under_way(0).expect("made by another");
    departures.handed_on(1, second);
    departures.handed_on(1, first);
    assert!(under_way.has_left(&departures));
}
