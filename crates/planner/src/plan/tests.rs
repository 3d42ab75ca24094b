use super::*;
use crate::Predictor;
use crate::predict::tests::synthetic;

fn predictor(serial: f64) -> Predictor {
    Predictor::new(&synthetic(serial, 64, &[1, 2])).expect("good")
}

fn request(load: &str, targets: &[&str], max_processors: usize) -> Request {
    Request {
        load: load.parse().expect("a load"),
        targets: targets.iter().map(|target| target.parse().expect("a target")).collect(),
        max_processors,
        seed: 1,
    }
}

fn ask(predictor: &Predictor, request: &Request) -> Result<Plan, Error> {
    plan(predictor, request, &|_| ())
}

#[test]
fn the_fewest_processors_that_do() {
    // One carries some 3.6 million a second.
    let predictor = predictor(0.0);
    let light = ask(&predictor, &request("tcp rr, 1k connections, 400k/s", &["p99=100us"], 8));
    let light = light.expect("carried");
    assert_eq!(light.best.configuration.processors, 1, "{:#?}", light.explanation());
    assert!(light.best.meets && light.best.headroom > 0.8, "{:?}", light.best);
    assert!(light.sureness > 0.99);
    let heavy = ask(&predictor, &request("tcp rr, 1k connections, 5M/s", &[], 8)).expect("carried");
    assert_eq!(heavy.best.configuration.processors, 2, "{heavy:?}");
    assert_eq!(heavy.best.configuration.organization, "group-locks");
    assert!(heavy.carries_per_s >= 5e6);
    assert!(heavy.one_more.is_some_and(|more| more.carries_per_s > 1.2 * heavy.best.carries_per_s));
    assert_eq!(heavy.considered[0].configuration.processors, 1);
    assert!(heavy.considered[0].verdict.contains("too few"), "{:?}", heavy.considered[0]);
}

#[test]
fn the_same_request_the_same_answer() {
    let predictor = predictor(0.1);
    let request = request("tcp rr, 100 connections, 2M/s, bursty 8", &["p99=1ms"], 4);
    let json =
        || serde_json::to_string(&ask(&predictor, &request).expect("carried")).expect("JSON");
    assert_eq!(json(), json());
}

#[test]
fn too_much_to_ask() {
    let predictor = predictor(0.0);
    let error =
        ask(&predictor, &request("tcp rr, 1k connections, 9M/s", &[], 2)).expect_err("too much");
    let error = error.to_string();
    assert!(error.contains("nearest is group-locks, 2 processors"), "{error}");
    assert!(error.contains("with --max-processors 3 it would be"), "{error}");
    let error = ask(&predictor, &request("tcp rr, 1k connections, 1M/s", &["p99=1ns"], 2));
    let error = error.expect_err("too fast").to_string();
    assert!(error.contains("within p99=1ns"), "{error}");
    let error = ask(&predictor, &request("udp rr, 1 flow, 1/s", &[], 2)).expect_err("unknown");
    assert!(error.to_string().contains("only of tcp-rr"), "{error}");
    let error = ask(&predictor, &request("tcp rr, 1 connection, 1/s", &[], 65)).expect_err("many");
    assert!(error.to_string().contains("1 to 64"), "{error}");
}

#[test]
fn as_fast_as_it_goes() {
    let plan = ask(&predictor(0.0), &request("tcp rr, 1k connections", &[], 3)).expect("carried");
    assert_eq!(plan.best.configuration, Configuration::new("group-locks", 3));
    assert_eq!(
        plan.runner_up.map(|one| one.configuration.organization),
        Some("uniprocessor".into())
    );
    // A serial part makes more processors useless.
    let plan = ask(&predictor(1.5), &request("tcp rr, 1k connections", &[], 3)).expect("carried");
    assert_eq!(plan.best.configuration.processors, 1);
}

#[test]
fn nine_of_ten_are_inside_of_an_interval() {
    let predictor = predictor(0.0);
    let plan = ask(&predictor, &request("tcp rr, 1k connections, 1M/s", &[], 1)).expect("carried");
    // The rate is the interval's lower end: above that are the 90 % inside, and the 5 % beyond
    // its upper end.
    let best = plan.best;
    let middle = (best.low_per_s * best.high_per_s).sqrt();
    let rate = best.low_per_s / 1e3;
    let asked = request(&format!("tcp rr, 1k connections, {rate:.3}k/s"), &[], 1);
    let sure = judge::sureness(&asked, middle, &best);
    assert!((sure - 0.95).abs() < 1e-3, "{sure}");
}

