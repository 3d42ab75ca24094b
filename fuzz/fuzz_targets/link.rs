//! Neighbours, routers, redirects, extension headers and fragments of IPv6 against a host.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = anabranch_device_input::run_link(bytes);
});
