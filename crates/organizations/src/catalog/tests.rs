use super::{CATALOG, find, start};
use crate::load;

const GUIDE: &str = include_str!("../../../../docs/organizations.md");

#[test]
fn all_move_bytes_both_ways() {
    for entry in CATALOG {
        let most = if entry.single { 1 } else { 2 };
        for processors in 1..=most {
            for sends in [false, true] {
                println!("{} on {processors}, sends: {sends}", entry.name);
                let packets = load::transfer(sends, 400_000, processors, |setup| {
                    start(entry.name, setup).expect("in the catalog")
                });
                assert!(packets >= 400_000 / 1460, "{}: {packets}", entry.name);
            }
        }
    }
}

/// The guide has a section for each, and the example in it is what is compiled
/// and tested here.
#[test]
fn the_guide_is_up_to_date() {
    for entry in CATALOG {
        let section = format!("### `{}`", entry.name);
        assert!(GUIDE.contains(&section), "docs/organizations.md lacks {section}");
    }
    assert!(GUIDE.contains(include_str!("../locked/combining.rs")), "its example differs");
    let entry = find("combining").expect("the example");
    let line = format!("combining \"{}\" (\"{}\", \"{}\"", entry.name, entry.source, entry.unit);
    assert!(GUIDE.contains(&line), "its line of the catalog differs: {line}");
}
