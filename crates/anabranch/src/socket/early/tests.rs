use super::*;

fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1000)
}

#[test]
fn a_reset_counts_for_a_minute() {
    // RFC 7413 5.1/1, 5.1/2
    let mut pending = Pending::default();
    assert!(!pending.begin(0, at(0)));
    assert!(pending.begin(2, at(0)) && pending.begin(2, at(0)));
    assert!(!pending.begin(2, at(0)));
    pending.end(None);
    assert!(pending.begin(2, at(1)));
    pending.end(Some(at(2)));
    assert!(!pending.begin(2, at(61)));
    assert!(pending.begin(2, at(62)));
    pending.end(Some(at(62)));
    pending.end(Some(at(63)));
    assert!(!pending.begin(2, at(64)));
    assert!(pending.begin(2, at(122)) && !pending.begin(2, at(122)));
    assert!(pending.resets.len() <= 2, "it grows no further than the limit");
}
