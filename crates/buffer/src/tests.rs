use super::*;
use proptest::prelude::*;

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
fn a_copy_that_is_summed_is_a_copy_and_a_sum() {
    let data: Vec<u8> = (0..70_000u32).map(|n| (n * 7 + n / 251) as u8).collect();
    for (len, capacity) in
        [(0, 0), (1, 1), (63, 64), (256, 256), (257, 300), (1448, 1448), (9000, 2048)]
            .into_iter()
            .chain([(4609, 4609), (16_384, 16_384), (16_385, 16_385), (70_000, 70_000)])
    {
        let (slice, sum) = Slice::sum_of(&data[..len], capacity);
        assert_eq!(slice.footprint(), Slice::with_capacity(capacity).footprint());
        let n = len.min(slice.footprint());
        assert!(*slice == data[..n] && slice.is_unique(), "{len} {capacity}");
        assert_eq!(sum, sum::sum(&data[..n]), "{len} {capacity}");
        assert!(slice.footprint() >= capacity.min(65 * 1024));
    }
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

#[test]
fn a_block_that_is_left_and_taken_again_counts_once() {
    let slice = Slice::with_capacity(CLASSES[4]);
    assert_eq!(slice.footprint(), CLASSES[4]);
    assert!(pool_counts().iter().any(|c| c.capacity == CLASSES[4] && c.allocated > 0));
    let larger = Slice::with_capacity(usize::MAX);
    assert_eq!(larger.room(), CLASSES[4], "the largest class, if none is large enough");
}

#[test]
fn what_threads_have_exchanged_can_be_given_back() {
    // Of a class that no other test here has blocks of.
    let allocated = || pool_counts()[3].allocated;
    let slices: Vec<Slice> = (0..600).map(|_| Slice::with_capacity(CLASSES[3])).collect();
    assert!(allocated() >= 600);
    drop(slices);
    let kept = allocated();
    super::release();
    assert!(allocated() < kept && allocated() <= 256, "{} of {kept}", allocated());
    assert_eq!(Slice::with_capacity(CLASSES[3]).room(), CLASSES[3]);
}

#[test]
fn a_thread_that_only_frees_keeps_few() {
    // Of a class that no other test here has blocks of.
    let allocated = || pool_counts()[2].allocated;
    let (to, from) = std::sync::mpsc::sync_channel::<Slice>(0);
    let thread = std::thread::spawn(move || {
        from.into_iter().for_each(drop);
        // With it, its list would go.
        allocated()
    });
    for _ in 0..20_000 {
        to.send(Slice::with_capacity(CLASSES[2])).unwrap();
    }
    drop(to);
    let kept = thread.join().unwrap();
    assert!(kept <= 64, "{kept}");
}

#[test]
fn a_thread_that_takes_back_what_it_handed_on_keeps_it() {
    std::thread::spawn(|| {
        let mut held: Vec<Slice> = Vec::new();
        // How many of what it frees come back, the last one first.
        let comes_back = |held: &mut Vec<Slice>| {
            held.extend((0..200).map(|_| Slice::with_capacity(CLASSES[1])));
            let mut places: Vec<_> = held.iter().map(|slice| slice.as_ptr()).collect();
            held.clear();
            held.extend((0..200).map(|_| Slice::with_capacity(CLASSES[1])));
            places.reverse();
            let same = held.iter().zip(&places).filter(|(slice, place)| slice.as_ptr() == **place);
            let same = same.count();
            held.clear();
            same
        };
        for _ in 0..8 {
            comes_back(&mut held);
        }
        assert_eq!(comes_back(&mut held), 200);
    })
    .join()
    .unwrap();
}

#[test]
#[should_panic]
fn a_range_that_wraps_is_refused() {
    let _ = Slice::copy_of(b"abc").range(2, usize::MAX);
}

#[test]
fn truncation_to_more_than_32_bits_keeps_all() {
    let mut slice = Slice::copy_of(b"abc");
    #[cfg(target_pointer_width = "64")]
    slice.truncate(1 << 32);
    slice.truncate(usize::MAX);
    assert_eq!(&*slice, b"abc");
}

#[test]
fn the_last_of_threads_that_drop_at_once_gives_the_block_back() {
    for n in 0..if cfg!(miri) { 5 } else { 200u8 } {
        let slice = Slice::copy_of(&[n; 100]);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let clone = slice.clone();
                scope.spawn(move || assert_eq!(*clone, [n; 100]));
            }
            drop(slice);
        });
    }
}

