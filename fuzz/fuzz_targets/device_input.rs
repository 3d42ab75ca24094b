//! Frames, calls and time against a listening domain.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = anabranch_device_input::run(bytes);
});
