use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

impl GroupRatio {
    /// What must hold between calls.
    fn check(&self) {
        let mut groups: BTreeMap<u8, (u64, u32)> = BTreeMap::new();
        for member in self.members.iter().filter(|member| member.weight > 0) {
            let group = groups.entry(sigma(member.weight)).or_default();
            *group = (group.0 + u64::from(member.weight), group.1 + 1);
            assert!((0..3 * SLOT).contains(&member.deficit));
        }
        assert_eq!(self.order.len(), groups.len());
        assert_eq!(self.weight, groups.values().map(|group| group.0).sum::<u64>());
        for (place, &index) in self.order.iter().enumerate() {
            let group = &self.groups[usize::from(index)];
            assert_eq!((group.weight, group.members), groups[&index]);
            assert_eq!(usize::from(group.place), place);
        }
        let weight = |place: &u8| self.groups[usize::from(*place)].weight;
        assert!(self.order.windows(2).all(|pair| weight(&pair[0]) >= weight(&pair[1])));
        assert!(self.next.is_none_or(|next| self.order.contains(&next)));
    }

    /// Slots that a group owes (is owed, if negative), at the last change.
    fn errors(&self) -> impl Iterator<Item = f64> + '_ {
        self.order.iter().map(|i| self.groups[usize::from(*i)].work as f64 / SLOT as f64)
    }
}

/// Figure 3 to the letter, with counters from 0: weights do not change.
struct Figure {
    groups: Vec<(u128, VecDeque<usize>)>,
    work: Vec<u128>,
    weights: Vec<u32>,
    deficit: Vec<u64>,
    i: usize,
    printed: bool,
}

impl Figure {
    fn new(weights: &[u32], printed: bool) -> Figure {
        let mut groups: BTreeMap<u8, (u128, VecDeque<usize>)> = BTreeMap::new();
        for (key, &weight) in weights.iter().enumerate() {
            let group = groups.entry(sigma(weight)).or_default();
            group.0 += u128::from(weight);
            group.1.push_back(key);
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.0));
        Figure {
            work: vec![0; groups.len()],
            groups,
            weights: weights.to_vec(),
            deficit: vec![0; weights.len()],
            i: 0,
            printed,
        }
    }

    fn schedule(&mut self) -> usize {
        const ONE: u64 = 1 << 32;
        let i = self.i;
        let (_, members) = &mut self.groups[i];
        let key = members[0];
        if self.deficit[key] < ONE {
            let weight = self.weights[key];
            self.deficit[key] += (u64::from(weight) << 32) / (1 << sigma(weight));
        }
        self.deficit[key] -= ONE;
        if self.deficit[key] < ONE {
            members.rotate_left(1);
        }
        self.work[i] += 1;
        let next = i + 1 < self.groups.len() && {
            let numerator = if self.printed { self.work[i + 1] } else { self.work[i] + 1 };
            numerator * self.groups[i + 1].0 > (self.work[i + 1] + 1) * self.groups[i].0
        };
        self.i = if next { i + 1 } else { 0 };
        key
    }
}

fn fill(weights: &[u32]) -> GroupRatio {
    let mut all = GroupRatio::new();
    for (key, &weight) in weights.iter().enumerate() {
        all.insert(key as Key, weight);
    }
    all.check();
    all
}

/// Weights of very different and of equal orders.
fn weights(most: usize) -> impl Strategy<Value = Vec<u32>> {
    let weight = prop_oneof![
        3 => (0u32..20, any::<u32>()).prop_map(|(order, low)| (1 << order) | (low & ((1 << order) - 1))),
        1 => 1u32..10,
    ];
    prop::collection::vec(weight, 1..most)
}

/// Runs one socket at a time for `slots` slots; `each` sees who was served and
/// how many slots there were up to then.
fn run(all: &mut GroupRatio, slots: usize, mut each: impl FnMut(usize, usize)) {
    for slot in 1..=slots {
        let key = all.choose().expect("somebody waits");
        all.requeue(key);
        each(key as usize, slot);
    }
}

fn total(weights: &[u32]) -> f64 {
    weights.iter().map(|w| f64::from(*w)).sum()
}

#[test]
fn nobody_and_one() {
    let mut all = GroupRatio::new();
    assert_eq!(all.choose(), None);
    all.insert(7, 0);
    assert_eq!((all.len(), all.weight_of(7)), (1, Some(1)));
    assert_eq!(all.choose(), Some(7));
    assert_eq!(all.choose(), None, "it runs");
    all.requeue(7);
    all.requeue(7);
    assert_eq!(all.len(), 1);
    all.remove(7);
    all.remove(7);
    all.reweigh(7, 3);
    all.requeue(7);
    assert_eq!((all.choose(), all.groups()), (None, 0));
    all.check();
}

