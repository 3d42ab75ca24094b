use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn drain(discipline: &mut impl Discipline, serves: Serves) -> Vec<(Key, Class)> {
    std::iter::from_fn(|| discipline.choose(serves)).collect()
}

#[test]
fn classes_are_in_strict_priority() {
    let mut all = Classes::new();
    for (key, class) in Class::ALL.into_iter().rev().enumerate() {
        all.enqueue(key as Key, class, 1_000_000 >> (5 * key));
    }
    assert_eq!(all.len(), 4);
    let order = drain(&mut all, Serves::All);
    assert_eq!(order, [3, 2, 1, 0].map(|key| (key, Class::ALL[3 - key as usize])));
    // As long as the one of the highest class comes back, nobody else runs.
    all.requeue(0);
    all.requeue(3);
    for _ in 0..10 {
        assert_eq!(all.choose(Serves::All), Some((3, Class::Forwarding)));
        all.requeue(3);
    }
    all.remove(3);
    assert_eq!(all.choose(Serves::All), Some((0, Class::Wait)));
}

#[test]
fn an_engine_for_the_ready_class_gets_no_other() {
    let mut all = Classes::new();
    for (key, class) in Class::ALL.into_iter().enumerate() {
        all.enqueue(key as Key, class, 1);
    }
    assert_eq!(drain(&mut all, Serves::ReadyOnly), [(2, Class::Ready)]);
    assert_eq!(all.len(), 3);
}

#[test]
fn new_connections_can_be_left_out_and_be_served_alone() {
    let mut all = Classes::new();
    for (key, class) in Class::ALL.into_iter().enumerate() {
        all.enqueue(key as Key, class, 1);
    }
    assert_eq!(all.choose(Serves::New), Some((3, Class::Wait)));
    assert_eq!(all.choose(Serves::New), None, "only this one is new");
    all.requeue(3);
    let pressing = drain(&mut all, Serves::Pressing);
    assert_eq!(pressing.len(), 3);
    assert!(pressing.iter().all(|(_, class)| *class != Class::Wait));
    assert_eq!(drain(&mut all, Serves::All), [(3, Class::Wait)]);
    // Where classes do not count, nobody is served apart.
    let mut turns = RoundRobin::new();
    turns.enqueue(0, Class::Wait, 1);
    assert_eq!(turns.choose(Serves::New), None);
    assert_eq!(turns.choose(Serves::Pressing), Some((0, Class::Wait)));
}

#[test]
fn all_but_the_ready_class_take_turns_whatever_their_weights() {
    for class in [Class::Forwarding, Class::Control, Class::Wait] {
        let mut all = Classes::new();
        (0..3).for_each(|key| all.enqueue(key, class, 1 << (10 * key)));
        for turn in 0..9 {
            assert_eq!(all.choose(Serves::All), Some((turn % 3, class)));
            all.requeue(turn % 3);
        }
    }
}

#[test]
fn the_ready_class_is_shared_by_weight() {
    let mut all = Classes::new();
    (0..3).for_each(|key| all.enqueue(key, Class::Ready, 10));
    all.enqueue(0, Class::Ready, 70);
    all.reweigh(1, 20);
    let mut served = [0i32; 3];
    for _ in 0..10_000 {
        let (key, _) = all.choose(Serves::ReadyOnly).unwrap();
        served[key as usize] += 1;
        all.requeue(key);
    }
    for (served, share) in served.into_iter().zip([7000, 2000, 1000]) {
        assert!((served - share).abs() < 8, "{served} of {share}");
    }
    assert_eq!(all.ready().steps().choose, 10_000);
}

#[test]
fn a_packet_that_comes_while_its_socket_runs_is_not_forgotten() {
    fn check(mut all: impl Discipline) {
        all.enqueue(5, Class::Ready, 3);
        assert_eq!(all.choose(Serves::All), Some((5, Class::Ready)));
        all.enqueue(5, Class::Ready, 3);
        assert_eq!(all.choose(Serves::All), None, "it runs");
        all.leave(5);
        assert_eq!(all.choose(Serves::All), Some((5, Class::Ready)));
        all.leave(5);
        assert!(all.is_empty() && all.choose(Serves::All).is_none());
        // Calls that do not fit.
        all.leave(5);
        all.requeue(5);
        all.remove(5);
        all.remove(1_000);
        all.reweigh(1_000, 2);
        assert!(all.is_empty());
    }
    check(Classes::new());
    check(RoundRobin::new());
}

