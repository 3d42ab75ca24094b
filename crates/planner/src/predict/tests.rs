use super::*;
use crate::calibration::{Estimate, Machine, Primitives, VERSION};

/// The numbers of connections that are measured.
const CONNECTIONS: [usize; 5] = [1, 8, 64, 512, 3072];

/// Operations a second of a synthetic machine. An operation takes 200 ns, and a round of
/// at most 32 takes 600 ns. More connections cause cache misses. Processors have even
/// shares, and `serial` is the part under a lock.
fn truth(serial: f64, processors: usize, connections: usize) -> f64 {
    let one = |n: usize| {
        let misses = 15.0 * ((n as f64 / 32.0).max(1.0)).ln();
        1e9 / (200.0 + 600.0 / n.min(32) as f64 + misses)
    };
    let alone = spread::sum(Steering::Even, connections, processors, one).mean;
    let busy = processors.min(connections) as f64;
    alone / (1.0 + serial * (busy - 1.0))
}

pub(crate) fn synthetic(serial: f64, bytes: usize, processors: &[usize]) -> Calibration {
    let anchor = |processors: usize, connections: usize| {
        let value = truth(serial, processors, connections);
        Anchor {
            work: Work::TcpRr,
            bytes,
            processors,
            connections,
            operations_per_s: Estimate { value, low: value * 0.98, high: value * 1.02 },
            processor_ns: 1e9 / value * processors as f64,
            switches: 0.0,
            hand_offs: 0.0,
            lock_wait_ns: 0.0,
            speed: 1.0,
        }
    };
    let anchors = |processors: &[usize]| {
        let cases = processors.iter().flat_map(|p| CONNECTIONS.map(|n| anchor(*p, n)));
        cases.collect::<Vec<Anchor>>()
    };
    Calibration {
        version: VERSION,
        date: String::new(),
        took_s: 1.0,
        reference_ns: 0.05,
        machine: Machine {
            model: String::new(),
            processors: 2,
            l1_bytes: 32 << 10,
            l2_bytes: 1 << 20,
            l3_bytes: 0,
            memory_bytes: 1 << 30,
            hypervisor: String::new(),
            kernel: String::new(),
        },
        primitives: Primitives::default(),
        layers: BTreeMap::new(),
        organizations: [
            ("uniprocessor".into(), anchors(&[1])),
            ("group-locks".into(), anchors(processors)),
        ]
        .into(),
        ipv6: BTreeMap::new(),
        other_state: None,
    }
}

pub(crate) fn case(processors: usize, connections: usize) -> Case {
    Case {
        organization: "group-locks".into(),
        options: Options::default(),
        work: Work::TcpRr,
        bytes: 64,
        processors,
        connections,
        steering: Steering::Even,
    }
}

#[test]
fn held_out_connections() {
    for serial in [0.0, 0.2, 0.8] {
        let predictor = Predictor::new(&synthetic(serial, 64, &[1, 2])).expect("good");
        let (mut far, mut outside) = (0, 0);
        let cases: Vec<usize> = (1..=3072).step_by(7).chain(2..32).collect();
        for processors in [1, 2] {
            for &n in &cases {
                let predicted = predictor.predict(&case(processors, n)).expect("known");
                let truth = truth(serial, processors, n);
                far += usize::from((predicted.operations_per_s / truth).ln().abs() > 0.1);
                outside += usize::from(!(predicted.low..=predicted.high).contains(&truth));
            }
        }
        // If a lock is busy with two connections already, only the first few points
        // are off.
        let count = 2 * cases.len();
        assert!(
            far * 50 <= count && outside * 20 <= count,
            "{serial}: {far}, {outside} of {count}"
        );
    }
}

#[test]
fn anchors_are_kept() {
    let predictor = Predictor::new(&synthetic(0.3, 64, &[1, 2])).expect("good");
    for (processors, n) in [(1, 1), (1, 64), (2, 1), (2, 8), (2, 512)] {
        let predicted = predictor.predict(&case(processors, n)).expect("known");
        assert!((predicted.operations_per_s / truth(0.3, processors, n) - 1.0).abs() < 1e-9);
        assert_eq!(predicted.basis, Basis::Measured);
    }
}

#[test]
fn the_machine_s_speed_is_taken_out() {
    let mut calibration = synthetic(0.0, 64, &[1]);
    for anchor in calibration.organizations.get_mut("group-locks").expect("there") {
        anchor.speed = 0.8;
    }
    let predictor = Predictor::new(&calibration).expect("good");
    let predicted = predictor.predict(&case(1, 64)).expect("known");
    assert!(
        (predicted.operations_per_s * 0.8_f64.powf(POWER) / truth(0.0, 1, 64) - 1.0).abs() < 1e-9
    );
}

