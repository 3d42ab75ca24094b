//! While weights change and sockets come and go.

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Insert(Key, u32),
    Reweigh(Key, u32),
    Remove(Key),
    Choose,
    /// One of those that run has run; says whether it waits again.
    Done(prop::sample::Index, bool),
}

fn op(keys: Key) -> impl Strategy<Value = Op> {
    let weight = || prop_oneof![(0u32..16).prop_map(|order| 1 << order), 0u32..40];
    prop_oneof![
        2 => (0..keys, weight()).prop_map(|(key, weight)| Op::Insert(key, weight)),
        2 => (0..keys, weight()).prop_map(|(key, weight)| Op::Reweigh(key, weight)),
        1 => (0..keys).prop_map(Op::Remove),
        6 => Just(Op::Choose),
        6 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(i, again)| Op::Done(i, again)),
    ]
}

/// What a user knows of the sockets.
#[derive(Default)]
struct Model {
    weights: BTreeMap<Key, u32>,
    running: Vec<Key>,
}

impl Model {
    fn apply(&mut self, all: &mut GroupRatio, op: Op) {
        match op {
            Op::Insert(key, weight) => {
                all.insert(key, weight);
                self.weights.insert(key, weight.max(1));
            }
            Op::Reweigh(key, weight) => {
                all.reweigh(key, weight);
                self.weights.entry(key).and_modify(|w| *w = weight.max(1));
            }
            Op::Remove(key) => {
                all.remove(key);
                self.weights.remove(&key);
                self.running.retain(|running| *running != key);
            }
            Op::Choose => {
                let chosen = all.choose();
                assert_eq!(chosen.is_some(), self.weights.len() > self.running.len());
                if let Some(key) = chosen {
                    assert!(self.weights.contains_key(&key) && !self.running.contains(&key));
                    self.running.push(key);
                }
            }
            Op::Done(index, again) if !self.running.is_empty() => {
                let key = self.running.swap_remove(index.index(self.running.len()));
                if again {
                    all.requeue(key);
                } else {
                    all.remove(key);
                    self.weights.remove(&key);
                }
            }
            Op::Done(..) => {}
        }
    }
}

/// A group's error in slots; and at most what can be added by one change.
fn bounded(all: &GroupRatio) -> bool {
    let (owed, owing) = (most_owed(all.groups() + 1), most_owing(all.groups() + 1));
    all.errors().all(|error| {
        let slots = all.slots as f64;
        -2.0 * owed as f64 <= error && error <= 2.0 * owing as f64 + slots
    })
}

/// One socket runs at a time, while others come and go: how many slots each
/// that stays is due since it was served last.
struct Due {
    all: GroupRatio,
    due: BTreeMap<Key, f64>,
    groups: usize,
}

impl Due {
    /// Serves one and says which.
    fn slot(&mut self) -> Option<Key> {
        let total = self.all.weight as f64;
        self.groups = self.groups.max(self.all.groups());
        let key = self.all.choose()?;
        self.due.retain(|key, _| self.all.contains(*key));
        for (key, due) in &mut self.due {
            *due += f64::from(self.all.weight_of(*key).unwrap_or(0)) / total;
        }
        self.due.insert(key, 0.0);
        Some(key)
    }

    fn enter(&mut self, key: Key, weight: u32) {
        self.all.insert(key, weight);
        self.due.entry(key).or_insert(0.0);
    }

