use super::*;
use clap::Parser;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

const COSTS: &str = "\
[layers]
transport_in_ns = 400
application_ns = 100
[locks.adaptive]
alone_ns = 20
contended_ns = 200
";

fn args(words: &[&str]) -> Args {
    Command::try_parse_from(["simulate"].iter().chain(words)).expect("good").args
}

/// Runs it with these costs, and gives what it wrote to its `--json` file.
fn json(words: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    std::fs::write(path("costs.toml"), COSTS).expect("written");
    let (costs, json, svg) = (path("costs.toml"), path("rows.json"), path("curves.svg"));
    let files = ["--costs", &costs, "--json", &json, "--svg", &svg, "--operations", "2000"];
    run(&args(&[words, &files].concat())).expect("it runs");
    assert!(std::fs::read_to_string(svg).expect("curves").contains("<svg"));
    std::fs::read_to_string(json).expect("rows")
}

fn refusal(words: &[&str]) -> String {
    let text = run(&args(words)).expect_err("refused").to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn rows_are_in_order_and_the_same_each_time() {
    let words = ["--organization", "uniprocessor,global-lock", "--processors", "1..4"];
    let text = json(&words);
    assert_eq!(json(&words), text);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let cases: Vec<_> = rows
        .iter()
        .map(|row| (row["organization"].as_str().unwrap(), row["processors"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        cases,
        [("uniprocessor", 1), ("global-lock", 1), ("global-lock", 2), ("global-lock", 4)]
    );
    assert!(rows.iter().all(|row| row["outcome"]["completed_in_all"].as_u64().unwrap() >= 2000));
    assert!(rows[0]["outcome"]["operations_per_s"].as_f64().unwrap() > 1e6);
    assert!(rows[0]["family"].is_null(), "costs of a file");
    assert_ne!(json(&[&words[..], &["--seed", "2"]].concat()), text);
}

#[test]
fn open_loads_have_their_rate() {
    let words = ["--organization", "processor-per-connection", "--processors", "2"];
    let text = json(&[&words[..], &["--rate", "500k/s", "--arrivals", "bursty:4"]].concat());
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(rows[0]["rate_per_s"].as_f64(), Some(5e5));
    let came = rows[0]["outcome"]["operations_per_s"].as_f64().unwrap();
    assert!((4e5..6e5).contains(&came), "{came}");
}

#[test]
fn a_trace_is_a_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace");
    let times: String = (1..5000).map(|n| format!("{}\n", n * 4000)).collect();
    std::fs::write(&path, times).expect("written");
    let pattern = format!("trace:{}", path.display());
    let text =
        json(&["--organization", "group-locks", "--processors", "2", "--arrivals", &pattern]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    assert!((rows[0]["rate_per_s"].as_f64().unwrap() / 2.5e5 - 1.0).abs() < 1e-3);
}

#[test]
fn all_machines_of_papers_are_there() {
    for machine in planner::simulator::MACHINES {
        machine.costs().expect(machine.name);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(refusal(&["--organization", "nobody"]).contains("choose from"));
    assert!(refusal(&["--arrivals", "poisson"]).contains("--rate"));
    assert!(refusal(&["--rate", "1/s", "--arrivals", "never"]).contains("bursty:N"));
    assert!(refusal(&["--rate", "1/s", "--arrivals", "bursty:0"]).contains("bursts"));
    assert!(refusal(&["--rate", "nan/s"]).contains("nan"));
    assert!(refusal(&["--bytes", "0"]).contains("1 to"));
    assert!(refusal(&["--queues", "0"]).contains("leave it out"));
    assert!(refusal(&["--arrivals", "trace:/nowhere"]).contains("readable"));
    assert!(refusal(&["--arrivals", "trace:/dev/zero"]).contains("does not end"));
    assert!(refusal(&["--arrivals", "trace:/dev/urandom"]).contains("no text"));
    assert!(refusal(&["--rate", "1/s", "--arrivals", "trace:x"]).contains("--rate"));
    assert!(refusal(&["--costs", "/nowhere"]).contains("cannot read"));
    assert!(refusal(&["--calibration", "/nowhere"]).contains("anabranch calibrate"));
    assert!(refusal(&["--processors", "1..9999/1", "--connections", "1..9/1"]).contains("rows"));
    for words in [&["--processors", "0"][..], &["--work", "nfs"], &["--window", "1", "--rate", "1"]]
    {
        assert!(Command::try_parse_from(["simulate"].iter().chain(words)).is_err(), "{words:?}");
    }
}
