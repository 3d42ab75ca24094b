use super::*;

#[test]
fn what_is_written_is_found_by_its_address_alone() {
    let shared = SharedBytes::copy_of(&[3; 4600]).expect("short enough");
    let whole = find(&shared).expect("known");
    assert!(whole.as_ptr() == shared.as_ptr() && whole.len() == 4600);
    let part = find(&shared[1000..3000]).expect("known");
    assert!(part.as_ptr() == shared[1000..].as_ptr() && part.len() == 2000);
    assert!(find(&[3; 4600]).is_none(), "equal, and not the same");
    assert!(find(&shared[4600 - 1536..]).is_some(), "the end, a third of the block");
    assert!(find(&shared[4600 - 1535..]).is_none(), "less");
    let shared = SharedBytes::copy_of(&[3; 2000]).expect("short enough");
    assert!(find(&shared[..LEAST]).is_some() && find(&shared[..LEAST - 1]).is_none());
}

#[test]
fn what_is_found_is_on_its_way() {
    let shared = SharedBytes::copy_of(&[3; 2000]).expect("short enough");
    let clone = shared.clone();
    assert!(!shared.is_on_its_way());
    let found = find(&clone);
    assert!(found.is_some() && shared.is_on_its_way() && clone.is_on_its_way());
    drop(found);
    assert!(!shared.is_on_its_way());
}

#[test]
fn they_are_forgotten_with_the_last_clone_and_held_by_what_was_found() {
    let shared = SharedBytes::copy_of(&[5; 2000]).expect("short enough");
    let clone = shared.clone();
    drop(shared);
    let at = address(&clone);
    let found = find(&clone).expect("known");
    drop(clone);
    assert!(!KNOWN.read().expect("whole").contains_key(&at));
    assert_eq!(*found, [5; 2000]);
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
                    let shared = SharedBytes::copy_of(&[n; 1500]).expect("short enough");
                    let found = find(&shared).expect("known");
                    assert!(found.iter().all(|b| *b == n), "{n} {round}");
                }
            });
        }
    });
}
