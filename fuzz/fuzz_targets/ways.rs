//! The same input by the ways past the layers and without them: the same leaves.
#![no_main]

use anabranch_device_input::{Topic, run_both_ways};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let topic = if first & 1 == 0 { Topic::Segments } else { Topic::All };
    let _ = run_both_ways(topic, rest);
});
