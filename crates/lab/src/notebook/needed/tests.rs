use super::*;
use crate::notebook::agree;
use crate::notebook::chart::tests::made;

/// On the paper's machine, one lock for all does not do what virtual processors do.
const FILE: &str = "name = \"a\"\n[[grid]]\nfrom = \"simulator\"\ncosts = \"yates1996\"\n\
    organization = [\"virtual-processors\", \"global-lock\"]\nworkload = \"udp\"\n\
    direction = \"receive\"\nvirtual_processors = 2\nprocessors = [1, 2]\nconnections = 8\n\
    [[claim]]\nsource = \"s\"\nstatement = \"one lock for all does as much on two processors\"\n\
    grid = \"grid\"\nmetric = \"gbit_per_s\"\n\
    left = { organization = \"global-lock\", processors = 2 }\n\
    right = { organization = \"virtual-processors\", processors = 2 }\nat_least = 1.0\n\
    [[claim]]\nsource = \"s\"\nstatement = \"two do more than one\"\n\
    grid = \"grid\"\nmetric = \"gbit_per_s\"\n\
    left = { organization = \"virtual-processors\", processors = 2 }\n\
    right = { organization = \"virtual-processors\", processors = 1 }\nat_least = 1.0\n";

#[test]
fn what_does_not_hold_is_searched_and_what_holds_is_not() {
    let contents = made(FILE);
    let verdicts = agree::all(&contents);
    assert_eq!(verdicts[0].outcome, Outcome::DoesNotHold, "{:?}", verdicts[0]);
    assert_eq!(verdicts[1].outcome, Outcome::Holds);
    let mut said = Vec::new();
    let experiments = &contents.session.experiments;
    let all = all(experiments, &verdicts, None, &mut |what| said.push(what.to_owned()));
    let [needed] = &all[..] else { panic!("{all:?}") };
    assert_eq!(said.join("; "), needed.statement);
    assert!(needed.is_of(&verdicts[0]));
    let found = needed.found.as_ref().expect("it can be simulated");
    // The search simulates less than the runs did, and sees the same.
    let ratio = verdicts[0].value.expect("a value");
    assert!(found.as_is < 1.0 && (found.as_is / ratio - 1.0).abs() < 0.1, "{found:?} {ratio}");
    let first = found.changes.first().expect("something makes up for it");
    assert!(first.value >= 1.0, "{first:?}");
    let text = serde_json::to_string(needed).expect("JSON");
    // The last digit of a number may be another one in JSON.
    let again: Needed = serde_json::from_str(&text).expect("what was written");
    let of = |needed: &Needed| -> Vec<String> {
        let found = needed.found.iter().flat_map(|found| &found.changes);
        found.map(|change| format!("{} {:.6}", change.cost, change.value)).collect()
    };
    assert_eq!((of(&again), &again.statement), (of(needed), &needed.statement));
}

#[test]
fn what_the_model_has_no_word_for_says_so() {
    let of = |grid: &str, left: &str, right: &str, metric: &str| {
        let text = format!(
            "name = \"a\"\n[[grid]]\n{grid}\n[[claim]]\nsource = \"s\"\nstatement = \"x\"\n\
             grid = \"grid\"\nmetric = \"{metric}\"\nleft = {left}\nright = {right}\nat_least = 1.0\n"
        );
        let experiment = Experiment::parse("a.toml", &text).expect(grid);
        needed(&experiment, &experiment.claims[0], None).expect_err(grid)
    };
    let pins = ("pin = [true, false]", "{ pin = true }", "{ pin = false }");
    assert!(of(pins.0, pins.1, pins.2, "gbit_per_s").contains("nothing of pin"));
    let counts = ("connections = [1, 2]", "{ connections = 1 }", "{ connections = 2 }");
    assert!(of(counts.0, counts.1, counts.2, "jain").contains("has no jain"));
    let unknown = of(counts.0, counts.1, counts.2, "gbit_per_s");
    assert!(unknown.contains("anabranch calibrate"), "{unknown}");
    let model = "from = \"thekkath1992\"\nload = [0.1, 0.2]";
    let computed = of(model, "{ load = 0.1 }", "{ load = 0.2 }", "residence_us");
    assert!(computed.contains("has no residence_us"), "{computed}");
}
