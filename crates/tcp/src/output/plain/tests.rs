//! Two pairs of connections live through the same: one takes the short ways out and in, the
//! other takes none. What they send and what they are may not differ.

use crate::congestion::Algorithm;
use crate::harness::LONG;
use crate::{Config, EcnMode, Isn, Outgoing, Tcb, TransmitOffload};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use wire::{Instant, Seq};

/// Chances that follow from a seed.
struct Chances(u64);

impl Chances {
    /// One of 0 to `n` - 1.
    fn of(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// What happens next, to the end with this number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize, usize),
    Receive(usize, usize),
    /// The first segment on its way to it arrives.
    Arrive(usize),
    Lose(usize),
    /// The first segment on its way to it comes later than all others.
    Delay(usize),
    Wait(u64),
    Nagle(usize, bool),
    Close(usize),
    /// The application lets go of it.
    Release(usize),
}

impl Step {
    /// `ends`: connections end soon.
    fn any(chances: &mut Chances, rough: bool, ends: bool) -> Step {
        let end = chances.of(2) as usize;
        match chances.of(64) {
            0 if ends && chances.of(4) == 0 => Step::Close(end),
            1 if ends && chances.of(16) == 0 => Step::Release(end),
            0..=14 if ends && chances.of(3) > 0 => Step::Arrive(end),
            0..=11 => Step::Send(end, 1 + chances.of(1200) as usize),
            12..=14 => Step::Send(end, 1 + chances.of(40_000) as usize),
            15..=24 => Step::Receive(end, 1 + chances.of(30_000) as usize),
            25..=50 => Step::Arrive(end),
            51 if rough => Step::Lose(end),
            52 if rough => Step::Delay(end),
            53 => Step::Wait(1_000_000 + chances.of(2_000_000_000)),
            54 => Step::Nagle(end, chances.of(2) == 0),
            55 if chances.of(40) == 0 => Step::Close(end),
            _ => Step::Wait(chances.of(300_000)),
        }
    }
}

struct Pair {
    ends: [Tcb; 2],
    /// What is on its way to each.
    wires: [VecDeque<Outgoing>; 2],
    now: Instant,
    offload: TransmitOffload,
    /// It takes no short way.
    long: bool,
    /// Segments that were said the short way: SYNs, and others with data.
    syns: u32,
    short: u32,
    /// Acknowledgments alone that were, and FINs.
    bare: [u32; 2],
}

impl Pair {
    fn new(config: &Config, offload: TransmitOffload, long: bool) -> Pair {
        let (config, now) = (Arc::new(config.clone()), Instant::from_millis(1000));
        let isn = |n| Isn { seq: Seq(n), timestamp_offset: n };
        LONG.set(long);
        let mut client = Tcb::connect(&config, isn(0xffff_f000), 1000, now);
        let syn = client.poll_syn(now).map(|syn| syn.into_outgoing());
        let syns = u32::from(syn.is_some());
        let syn = syn.or_else(|| client.poll_transmit(now, offload)).expect("a SYN");
        let server = Tcb::accept(&config, isn(0x7fff_0000), 1000, &syn.header, now);
        let ends = [client, server];
        Pair { ends, wires: Default::default(), now, offload, long, syns, short: 0, bare: [0; 2] }
    }

    /// Returns all that is sent, as text.
    fn step(&mut self, step: Step) -> String {
        let now = self.now;
        LONG.set(self.long);
        match step {
            Step::Send(end, n) => {
                let _ = self.ends[end].send(&vec![n as u8; n]);
            }
            Step::Receive(end, n) => {
                let _ = self.ends[end].receive(&mut vec![0; n]);
            }
            Step::Arrive(end) => {
                if let Some(o) = self.wires[end].pop_front() {
                    let ecn = if o.ect { wire::ipv4::ECT_0 } else { 0 };
                    let tcb = &mut self.ends[end];
                    match (&o.payload[..], self.long) {
                        ([], false) => tcb.input_bare(&o.header, ecn, now),
                        ([one], false) => {
                            tcb.input_data(&o.header, one.clone(), o.gso_size, ecn, now)
                        }
                        _ => tcb.input_coalesced(&o.header, o.payload, o.gso_size, ecn, now),
                    }
                }
            }
            Step::Lose(end) => drop(self.wires[end].pop_front()),
            Step::Delay(end) => {
                if let Some(o) = self.wires[end].pop_front() {
                    self.wires[end].push_back(o);
                }
            }
            Step::Wait(nanos) => self.now += Duration::from_nanos(nanos),
            Step::Nagle(end, nagle) => self.ends[end].set_nagle(nagle),
            Step::Close(end) => self.ends[end].shutdown_write(),
            Step::Release(end) => self.ends[end].release(),
        }
        let mut said = String::new();
        for end in 0..2 {
            if self.ends[end].next_timeout().is_some_and(|at| at <= self.now) {
                self.ends[end].on_timeout(self.now);
            }
            while let Some(o) = self.poll(end) {
                said += &format!("{end}: {o:?}\n");
                self.wires[1 - end].push_back(o);
            }
            self.ends[end].check_invariants();
        }
        said
    }

