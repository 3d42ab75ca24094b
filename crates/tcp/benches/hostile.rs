//! A search for the acknowledgments that cost a sender most: 6 MiB in flight in segments of 36
//! bytes of payload, and a peer that repeats a few acts, of SACK blocks wherever it likes, of
//! acknowledgments, with old or new time stamps, of windows and of waiting. Scripts of such acts
//! begin by chance, and those that cost most are changed further. Each is played several times,
//! and of what an acknowledgment took the least counts, with the timers that went off until the
//! next, so that what another process takes does not. Scripts that earlier searches have found
//! come first; with no more than these: `SCRIPTS` 0.
//!
//! `cargo bench -p anabranch-tcp --bench hostile -- SCRIPTS SEED`

extern crate anabranch_tcp as tcp;

mod acts;
mod flight;

use acts::{Act, KNOWN, MOST, Random};
use flight::{FLIGHT, SEGMENT, sender};
use std::time::{Duration, Instant as Clock};
use tcp::*;
use wire::{Instant, Seq};

/// Acknowledgments of a script.
const ACKS: usize = 2000;
/// How often each script is played.
const TIMES: usize = 3;
/// What the news of one segment may cost, nanoseconds: it comes once in the life of a segment.
const NEWS: u64 = 60;
/// Scripts that are changed further.
const KEPT: usize = 4;

/// What a script cost.
#[derive(Clone, Debug, Default)]
struct Cost {
    /// Nanoseconds of each acknowledgment, with its timers but without time-outs.
    acks: Vec<u64>,
    /// Of each without its timers.
    alone: Vec<u64>,
    /// Of each the dearest of its timers, which go off one by one.
    timers: Vec<u64>,
    /// Segments that each told the first news of.
    news: Vec<u64>,
    /// Of all that was sent in answer.
    answers: u64,
    sent: u64,
    timeouts: u32,
}

impl Cost {
    /// Nanoseconds of each acknowledgment without what its news may cost.
    fn without_news(&self) -> Vec<u64> {
        let of = |(time, news): (&u64, &u64)| time.saturating_sub(news * NEWS);
        self.acks.iter().zip(&self.news).map(of).collect()
    }
    fn mean(&self) -> u64 {
        self.without_news().iter().sum::<u64>() / ACKS as u64
    }
    /// The dearest acknowledgment or timer by itself.
    fn worst(&self) -> u64 {
        let of = |(time, news): (&u64, &u64)| time.saturating_sub(news * NEWS);
        let acks = self.alone.iter().zip(&self.news).map(of);
        acks.chain(self.timers.iter().copied()).max().unwrap_or(0)
    }
}

fn play(script: &[Act], offload: TransmitOffload) -> Cost {
    let mut now = Instant::from_millis(1000);
    let (mut tcb, first) = sender(&mut now, offload, Duration::from_nanos(100));
    let (mut una, mut nxt, mut cost) = (first, first + FLIGHT, Cost::default());
    for n in 0..ACKS {
        let act = &script[n % script.len()];
        let flight = nxt.distance_from(una);
        if flight < FLIGHT / 2 {
            break;
        }
        let (mut taken, mut dearest) = (Duration::ZERO, Duration::ZERO);
        let until = now + Duration::from_micros(act.wait.into());
        while let Some(at) = tcb.next_timeout().filter(|at| *at <= until) {
            now = now.max(at);
            let (before, start) = (tcb.info().timeouts, Clock::now());
            tcb.on_timeout(now);
            let time = start.elapsed();
            match u32::from(tcb.info().timeouts.saturating_sub(before)) {
                0 => (taken, dearest) = (taken + time, dearest.max(time)),
                more => cost.timeouts += more,
            }
            nxt = nxt.latest(answer(&mut tcb, offload, now, &mut cost));
        }
        now = until;
        let header = act.header((n / script.len()) as u32, una, flight, now);
        let told = |tcb: &Tcb, una: Seq| una.distance_from(first) as usize + tcb.sacked();
        let before = told(&tcb, una);
        let start = Clock::now();
        tcb.input(&header, Default::default(), now);
        let alone = start.elapsed();
        cost.acks.push((taken + alone).as_nanos() as u64);
        cost.alone.push(alone.as_nanos() as u64);
        cost.timers.push(dearest.as_nanos() as u64);
        let acked = header.ack.distance_from(una) as usize;
        una = header.ack;
        cost.news.push(told(&tcb, una).saturating_sub(before) as u64 / u64::from(SEGMENT));
        // What has gone makes room for more.
        let _ = tcb.send(&vec![7; acked]);
        nxt = nxt.latest(answer(&mut tcb, offload, now, &mut cost));
        if tcb.state() != State::Established {
            break;
        }
    }
    cost
}

