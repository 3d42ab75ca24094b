use super::*;
use crate::notebook::session::{Session, Shard};

#[test]
fn the_papers_are_read_and_claim_enough() {
    let mut claims = 0;
    for builtin in BUILTIN {
        let experiment = builtin.experiment().expect(builtin.name);
        assert_eq!(experiment.name, builtin.name);
        assert!(!experiment.paper.is_empty() && !experiment.figures.is_empty());
        assert!(experiment.claims.len() >= 6, "{}", builtin.name);
        for claim in &experiment.claims {
            assert!(!claim.source.is_empty() && !claim.statement.is_empty());
        }
        claims += experiment.claims.len();
    }
    assert!(claims >= 30, "{claims}");
}

#[test]
fn the_quick_form_of_all_papers_takes_less_than_a_quarter_of_an_hour() {
    let experiments: Result<Vec<_>, String> = BUILTIN.iter().map(Builtin::experiment).collect();
    let experiments = experiments.expect("all are read");
    let session = Session { experiments, full: false, seed: 1, shard: Shard::WHOLE };
    let runs = session.runs().expect("few");
    let seconds = crate::notebook::execute::seconds(&session, &runs, &Default::default());
    println!("{} runs, {:.1} minutes", runs.len(), seconds / 60.0);
    assert!(seconds < 0.8 * 900.0, "{seconds}");
}
