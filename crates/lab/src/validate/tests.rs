use super::*;
use planner::calibration::{Anchor, Estimate, Machine, Primitives, VERSION};
use std::collections::BTreeMap;

/// A calibration with these works, numbers of processors and of connections.
pub(super) fn calibration(
    works: &[Work],
    processors: &[usize],
    connections: &[usize],
) -> Calibration {
    let estimate = |value| Estimate { value, low: value, high: value };
    let mut anchors = Vec::new();
    for &work in works {
        for &processors in processors {
            anchors.extend(connections.iter().map(|&connections| Anchor {
                work,
                bytes: 64,
                processors,
                connections,
                operations_per_s: estimate(1e6),
                processor_ns: 1000.0,
                switches: 0.0,
                hand_offs: 0.0,
                lock_wait_ns: 0.0,
                speed: 1.0,
            }));
        }
    }
    let mut primitives = Primitives::default();
    primitives.copy_checksum_ns_per_byte.l2 = estimate(0.1);
    Calibration {
        version: VERSION,
        date: String::new(),
        took_s: 0.0,
        reference_ns: 0.05,
        machine: Machine {
            model: String::new(),
            processors: 2,
            l1_bytes: 0,
            l2_bytes: 0,
            l3_bytes: 0,
            memory_bytes: 0,
            hypervisor: String::new(),
            kernel: String::new(),
        },
        primitives,
        layers: BTreeMap::new(),
        organizations: [("uniprocessor".to_owned(), anchors)].into(),
        ipv6: BTreeMap::new(),
        other_state: None,
    }
}

#[test]
fn loads_follow_from_the_seed_and_are_not_the_calibrations() {
    let known = [1, 8, 64, 512, 3072];
    let calibration = calibration(&[Work::TcpRr, Work::UdpSend], &[1, 2], &known);
    let validation = Validation { points: 400, ..Validation::default() };
    let loads = validation.loads(&calibration);
    assert_eq!(loads, validation.loads(&calibration));
    assert_ne!(loads, Validation { seed: 2, ..validation.clone() }.loads(&calibration));
    let points: usize = loads.iter().map(|load| load.cases().count()).sum();
    assert!((400..412).contains(&points), "{points}");
    for load in &loads {
        assert!((1..=3072).contains(&load.connections) && !known.contains(&load.connections));
    }
    // All kinds, few connections and many.
    for work in [Work::TcpRr, Work::UdpSend] {
        for processors in [1, 2] {
            let of = |l: &&Load| l.work == work && l.processors == processors;
            assert!(loads.iter().filter(of).count() >= loads.len() / 4);
        }
    }
    assert!(loads.iter().any(|load| load.connections < 30));
    assert!(loads.iter().any(|load| load.connections > 500));
    let most_two = Validation { most_connections: 2, ..validation };
    let mut calibration = self::calibration(&[Work::TcpRr], &[1], &[1, 2]);
    assert!(most_two.loads(&calibration).is_empty());
    // What was measured of one work is not known of another.
    let of_udp = self::calibration(&[Work::UdpSend], &[1], &[1]).organizations;
    calibration
        .organizations
        .get_mut("uniprocessor")
        .expect("there")
        .extend(&of_udp["uniprocessor"]);
    let loads = most_two.loads(&calibration);
    assert!(loads.iter().all(|load| (load.work, load.connections) == (Work::UdpSend, 2)));
    assert!(!loads.is_empty());
}

/// Says the same of all.
struct Constant(f64);

impl Predict for Constant {
    fn predict_case(&self, _: &Case, _: usize) -> Result<Predicted, String> {
        Ok(Predicted { value: self.0, low: 0.0, high: self.0 })
    }
}

#[test]
fn every_organization_is_measured_and_compared() {
    let calibration = calibration(&[Work::UdpRr, Work::TcpSend], &[1, 2], &[1]);
    let timing = Timing { warm_up: 0.002, window: 0.03, windows: 2, speed: 0.001 };
    let validation = Validation {
        points: 13,
        samples: 2,
        timing,
        most_connections: 40,
        ..Validation::default()
    };
    let loads = validation.loads(&calibration);
    assert_eq!(loads.len(), 2);
    let [least, most] = validation.seconds(&loads);
    assert!(0.0 < least && least < most);
    let (mut done, mut kept) = (0, Kept::default());
    let state = Calibrated { calibration: &calibration, predict: &Constant(1e18) };
    let mut reports =
        validation.run(&loads, &[state], &mut kept, &mut |p| done = p.done).expect("figures");
    let report = reports.pop().expect("one state");
    assert!(reports.is_empty() && report.inside == 1.0);
    assert_eq!(done, 2 * report.points.len());
    assert_eq!((report.right, report.misses().len()), (0.0, report.points.len()));
    assert_eq!(report.best.len(), 2);
    for point in &report.points {
        assert!(point.min_per_s > 0.0 && point.min_per_s <= point.measured_per_s);
        assert!(point.measured_per_s <= point.max_per_s && point.error > 1.0);
        assert!(point.itself.is_some());
    }
    // What is kept is enough: nothing is measured again, and the figures are the same.
    let again = validation.run(&loads, &[state], &mut kept, &mut |_| {}).expect("figures");
    assert_eq!(again, [report]);
}

