use super::*;
use Change::{FastBus, HalfSoftware, Nothing, TwoQueues};
use Machine::{Firefly, Sequent};

const SMALLEST: usize = 0;
const LARGEST: usize = 3;

#[track_caller]
fn at(machine: Machine, change: Change, mix: [f64; 4], load: f64) -> Vec<f64> {
    residence_us(machine, change, mix, load).expect("stable")
}

/// The share of the residence that a change saves.
fn saved(machine: Machine, change: Change, class: usize, mix: [f64; 4], load: f64) -> f64 {
    1.0 - at(machine, change, mix, load)[class] / at(machine, Nothing, mix, load)[class]
}

/// Tables 1 and 2: the sums of their rows, and the bounds of section 4.1.
#[test]
fn light_load_and_bounds() {
    for mix in [MIXED, SMALL] {
        assert_eq!(at(Firefly, Nothing, mix, 0.0), [1148.0, 1283.0, 1685.0, 2459.0]);
        assert_eq!(at(Sequent, Nothing, mix, 0.0), [1141.0, 1197.0, 1382.0, 1721.0]);
    }
    for (machine, demand_us) in [(Firefly, 537.0), (Sequent, 311.0)] {
        for mix in [SMALL, MIXED] {
            assert!(
                (capacity_per_s(machine, mix).expect("a mix") * demand_us / 1e6 - 1.0).abs()
                    < 1e-12
            );
        }
        let network = network(machine, Nothing, MIXED).expect("a mix");
        let bounds::Bounds::Open(bounds) = bounds::bounds(&network) else { panic!("open") };
        assert_eq!(bounds.station.as_deref(), Some("controller lock"));
    }
}

/// Section 4.2: "residence time on the Firefly is more sensitive to packet size
/// than it is on the Sequent"; "at light loads, for small packet sizes, both systems
/// have similar performance".
#[test]
fn the_firefly_is_more_sensitive_to_size() {
    for load in LOADS {
        let grows = |machine| {
            let residence_us = at(machine, Nothing, MIXED, load);
            residence_us[LARGEST] / residence_us[SMALLEST]
        };
        assert!(grows(Firefly) > grows(Sequent), "{load}");
    }
    let ratio =
        at(Firefly, Nothing, MIXED, 0.1)[SMALLEST] / at(Sequent, Nothing, MIXED, 0.1)[SMALLEST];
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

/// The load with the greatest quotient of throughput and residence time: the knee
/// of the curve (Kleinrock 1979, "Power and deterministic rules of thumb").
fn knee(machine: Machine, change: Change, class: usize) -> f64 {
    let power = |load: f64| load / at(machine, change, MIXED, load)[class];
    let loads = (1..100).map(|percent| f64::from(percent) / 100.0);
    loads.max_by(|a, b| power(*a).total_cmp(&power(*b))).expect("loads")
}

/// Section 4.2: "at about 60 % of the maximum load, there is significant degradation
/// in residence time in both systems"; 4.3, 4.4: nor does half the software or a
/// faster bus change at which.
#[test]
fn the_knee_is_at_about_60_percent() {
    for machine in [Firefly, Sequent] {
        for class in [SMALLEST, LARGEST] {
            let load = knee(machine, Nothing, class);
            assert!((0.55..=0.70).contains(&load), "{machine:?} {class}: {load}");
        }
        // Beyond it, each further tenth of the load costs more.
        let residence_us = LOADS.map(|load| at(machine, Nothing, MIXED, load)[SMALLEST]);
        let steps: Vec<f64> = residence_us.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.windows(2).all(|pair| pair[1] > pair[0]));
        assert!(steps[7] > 10.0 * steps[3], "{steps:?}");
    }
    assert!((knee(Firefly, HalfSoftware, SMALLEST) - 0.6).abs() < 0.06);
    let (before, after) = (knee(Firefly, Nothing, LARGEST), knee(Firefly, FastBus, LARGEST));
    assert!((before - after).abs() < 0.03, "{before} {after}");
}

/// Section 4.3: savings are less than the change, more on the Sequent, and fall
/// with load.
#[test]
fn half_the_software_saves_less_than_half() {
    for mix in [MIXED, SMALL] {
        for load in LOADS {
            let (firefly, sequent) = (
                saved(Firefly, HalfSoftware, SMALLEST, mix, load),
                saved(Sequent, HalfSoftware, SMALLEST, mix, load),
            );
            assert!(0.0 < firefly && firefly < sequent && sequent < 0.35, "{load}");
            assert!(firefly < saved(Firefly, HalfSoftware, SMALLEST, mix, load - 0.05));
            assert!(sequent < saved(Sequent, HalfSoftware, SMALLEST, mix, load - 0.05));
        }
    }
    // Larger packets save more time.
    let saved_us = |class: usize| {
        at(Firefly, Nothing, MIXED, 0.3)[class] - at(Firefly, HalfSoftware, MIXED, 0.3)[class]
    };
    assert!((0..3).all(|class| saved_us(class) < saved_us(class + 1)));
}

