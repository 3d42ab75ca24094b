//! A few thousand random sequences, on any toolchain.

use anabranch_device_input::{Topic, run_both_ways, run_topic};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn nothing_goes_wrong(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        let _ = anabranch_device_input::run(&bytes);
    }

    #[test]
    fn nothing_goes_wrong_on_a_link(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = anabranch_device_input::run_link(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn nothing_goes_wrong_with_one_topic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for topic in [Topic::Segments, Topic::Fragments, Topic::Icmp] {
            let _ = run_topic(topic, &bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// The ways past the layers do what the layers do.
    #[test]
    fn both_ways_are_one(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for topic in [Topic::All, Topic::Segments, Topic::Icmp] {
            let _ = run_both_ways(topic, &bytes);
        }
    }
}

/// A run about segments begins with an open connection, of which the next bytes speak: data of
/// the peer is delivered, and what the user writes is sent.
#[test]
fn segments_come_to_open_connections() {
    for topic in [Topic::Segments, Topic::Icmp] {
        let nothing = run_topic(topic, &[0]);
        assert!(nothing.delivered > 0 && nothing.packets_out > 2, "{nothing:?}");
    }
    // A segment of 1,400 bytes on the first flow, as it is expected.
    let data = run_topic(Topic::Segments, &[0, 0, 0, 5 << 5]);
    assert_eq!(data.delivered, run_topic(Topic::Segments, &[0]).delivered + 1, "{data:?}");
}

/// The seeds of the fuzzer for a link are heard.
#[test]
fn seeds_of_a_link() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/link");
    let (mut delivered, mut absorbed) = (0, 0);
    for seed in std::fs::read_dir(folder).expect("the folder of seeds") {
        let bytes = std::fs::read(seed.expect("a seed").path()).expect("a file");
        let counters = anabranch_device_input::run_link(&bytes);
        (delivered, absorbed) = (delivered + counters.delivered, absorbed + counters.absorbed);
    }
    assert!(delivered > 5 && absorbed > 40, "{delivered} {absorbed}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn nothing_goes_wrong_with_servers_of_addresses(
        bytes in prop::collection::vec(any::<u8>(), 0..1000)
    ) {
        let _ = anabranch_device_input::leases::run(&bytes);
    }

    #[test]
    fn nothing_goes_wrong_with_groups(bytes in prop::collection::vec(any::<u8>(), 0..1000)) {
        let _ = anabranch_device_input::groups::run(&bytes);
    }
}

/// The seeds of the fuzzer are good runs, and go past the handshake.
#[test]
fn seeds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/device_input");
    let mut delivered = 0;
    for seed in std::fs::read_dir(folder).expect("the folder of seeds") {
        let bytes = std::fs::read(seed.expect("a seed").path()).expect("a file");
        delivered += anabranch_device_input::run(&bytes).delivered;
    }
    assert!(delivered > 50, "{delivered}");
}
