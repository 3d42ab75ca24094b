//! The experiments that are not one workload, short, under every organization.

extern crate anabranch_lab as lab;

use lab::Family;
use lab::blocks::Blocks;
use lab::hog::{Hog, Protocol};
use lab::soak::Soak;
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
            options: Options::default().with_groups(8),
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

/// Bohra and Iftode 2007, figure 10, by counts: for what busy processors carry,
/// other variants serve many times as many new connections. Other tests may take the
/// processors from one variant for all of its time, and so it may take several looks.
#[test]
fn the_scheduler_serves_new_connections_last() {
    for processors in [1, 2] {
        let blocks = Blocks {
            organizations: ["engines", "engines-early", "engines-sched"].map(String::from).into(),
            processors,
            short_lived: vec![50_000.0],
            seconds: 0.2,
            repeat: 1,
            ..Blocks::default()
        };
        let last = (0..8).any(|_| {
            let rows = blocks.run(&mut |_| {}).expect("figures");
            let [engines, early, sched] =
                [0, 1, 2].map(|index| rows[index].completed_per_s / rows[index].median);
            println!(
                "{processors}: short-lived a second for each Gbit/s: {engines} {early} {sched}"
            );
            assert!(rows[2].completed_per_s > 0.0, "not never");
            sched < engines / 2.0 && sched < early / 2.0
        });
        assert!(last, "{processors}: never in eight looks");
    }
}

#[test]
fn well_behaved_sockets_beside_a_hog() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let hog = Hog {
            organizations: names(),
            processors: 2,
            protocol,
            sockets: 3,
            rate: 200.0,
            // Long enough for a machine with other things to do.
            seconds: 0.3,
            warm_up: 0.02,
            repeat: 1,
            options: Options::default().with_groups(8),
            ..Hog::default()
        };
        for row in hog.run(&mut |_| {}).expect("figures") {
            let name = (&row.organization, protocol);
            assert!(row.goodput_alone > 0.0 && row.p99_alone_us > 0.0, "{name:?}");
            assert!(row.hog_per_s > 0.0, "{name:?}");
        }
    }
}

#[test]
fn a_short_soak_loses_nothing() {
    for family in [Family::V4, Family::V6] {
        let soak = Soak {
            threads: 2..=4,
            connections: 24,
            time: std::time::Duration::ZERO,
            leg: std::time::Duration::from_millis(300),
            options: Options::default().with_groups(8),
            family,
            ..Soak::default()
        };
        let legs = soak.run(&mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(legs.len(), CATALOG.len());
        for leg in legs {
            assert!(leg.conversations > 0 && leg.bytes > 0 && leg.datagrams > 0, "{leg:?}");
        }
    }
}
