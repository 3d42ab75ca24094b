//! Joins, and what routers and other members say by IGMP and MLD, against a domain.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = anabranch_device_input::groups::run(bytes);
});
