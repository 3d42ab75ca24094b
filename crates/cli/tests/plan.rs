//! `anabranch plan`: a load and a calibration in, a plan out.

mod common;

use common::{anabranch, refused};
use planner::calibration::{Anchor, Estimate, Layers, Machine, OverIpv6, Primitives, VERSION};
use planner::{Calibration, Work};
use std::path::Path;

/// A machine on which a transaction takes 500 ns, and what each does alone is done
/// by two as well.
fn calibration() -> Calibration {
    let anchor = |processors: usize, connections: usize| {
        let value = 2e6 * processors.min(connections) as f64;
        Anchor {
            work: Work::TcpRr,
            bytes: 64,
            processors,
            connections,
            operations_per_s: Estimate { value, low: value * 0.97, high: value * 1.03 },
            processor_ns: 500.0,
            switches: 0.0,
            hand_offs: 0.0,
            lock_wait_ns: 0.0,
            speed: 1.0,
        }
    };
    let cases = |processors: &[usize]| {
        let all = processors.iter().flat_map(|p| [1, 64, 3072].map(|n| anchor(*p, n)));
        all.collect::<Vec<Anchor>>()
    };
    Calibration {
        version: VERSION,
        date: "2026-11-22T00:00:00Z".into(),
        took_s: 1.0,
        reference_ns: 0.05,
        machine: Machine {
            model: "a machine that is not".into(),
            processors: 2,
            l1_bytes: 32 << 10,
            l2_bytes: 1 << 20,
            l3_bytes: 0,
            memory_bytes: 1 << 30,
            hypervisor: String::new(),
            kernel: "Linux 6.1".into(),
        },
        primitives: Primitives::default(),
        layers: [].into(),
        organizations: [
            ("uniprocessor".into(), cases(&[1])),
            ("processor-per-connection".into(), cases(&[1, 2])),
        ]
        .into(),
        ipv6: [].into(),
        other_state: None,
    }
}

/// A directory with that calibration in it.
fn directory() -> tempfile::TempDir {
    directory_with(&calibration())
}

fn directory_with(calibration: &Calibration) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    let text = calibration.to_toml().expect("good");
    std::fs::write(place.path().join("cal.toml"), text).expect("written");
    place
}

