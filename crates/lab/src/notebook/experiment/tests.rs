use super::*;

fn error(text: &str) -> String {
    let error = Experiment::parse("x.toml", text).expect_err(text);
    assert!(error.starts_with("x.toml, line ") && !error.contains('\n'), "{error}");
    error
}

const GOOD: &str = r#"
name = "own"
title = "An own one"
quick = { repeat = 3, seconds = 0.05 }

[[grid]]
name = "scale"
organization = ["group-locks", "global-lock"]
processors = "1..2"
workload = "rr"

[[figure]]
title = "Scale"
grid = "scale"
x = "processors"
y = "transactions_per_s"

[[claim]]
source = "section 1"
statement = "groups gain from a second processor"
grid = "scale"
metric = "transactions_per_s"
left = { organization = "group-locks", processors = 2 }
right = { organization = "group-locks", processors = 1 }
at_least = 1.2
"#;

#[test]
fn a_file_is_read() {
    let experiment = Experiment::parse("x.toml", GOOD).expect("good");
    assert_eq!((experiment.name.as_str(), experiment.quick.repeat), ("own", 3));
    assert_eq!(experiment.full, Effort::FULL);
    let grid = experiment.grid("scale").expect("a grid");
    assert_eq!((grid.line, grid.factors.len(), grid.from), (6, 3, From::Stack));
    assert_eq!(experiment.claims[0].selectors().count(), 2);
}

#[test]
fn errors_name_file_line_key_and_range() {
    for (from, to, line, words) in [
        ("workload = \"rr\"", "workloud = \"rr\"", 10, "no factor 'workloud': choose from"),
        ("workload = \"rr\"", "connections = 0", 10, "connections = 0 is not possible: give"),
        ("processors = \"1..2\"", "processors = \"2..1\"", 9, "goes down"),
        ("title = \"Scale\"", "titel = \"Scale\"", 13, "titel"),
        ("title = \"Scale\"", "title = 7", 13, "string"),
        ("y = \"transactions_per_s\"", "y = \"speed\"", 12, "there is no metric 'speed'"),
        ("x = \"processors\"", "x = \"mtu\"", 12, "x = 'mtu' is no factor"),
        ("repeat = 3", "repeat = 0", 4, "repeat = 0 is not possible: give 1 to 1000"),
        ("processors = 1 }", "processors = 4 }", 18, "selects nothing"),
        (", processors = 1 }", " }", 18, "say which processors"),
        ("at_least = 1.2", "", 18, "at_least"),
        ("name = \"own\"", "name = \"own/../x\"", 2, "letters, digits and dashes"),
        ("grid = \"scale\"\nx", "grid = \"none\"\nx", 12, "there is no grid 'none'"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let error = error(&text);
        assert!(error.contains(words), "{error}");
        assert!(error.contains(&format!("line {line}:")), "{from}: {error}");
    }
    assert!(error("name = \"a\"\n").contains("[[grid]]"));
    assert!(error("x").contains("line 1"));
    assert!(error("name = \"a\"\n[[grid]]\n[[grid]]\n").contains("two grids"));
    assert!(error("name = \"a\"\n[[grid]]\ncosts = \"x\"\n").contains("yates1996"));
    assert!(error("name = \"a\"\n[[grid]]\nfrom = \"x\"\n").contains("simulator"));
    assert!(error("name = \"a\"\n[[grid]]\nseconds = -1\n").contains("0.01"));
}
