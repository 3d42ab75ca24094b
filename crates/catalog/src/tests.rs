use super::*;

macro_rules! names {
    ($($name:ident [$($module:tt)*] { $($test:ident $processors:literal)* } { $($fact:tt)* })*) => {
        {
            let rows: &[(&str, &[usize])] = &[$((stringify!($name), &[$($processors),*])),*];
            rows
        }
    };
}

#[test]
fn rows_are_called_as_their_entries_and_tested_on_what_they_run_on() {
    for (entry, (name, processors)) in CATALOG.iter().zip(for_each_organization!(names)) {
        assert_eq!(entry.name, name.replace('_', "-"));
        assert_eq!(*processors, if entry.single { &[1][..] } else { &[1, 2] }, "{name}");
    }
}

#[test]
fn names_are_found_and_differ() {
    for (at, entry) in CATALOG.iter().enumerate() {
        assert_eq!(find(entry.name), Some(&CATALOG[at]));
    }
    assert_eq!(find("none"), None);
}

#[test]
fn pipelines_need_a_quarter_of_the_queues() {
    let queues = |name| find(name).map(|entry| [1, 3, 4, 9].map(|n| entry.queues_on(n)));
    assert_eq!(queues("layer-parallel"), Some([1, 1, 1, 2]));
    assert_eq!(queues("group-locks"), Some([1, 3, 4, 9]));
}

/// The worked example of docs/organizations.md.
const EXAMPLE: &str = include_str!("../../../docs/examples/add-organization.diff");

/// Adding an organization is a file, its `pub mod` line, its row, and its section of
/// the guide: not more. That the diff fits the tree is `scripts/worked-example`'s.
#[test]
fn adding_an_organization_touches_four_places() {
    let count = |start: &str| EXAMPLE.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("+++ "), count("@@ "), count("new file")), (4, 4, 1));
    assert_eq!(count("-") - count("--- "), 0, "nothing is changed, only added");
}