#[test]
fn samples_of_another_state_do_not_count() {
    let mut calibration = calibration(&[Work::TcpRr], &[2], &[1]);
    let case =
        Case { organization: "a".to_owned(), work: Work::TcpRr, processors: 2, connections: 7 };
    let timing = Timing { warm_up: 0.001, window: 0.002, windows: 2, speed: 0.001 };
    let real = Case { organization: "processor-per-connection".to_owned(), ..case.clone() };
    let sample = real.measure(&timing, None, false).expect("a sample");
    let sample = Taken { steady: true, ..Taken::of(1, &real, &sample) };
    calibration.reference_ns = sample.piece_ns;
    let of = |before, after| Taken { apart_ns: Some([before, after]), ..sample.clone() };
    let mut samples = Samples::of(case, 2);
    // A calibration of one processor knows no way.
    let mut far = calibration.clone();
    let mut add = |taken: &Taken, calibration: &Calibration| {
        let predict: &dyn Predict = &Constant(1.0);
        let states = [calibration, &far].map(|calibration| Calibrated { calibration, predict });
        samples.add(taken, &states)
    };
    assert!(add(&of(1.0, 99.0), &calibration));
    calibration.primitives.line_transfer_ns.value = 36.0;
    far.primitives.line_transfer_ns.value = 170.0;
    let mut add = |taken: &Taken, calibration: &Calibration| {
        let predict: &dyn Predict = &Constant(1.0);
        let states = [calibration, &far].map(|calibration| Calibrated { calibration, predict });
        samples.add(taken, &states)
    };
    assert!(add(&of(35.0, 38.0), &calibration));
    assert!(!add(&of(36.0, 180.0), &calibration));
    assert!(add(&of(180.0, 180.0), &calibration));
    assert!(add(&Taken { apart_ns: None, ..sample.clone() }, &calibration));
    assert_eq!((samples.rates[0].len(), samples.rates[1].len()), (3, 3));
    // Another guest has a part of the core: corrected by it, and counted where nothing else is.
    let paced = Taken { apart_ns: None, ..sample.clone() };
    let mut add = |taken: &Taken, calibration: &Calibration| {
        let predict: &dyn Predict = &Constant(1.0);
        let states = [calibration, &far].map(|calibration| Calibrated { calibration, predict });
        samples.add(taken, &states)
    };
    for slow in [
        Taken { piece_ns: sample.piece_ns * 1.6, ..paced.clone() },
        Taken { steady: false, ..paced },
    ] {
        assert!(!add(&slow, &calibration));
    }
    assert_eq!((samples.of_state(0).len(), samples.corrected[0].len()), (3, 2));
    samples.rates[0].clear();
    assert_eq!(samples.of_state(0), samples.corrected[0]);
    let mut never = Samples::of(real, 1);
    assert!(never.missing().why.contains("never as far apart"));
    never.failed(&Error::System(std::io::Error::other("no more")));
    assert_eq!(never.missing().why, "no more");
}

#[test]
fn samples_go_on_until_they_agree() {
    let case =
        Case { organization: "a".to_owned(), work: Work::TcpRr, processors: 1, connections: 7 };
    let with = |rates: &[f64]| {
        let mut samples = Samples::of(case.clone(), 1);
        (samples.taken, samples.rates[0]) = (rates.len(), rates.to_vec());
        samples
    };
    assert!(with(&[100.0; 4]).wants(5) && !with(&[100.0; 5]).wants(5));
    // One that is far off is no reason, for it does not move the median.
    assert!(!with(&[99.0, 100.0, 101.0, 102.0, 170.0]).wants(5));
    let apart = [70.0, 72.0, 100.0, 101.0, 103.0];
    assert!(with(&apart).wants(5));
    assert!(!with(&apart.repeat(3)).wants(5), "three times as many are the most");
    // With fewer than five, all have to agree.
    assert!(with(&[100.0, 101.0, 120.0]).wants(3) && !with(&[100.0, 101.0, 109.0]).wants(3));
}

fn point(organization: &str, predicted: f64, measured: &[f64]) -> Point {
    let case = Case {
        organization: organization.to_owned(),
        work: Work::TcpRr,
        processors: 2,
        connections: 7,
    };
    Point::new(
        &case,
        Predicted { value: predicted, low: predicted * 0.9, high: predicted },
        measured,
    )
}

#[test]
fn what_is_right() {
    let points = vec![
        point("a", 114.0, &[90.0, 100.0, 110.0]),
        point("b", 80.0, &[100.0]),
        point("c", 119.0, &[104.0]),
    ];
    let report = Report::new(points, 1, Vec::new());
    assert!((report.right - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(report.misses()[0].organization, "b");
    // 100 lies outside of 102.6 to 114 and of 72 to 80, 104 outside of 107.1 to 119.
    assert_eq!((report.inside, (report.width * 9.0).round()), (0.0, 10.0));
    let sure = Report::new(vec![point("a", 110.0, &[100.0, 101.0])], 1, Vec::new());
    assert_eq!((sure.inside, sure.apart(36.0).apart_ns), (1.0, 36.0));
    let [best] = &report.best[..] else { panic!("one load") };
    assert_eq!((best.predicted.as_str(), best.is_right), ("c", true));
    assert_eq!(report.best_right, 1.0);
    let wrong =
        Report::new(vec![point("a", 2.0, &[94.0]), point("b", 1.0, &[100.0])], 1, Vec::new());
    assert_eq!(wrong.best_right, 0.0);
    assert!((wrong.best[0].of_best - 0.94).abs() < 1e-9);
    // Of 100, 110 and 150 the first is within 15 % of 130 not, the second of 125, the third of 105 not.
    let own = |rates: &[f64]| Report::new(vec![point("a", 1.0, rates)], 1, Vec::new()).itself;
    assert!((own(&[100.0, 110.0, 150.0]) - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!((own(&[100.0]), own(&[100.0, 101.0, 99.0])), (0.0, 1.0));
}

#[test]
fn nonsense_is_refused() {
    for bad in [
        Validation { points: 0, ..Validation::default() },
        Validation { samples: 0, ..Validation::default() },
        Validation { most_connections: 1, ..Validation::default() },
        Validation { points: 1 << 40, ..Validation::default() },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
    assert!(Validation::default().check().is_ok());
}
