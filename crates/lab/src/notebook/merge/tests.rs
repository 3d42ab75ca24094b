use super::*;
use crate::notebook::execute::execute;
use crate::notebook::experiment::Experiment;
use crate::notebook::record::Setting;
use crate::notebook::web::NoWebServers;

fn session(shard: Shard, load: &str) -> Session {
    let text = format!(
        "name = \"a\"\nquick = {{ repeat = 3 }}\n[[grid]]\nfrom = \"simulator\"\n\
         costs = \"yates1996\"\nconnections = {load}\n[[grid]]\nname = \"model\"\n\
         from = \"thekkath1992\"\nload = [0.1, 0.2]\n"
    );
    let experiments = vec![Experiment::parse("a.toml", &text).expect("good")];
    Session { experiments, full: false, seed: 1, shard }
}

fn made(path: &Path, session: &Session, machine: &str) {
    let mut folder = Folder::create(path, session).expect("new");
    let setting = Setting { machine: machine.to_owned(), ..Setting::default() };
    execute(&mut folder, session, Vec::new(), &setting, &NoWebServers, &mut |_| {}).expect("room");
}

#[test]
fn shards_make_the_whole_again() {
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name);
    made(&at("whole"), &session(Shard::WHOLE, "[4, 8]"), "m");
    let parts: Vec<PathBuf> = (1..=3).map(|index| at(&format!("part{index}"))).collect();
    for (n, path) in parts.iter().enumerate() {
        made(path, &session(Shard { index: n + 1, of: 3 }, "[4, 8]"), "m");
    }
    let joined = merge(&at("joined"), &parts, false).expect("of one session");
    let (whole, joined_contents) =
        (read(&at("whole")).expect("whole"), read(&at("joined")).expect("joined"));
    assert_eq!(whole.done(), joined_contents.done());
    assert_eq!((joined.runs, joined.twice), (whole.records.len(), 0));
    // Simulated figures do not depend on which shard made them.
    let figures = |contents: &Contents| {
        let mut all: Vec<_> = contents
            .records
            .iter()
            .map(|record| (record.key(), serde_json::to_string(&record.figures).expect("JSON")))
            .collect();
        all.sort();
        all
    };
    assert_eq!(figures(&whole), figures(&joined_contents));
}

#[test]
fn other_sessions_and_other_machines_are_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name);
    made(&at("a"), &session(Shard::WHOLE, "[4]"), "m");
    made(&at("b"), &session(Shard::WHOLE, "[8]"), "m");
    made(&at("c"), &session(Shard::WHOLE, "[4]"), "another");
    let refused = |names: [&str; 2]| {
        let error = merge(&at("out"), &names.map(at), false).expect_err("not alike").to_string();
        assert!(!at("out").exists() && !error.contains('\n'), "{error}");
        error
    };
    assert!(refused(["a", "b"]).contains("other experiments"));
    assert!(refused(["a", "c"]).contains("--side-by-side"));
    let joined = merge(&at("both"), &["a", "c"].map(at), true).expect("side by side");
    assert_eq!((joined.machines, joined.twice), (2, 0));
    let joined = merge(&at("same"), &["a", "a"].map(at), false).expect("of one session");
    assert_eq!((joined.runs, joined.twice), (5, 5));
}
