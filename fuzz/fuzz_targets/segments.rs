//! Segments near what connections expect, calls of their users, and time.
#![no_main]

use anabranch_device_input::{Topic, run_topic};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = run_topic(Topic::Segments, bytes);
});
