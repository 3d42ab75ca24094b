use super::*;
use std::rc::Rc;

#[test]
fn the_value_is_dropped_once_and_the_memory_comes_back() {
    let counted = Rc::new(());
    let first = Pooled::new(counted.clone(), Parts::new());
    let at = first.cell();
    assert_eq!(Rc::strong_count(&counted), 2);
    drop(first);
    assert_eq!(Rc::strong_count(&counted), 1);
    let second = Pooled::new([7u64; 13], Parts::new());
    assert_eq!(second.cell().cast(), at, "the memory that was freed last");
    assert_eq!(second.value, [7; 13]);
}

#[test]
fn the_bytes_are_apart_from_the_value_and_stay() {
    // As much as there is room for.
    let mut pooled = Pooled::new([0xffu8; 152], Parts::new());
    let (cell, bytes) = pooled.split_mut();
    bytes.fill(5);
    cell.value.fill(6);
    assert_eq!((pooled.scratch(), &pooled.value), (&[5; SCRATCH], &[6; 152]));
    assert_eq!(size_of::<Cell<[u8; 152]>>(), VALUE);
    drop(pooled);
    let other = Pooled::new(0u8, Parts::new());
    assert_eq!(other.scratch(), &[5; SCRATCH], "whatever was left there");
}

#[test]
fn values_cross_threads_and_their_memory_is_kept() {
    const COUNT: usize = if cfg!(miri) { 300 } else { 5_000 };
    for _ in 0..2 {
        let (to, from) = std::sync::mpsc::sync_channel::<Pooled<u8>>(64);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                from.into_iter().for_each(|pooled| assert_eq!(*pooled.parts[0], *b"x"))
            });
            (0..COUNT).for_each(|_| {
                to.send(Pooled::new(1, [Slice::copy_of(b"x")].into_iter().collect())).expect("open")
            });
            drop(to);
        });
    }
    let counts = crate::pool_counts()[classes::CELLS];
    assert_eq!(counts.capacity, BYTES);
    assert!(counts.allocated < COUNT, "{} were never used again", counts.allocated);
}