/// All that is sent now. Returns the end of it.
fn answer(tcb: &mut Tcb, offload: TransmitOffload, now: Instant, cost: &mut Cost) -> Seq {
    let (start, mut end) = (Clock::now(), Seq(0xffc0_0000));
    while let Some(sent) = tcb.poll_transmit(now, offload) {
        let len = sent.payload.iter().map(|s| s.len() as u32).sum::<u32>();
        end = end.latest(sent.header.seq + len);
        cost.sent += u64::from(len / SEGMENT);
    }
    cost.answers += start.elapsed().as_nanos() as u64;
    end
}

/// The least of several times.
fn cost(script: &[Act], offload: TransmitOffload) -> Cost {
    let mut least = play(script, offload);
    for _ in 1..TIMES {
        let other = play(script, offload);
        assert_eq!(least.acks.len(), other.acks.len(), "one script, two courses");
        let all = [(&mut least.acks, other.acks), (&mut least.alone, other.alone)];
        for (least, other) in all.into_iter().chain([(&mut least.timers, other.timers)]) {
            least.iter_mut().zip(other).for_each(|(a, b)| *a = b.min(*a));
        }
        least.answers = least.answers.min(other.answers);
    }
    least
}

fn changed(script: &[Act], r: &mut Random) -> Vec<Act> {
    let mut script = script.to_vec();
    for _ in 0..1 + r.below(3) {
        let at = r.below(script.len() as u64) as usize;
        match r.below(8) {
            0 if script.len() < MOST => script.insert(at, Act::new(r)),
            1 if script.len() > 1 => _ = script.remove(at),
            2 => script[at] = Act::new(r),
            _ => script[at].change(r),
        }
    }
    script
}

/// Looks for the script of the greatest figure.
fn search(
    (scripts, r): (usize, &mut Random),
    offload: TransmitOffload,
    figure: fn(&Cost) -> u64,
) -> (Vec<Act>, Cost) {
    let mut best: Vec<(Vec<Act>, Cost)> = Vec::new();
    for n in 0..scripts {
        let script = match n {
            _ if n < scripts / 3 || best.is_empty() => {
                (0..1 + r.below(MOST as u64)).map(|_| Act::new(r)).collect()
            }
            _ => {
                let at = r.below(best.len() as u64) as usize;
                changed(&best[at].0, r)
            }
        };
        let cost = cost(&script, offload);
        best.push((script, cost));
        best.sort_by_key(|(_, cost)| std::cmp::Reverse(figure(cost)));
        best.truncate(KEPT);
    }
    best.swap_remove(0)
}

/// One line of what a script costs.
fn tell(offload: TransmitOffload, cost: &Cost) {
    let mut sorted = cost.without_news();
    sorted.sort_unstable();
    let micros = |nanos: u64| nanos as f64 / 1000.0;
    println!(
        "{:>8}: mean {:6.2} us, median {:6.2}, 99 % {:7.2} of {} acknowledgments with \
         their timers, the worst alone {:.2}; {:.2} us for each of {} segments sent; {} time-outs",
        if offload.segmentation > 0 { "with TSO" } else { "no TSO" },
        micros(cost.mean()),
        micros(sorted[sorted.len() / 2]),
        micros(sorted[sorted.len() - sorted.len() / 100 - 1]),
        sorted.len(),
        micros(cost.worst()),
        micros(cost.answers) / cost.sent.max(1) as f64,
        cost.sent,
        cost.timeouts,
    );
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let scripts = args.next().unwrap_or(60) as usize;
    let mut random = Random(args.next().unwrap_or(1));
    for segmentation in [0, 64 * 1024] {
        let offload = TransmitOffload { segmentation, want_sum: false };
        for (name, script) in KNOWN {
            tell(offload, &cost(script, offload));
            println!("          {name}");
        }
        if scripts == 0 {
            continue;
        }
        for (name, figure) in [("mean", Cost::mean as fn(&Cost) -> u64), ("worst", Cost::worst)] {
            let (script, cost) = search((scripts, &mut random), offload, figure);
            tell(offload, &cost);
            println!("          the dearest by the {name}:");
            script.iter().for_each(|act| println!("          {act:?}"));
        }
    }
}