#[test]
fn processors_that_were_not_measured() {
    for serial in [0.0, 0.05, 0.5] {
        let predictor = Predictor::new(&synthetic(serial, 64, &[1, 2, 4])).expect("good");
        for processors in [3, 8, 20] {
            let predicted = predictor.predict(&case(processors, 2000)).expect("known");
            let truth = truth(serial, processors, 2000);
            let error = (predicted.operations_per_s / truth).ln();
            // The simulator has no serial part, so its interval must be wide.
            let inside = (predicted.low / 1.1..=predicted.high * 1.1).contains(&truth);
            assert!(inside && error.abs() < 0.65, "{serial} {processors}: {error} {predicted:?}");
            assert_eq!(predicted.basis, Basis::Modelled);
        }
    }
}

#[test]
fn between_two_measured_numbers_of_processors() {
    for serial in [0.0, 0.05, 0.3] {
        let known =
            |counts: &[usize]| Predictor::new(&synthetic(serial, 64, counts)).expect("good");
        let [between, beyond] = [known(&[1, 2, 16]), known(&[1, 2])];
        for processors in [3, 4, 8, 12] {
            let [between, beyond] = [&between, &beyond]
                .map(|predictor| predictor.predict(&case(processors, 2000)).expect("known"));
            let truth = truth(serial, processors, 2000);
            let error = (between.operations_per_s / truth).ln();
            assert!(error.abs() < 0.25, "{serial} {processors}: {error} {between:?}");
            assert!((between.low..=between.high).contains(&truth), "{serial} {between:?}");
            assert_eq!(between.basis, Basis::Modelled);
            let wide = |of: &Prediction| of.high / of.low;
            assert!(processors < 12 || wide(&between) < wide(&beyond), "{between:?} {beyond:?}");
        }
        // The costs for a simulation are those that reproduce the prediction.
        let predicted = between.predict(&case(8, 64)).expect("known").operations_per_s;
        let costs = between.costs(&case(8, 64)).expect("known").costs;
        let simulated = fit::closed(&case(8, 64), &costs).expect("can be simulated");
        assert!((simulated / predicted).ln().abs() < 0.02, "{simulated} {predicted}");
    }
}

#[test]
fn few_connections_on_many_processors() {
    let predictor = Predictor::new(&synthetic(0.0, 64, &[1, 2])).expect("good");
    let one = predictor.predict(&case(1, 1)).expect("known").operations_per_s;
    let eight = predictor.predict(&case(8, 1)).expect("known");
    assert!((eight.operations_per_s / one - 1.0).abs() < 0.2, "{eight:?} {one}");
    assert!(eight.saturates.starts_with("connections"), "{eight:?}");
    let hashed = Case { steering: Steering::Hash, ..case(2, 2) };
    let [hashed, even] = [hashed, case(2, 2)].map(|case| predictor.predict(&case).expect("known"));
    assert!(hashed.operations_per_s < 0.95 * even.operations_per_s);
    assert!(hashed.high - hashed.low > even.high - even.low);
}

#[test]
fn longer_messages_cost_their_bytes() {
    let mut calibration = synthetic(0.0, 64, &[1]);
    let byte = Estimate { value: 0.1, low: 0.1, high: 0.1 };
    let primitives = &mut calibration.primitives;
    for levels in [
        &mut primitives.copy_ns_per_byte,
        &mut primitives.checksum_ns_per_byte,
        &mut primitives.copy_checksum_ns_per_byte,
    ] {
        (levels.l1, levels.l2, levels.dram) = (byte, byte, byte);
    }
    let predictor = Predictor::new(&calibration).expect("good");
    let longer = Case { bytes: 1064, ..case(1, 64) };
    let predicted = predictor.predict(&longer).expect("known");
    let expected = 1e9 / (1e9 / truth(0.0, 1, 64) + 300.0);
    assert!((predicted.operations_per_s / expected - 1.0).abs() < 1e-9, "{predicted:?}");
}

#[test]
fn what_cannot_be_predicted() {
    let predictor = Predictor::new(&synthetic(0.0, 64, &[1, 2])).expect("good");
    for (case, part) in [
        (Case { organization: "none".into(), ..case(1, 1) }, "there are uniprocessor, global-lock"),
        (Case { organization: "engines".into(), ..case(1, 1) }, "run `anabranch calibrate` again"),
        (Case { work: Work::UdpRr, ..case(1, 1) }, "only of tcp-rr"),
        (Case { organization: "uniprocessor".into(), ..case(2, 1) }, "runs on one processor"),
        (case(0, 1), "1 to 256"),
        (case(1000, 1), "1 to 256"),
        (case(1, 0), "1 to 10000000"),
        (Case { bytes: 0, ..case(1, 1) }, "0 bytes"),
    ] {
        let error = predictor.predict(&case).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
    let mut empty = synthetic(0.0, 64, &[1]);
    empty.organizations.clear();
    assert!(Predictor::new(&empty).is_err());
}
