use super::*;

#[test]
fn a_clone_shares_and_a_unique_slice_appends() {
    let mut a = Slice::with_capacity(100);
    assert_eq!(a.append(b"hello "), 6);
    assert_eq!(a.append(b"world"), 5);
    let b = a.clone();
    assert_eq!(a.append(b"!"), 0, "shared: no room");
    assert_eq!(a.room(), 0);
    drop(b);
    assert_eq!(a.append(b"!"), 1);
    assert_eq!(&*a, b"hello world!");
    let hello = a.split_to(6);
    assert_eq!((&*hello, &*a), (&b"hello "[..], &b"world!"[..]));
}

#[test]
fn the_last_freed_block_is_the_next_one_taken() {
    let a = Slice::copy_of(b"a");
    let at = a.as_ptr();
    drop(a);
    let b = Slice::copy_of(b"b");
    assert_eq!(at, b.as_ptr());
}

#[test]
fn blocks_cross_threads_and_are_freed_once() {
    let slices: Vec<Slice> = (0..5000u32).map(|i| Slice::copy_of(&i.to_le_bytes())).collect();
    let clones = slices.clone();
    let thread = std::thread::spawn(move || {
        for (i, s) in clones.iter().enumerate() {
            assert_eq!(**s, (i as u32).to_le_bytes());
        }
    });
    for (i, s) in slices.iter().enumerate() {
        assert_eq!(**s, (i as u32).to_le_bytes());
    }
    drop(slices);
    thread.join().unwrap();
}
