use super::*;

#[test]
fn what_is_written_is_found_by_its_address_alone() {
    let shared = SharedBytes::copy_of(&[3; 60_000]).expect("short enough");
    let third = shared.footprint().div_ceil(3);
    let whole = find(&shared).expect("known");
    assert!(whole.as_ptr() == shared.as_ptr() && whole.len() == 60_000);
    let part = find(&shared[1000..40_000]).expect("known");
    assert!(part.as_ptr() == shared[1000..].as_ptr() && part.len() == 39_000);
    assert!(find(&[3; 60_000]).is_none(), "equal, and not the same");
    assert!(find(&shared[60_000 - third..]).is_some(), "the end, a third of the block");
    assert!(find(&shared[60_000 - third + 1..]).is_none(), "less");
    let shared = SharedBytes::copy_of(&[3; 16_384]).expect("short enough");
    let least = &shared[..SharedBytes::LEAST];
    assert!(find(least).is_some() && find(&least[1..]).is_none());
    // The whole of a block that is hardly filled.
    let shared = SharedBytes::copy_of(&[3; 17_000]).expect("short enough");
    assert!(find(&shared).is_some() && find(&shared[1..]).is_none());
}

#[test]
fn what_is_found_is_on_its_way() {
    let shared = SharedBytes::copy_of(&[3; 9000]).expect("short enough");
    let clone = shared.clone();
    assert!(!shared.is_on_its_way());
    let found = find(&clone);
    assert!(found.is_some() && shared.is_on_its_way() && clone.is_on_its_way());
    drop(found);
    assert!(!shared.is_on_its_way());
}

#[test]
fn they_are_forgotten_with_the_last_clone_and_held_by_what_was_found() {
    let shared = SharedBytes::copy_of(&[5; 9000]).expect("short enough");
    let clone = shared.clone();
    drop(shared);
    let at = address(&clone);
    let found = find(&clone).expect("known");
    drop(clone);
    assert!(!KNOWN.read().expect("whole").contains_key(&at));
    assert_eq!(*found, [5; 9000]);
}

#[test]
fn none_is_too_short_and_some_are_too_long() {
    let empty = SharedBytes::copy_of(&[]).expect("short enough");
    assert!(empty.is_empty() && find(&empty).is_none());
    let longest = SharedBytes::copy_of(&[1; SharedBytes::MOST]).expect("just short enough");
    assert!(find(&longest).is_some() && longest.footprint() >= SharedBytes::MOST);
    assert!(SharedBytes::copy_of(&[1; SharedBytes::MOST + 1]).is_none());
}

/// Threads that make, find and forget them do not get in each other's way.
#[test]
fn many_threads_have_their_own() {
    std::thread::scope(|scope| {
        for n in 0..4u8 {
            scope.spawn(move || {
                for round in 0..500 {
                    let shared = SharedBytes::copy_of(&[n; 8200]).expect("short enough");
                    let found = find(&shared).expect("known");
                    assert!(found.iter().all(|b| *b == n), "{n} {round}");
                }
            });
        }
    });
}