#[test]
fn a_class_that_changes_while_the_socket_runs_changes_when_it_has_run() {
    let mut all = Classes::new();
    all.enqueue(0, Class::Ready, 8);
    all.enqueue(1, Class::Ready, 8);
    all.choose(Serves::All);
    all.choose(Serves::All);
    all.enqueue(0, Class::Control, 0);
    all.enqueue(1, Class::Wait, 0);
    all.enqueue(1, Class::Ready, 40);
    all.leave(1);
    all.leave(0);
    assert_eq!(all.ready().weight_of(1), Some(40));
    assert_eq!(drain(&mut all, Serves::All), [(0, Class::Control), (1, Class::Ready)]);
    // And one that waits changes at once.
    all.requeue(0);
    all.enqueue(0, Class::Ready, 16);
    assert_eq!(drain(&mut all, Serves::ReadyOnly), [(0, Class::Ready)]);
    assert_eq!(all.ready().weight_of(0), Some(16));
}

#[test]
fn round_robin_takes_every_socket_in_turn() {
    let mut all = RoundRobin::new();
    all.enqueue(2, Class::Wait, 1);
    all.enqueue(0, Class::Forwarding, 99);
    all.enqueue(1, Class::Ready, 7);
    for _ in 0..3 {
        for next in [(2, Class::Wait), (0, Class::Forwarding), (1, Class::Ready)] {
            assert_eq!(all.choose(Serves::ReadyOnly), Some(next));
            all.requeue(next.0);
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Enqueue(Key, Class, u32),
    Reweigh(Key, u32),
    Choose(bool),
    Done(Key, bool),
    Remove(Key),
}

fn op() -> impl Strategy<Value = Op> {
    let key = || 0u32..12;
    let class = (0usize..4).prop_map(|i| Class::ALL[i]);
    prop_oneof![
        4 => (key(), class, 0u32..300).prop_map(|(key, class, weight)| Op::Enqueue(key, class, weight)),
        1 => (key(), 0u32..300).prop_map(|(key, weight)| Op::Reweigh(key, weight)),
        4 => any::<bool>().prop_map(Op::Choose),
        4 => (key(), any::<bool>()).prop_map(|(key, again)| Op::Done(key, again)),
        1 => key().prop_map(Op::Remove),
    ]
}

/// What should be known of a socket.
#[derive(Clone, Copy)]
struct Socket {
    class: Class,
    runs: bool,
    again: bool,
}

/// Applies `ops` and compares; `strict`: classes count.
fn follows_the_model(mut all: impl Discipline, ops: Vec<Op>, strict: bool) {
    let mut model: BTreeMap<Key, Socket> = BTreeMap::new();
    for op in ops {
        match op {
            Op::Enqueue(key, class, weight) => {
                all.enqueue(key, class, weight);
                let fresh = Socket { class, runs: false, again: false };
                let socket = model.entry(key).or_insert(fresh);
                (socket.class, socket.again) = (class, socket.runs);
            }
            Op::Reweigh(key, weight) => all.reweigh(key, weight),
            Op::Choose(ready_only) => {
                let serves = if ready_only { Serves::ReadyOnly } else { Serves::All };
                let fits = |s: &Socket| !strict || !ready_only || s.class == Class::Ready;
                let waiting = model.values().filter(|s| !s.runs && fits(s));
                let best = waiting.map(|s| s.class).min();
                let chosen = all.choose(serves);
                assert_eq!(chosen.is_some(), best.is_some());
                if let Some((key, class)) = chosen {
                    let socket = model.get_mut(&key).expect("it is here");
                    assert!(!socket.runs && socket.class == class);
                    assert!(!strict || Some(class) == best);
                    socket.runs = true;
                }
            }
            Op::Done(key, again) => {
                if again {
                    all.requeue(key)
                } else {
                    all.leave(key)
                }
                if let Some(socket) = model.get_mut(&key).filter(|socket| socket.runs) {
                    if again || socket.again {
                        (socket.runs, socket.again) = (false, false);
                    } else {
                        model.remove(&key);
                    }
                }
            }
            Op::Remove(key) => {
                all.remove(key);
                model.remove(&key);
            }
        }
        assert_eq!(all.len(), model.values().filter(|socket| !socket.runs).count());
    }
    let mut left: Vec<Key> = drain(&mut all, Serves::All).into_iter().map(|(key, _)| key).collect();
    left.sort_unstable();
    assert!(left.into_iter().eq(model.into_iter().filter(|(_, s)| !s.runs).map(|(key, _)| key)));
}

proptest! {
    #[test]
    fn classes_follow_the_model(ops in prop::collection::vec(op(), 1..400)) {
        follows_the_model(Classes::new(), ops, true);
    }

    #[test]
    fn round_robin_follows_the_model(ops in prop::collection::vec(op(), 1..400)) {
        follows_the_model(RoundRobin::new(), ops, false);
    }
}
