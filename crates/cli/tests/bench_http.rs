//! `anabranch bench http`: servers on this stack and on the kernel's, side by side.

mod common;

use common::{PATIENCE, anabranch, refused};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What is missing where there can be no such network.
const MISSING: [&str; 3] = ["not allowed to make", "/dev/net/tun", "cannot set up"];

#[test]
fn all_servers_answer_and_nothing_is_left() {
    let arguments = "bench http --load own --seconds 1 --repeat 2 --connections 4 --bytes 5000 \
                     --processors 1 --json -";
    let place = tempfile::tempdir().expect("a directory");
    let output = anabranch(arguments).env("TMPDIR", place.path()).output();
    let output = output.expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && MISSING.iter().any(|why| errors.contains(why)) {
        println!("skipped: {errors}");
        return;
    }
    assert!(output.status.success(), "{errors}");
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("an array");
    let names: Vec<_> = rows.iter().map(|row| row["server"].as_str().expect("a name")).collect();
    assert_eq!(names, ["own threads", "pool", "kernel"]);
    for row in rows {
        assert_eq!((row["failed"].as_u64(), row["bytes"].as_u64()), (Some(0), Some(5000)), "{row}");
        let [least, median, most] = ["min_per_s", "per_s", "max_per_s"].map(|n| row[n].as_f64());
        assert!(least > Some(0.0) && least <= median && median <= most, "{row}");
        assert!(row["p50_us"].as_f64() > Some(0.0) && row["server_us"].as_f64() > Some(0.0));
        assert!(row["to_kernel"].as_f64() > Some(0.0), "{row}");
    }
    assert_eq!(rows[2]["to_kernel"].as_f64(), Some(1.0));
    assert!(rows[0]["over"] == "TAP" && rows[1]["over"] == "TAP");
    assert!(!common::interfaces().iter().any(|name| name.starts_with("ana-own")));
    let left: Vec<_> = std::fs::read_dir(place.path()).expect("a directory").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let line = refused("bench http --servers own,own");
    let is_missing = MISSING.iter().any(|why| line.contains(why));
    assert!(is_missing || line.contains("--servers has own twice: once is enough"), "{line}");
    let line = refused("bench http --servers own --organization global-lock");
    let is_missing = MISSING.iter().any(|why| line.contains(why));
    assert!(is_missing || line.contains("global-lock has no threads for tasks"), "{line}");
}

/// The parent of a process, if that runs.
fn parent_of(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind its name: the state, and the parent.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let runs = words.next()? != "Z";
    runs.then(|| words.next()?.parse().ok())?
}

/// Before, a bench that was ended by a signal left its servers, for ever.
#[test]
fn servers_end_with_the_bench_that_has_started_them() {
    let place = tempfile::tempdir().expect("a directory");
    let mut bench = anabranch("bench http --load own --seconds 600 --servers pool,kernel");
    bench.env("TMPDIR", place.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut bench = bench.spawn().expect("the command runs");
    let all = || {
        let names = std::fs::read_dir("/proc").expect("/proc").map_while(Result::ok);
        names.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    };
    let give_up = Instant::now() + PATIENCE;
    let mut servers: Vec<u32> = Vec::new();
    while servers.len() < 2 && Instant::now() < give_up {
        if let Some(status) = bench.try_wait().expect("a child") {
            println!("skipped: {status}");
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
        servers = all().filter(|process| parent_of(*process) == Some(bench.id())).collect();
    }
    bench.kill().and_then(|()| bench.wait()).expect("killed");
    assert_eq!(servers.len(), 2);
    let give_up = Instant::now() + PATIENCE;
    while servers.iter().any(|server| parent_of(*server).is_some()) && Instant::now() < give_up {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = servers.iter().copied().filter(|server| parent_of(*server).is_some());
    let left: Vec<u32> = left.collect();
    for server in left.iter().filter_map(|server| Pid::from_raw(i32::try_from(*server).ok()?)) {
        kill_process(server, Signal::KILL).expect("killed");
    }
    assert!(left.is_empty(), "{left:?}");
}