#[test]
fn words_and_figure() {
    let plan = ask(&predictor(0.0), &request("tcp rr, 1k connections, 1M/s", &["p50=50us"], 2));
    let plan = plan.expect("carried");
    let text = lines(&plan).join("\n");
    for part in [
        "take:",
        "prediction:",
        "(90 %: ",
        "their 90 % intervals",
        "without an application",
        "saturates:",
        "runner-up:",
        "one more:",
        "sure to:",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(plan.explanation().len(), plan.considered.len());
    assert!(text.contains("figures of:  the stack in memory") && text.contains("help model"));
    let drawn = figure(&plan, "a machine, a day").expect("a figure");
    for part in
        ["<svg", "asked for: 1.00M/s", "95 % sure to carry ", "p50=50us", "a machine, a day", "p99"]
    {
        assert!(drawn.contains(part), "{part}");
    }
    // What was asked for is a point of its own, in its place.
    let rates: Vec<f64> = plan.curves[0].points.iter().map(|point| point.0).collect();
    assert!(rates.contains(&1e6) && rates.is_sorted(), "{rates:?}");
    // A short logarithmic axis can be read all the same.
    let latency = drawn.lines().filter(|line| matches!(*line, "2" | "5" | "10" | "20" | "50"));
    assert!(latency.count() >= 2, "{drawn}");
    let latencies: Vec<f64> = plan.curves[0].points.iter().map(|point| point.1.p99_ns).collect();
    assert!(latencies.len() > 4 && latencies.last() > latencies.first(), "{latencies:?}");
}

/// Before, simulated time did not do for so few operations, and the plan said that no configuration carries
/// them: ask for a lower rate.
#[test]
fn a_rate_too_low_to_be_simulated_is_refused() {
    let error = request("tcp rr, 1 connections, 0.0001/s", &[], 2).check().expect_err("too low");
    assert!(error.to_string().contains("0.0001/s: plans are for 1/s or more"), "{error}");
    let request = request("tcp rr, 1 connections, 1/s", &["p999=1ms"], 1);
    request.check().expect("high enough");
    assert!(ask(&predictor(0.0), &request).expect("carried").best.meets);
}

/// A run has only so many bursts, so what comes in it is by chance more or less than the rate. Before, a plan
/// for a fortieth of what a processor carries said by many seeds that nothing carries it.
#[test]
fn bursts_are_carried_whatever_the_seed() {
    let predictor = predictor(0.0);
    for burst in [32, 256, 2000] {
        for seed in 1..=12 {
            let words = format!("tcp rr, 1k connections, 100k/s, bursty {burst}");
            let asked = Request { seed, ..request(&words, &[], 2) };
            let plan = ask(&predictor, &asked).expect(&words);
            assert_eq!(plan.best.configuration.processors, 1, "{words}, seed {seed}");
            let carried = |one: &Considered| one.judged.as_ref().is_none_or(|one| one.carried);
            assert!(plan.considered.iter().all(carried), "{words}, {seed}: {:?}", plan.considered);
        }
    }
}

#[test]
fn what_is_too_much_is_under_way_at_the_end() {
    use crate::simulator::Outcome;
    let ended = |per_s: f64, in_flight: u64| Outcome {
        operations_per_s: per_s,
        completed: 30_000,
        arrived: 40_000 + in_flight,
        in_flight,
        ..Outcome::default()
    };
    let carried = |outcome: &Outcome, pattern: &str| {
        let load = format!("tcp rr, 1k connections, 1M/s, {pattern}").parse().expect("a load");
        judge::carried(outcome, &load, Some(1e6))
    };
    for pattern in ["poisson", "steady", "bursty 32"] {
        assert!(carried(&ended(0.99e6, 5000), pattern), "{pattern}");
        assert!(!carried(&ended(0.9e6, 5000), pattern), "{pattern}");
    }
    // By chance, fewer came.
    assert!(carried(&ended(0.8e6, 200), "bursty 32"));
    assert!(carried(&ended(0.8e6, 5000), "bursty 1000"));
    assert!(!carried(&ended(0.8e6, 20_000), "bursty 1000"));
}
