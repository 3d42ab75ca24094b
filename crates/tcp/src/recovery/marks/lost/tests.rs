use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    /// What is lost is there as in a set, while records come and go.
    #[test]
    fn it_is_a_set(
        wide in any::<bool>(),
        steps in prop::collection::vec((0u8..8, 0u64..20_000), 0..200),
    ) {
        let (mut lost, mut model, mut first) = (Lost::default(), BTreeSet::new(), 1u64 << 40);
        for (what, far) in steps {
            let far = if wide { far } else { far % 7 };
            let name = first + far;
            match what {
                0..4 => {
                    lost.insert(name, first);
                    model.insert(name);
                }
                4..6 => {
                    lost.remove(name);
                    model.remove(&name);
                }
                6 => {
                    if let Some(name) = model.pop_first() {
                        lost.remove(name);
                    }
                }
                _ => {
                    // The records below are acknowledged.
                    for name in model.range(..name).copied().collect::<Vec<_>>() {
                        lost.remove(name);
                    }
                    model = model.split_off(&name);
                    first = name;
                }
            }
            prop_assert_eq!(lost.len(), model.len());
            prop_assert_eq!(lost.first(), model.first().copied());
            for name in first..first + 70 {
                prop_assert_eq!(lost.contains(name), model.contains(&name));
                prop_assert_eq!(lost.next(name), model.range(name..).next().copied());
            }
        }
    }
}

#[test]
fn the_only_one_takes_no_memory() {
    let mut lost = Lost::default();
    for name in 0..100 {
        lost.insert(name, name);
        lost.insert(name, name);
        assert_eq!((lost.first(), lost.len(), lost.footprint()), (Some(name), 1, 0));
        lost.remove(name);
    }
    for name in [100, 101] {
        lost.insert(name, 100);
    }
    assert!(lost.footprint() < 256, "{}", lost.footprint());
}

#[test]
fn what_lies_below_is_let_go_of() {
    let mut lost = Lost::default();
    for name in 0..1_000_000 {
        lost.insert(name, name);
        lost.insert(name + 100, name);
        lost.remove(name);
    }
    assert!(lost.footprint() < 1000, "{}", lost.footprint());
}
