use super::*;
use crate::Work;
use crate::calibration::{LockCosts, Primitives};

fn sample() -> Calibration {
    let figure = |value: f64| Estimate { value, low: value * 0.9, high: value * 1.1 };
    let anchor = Anchor {
        work: Work::TcpRr,
        bytes: 64,
        processors: 1,
        connections: 32,
        operations_per_s: figure(1e6),
        processor_ns: 1000.0,
        switches: 0.0,
        hand_offs: 0.0,
        lock_wait_ns: 0.0,
        speed: 1.0,
    };
    Calibration {
        version: VERSION,
        date: "2026-11-22T00:00:00Z".into(),
        took_s: 50.0,
        reference_ns: 0.05,
        machine: Machine {
            model: "some processor".into(),
            processors: 2,
            l1_bytes: 32 << 10,
            l2_bytes: 1 << 20,
            l3_bytes: 0,
            memory_bytes: 8 << 30,
            hypervisor: "kvm".into(),
            kernel: "Linux 6.1".into(),
        },
        primitives: Primitives {
            locks: [(
                "ticket".into(),
                LockCosts { alone_ns: figure(9.0), contended_ns: figure(80.0) },
            )]
            .into(),
            ..Primitives::default()
        },
        layers: [(Work::TcpRr, Layers { transport_ns: 300.0, ..Layers::default() })].into(),
        organizations: [("uniprocessor".into(), vec![anchor])].into(),
        ipv6: [].into(),
        other_state: None,
    }
}

#[test]
fn what_is_written_is_read() {
    let text = sample().to_toml().expect("good");
    assert_eq!(parse(&text), Ok(sample()));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let good = sample().to_toml().expect("good");
    for (from, to, part) in [
        ("version = 2", "version = 1", "version 1, and this program knows version 2"),
        ("version = 2", "", "no version"),
        ("version = 2", "version = ", "line 1"),
        ("processors = 2", "processors = -2", "line"),
        ("processors = 2", "processors = 0", "1 or more"),
        ("transport_ns = 300.0", "transport_ns = nan", "layers.tcp-rr.transport_ns is NaN"),
        ("transport_ns = 300.0", "transport_ns = inf", "inf"),
        ("transport_ns = 300.0", "transport_ns = -1.0", "-1"),
        ("transport_ns = 300.0", "transport = 3.0", "unknown field `transport`"),
        ("low = 72.0", "low = 81.0", "not between"),
        ("connections = 32", "connections = 0", "no processors, connections"),
        // Before, these overflowed where something was predicted from them.
        (
            "connections = 32",
            "connections = 9223372036854775807",
            "connections is 9223372036854775807",
        ),
        ("bytes = 64", "bytes = 9223372036854775807", "bytes is 9223372036854775807"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        let error = parse(&good.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(part), "{to}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn where_it_is() {
    let path = |config: Option<&str>, home: Option<&str>| {
        path_in(config.map(PathBuf::from), home.map(PathBuf::from))
    };
    assert_eq!(path(Some("/c"), Some("/h")), Some("/c/anabranch/calibration.toml".into()));
    assert_eq!(path(Some("c"), Some("/h")), Some("/h/.config/anabranch/calibration.toml".into()));
    assert_eq!(path(None, Some("h")), None);
    assert_eq!(path(None, None), None);
}

#[test]
fn no_file() {
    let error = load(Path::new("/does/not/exist")).expect_err("none").to_string();
    assert!(error.contains("run `anabranch calibrate`"), "{error}");
    let error = load(Path::new("/")).expect_err("a directory").to_string();
    assert!(error.contains("cannot read"), "{error}");
}

#[test]
fn machines_are_compared_without_the_kernel() {
    let machine = sample().machine;
    let upgraded = Machine { kernel: "Linux 7.0".into(), ..machine.clone() };
    assert!(machine.same_as(&upgraded));
    assert_eq!(machine.differs_from(&upgraded), "");
    let other = Machine { processors: 64, model: "another".into(), ..machine.clone() };
    assert!(!machine.same_as(&other));
    assert_eq!(
        machine.differs_from(&other),
        "some processor and not another, 2 processors and not 64"
    );
}
