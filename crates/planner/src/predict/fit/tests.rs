use super::super::tests::{case, synthetic};
use super::*;

#[test]
fn the_simulator_does_what_was_measured() {
    let predictor = Predictor::new(&synthetic(0.1, 64, &[1, 2])).expect("good");
    for (processors, n) in [(1, 1), (1, 32), (1, 1024), (2, 32), (2, 1024)] {
        let case = case(processors, n);
        let fitted = predictor.costs(&case).expect("known");
        let simulated = closed(&case, &fitted.costs).expect("can be simulated");
        let measured = predictor.predict(&case).expect("known").operations_per_s;
        let off = simulated / measured - 1.0;
        assert!(off.abs() < 0.03, "{processors} {n}: {off}, factor {}", fitted.factor);
    }
}

#[test]
fn a_round_costs_what_one_connection_pays() {
    let predictor = Predictor::new(&synthetic(0.0, 64, &[1])).expect("good");
    let fitted = predictor.costs(&case(1, 32)).expect("known");
    for n in [1, 2, 4, 8, 16] {
        let case = case(1, n);
        let simulated = closed(&case, &fitted.costs).expect("can be simulated");
        let measured = predictor.predict(&case).expect("known").operations_per_s;
        assert!((simulated / measured - 1.0).abs() < 0.1, "{n}: {simulated} {measured}");
    }
}

#[test]
fn a_factor_on_all_costs_is_one_on_all_times() {
    let predictor = Predictor::new(&synthetic(0.3, 64, &[1, 2])).expect("good");
    let case = case(2, 32);
    let mut costs = predictor.costs(&case).expect("known").costs;
    let before = closed(&case, &costs).expect("runs");
    costs.scale(2.0);
    let after = closed(&case, &costs).expect("runs");
    assert!((before / after / 2.0 - 1.0).abs() < 0.01, "{before} {after}");
}

#[test]
fn costs_make_sense_for_all_works() {
    for work in Work::ALL {
        let mut notes = Vec::new();
        let costs = charges::unfitted(&synthetic(0.0, 64, &[1]), work, 64, &mut notes);
        assert_eq!(costs.check(), Ok(()), "{work}");
        assert_eq!(notes.len(), 1);
    }
}