/// A block is written to by whoever is alone with it again, while others share it, read it and let go of
/// it in their threads. (ThreadSanitizer and Miri see if one could read what is written.)
#[test]
fn who_is_alone_again_writes_what_no_other_reads() {
    let rounds = if cfg!(miri) { 20 } else { 2000u32 };
    let mut slice = Slice::copy_of(&0u32.to_le_bytes());
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (to, from) = std::sync::mpsc::channel::<(Slice, u32)>();
                scope.spawn(move || {
                    for (mut slice, n) in from {
                        let again = slice.share();
                        assert_eq!(
                            (&*slice, &*again),
                            (&n.to_le_bytes()[..], &n.to_le_bytes()[..])
                        );
                    }
                });
                to
            })
            .collect();
        for n in 1..rounds {
            for reader in &readers {
                reader.send((slice.share(), n - 1)).expect("it reads");
            }
            while !slice.is_unique() {
                std::thread::yield_now();
            }
            slice.get_mut().expect("it is alone").copy_from_slice(&n.to_le_bytes());
        }
    });
}

/// What can be done to one of several slices.
#[derive(Clone, Debug)]
enum Step {
    New(usize),
    Append(Vec<u8>),
    AppendSum(Vec<u8>),
    Advance(usize),
    Truncate(usize),
    SplitTo(usize),
    Range(usize, usize),
    Write(u8),
    Clone,
    Share,
    Drop,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        (0usize..600).prop_map(Step::New),
        bytes().prop_map(Step::Append),
        bytes().prop_map(Step::AppendSum),
        (0usize..300).prop_map(Step::Advance),
        (0usize..300).prop_map(Step::Truncate),
        (0usize..300).prop_map(Step::SplitTo),
        (0usize..300, 0usize..300).prop_map(|(start, len)| Step::Range(start, len)),
        any::<u8>().prop_map(Step::Write),
        Just(Step::Clone),
        Just(Step::Share),
        Just(Step::Drop),
    ]
}

/// Slices beside the bytes that each should have.
type Model = Vec<(Slice, Vec<u8>)>;

/// Does `step` to the slice at `at`.
fn apply(all: &mut Model, at: usize, step: Step) -> Result<(), TestCaseError> {
    let (slice, bytes) = &mut all[at];
    let len = bytes.len();
    match step {
        Step::New(capacity) => all.push((Slice::with_capacity(capacity), Vec::new())),
        Step::Append(new) => {
            let n = new.len().min(slice.room());
            prop_assert_eq!(slice.append(&new), n);
            bytes.extend(&new[..n]);
        }
        Step::AppendSum(new) => {
            let n = new.len().min(slice.room());
            prop_assert_eq!(slice.append_sum(&new), (n, sum::sum(&new[..n])));
            bytes.extend(&new[..n]);
        }
        Step::Advance(n) => {
            slice.advance(n.min(len));
            bytes.drain(..n.min(len));
        }
        Step::Truncate(n) => {
            slice.truncate(n);
            bytes.truncate(n);
        }
        Step::SplitTo(n) => {
            let front = (slice.split_to(n.min(len)), bytes.drain(..n.min(len)).collect());
            all.push(front);
        }
        Step::Range(start, count) => {
            let start = start.min(len);
            let count = count.min(len - start);
            let range = (slice.range(start, count), bytes[start..start + count].to_vec());
            all.push(range);
        }
        Step::Write(value) => {
            let unique = slice.is_unique();
            let written = slice.get_mut().map(|to| to.fill(value));
            prop_assert_eq!(written.is_some(), unique);
            if unique {
                bytes.fill(value);
            }
        }
        Step::Clone => {
            let clone = (slice.clone(), bytes.clone());
            all.push(clone);
        }
        Step::Share => {
            let before = slice.references();
            let shared = (slice.share(), bytes.clone());
            prop_assert_eq!(slice.references(), before + 1);
            all.push(shared);
        }
        Step::Drop => drop(all.swap_remove(at)),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 10 } else { 256 }))]

    /// No slice ever sees what is done to another one of the same block.
    #[test]
    fn slices_are_their_bytes(steps in prop::collection::vec((any::<usize>(), step()), 0..60)) {
        let mut all: Model = vec![(Slice::with_capacity(500), Vec::new())];
        for (at, step) in steps {
            if all.is_empty() {
                all.push((Slice::with_capacity(100), Vec::new()));
            }
            let at = at % all.len();
            apply(&mut all, at, step)?;
            for (slice, bytes) in &all {
                prop_assert_eq!(slice.as_slice(), bytes.as_slice());
                prop_assert_eq!((slice.len(), slice.is_empty()), (bytes.len(), bytes.is_empty()));
            }
        }
    }
}
