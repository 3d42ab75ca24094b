//! `anabranch model`: a queueing network in, tables, JSON and figures out.

mod common;

use common::{anabranch, refused};
use std::path::Path;

const STACK: &str = r#"
name = "a stack under one lock"
rate_per_s = 50_000

class = [{ name = "small", share = 0.8 }, { name = "large", share = 0.2 }]

[[station]]
name = "protocol"
kind = "delay"
service_us = { small = 10, large = 18 }

[[station]]
name = "stack"
kind = "lock"
visits = 2
service_us = 4
acquire_us = 1
"#;

/// A directory with that file in it.
fn directory() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("stack.toml"), STACK).expect("written");
    place
}

/// Runs the command there, which has to succeed; what it prints.
fn prints(place: &Path, arguments: &str) -> String {
    let output = anabranch(arguments).current_dir(place).output().expect("the command runs");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{arguments}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_network_is_solved() {
    let place = directory();
    let text = prints(place.path(), "model stack.toml");
    // 10 + 2 · 5 / (1 − 0.5), and 8 more.
    for part in [
        "a stack under one lock: open",
        "50,000 customers/s",
        "50.0 %",
        "30.0",
        "38.0",
        "`stack` saturates first, at 100,000 customers/s in this mix; now 50.0 % of that",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let light = prints(place.path(), "model stack.toml --rate 0 --json -");
    let light: serde_json::Value = serde_json::from_str(&light).expect("JSON");
    assert_eq!(light[0]["solution"]["classes"][1]["residence_us"], 28.0);
}

#[test]
fn sweeps_and_figures() {
    let place = directory();
    let arguments = "model stack.toml --sweep 10000..90000 --steps 5 --svg a.svg --json a.json";
    let text = prints(place.path(), arguments);
    assert!(text.contains("90,000") && text.contains("90.0 %"), "{text}");
    let json = std::fs::read_to_string(place.path().join("a.json")).expect("written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let rates: Vec<f64> = (0..5).filter_map(|index| json[index]["rate_per_s"].as_f64()).collect();
    assert_eq!(rates, [10_000.0, 30_000.0, 50_000.0, 70_000.0, 90_000.0]);
    let figure = std::fs::read_to_string(place.path().join("a.svg")).expect("written");
    assert!(figure.starts_with("<svg") && figure.contains("arrival rate, customers/s"));
    prints(place.path(), "model stack.toml --svg b.svg");
    assert!(place.path().join("b.svg").exists());
}

#[test]
fn a_rate_on_the_command_line_is_enough() {
    let place = directory();
    let without = STACK.replace("rate_per_s = 50_000\n", "");
    std::fs::write(place.path().join("shares.toml"), without).expect("written");
    let text = prints(place.path(), "model shares.toml --rate 50000");
    assert!(text.contains("50,000 customers/s") && text.contains("50.0 %"), "{text}");
    let text = prints(place.path(), "model shares.toml --sweep 10000..90000 --steps 5");
    assert!(text.contains("90,000") && text.contains("90.0 %"), "{text}");
    let shares = place.path().join("shares.toml");
    let line = refused(&format!("model {}", shares.display()));
    assert!(line.contains("give the total rate_per_s"), "{line}");
}

#[test]
fn two_outputs_need_two_files() {
    let place = directory();
    let (file, out) = (place.path().join("stack.toml"), place.path().join("out"));
    let (file, out) = (file.display(), out.display());
    let line = refused(&format!("model {file} --json {out} --svg {out}"));
    assert!(line.contains("--json and --svg both name"), "{line}");
}

#[test]
fn closed_networks() {
    let place = directory();
    let closed = "class = [{ name = \"users\", population = 2 }]\n\
                  station = [{ name = \"disk\", kind = \"queue\", service_us = 10 }, \
                             { name = \"bus\", kind = \"queue\", service_us = 10 }]";
    std::fs::write(place.path().join("closed.toml"), closed).expect("written");
    // N / (N + K − 1) / D.
    let text = prints(place.path(), "model closed.toml");
    assert!(text.contains("66,667 customers/s"), "{text}");
    let text = prints(place.path(), "model closed.toml --population 3");
    assert!(text.contains("75,000 customers/s"), "{text}");
    let text = prints(place.path(), "model closed.toml --sweep 1..3 --svg closed.svg");
    assert!(text.contains("50,000") && text.contains("75,000"), "{text}");
}

#[test]
fn the_paper_is_computed_again() {
    let place = directory();
    let text = prints(place.path(), "model --paper thekkath1992 --svg figures");
    for part in ["1148 µs", "1141 µs", "1/537 µs", "1/311 µs", "Figure 8:", "18 %", "21.6 %"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for number in 2..=8 {
        let path = place.path().join(format!("figures/thekkath1992-figure-{number}.svg"));
        let figure = std::fs::read_to_string(path).expect("written");
        assert!(figure.contains("1514 B"));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = directory();
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let good = file("good.toml", STACK);
    let text = file("text.toml", "hello");
    let zero = file("zero.toml", &STACK.replace("visits = 2", "visits = -2"));
    for (arguments, part) in [
        ("model".to_owned(), "not provided: <FILE>"),
        ("model /does/not/exist".to_owned(), "name a readable file"),
        ("model /dev/zero".to_owned(), "/dev/zero: "),
        ("model /".to_owned(), "name a readable file"),
        (format!("model {text}"), "text.toml: line 1: "),
        (format!("model {zero}"), "station `stack`: visits of class `small` is -2"),
        (
            format!("model {good} --rate 100000"),
            "station `stack` saturates at 100000 a second, and 100000 are asked",
        ),
        (format!("model {good} --rate=-1"), "cannot be negative"),
        (format!("model {good} --rate nan"), "not a number"),
        (format!("model {good} --population 5"), "has not just one closed class"),
        (format!("model {good} --sweep 5"), "write it like 1000..50000"),
        (format!("model {good} --sweep 1..200000"), "saturates"),
        (format!("model {good} --steps 5"), "--sweep <FROM..TO>"),
        (format!("model {good} --sweep 1..2 --steps 1"), "1 is not in 2..=10000"),
        (format!("model {good} --svg /does/not/exist"), "name a file that can be made"),
        (format!("model {good} --json /does/not/exist"), "name a file that can be made"),
        (format!("model {good} --paper thekkath1992"), "cannot be used with"),
        ("model --paper none".to_owned(), "thekkath1992"),
        ("model --paper thekkath1992 --svg /proc/x".to_owned(), "choose another --svg directory"),
    ] {
        let line = refused(&arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
}

#[test]
fn help_shows_a_file_that_can_be_solved() {
    let output = anabranch("model --help").output().expect("the command runs");
    let help = String::from_utf8(output.stdout).expect("text");
    let start = help.find("  name = ").expect("an example");
    let end = help.find("multi-server takes").expect("its end");
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("example.toml"), &help[start..end]).expect("written");
    let text = prints(place.path(), "model example.toml");
    assert!(text.contains("a stack under one lock"), "{text}");
}
