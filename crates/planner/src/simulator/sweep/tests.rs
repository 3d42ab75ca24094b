use super::*;
use crate::Work;
use crate::simulator::Costs;
use crate::simulator::costs::Layers;
use std::sync::Mutex;

fn scenarios() -> Vec<Scenario> {
    let layers = Layers { transport_in_ns: 1_000.0, ..Layers::default() };
    let costs = Costs { layers, variation: 1.0, ..Costs::default() };
    let scenario = |processors: usize, operations: u64| Scenario {
        operations,
        ..Scenario::new("global-lock", processors, 8, Work::TcpRr, costs.clone())
    };
    // The longest comes first; one cannot be simulated.
    vec![scenario(4, 20_000), scenario(0, 10), scenario(2, 500), scenario(1, 100)]
}

#[test]
fn outcomes_are_in_order_whatever_the_threads() {
    let scenarios = scenarios();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sweep(&scenarios, |_| {}))
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one, three);
    let completed = |index: usize| one[index].as_ref().unwrap().completed_in_all;
    assert!(completed(0) >= 20_000 && (500..1_000).contains(&completed(2)) && completed(3) < 200);
    assert!(one[1].is_err());
}

#[test]
fn each_end_is_heard_of() {
    let heard = Mutex::new(Vec::new());
    sweep(&scenarios(), |done| heard.lock().unwrap().push(done));
    let mut heard = heard.into_inner().unwrap();
    heard.sort_unstable();
    assert_eq!(heard, [1, 2, 3, 4]);
}
