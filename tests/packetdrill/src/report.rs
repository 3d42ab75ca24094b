//! What became of scripts, against what was expected.

use crate::expectations::{Expectation, Expectations};
use crate::run::Outcome;
use std::fmt::Write;

/// What a run comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// A line for each script, and the sums.
    pub table: String,
    /// What is not as expected, a line each.
    pub surprises: Vec<String>,
}

/// Compares. `outcomes` has those of each script, in the order of `organizations`;
/// none for a script that was not run.
pub fn report(
    organizations: &[String],
    scripts: &[(String, Vec<Outcome>)],
    expectations: &Expectations,
) -> Report {
    let mut report = Report::default();
    let width = scripts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut passed = vec![0usize; organizations.len()];
    let mut applicable = 0usize;
    for (name, outcomes) in scripts {
        let expected = expectations.get(name);
        if expected.is_none() {
            report.surprises.push(format!("{name}: there is no expectation of it: add a line"));
        }
        let mut cells = Vec::new();
        for (at, outcome) in outcomes.iter().enumerate() {
            cells.push(if *outcome == Outcome::Passed { "passes" } else { "fails" });
            passed[at] += usize::from(*outcome == Outcome::Passed);
            if let Some(expected) = expected {
                compare(name, &organizations[at], outcome, expected, &mut report.surprises);
            }
        }
        applicable += usize::from(!outcomes.is_empty());
        let cells = if outcomes.is_empty() { "not applicable".into() } else { cells.join(" ") };
        let _ = writeln!(report.table, "{name:width$}  {cells}{}", reason(expected));
    }
    for name in expectations.keys().filter(|name| !scripts.iter().any(|(has, _)| has == *name)) {
        report.surprises.push(format!("{name}: expected, but there is no such script"));
    }
    for (organization, passed) in organizations.iter().zip(passed) {
        let share = if applicable == 0 { 0.0 } else { 100.0 * passed as f64 / applicable as f64 };
        let _ = writeln!(
            report.table,
            "{organization}: {passed} of {applicable} that apply pass ({share:.0} %), {} in all",
            scripts.len()
        );
    }
    report
}

fn compare(
    name: &str,
    organization: &str,
    outcome: &Outcome,
    expected: &Expectation,
    surprises: &mut Vec<String>,
) {
    match (outcome, expected.passes(organization)) {
        (Outcome::Passed, false) => {
            surprises.push(format!("{name} under {organization} passes, which was not expected"));
        }
        (Outcome::Failed(why), true) => {
            surprises.push(format!("{name} under {organization}: {why}"));
        }
        _ => {}
    }
}

fn reason(expected: Option<&Expectation>) -> String {
    match expected {
        Some(Expectation::Fails(_, why) | Expectation::NotApplicable(why)) => format!(": {why}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectations::parse;

    #[test]
    fn what_is_not_expected_is_told() {
        let organizations = ["a".to_owned(), "b".to_owned()];
        let failed = || Outcome::Failed("7: late".into());
        let scripts = [
            ("1.pkt".to_owned(), vec![Outcome::Passed, Outcome::Passed]),
            ("2.pkt".to_owned(), vec![Outcome::Passed, failed()]),
            ("3.pkt".to_owned(), vec![failed(), failed()]),
            ("4.pkt".to_owned(), vec![]),
            ("5.pkt".to_owned(), vec![Outcome::Passed, Outcome::Passed]),
        ];
        let expected = "passes 1.pkt\nfails[b] 2.pkt: why\nfails 3.pkt: because\n\
            not-applicable 4.pkt: not there\n";
        let expectations = parse(&format!("{expected}passes 5.pkt")).expect("sense");
        let calm = report(&organizations, &scripts, &expectations);
        assert_eq!(calm.surprises, Vec::<String>::new());
        assert!(
            calm.table.contains("a: 3 of 4 that apply pass (75 %), 5 in all"),
            "{}",
            calm.table
        );
        let expectations = parse(
            "fails 1.pkt: x\npasses 2.pkt\nfails 3.pkt: y\nnot-applicable 4.pkt: z\npasses 6.pkt",
        );
        let wild = report(&organizations, &scripts, &expectations.expect("sense"));
        assert_eq!(
            wild.surprises,
            [
                "1.pkt under a passes, which was not expected",
                "1.pkt under b passes, which was not expected",
                "2.pkt under b: 7: late",
                "5.pkt: there is no expectation of it: add a line",
                "6.pkt: expected, but there is no such script",
            ]
        );
    }
}