/// Runs the command there with a load; the exit code, and what it prints.
fn plan(place: &Path, load: &str, arguments: &str) -> (Option<i32>, String, String) {
    let mut command = anabranch(&format!("plan --calibration cal.toml {arguments}"));
    let output = command.args(["--load", load]).current_dir(place).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_load_is_planned_for() {
    let place = directory();
    let load = "tcp rr 64B, 1k connections, 3M/s";
    let (code, text, warning) =
        plan(place.path(), load, "--latency p99=1ms --explain --svg it.svg");
    assert_eq!(code, Some(0), "{warning}");
    assert!(text.contains("take:        processor-per-connection, 2 processors"), "{text}");
    assert!(text.contains("looked at, in this order") && text.contains("too few"), "{text}");
    assert!(warning.contains("is of another machine"), "{warning}");
    let svg = std::fs::read_to_string(place.path().join("it.svg")).expect("written");
    assert!(svg.starts_with("<svg"));
    let json = |arguments: &str| {
        let (code, text, warning) = plan(place.path(), load, arguments);
        assert_eq!(code, Some(0), "{warning}");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let first = json("--json -");
    assert_eq!(first["best"]["configuration"]["processors"], 2);
    assert_eq!(first, json("--json -"));
}

#[test]
fn what_cannot_be_carried() {
    let place = directory();
    let (code, text, error) = plan(place.path(), "tcp rr, 1k connections, 9M/s", "");
    assert_eq!((code, text.as_str()), (Some(1), ""));
    assert!(error.contains("with --max-processors"), "{error}");
}

#[test]
fn what_makes_no_sense() {
    for (arguments, part) in [
        ("plan", "--load <WORDS>"),
        ("plan --load tcp", "the load lacks what connections do"),
        ("plan --load tcp,rr,1k,connections --latency p98=1us", "write p99=100us"),
        (
            "plan --load tcp,rr,1k,connections --calibration /does/not/exist",
            "run `anabranch calibrate`",
        ),
        ("plan --load tcp,rr,1k,connections --calibration /proc/version", "not a calibration"),
    ] {
        let line = refused(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
    let place = directory();
    for (arguments, part) in
        [("--max-processors 65", "1 to 64"), ("--svg it.svg", "the load has none")]
    {
        let (code, _, error) = plan(place.path(), "tcp rr, 1k connections", arguments);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(part), "{error}");
    }
}

/// A transaction takes 600 ns over IPv6, so two processors carry 3.3 million.
#[test]
fn both_families_are_planned_for() {
    let exact = |value| Estimate { value, low: value, high: value };
    let over = OverIpv6 {
        ipv4_bytes: 64,
        ipv6_bytes: 64,
        ipv4_ns: exact(500.0),
        ipv6_ns: exact(600.0),
        ratio: exact(1.2),
        layers: Layers {
            packets_in: 1.0,
            packets_out: 1.0,
            transport_ns: 600.0,
            ..Layers::default()
        },
    };
    let known = Calibration { ipv6: [(Work::TcpRr, over)].into(), ..calibration() };
    let place = directory_with(&known);
    let load = "tcp rr 64B, 1k connections, 3.6M/s";
    assert_eq!(plan(place.path(), load, "").0, Some(0));
    let (code, _, error) = plan(place.path(), load, "--family 6");
    assert_eq!(code, Some(1), "{error}");
    let (code, text, error) = plan(place.path(), "tcp rr, 1k connections, 2.5M/s", "--family 6");
    assert_eq!(code, Some(0), "{error}");
    assert!(text.contains("over IPv6"), "{text}");
    let (_, text, _) = plan(place.path(), load, "--json -");
    let said: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(said["family"] == "4" && said["best"].is_object(), "{text}");
    let rate = |arguments: &str| {
        let text = simulate(place.path(), &format!("--calibration cal.toml --json - {arguments}"));
        let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
        let family = if arguments.contains("--family 6") { "6" } else { "4" };
        assert_eq!(rows[0]["family"], family);
        rows[0]["outcome"]["operations_per_s"].as_f64().expect("a number")
    };
    let ratio = rate("--processors 1 --family 6") / rate("--processors 1");
    assert!((ratio * 1.2 - 1.0).abs() < 0.03, "{ratio}");
    // A calibration from before, and a paper's machine.
    let (code, _, error) = plan(directory().path(), load, "--family 6");
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("knows nothing of IPv6: run `anabranch calibrate` again"), "{error}");
    let line = refused("simulate --costs schmidt1996 --family 6");
    assert!(line.contains("are of no family"), "{line}");
}

/// Simulates two threads of their own from the calibration; what it prints.
fn simulate(place: &Path, arguments: &str) -> String {
    let common = "simulate --organization processor-per-connection --connections 64 --even \
                  --operations 20000 --seed 1";
    let output = anabranch(&format!("{common} {arguments}")).current_dir(place).output();
    let output = output.expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    text(output.stdout)
}

#[test]
fn simulated_rows_have_intervals() {
    let place = directory();
    let rows = |arguments: &str| -> Vec<serde_json::Value> {
        let text = simulate(place.path(), &format!("{arguments} --json -"));
        serde_json::from_str(&text).expect("JSON")
    };
    let ends = |row: &serde_json::Value, what: &str| -> (f64, f64) {
        let interval = &row["interval"];
        assert_eq!(interval["confidence"], 0.9);
        let end = |at: usize| interval[what][at].as_f64().expect("a number");
        (end(0), end(1))
    };
    // What was measured is inside, and what was not is less sure.
    let closed = rows("--calibration cal.toml --processors 1,2,8");
    let [one, two, eight] = [0, 1, 2].map(|row| ends(&closed[row], "operations_per_s"));
    assert!(one.0 < 2e6 && 2e6 < one.1 && two.0 < 4e6 && 4e6 < two.1, "{one:?} {two:?}");
    assert!(two.1 / two.0 < 1.3 && eight.1 / eight.0 > 1.3, "{two:?} {eight:?}");
    for (row, (low, high)) in closed.iter().zip([one, two, eight]) {
        let value = row["outcome"]["operations_per_s"].as_f64().expect("a number");
        assert!(low < value && value < high, "{low} {value} {high}");
    }
    let table = simulate(place.path(), "--calibration cal.toml --processors 1,2 --svg it.svg");
    assert!(table.contains("low, high: 90 % interval of ops/s"), "{table}");

    // Under a load from outside it is the latency that is in doubt.
    let open = rows("--calibration cal.toml --processors 2 --rate 3.6M/s");
    let (low, high) = ends(&open[0], "p99_ns");
    let p99_ns = open[0]["outcome"]["latency"]["p99_ns"].as_f64().expect("a number");
    assert!(low < p99_ns && p99_ns < high, "{low} {p99_ns} {high}");
    let table = simulate(place.path(), "--calibration cal.toml --processors 2 --rate 3.6M/s");
    assert!(table.contains("low, high: 90 % interval of p99"), "{table}");

    // Nobody has measured the machines of papers for this.
    assert!(rows("--costs schmidt1996 --processors 2")[0]["interval"].is_null());
    let table = simulate(place.path(), "--costs schmidt1996 --processors 2");
    assert!(table.contains("Without intervals") && !table.contains("low"), "{table}");
}
