use super::start;
use crate::load;
use catalog::CATALOG;

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

/// The guide has a section for each.
#[test]
fn the_guide_is_up_to_date() {
    for entry in CATALOG {
        let section = format!("### `{}`", entry.name);
        assert!(GUIDE.contains(&section), "docs/organizations.md lacks {section}");
    }
}
