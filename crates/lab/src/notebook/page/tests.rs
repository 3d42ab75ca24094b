use super::*;
use crate::notebook::chart::tests::made;

const FILE: &str = "name = \"a\"\ntitle = \"A <title> & more\"\n[[grid]]\nfrom = \"thekkath1992\"\n\
    machine = [\"firefly\", \"sequent\"]\nload = [0.1, 0.5]\n[[figure]]\ntitle = \"Load\"\n\
    grid = \"grid\"\nx = \"load\"\ny = \"residence_us\"\n[[claim]]\nsource = \"section 1\"\n\
    statement = \"more load, more time\"\ngrid = \"grid\"\nmetric = \"residence_us\"\n\
    left = { machine = \"firefly\", load = 0.5 }\nright = { machine = \"firefly\", load = 0.1 }\n\
    at_least = 1.0\n";

#[test]
fn the_page_has_figures_tables_and_outcomes_and_asks_nobody() {
    let page = report(&made(FILE));
    assert!(page.starts_with("<!DOCTYPE html>"));
    for part in [
        "A &lt;title&gt; &amp; more",
        "anabranch lab &lt;run&gt;",
        "class=\"badge holds\">holds",
        "<svg",
        "copy as CSV",
        "prefers-color-scheme: dark",
        "@media print",
        "viewport",
        "4 computed",
        "samples.jsonl",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // A name space is no address that is asked.
    let asked = page.replace("http://www.w3.org/2000/svg", "");
    for address in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!asked.contains(address), "{address}");
    }
    // Text and paper follow the theme.
    assert!(page.contains("currentColor") && page.contains("var(--paper)"));
    assert!(!page.contains("fill=\"#FFFFFF\""));
}

#[test]
fn a_folder_without_samples_has_a_page() {
    let mut contents = made(FILE);
    contents.records.clear();
    assert!(report(&contents).contains("0 measured"));
}

#[test]
fn what_differs_is_drawn() {
    use crate::notebook::estimate::Estimate;
    let ratio = Estimate { low: 1.1, median: 1.2, high: 1.3, count: 5 };
    let one = Difference {
        experiment: "a".into(),
        grid: "g".into(),
        case: "processors=2".into(),
        metric: "gbit_per_s".into(),
        ratio,
        runs: (5, 6),
    };
    let names = ["old".to_owned(), "new".to_owned()];
    let page = comparison(&names, &[one]);
    for part in ["new against old", "<svg", "processors=2", "5 and 6", "no difference"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(comparison(&names, &[]).contains("nothing differs"));
}

#[test]
fn the_page_says_what_must_be_different() {
    use planner::simulator::search::Found;
    let mut contents = made(&FILE.replace("at_least = 1.0", "at_most = 0.5"));
    let with = |found, why: &str| Needed {
        experiment: "a".into(),
        statement: "more load, more time".into(),
        found,
        why: why.into(),
    };
    let to = [To::Times(0.25), To::Ns(1500.0)];
    let changes = to.map(|to| Change { cost: "threads.wake_up_ns".into(), to, value: 0.5 });
    let found = Found { as_is: 1.4, comes_out: false, changes: changes.to_vec() };
    contents.needed = vec![with(Some(found), "")];
    let page = report(&contents);
    assert!(page.contains("gives 1.400 as it is; it comes out with threads.wake_up_ns × 0.2500"));
    assert!(page.contains("threads.wake_up_ns = 1500 ns instead of 0"));
    let other = Found { as_is: 0.4, comes_out: true, changes: Vec::new() };
    assert!(words(&with(Some(other), "")).contains("does not charge for"));
    assert!(words(&with(None, "no word for it")).contains("not searched: no word for it"));
    // A claim that holds needs nothing.
    contents.session = made(FILE).session;
    assert!(!report(&contents).contains("threads.wake_up_ns"));
}