    fn most(&self) -> f64 {
        self.due.values().copied().fold(0.0, f64::max)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_lost_or_there_twice(ops in prop::collection::vec(op(24), 1..400)) {
        let (mut all, mut model) = (GroupRatio::new(), Model::default());
        for op in ops {
            model.apply(&mut all, op);
            all.check();
            let weights = model.weights.iter();
            prop_assert!(weights.clone().all(|(key, weight)| all.weight_of(*key) == Some(*weight)));
            prop_assert_eq!(all.len(), weights.len() - model.running.len());
            prop_assert!(bounded(&all));
        }
        // All that wait are chosen, each once.
        let mut left: Vec<Key> = std::iter::from_fn(|| all.choose()).collect();
        left.append(&mut model.running);
        left.sort_unstable();
        prop_assert!(left.iter().eq(model.weights.keys()));
    }

    /// Every socket is served before it is due more than a constant, whatever
    /// the others do between decisions.
    #[test]
    fn nobody_starves_while_others_come_and_go(ops in prop::collection::vec(op(24), 1..2_000)) {
        let mut run = Due { all: GroupRatio::new(), due: BTreeMap::new(), groups: 0 };
        for op in ops {
            match op {
                Op::Insert(key, weight) => run.enter(key, weight),
                Op::Reweigh(key, weight) => run.all.reweigh(key, weight),
                Op::Remove(key) => run.all.remove(key),
                Op::Choose => {
                    if let Some(key) = run.slot() {
                        run.all.requeue(key);
                    }
                }
                Op::Done(_, again) => {
                    if let Some(key) = run.slot() {
                        if again { run.all.requeue(key) } else { run.all.remove(key) }
                    }
                }
            }
            let bound = (9 + most_owed(run.groups)) as f64;
            prop_assert!(run.most() <= bound, "{} slots due", run.most());
        }
    }

    /// After any history, shares are kept to within a constant from then on.
    #[test]
    fn shares_are_kept_after_change(ops in prop::collection::vec(op(24), 1..300)) {
        let (mut all, mut model) = (GroupRatio::new(), Model::default());
        ops.into_iter().for_each(|op| model.apply(&mut all, op));
        model.running.drain(..).for_each(|key| all.requeue(key));
        let g = all.groups();
        let bound = (most_owed(g) + g * most_owing(g) + 10) as f64;
        let total: f64 = model.weights.values().map(|w| f64::from(*w)).sum();
        let mut served = BTreeMap::new();
        for slots in 1..=if all.is_empty() { 0 } else { 2_000 } {
            let key = all.choose().unwrap();
            all.requeue(key);
            *served.entry(key).or_insert(0.0) += 1.0;
            for (key, weight) in &model.weights {
                let served = served.get(key).copied().unwrap_or(0.0);
                let error: f64 = served - f64::from(slots) * f64::from(*weight) / total;
                prop_assert!(error.abs() <= bound, "{error}");
            }
        }
    }
}

/// Slots that socket 0 gets of 10,000, and its share of them, if `between` is
/// done before every decision.
fn first_of(mut all: GroupRatio, mut between: impl FnMut(&mut GroupRatio, u32)) -> (f64, f64) {
    let (mut served, mut share) = (0.0, 0.0);
    for slot in 0..10_000 {
        between(&mut all, slot);
        share += f64::from(all.weight_of(0).unwrap()) / all.weight as f64;
        let key = all.choose().unwrap();
        served += f64::from(u8::from(key == 0));
        all.requeue(key);
    }
    (served, share)
}

#[test]
fn heavy_sockets_that_come_served_and_go_do_not_starve_one_that_stays() {
    let (served, share) = first_of(fill(&[4, 100]), |all, slot| {
        all.remove(1 + slot);
        all.insert(2 + slot, 100);
    });
    assert!(served >= share - 5.0, "{served} of {share}");
}

#[test]
fn nor_do_sockets_that_come_and_go_without_being_served() {
    // Between a heavy one and the light one, so that the walk must pass them.
    let (served, share) = first_of(fill(&[1, 1000, 20]), |all, slot| {
        all.remove(2 + slot);
        all.insert(3 + slot, 20);
    });
    assert!(served >= share - 5.0, "{served} of {share}");
}

#[test]
fn a_socket_whose_weight_changes_all_the_time_keeps_its_share() {
    // Fifty others in each of the two groups it moves between.
    let mut weights = vec![6];
    weights.extend([5; 50]);
    weights.extend([10; 50]);
    let (served, share) = first_of(fill(&weights), |all, slot| {
        all.reweigh(0, if slot % 2 == 0 { 10 } else { 6 });
    });
    assert!((served - share).abs() <= share / 4.0 + 5.0, "{served} of {share}");
}

/// All others change their group before every decision, so that there is no
/// order to keep: what remains is that nobody starves.
#[test]
fn one_among_others_whose_weights_change_all_the_time_does_not_starve() {
    let mut weights = vec![6];
    weights.extend([5; 10]);
    weights.extend([10; 10]);
    let (served, share) = first_of(fill(&weights), |all, slot| {
        for key in 1..=20 {
            all.reweigh(key, if (slot + key) % 2 == 0 { 10 } else { 5 });
        }
    });
    assert!(share / 3.0 <= served && served <= share * 3.0, "{served} of {share}");
}

/// Two engines: while the only heavy socket runs, the slot goes to others, and
/// the heavy one is not owed what it could not have used.
#[test]
fn what_a_running_socket_cannot_use_goes_to_others() {
    let mut all = fill(&[1000, 1, 1]);
    for _ in 0..5_000 {
        let mut both = [all.choose().unwrap(), all.choose().unwrap()];
        both.sort_unstable();
        assert!(both[0] == 0 && both[1] > 0);
        both.into_iter().for_each(|key| all.requeue(key));
        assert!(bounded(&all));
    }
    all.check();
}
