use super::*;
use clap::Parser;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

fn outcome(goodput: f64, retransmits: u64, spurious: u64) -> Outcome {
    Outcome { goodput, retransmits, spurious, lost: 0, dropped: 0 }
}

#[test]
fn all_paths_are_48() {
    let args = Command::try_parse_from(["goodput"]).expect("defaults").args;
    let paths = args.paths();
    assert_eq!(paths.len(), 48);
    let last = Path { loss: 3.0, rtt: 250.0, reorder: 3.0, rate: 1_000_000_000 };
    assert_eq!(paths.last(), Some(&last));
}

#[test]
fn who_has_no_rights_is_told_what_it_takes() {
    let line = cell::no_namespace(device::namespace::Error::Threads).to_string();
    assert!(line.contains("run it by sudo") && !line.contains("threads"), "{line}");
}

#[test]
fn a_long_path_has_more_time_unless_somebody_says_how_much() {
    let path = |rtt| Path { loss: 1.0, rtt, reorder: 0.0, rate: 1_000_000 };
    let args = |words: &[&str]| Command::try_parse_from(words).expect("words").args;
    let ours = args(&["goodput"]);
    assert_eq!([10.0, 100.0, 250.0].map(|rtt| ours.seconds(path(rtt))), [10.0, 10.0, 25.0]);
    assert_eq!(args(&["goodput", "--seconds", "4"]).seconds(path(250.0)), 4.0);
}

#[test]
fn the_verdict_counts_paths_and_what_was_for_nothing() {
    let path = Path { loss: 1.0, rtt: 10.0, reorder: 0.0, rate: 1_000_000 };
    let row = |ratio| Row {
        path,
        ratio,
        ours: vec![outcome(1e6, 10, 3), outcome(1e6, 10, 3)],
        linux: vec![outcome(1e6, 8, 2), outcome(1e6, 8, 2)],
    };
    let text = verdict(&[row(1.0), row(0.9), row(0.8), row(0.6)]);
    assert!(text.contains("2 of 4 paths at 0.9 of the kernel's or more, 1 under 0.7"), "{text}");
    assert!(text.contains("ours 24 of 80, Linux 16 of 64, ratio 1.50"), "{text}");
}