#[test]
fn the_extremes_of_weights_do_not_overflow() {
    let mut all = fill(&[u32::MAX, 1, u32::MAX, 0]);
    let mut served = [0; 4];
    run(&mut all, 100_000, |key, _| served[key] += 1);
    assert_eq!(served[0] + served[2], 100_000, "the others are due every 2^33 slots");
    assert!((served[0] as i64 - served[2] as i64).abs() <= 2);
}

#[test]
fn figure_3_as_printed_serves_one_group_only() {
    let weights = [100, 90, 30, 5, 1];
    let mut printed = Figure::new(&weights, true);
    let mut ours = Figure::new(&weights, false);
    let (mut by_printed, mut by_ours) = ([0; 5], [0; 5]);
    for _ in 0..22_600 {
        by_printed[printed.schedule()] += 1;
        by_ours[ours.schedule()] += 1;
    }
    assert_eq!(by_printed[2..], [0, 0, 0]);
    for (served, weight) in by_ours.into_iter().zip(weights) {
        let share = weight as i32 * 100;
        assert!((served - share).abs() <= 8, "{served} slots of {share}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn with_fixed_weights_it_is_figure_3(weights in weights(60)) {
        let mut all = fill(&weights);
        let mut figure = Figure::new(&weights, false);
        // The order of groups of equal weight is nobody's.
        prop_assume!(figure.groups.windows(2).all(|pair| pair[0].0 != pair[1].0));
        run(&mut all, 4_000, |key, _| assert_eq!(key, figure.schedule()));
    }

    /// The bounds of the module's description, at every slot.
    #[test]
    fn service_errors_are_bounded(weights in weights(120), settle in 1usize..500) {
        let mut all = fill(&weights);
        let g = all.groups() as f64;
        let total = total(&weights);
        let mut of_socket = vec![0.0; weights.len()];
        let mut of_group = [0.0; GROUPS];
        let mut phi = [0.0; GROUPS];
        weights.iter().for_each(|w| phi[usize::from(sigma(*w))] += f64::from(*w));
        for slots in 1..=3_000 {
            let key = all.choose().unwrap();
            all.requeue(key);
            let key = key as usize;
            if slots % settle == 0 {
                all.settle();
            }
            of_socket[key] += 1.0;
            of_group[usize::from(sigma(weights[key]))] += 1.0;
            let slots = slots as f64;
            for (served, phi) in of_group.iter().zip(phi) {
                let error = served - slots * phi / total;
                assert!(-(2.0 + g * (g - 1.0) / 2.0) <= error && error <= g, "group: {error}");
            }
            for (served, weight) in of_socket.iter().zip(&weights) {
                let error = served - slots * f64::from(*weight) / total;
                let (least, most) = (-(5.0 + g * (g - 1.0) / 2.0), 4.0 + g);
                assert!(least <= error && error <= most, "socket: {error}");
            }
        }
    }

    /// With any weights, every socket is served again before it is due more than
    /// a constant number of slots.
    #[test]
    fn nobody_starves(weights in weights(60)) {
        let mut all = fill(&weights);
        let g = all.groups() as f64;
        let mut last = vec![0; weights.len()];
        let total = total(&weights);
        let bound = 9.0 + g * (g + 1.0) / 2.0;
        run(&mut all, 20_000, |key, slots| {
            last[key] = slots;
        });
        for (last, weight) in last.into_iter().zip(&weights) {
            let due = (20_000 - last) as f64 * f64::from(*weight) / total;
            prop_assert!(due <= bound, "{due} slots due");
        }
    }
}

mod churn;

/// The bound is the same for 20,000 sockets as for 20, and so is the error.
#[test]
fn the_bound_does_not_depend_on_the_number_of_sockets() {
    for n in [20u32, 200, 20_000] {
        // Weights of seven orders, by a fixed sequence.
        let weights: Vec<u32> = (0..n).map(|i| 1 + i.wrapping_mul(2_654_435_761) % 100).collect();
        let mut all = fill(&weights);
        let total = total(&weights);
        let mut served = vec![0.0; weights.len()];
        let mut worst = 0.0f64;
        run(&mut all, 100_000, |key, slots| {
            served[key] += 1.0;
            if slots % 5_000 == 0 || slots < 20 {
                for (served, weight) in served.iter().zip(&weights) {
                    worst = worst.max((served - slots as f64 * f64::from(*weight) / total).abs());
                }
            }
        });
        println!("{n} sockets: worst service error {worst:.2} slots");
        assert!(worst < 6.0, "{worst}");
        assert_eq!(all.steps().choose, 100_000, "one step a decision");
    }
}
