//! ICMP about a connection with data on its way.
#![no_main]

use anabranch_device_input::{Topic, run_topic};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = run_topic(Topic::Icmp, bytes);
});