    fn poll(&mut self, end: usize) -> Option<Outgoing> {
        let (tcb, now) = (&mut self.ends[end], self.now);
        if let Some(plain) = tcb.poll_plain(now, self.offload) {
            self.short += 1;
            return Some(plain.into_outgoing(self.offload));
        }
        if let Some(syn) = tcb.poll_syn(now) {
            self.syns += 1;
            return Some(syn.into_outgoing());
        }
        if tcb.may_poll_bare()
            && let Some(bare) = tcb.poll_bare(now)
        {
            self.bare[usize::from(bare.flags.fin())] += 1;
            return Some(bare.into_outgoing(self.offload));
        }
        tcb.poll_transmit(now, self.offload)
    }

    /// All that is known of both ends.
    fn state(&self) -> String {
        format!("{:?}", self.ends)
    }
}

/// Lives through what follows from `seed` twice. Returns how many segments were sent the
/// short way: with data, acknowledgments alone, FINs and SYNs.
fn same(seed: u64, rough: bool, ends: bool) -> [u32; 4] {
    let mut chances = Chances(seed);
    let flag = |chances: &mut Chances| chances.of(2) == 0;
    let config = Config::default()
        .with_sack(flag(&mut chances))
        .with_timestamps(flag(&mut chances))
        .with_nagle(flag(&mut chances))
        .with_ecn(if chances.of(4) == 0 { EcnMode::Ask } else { EcnMode::Accept })
        .with_congestion(Algorithm::ALL[chances.of(8) as usize % Algorithm::ALL.len()]);
    let segmentation = if chances.of(3) == 0 { 30_000 } else { 0 };
    let offload = TransmitOffload { segmentation, want_sum: flag(&mut chances) };
    let mut pairs = [false, true].map(|long| Pair::new(&config, offload, long));
    for n in 0..2500 {
        let step = Step::any(&mut chances, rough, ends);
        let [a, b] = [0, 1].map(|i: usize| pairs[i].step(step));
        assert!(a == b, "seed {seed}, step {n}, {step:?}, {config:?}:\n{a}\n{b}");
        if n % 16 == 0 {
            let [a, b] = [0, 1].map(|i: usize| pairs[i].state());
            assert!(a == b, "seed {seed}, step {n}, {step:?}, {config:?}:\n{a}\n{b}");
        }
    }
    let [short, long] =
        pairs.map(|Pair { short, bare: [acks, fins], syns, .. }| [short, acks, fins, syns]);
    assert_eq!(long, [0; 4]);
    short
}

/// The same of many.
fn all(seeds: std::ops::Range<u64>, rough: bool, ends: bool) -> [u32; 4] {
    seeds
        .map(|seed| same(seed, rough, ends))
        .fold([0; 4], |sum, one| std::array::from_fn(|i| sum[i] + one[i]))
}

#[test]
fn the_short_ways_say_and_leave_what_the_long_ones_do() {
    let short = all(0..16, false, false);
    assert!(short[0] > 1_000 && short[1] > 100 && short[3] > 2, "{short:?}");
}

#[test]
fn the_short_ways_are_left_where_something_is_missing() {
    let short = all(100..116, true, false);
    assert!(short[0] > 300, "{short:?}");
}

#[test]
fn connections_end_the_short_way_as_the_long_one() {
    let short = all(200..280, false, true);
    assert!(short[2] > 15, "{short:?}");
    let short = all(300..380, true, true);
    assert!(short[2] > 5, "{short:?}");
}
