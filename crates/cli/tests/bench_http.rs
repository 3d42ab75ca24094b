//! `anabranch bench http`: servers on this stack and on the kernel's, side by side.

mod common;

use common::{anabranch, refused};
use serde_json::Value;

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
