//! The experiments that are not one workload, short, under every organization.

use lab::blocks::Blocks;
use organizations::{CATALOG, Options};

fn names() -> Vec<String> {
    CATALOG.iter().map(|entry| entry.name.to_owned()).collect()
}

#[test]
fn blocks_beside_short_lived_connections() {
    for processors in [1, 2] {
        let blocks = Blocks {
            organizations: names(),
            processors,
            short_lived: vec![0.0, 2000.0],
            seconds: 0.1,
            warm_up: 0.02,
            repeat: 1,
            options: Options { groups: 8, ..Options::default() },
            ..Blocks::default()
        };
        let rows = blocks.run(&mut |_| {}).expect("figures");
        assert_eq!(rows.len(), 2 * CATALOG.len());
        for pair in rows.chunks(2) {
            let name = &pair[0].organization;
            assert!(pair[0].median > 0.0 && pair[1].median > 0.0, "{name}");
            assert_eq!((pair[0].begun_per_s, pair[0].of_first), (0.0, 1.0), "{name}");
            assert!(pair[1].begun_per_s > 0.0, "{name}");
        }
    }
}
