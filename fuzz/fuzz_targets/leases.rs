//! What DHCP servers say, of both families, against the clients.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = anabranch_device_input::leases::run(bytes);
});
