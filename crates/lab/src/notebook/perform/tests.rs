use super::super::case::cases;
use super::super::experiment::Experiment;
use super::super::web::NoWebServers;
use super::*;

/// The cases of a file with this grid.
fn cases_of(grid: &str) -> Vec<Case> {
    let text = format!("name = \"a\"\n[[grid]]\n{grid}\n");
    let experiment = Experiment::parse("a.toml", &text).expect(grid);
    super::super::case::check("a.toml", &experiment).expect(grid);
    cases(&experiment.grids[0]).expect("few")
}

const SHORT: Effort = Effort { repeat: 1, seconds: 0.3, warm_up: 0.01, bound: 0.001 };

#[test]
fn the_stack_yields_what_it_carries_and_what_it_costs() {
    for grid in [
        "organization = \"group-locks\"\nconnections = 8",
        "organization = \"uniprocessor\"\npeer = \"stack\"\nconnections = 2",
        "organization = \"processor-per-connection\"\nworkload = \"udp\"\npreset = \"yates\"",
    ] {
        let [case] = &cases_of(grid)[..] else { panic!("one case") };
        // On a busy machine it may have no processor for half of the time.
        let mut looks = (0..8).map(|_| measure(case, &SHORT, &NoWebServers).expect(grid));
        let yielded = looks.find(|yielded| yielded.drift > Some(0.0)).expect(grid);
        for metric in ["gbit_per_s", "cpu_s_per_gb", "of_bound", "lock_wait_share"] {
            assert!(yielded.figures.contains_key(metric), "{grid}: {metric}");
        }
        assert!(yielded.figures["gbit_per_s"] > 0.0);
    }
    let [case] = &cases_of("workload = \"rr\"")[..] else { panic!("one case") };
    let yielded = measure(case, &SHORT, &NoWebServers).expect("rr");
    assert!(yielded.figures["transactions_per_s"] > 0.0);
    let [case] = &cases_of("workload = \"blocks\"\nshort_lived = 1000")[..] else { panic!("one") };
    let yielded = measure(case, &SHORT, &NoWebServers).expect("blocks");
    assert!(yielded.figures["gbit_per_s"] > 0.0 && yielded.figures["begun_per_s"] > 0.0);
}

#[test]
fn what_the_link_does_is_a_factor() {
    let grid = "organization = \"uniprocessor\"\nconnections = 2\nloss = [0.0, 0.05]\n\
                delay_us = 200\nduplicate = 0.01\nreorder = 0.01";
    let cases = cases_of(grid);
    let effort = Effort { seconds: 0.3, ..SHORT };
    for case in &cases {
        let yielded = measure(case, &effort, &NoWebServers).expect(grid);
        assert!(yielded.figures.contains_key("gbit_per_s"), "{case}");
    }
    // The peer is a stack, where nothing is lost, too; a driver repeats nothing.
    let text = "name = \"a\"\n[[grid]]\nloss = 0.1\npeer = \"driver\"\n";
    let experiment = Experiment::parse("a.toml", text).expect("parses");
    let error = super::super::case::check("a.toml", &experiment).expect_err("refused");
    assert!(error.contains("a stack as peer"), "{error}");
}

#[test]
fn a_paper_s_machine_is_simulated_by_a_seed() {
    let grid = "from = \"simulator\"\ncosts = \"yates1996\"\nprocessors = [1, 4]\n\
                organization = \"processor-per-connection\"\nworkload = \"udp\"\n\
                direction = \"receive\"\nconnections = 64";
    let rates: Vec<f64> = cases_of(grid)
        .iter()
        .map(|case| simulate(case, "yates1996", 1).expect("simulated").figures["gbit_per_s"])
        .collect();
    assert!((3.5..=4.1).contains(&(rates[1] / rates[0])), "{rates:?}");
    let case = &cases_of(grid)[0];
    assert_eq!(simulate(case, "yates1996", 1), simulate(case, "yates1996", 1));
    assert!(simulate(case, "nobody", 1).is_err());
}

#[test]
fn the_model_gives_the_paper_s_tables() {
    let grid = "from = \"thekkath1992\"\nmachine = \"firefly\"\nbytes = \"74\"\nload = 0.0";
    let yielded = compute(&cases_of(grid)[0]).expect("computed");
    assert_eq!(yielded.figures["residence_us"], 1148.0);
    assert!((yielded.figures["capacity_us"] - 537.0).abs() < 0.01);
    assert_eq!(yielded.figures["lock_us"], 537.0);
}