/// The text's 18 and 19 % are not those at light load, 495 / 2 / 1148 and 1061 / 2 /
/// 2459, but those at a quarter to a third of the load.
#[test]
fn half_the_software_in_percent() {
    for class in [SMALLEST, LARGEST] {
        let light = saved(Firefly, HalfSoftware, class, MIXED, 0.0);
        assert!((light - 0.216).abs() < 0.0005, "{light}");
    }
    assert!((saved(Firefly, HalfSoftware, SMALLEST, SMALL, 0.28) - 0.18).abs() < 0.003);
    assert!((saved(Firefly, HalfSoftware, LARGEST, SMALL, 0.37) - 0.19).abs() < 0.003);
    // And 29 % are no savings at light load, but at some 40 %.
    assert!((saved(Sequent, HalfSoftware, SMALLEST, MIXED, 0.0) - 0.3475).abs() < 0.0005);
    assert!((saved(Sequent, HalfSoftware, SMALLEST, SMALL, 0.41) - 0.29).abs() < 0.003);
}

/// Section 4.4: small packets are largely unaffected, the largest gain most; "about
/// 20 %" is 16.6 % at light load.
#[test]
fn a_faster_bus_helps_large_packets() {
    for load in LOADS {
        let saved = |class| saved(Firefly, FastBus, class, MIXED, load);
        assert!(saved(SMALLEST) < 0.07 && saved(LARGEST) > 2.0 * saved(SMALLEST), "{load}");
    }
    let light = saved(Firefly, FastBus, LARGEST, MIXED, 0.0);
    assert!((light - 407.5 / 2459.0).abs() < 1e-12);
    assert!((0.15..0.20).contains(&saved(Firefly, FastBus, LARGEST, MIXED, 0.3)));
}

/// Section 4.5: "while the latency reduction under light load is modest", the change
/// is "significant under load", on both machines.
#[test]
fn two_queues_help_under_load() {
    for machine in [Firefly, Sequent] {
        for class in [SMALLEST, LARGEST] {
            let saved = |load| saved(machine, TwoQueues, class, MIXED, load);
            assert!(saved(0.1) > 0.0 && saved(0.1) < 0.03, "{machine:?}: {}", saved(0.1));
            assert!(saved(0.9) > 0.5, "{machine:?}: {}", saved(0.9));
        }
    }
    // No other change does so much under load.
    for change in [HalfSoftware, FastBus] {
        assert!(saved(Firefly, change, SMALLEST, MIXED, 0.9) < 0.1);
    }
}

#[test]
fn figures_are_complete_and_can_be_drawn() {
    let figures = figures(MIXED).expect("stable");
    assert_eq!(
        figures.iter().map(|figure| figure.number).collect::<Vec<_>>(),
        [2, 3, 4, 5, 6, 7, 8]
    );
    for figure in &figures {
        assert_eq!(figure.rows.len(), LOADS.len());
        for pair in figure.rows.windows(2) {
            let grow = pair[0].residence_us.iter().zip(&pair[1].residence_us).all(|(a, b)| a < b);
            assert!(grow, "{}", figure.title);
        }
        let svg = figure.svg().expect("points");
        assert!(svg.contains("1514 B") && svg.contains("residence time, µs"));
    }
    assert!(super::figures([0.5, 0.0, 0.0, 0.0]).is_err());
}

/// Which of the text's numbers follow from its tables.
#[test]
fn claims_that_follow_and_claims_that_do_not() {
    let claims = claims().expect("tables");
    let papers = |follows: bool| {
        let chosen = claims.iter().filter(move |claim| claim.follows == follows);
        chosen.map(|claim| claim.paper.as_str()).collect::<Vec<_>>()
    };
    let right = ["1148 µs", "1/537 µs", "43 %", "1141 µs", "1/311 µs", "70 %", "more than 1.5"];
    assert_eq!(papers(true), right);
    assert_eq!(papers(false), ["not the controller lock"]);
    for mix in [MIXED, SMALL] {
        let savings = savings(mix).expect("stable");
        let follow: Vec<bool> = savings.iter().map(|saving| saving.follows).collect();
        assert_eq!(follow, [false, false, false, false, true, true]);
        let up_to: Vec<bool> = savings.iter().map(|saving| saving.up_to_load.is_some()).collect();
        assert_eq!(up_to, [true, true, true, false, false, false]);
        let light = savings[0].up_to_load.expect("some");
        let (there, past) = (0.18..0.186, 0.17..0.18);
        assert!(there.contains(&saved(Firefly, HalfSoftware, SMALLEST, mix, light)));
        assert!(past.contains(&saved(Firefly, HalfSoftware, SMALLEST, mix, light + 0.01)));
    }
}
