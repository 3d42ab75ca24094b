//! What applications see is the same with the stack and with Linux.
//!
//! `ANABRANCH_DIFFERENTIAL_RUNS` says how many scripts are played (default 1,000), and
//! `ANABRANCH_DIFFERENTIAL_SEED` from which seed on (default 1): a script that fails is
//! played again by its seed and one run.
extern crate anabranch_differential as differential;

use anabranch::device::{fault, tap};
use anabranch::{Stack, TcpConfig};
use device::namespace;
use differential::{Kernels, Ours, Script, World, play};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
const FAULTS: &str = "loss=1%,reorder=4%,duplicate=1%,corrupt=0.1%,jitter=300us,delay=300us";
/// Scripts that are played at once: most of the time each waits.
const AT_ONCE: usize = 48;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A stack on a bad link with the kernel; `None` if there can be no device.
fn stack(seed: u64) -> Option<Stack> {
    let config = tap::Config::default().with_name("ana-differ").with_kernel_address(KERNEL, 16);
    let device = match tap::open(&config) {
        Ok(device) => device,
        Err(error @ (tap::Error::NoDriver | tap::Error::NoAccess | tap::Error::NotAllowed(_))) => {
            println!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let device = fault::wrap(device, &FAULTS.parse().expect("faults"), seed);
    let tcp = TcpConfig::default().with_min_rto(Duration::from_millis(50));
    let stack = Stack::builder().device(device).address((IpAddr::from(OURS), 16)).tcp(tcp).start();
    Some(stack.expect("a stack"))
}

/// What does not agree, of the scripts with these seeds.
fn disagreements(ours: &dyn World, first: u64, runs: u64) -> Vec<String> {
    let next = AtomicU64::new(first);
    let found = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(runs as usize) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + runs {
                        return;
                    }
                    let script = Script::new(seed);
                    let (us, kernel) = (play(&script, ours), play(&script, &Kernels));
                    if us != kernel {
                        found.lock().expect("whole").push(difference(&script, &us, &kernel));
                    }
                }
            });
        }
    });
    found.into_inner().expect("whole")
}

fn difference(script: &Script, us: &[String], kernel: &[String]) -> String {
    let mut text = format!("{script}what is seen, with the stack and with Linux alone:\n");
    for at in 0..us.len().max(kernel.len()) {
        let line = |seen: &[String]| seen.get(at).cloned().unwrap_or_else(|| "nothing".into());
        let (a, b) = (line(us), line(kernel));
        let mark = if a == b { " " } else { "!" };
        text.push_str(&format!("{mark} {a}\n"));
        if a != b {
            text.push_str(&format!("! {b} (Linux)\n"));
        }
    }
    text
}

#[test]
fn applications_see_what_they_see_with_linux() {
    let (first, runs) =
        (number("ANABRANCH_DIFFERENTIAL_SEED", 1), number("ANABRANCH_DIFFERENTIAL_RUNS", 1000));
    let run = || {
        let Some(stack) = stack(first) else { return };
        let world = Ours { stack, ours: OURS, kernels: KERNEL };
        let found = disagreements(&world, first, runs);
        let text = found.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
        assert!(found.is_empty(), "{} of {runs} scripts do not agree\n{text}", found.len());
    };
    if let Err(error) = namespace::in_private(run) {
        println!("skipped: {error}");
    }
}

#[test]
fn scripts_call_all_there_is_and_follow_from_their_seeds() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..2000 {
        let script = Script::new(seed);
        assert_eq!(script, Script::new(seed));
        for step in &script.steps {
            let name = format!("{:?}", step.what);
            let name = name.split('(').next().unwrap_or_default().to_owned();
            *seen.entry(name).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), 20, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 20), "{seen:?}");
}
