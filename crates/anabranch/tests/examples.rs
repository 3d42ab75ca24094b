//! Each example runs, in memory.
#![cfg(not(shuttle))]
// Their `main` is not called.
#![allow(dead_code)]

#[path = "../examples/echo.rs"]
mod echo;
#[path = "../examples/http.rs"]
mod http;
#[path = "../examples/netstack.rs"]
mod netstack;
#[path = "../examples/own_device.rs"]
mod own_device;
#[path = "../examples/pcap.rs"]
mod pcap;
#[path = "../examples/tls.rs"]
mod tls;
#[path = "../examples/two_hosts.rs"]
mod two_hosts;

fn run<F: Future<Output = Result<(), Box<dyn std::error::Error>>>>(future: F) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(future).expect("it runs");
}

#[test]
fn echo_runs() {
    echo::in_memory().expect("it runs");
}

#[test]
fn http_runs() {
    run(http::in_memory());
}

#[test]
fn netstack_runs() {
    run(netstack::in_memory());
}

#[test]
fn own_device_runs() {
    own_device::in_memory().expect("it runs");
}

#[test]
fn pcap_runs() {
    let name = format!("anabranch-example-{}.pcapng", std::process::id());
    let path = std::env::temp_dir().join(name);
    let result = pcap::capture(&path);
    let bytes = std::fs::read(&path).expect("it was written");
    let _ = std::fs::remove_file(&path);
    result.expect("it runs");
    // The block type of pcapng's section header (draft-ietf-opsawg-pcapng 4.1).
    assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    assert!(bytes.len() > 1000);
}

/// Where the processor has what the example's cryptography needs.
#[test]
fn tls_runs() {
    #[cfg(target_arch = "x86_64")]
    let able = ["aes", "adx", "avx2", "bmi2", "pclmulqdq"].iter().all(|need| {
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        flags.lines().any(|line| line.starts_with("flags") && line.split(' ').any(|f| f == *need))
    });
    #[cfg(not(target_arch = "x86_64"))]
    let able = cfg!(target_arch = "aarch64");
    if able {
        run(tls::in_memory());
    }
}

#[test]
fn two_hosts_runs() {
    two_hosts::in_memory().expect("it runs");
}

/// The program of the README is the example, which is compiled and run here.
#[test]
fn the_readme_shows_the_echo_example() {
    let readme = include_str!("../../../README.md");
    let example = include_str!("../examples/echo.rs");
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    // The example needs devices in memory, too.
    let example = example.replace("device::{memory, tap}", "device::tap");
    let mut rest = &example[..];
    for line in shown.expect("a program").lines().map(str::trim).filter(|l| !l.is_empty()) {
        let at = rest.find(line).unwrap_or_else(|| panic!("not in the example, in order: {line}"));
        rest = &rest[at + line.len()..];
    }
}
