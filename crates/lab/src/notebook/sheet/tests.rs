use super::*;
use crate::notebook::experiment::Experiment;
use crate::notebook::level::Level;
use crate::notebook::perform::Yield;
use crate::notebook::record::{Key, Setting};
use std::collections::BTreeMap;

fn record(repetition: usize, value: f64, cacheline: Option<[f64; 2]>) -> Record {
    let key = Key {
        experiment: "a".into(),
        grid: "grid".into(),
        case: String::new(),
        data: Data::Measured,
        repetition,
    };
    let case = BTreeMap::from([("processors".to_owned(), Level::Number(2.0))]);
    let figures = BTreeMap::from([("gbit_per_s".to_owned(), value)]);
    let yielded = Ok(Yield { figures, ..Yield::default() });
    Record { cacheline_ns: cacheline, ..Record::new(&key, case, yielded, &Setting::default()) }
}

#[test]
fn only_samples_of_the_usual_state_count() {
    let text = "name = \"a\"\n[[grid]]\nprocessors = 2\norganization = \"engines\"\n";
    let experiment = Experiment::parse("a.toml", text).expect("good");
    let mut records: Vec<Record> =
        (0..5).map(|n| record(n, 10.0 + n as f64, Some([30.0, 32.0]))).collect();
    records.push(record(5, 100.0, Some([180.0, 190.0])));
    records.push(record(6, 55.0, Some([30.0, 190.0])));
    let machine = &machines(&records)[0];
    let sheet = Sheet::of(&records, "a", &experiment.grids[0], machine);
    assert_eq!(sheet.in_other_states(), (2, 7));
    let case = BTreeMap::from([("processors".to_owned(), Level::Number(2.0))]);
    let cell = sheet.cell(&case, Data::Measured, "gbit_per_s").expect("samples");
    assert_eq!((cell.estimate.median, cell.estimate.count, cell.left_out), (12.0, 5, 2));
    assert!(cell.estimate.high < 15.0);
    assert!(sheet.cell(&case, Data::Measured, "jain").is_none());
    assert!(sheet.cell(&case, Data::Predicted, "gbit_per_s").is_none());
    let other = Sheet::of(&records, "a", &experiment.grids[0], "another machine");
    assert!(other.records().is_empty());
}
