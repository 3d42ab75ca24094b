use super::*;

const MSS: u32 = 1000;

/// A path without chance: a bottleneck of `rate` bytes a second, a round trip of `rtt`
/// microseconds, and a queue of `room` bytes. A sender that always has something to send.
struct Line {
    bbr: Bbr,
    now: u64,
    rate: u64,
    rtt: u64,
    room: u64,
    idle_at: u64,
    /// What is on its way: when its acknowledgment comes, its size, and what was known when
    /// it was sent. What is lost has no time.
    flight: std::collections::VecDeque<Segment>,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    lost: u32,
    recovering_until: u64,
    sent: u64,
}

struct Segment {
    back: Option<u64>,
    number: u64,
    sent: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    in_flight: u32,
    lost: u32,
}

impl Line {
    fn new(rate: u64, rtt: u64, room: u64) -> Line {
        Line {
            bbr: Bbr::new(10 * MSS),
            now: 1_000_000,
            rate,
            rtt,
            room,
            idle_at: 0,
            flight: Default::default(),
            delivered: 0,
            delivered_at: 1_000_000,
            first_sent: 1_000_000,
            lost: 0,
            recovering_until: 0,
            sent: 0,
        }
    }

    fn at(&self) -> Instant {
        Instant::from_nanos(self.now * 1000)
    }
    fn in_flight(&self) -> u32 {
        self.flight.len() as u32 * MSS
    }
    fn queue(&self) -> u64 {
        self.idle_at.saturating_sub(self.now) * self.rate / 1_000_000
    }
    fn state(&self) -> &State {
        &self.bbr.0
    }

    /// Sends what may go now.
    fn send(&mut self) {
        self.bbr.0.pacer.release(self.at());
        while !self.bbr.0.pacer.is_held() && self.in_flight() + MSS <= self.bbr.window() {
            if self.flight.is_empty() {
                (self.first_sent, self.delivered_at) = (self.now, self.now);
            }
            let fits = self.queue() + u64::from(MSS) <= self.room;
            let back = fits.then(|| {
                let takes = u64::from(MSS) * 1_000_000 / self.rate;
                self.idle_at = self.idle_at.max(self.now) + takes;
                self.idle_at + self.rtt
            });
            self.sent += 1;
            self.flight.push_back(Segment {
                back,
                number: self.sent,
                sent: self.now,
                delivered: self.delivered,
                delivered_at: self.delivered_at,
                first_sent: self.first_sent,
                in_flight: self.in_flight() + MSS,
                lost: self.lost,
            });
            let sent = Sent {
                bytes: MSS,
                alone: self.flight.len() == 1,
                app_limited: false,
                srtt: self.rtt as u32,
                mss: MSS,
                now: self.at(),
            };
            self.bbr.on_sent(&sent);
        }
    }

    /// What was sent before `acked` and is lost, is told.
    fn lose(&mut self, acked: &Segment) -> u32 {
        let before = self.lost;
        while self.flight.front().is_some_and(|s| s.back.is_none() && s.sent < acked.sent) {
            let Some(s) = self.flight.pop_front() else { break };
            self.lost += MSS;
            self.bbr.on_lost(&Lost {
                bytes: MSS,
                sent_in_flight: s.in_flight,
                since: self.lost - s.lost,
                app_limited: false,
                delivered: self.delivered,
                now: self.at(),
            });
            if acked.number > self.recovering_until {
                self.recovering_until = self.sent;
                self.bbr.on_loss(self.in_flight(), MSS, self.at());
            }
        }
        self.lost - before
    }

    /// Takes the next acknowledgment, or lets the timer of pacing go off.
    fn step(&mut self) {
        self.send();
        let next = self.flight.iter().find_map(|s| s.back);
        let paced = self.state().pacer.deadline().map(|at| at.as_nanos().div_ceil(1000));
        let may = self.in_flight() + MSS <= self.bbr.window();
        let paced = paced.filter(|_| may);
        self.now = self.now.max(next.into_iter().chain(paced).min().expect("something is to come"));
        if next.is_none_or(|at| at > self.now) {
            return;
        }
        let i = self.flight.iter().position(|s| s.back.is_some()).expect("there is one");
        let segment = self.flight.remove(i).expect("it is there");
        self.delivered += u64::from(MSS);
        let lost = self.lose(&segment);
        self.delivered_at = self.now;
        self.first_sent = segment.sent;
        let rtt = (self.now - segment.sent) as u32;
        let micros = (segment.sent - segment.first_sent).max(self.now - segment.delivered_at);
        let path = Path {
            delivered: self.delivered,
            span: (self.delivered - segment.delivered) as u32,
            micros: if micros < self.rtt { 0 } else { micros as u32 },
            app_limited: false,
            sent_in_flight: segment.in_flight,
            lost_since: self.lost - segment.lost,
            in_flight: self.in_flight(),
            cwnd_limited: self.in_flight() + 2 * MSS > self.bbr.window(),
            recovering: segment.number <= self.recovering_until,
            sack: true,
        };
        let now = self.at();
        let sample = Sample::of(MSS, MSS, now);
        let (rtt, path) = (Some(rtt), Some(path));
        self.bbr.on_ack(&Sample { lost, rtt, path, srtt: self.rtt as u32, ..sample });
    }

    fn pass(&mut self, seconds: f64) {
        let end = self.now + (seconds * 1e6) as u64;
        while self.now < end {
            self.step();
        }
    }

    /// Until it is in this phase.
    fn until(&mut self, phase: Phase) {
        for _ in 0..2_000_000 {
            if self.state().phase == phase {
                return;
            }
            self.step();
        }
        panic!("never in {phase:?}: {:?}", self.state());
    }
}

/// 1,000 segments of a second, and 100 of a round trip.
fn line() -> Line {
    Line::new(1_000_000, 100_000, 1_000_000)
}

#[test]
fn startup_ends_where_the_rate_of_the_path_does() {
    let mut l = line();
    assert!(l.bbr.models() && l.bbr.pacer().is_some());
    l.until(Phase::Drain);
    let took = (l.now - 1_000_000) / 100_000;
    assert!(took < 14, "{took} round trips");
    let rate = l.state().most_rate();
    assert!((980_000..=1_020_000).contains(&rate), "{rate}");
    assert_eq!((l.state().full.count, l.state().full.reached), (3, true));
    // The window has kept the queue below what the path holds.
    assert!(l.queue() <= 130_000, "{}", l.queue());
    l.until(Phase::Down);
    l.until(Phase::Cruise);
    assert!(l.queue() < 10_000, "it has gone: {}", l.queue());
    let least = l.state().least.rtt;
    assert!((100_000..=102_000).contains(&least), "{least}");
}

#[test]
fn the_steady_state_fills_the_path_and_leaves_the_queue_empty() {
    let mut l = line();
    l.until(Phase::Cruise);
    let (before, from) = (l.delivered, l.now);
    let (mut queued, mut looks) = (0, 0);
    while l.now < from + 20_000_000 {
        l.step();
        (queued, looks) = (queued + l.queue(), looks + 1);
    }
    let rate = (l.delivered - before) * 1_000_000 / (l.now - from);
    assert!(rate >= 950_000, "{rate}");
    assert!(queued / looks < 15_000, "{} of 100,000", queued / looks);
}

#[test]
fn every_five_seconds_next_to_nothing_is_in_flight() {
    let mut l = line();
    l.until(Phase::Cruise);
    l.until(Phase::Rtt);
    let (from, recent) = (l.now, l.state().least.recent_at);
    assert!(l.now >= recent.as_micros());
    let mut least = u32::MAX;
    while l.state().phase == Phase::Rtt {
        l.step();
        least = least.min(l.in_flight());
    }
    let took = l.now - from;
    assert!((200_000..600_000).contains(&took), "{took}");
    assert!(least <= 52_000, "half of what the path holds: {least}");
    assert_eq!(l.state().phase, Phase::Cruise);
    let from = l.now;
    l.until(Phase::Rtt);
    assert!(l.now - from >= 4_900_000, "{}", l.now - from);
}

/// What was known is found again, and confirmed by a queue that runs empty. Where it was not, the next
/// ProbeRTT comes after five seconds.
#[test]
fn the_second_time_it_is_every_ten_seconds_if_nothing_new_was_found() {
    let mut l = line();
    let probed = |l: &mut Line| {
        l.until(Phase::Rtt);
        let from = l.now;
        l.until(Phase::Cruise);
        from
    };
    let times: Vec<u64> = (0..4).map(|_| probed(&mut l)).collect();
    let each: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(each.iter().all(|time| (9_900_000..11_000_000).contains(time)), "{each:?}");
    // The path is longer now.
    l.rtt *= 2;
    let times: Vec<u64> = (0..3).map(|_| probed(&mut l)).collect();
    assert!((5_000_000..7_000_000).contains(&(times[1] - times[0])), "{times:?}");
}

#[test]
fn ten_times_the_rate_is_found() {
    let mut l = Line::new(200_000, 50_000, 400_000);
    l.pass(10.0);
    (l.rate, l.room) = (2_000_000, 4_000_000);
    let from = l.now;
    while l.state().most_rate() < 1_900_000 {
        l.step();
        assert!(l.now < from + 20_000_000, "{:?}", l.state().rates);
    }
    l.pass(2.0);
    let (before, from) = (l.delivered, l.now);
    l.pass(5.0);
    assert!((l.delivered - before) * 1_000_000 / (l.now - from) > 1_800_000);
}

#[test]
fn a_tenth_of_the_rate_is_found_by_losses_at_once_and_by_the_filter_later() {
    let mut l = Line::new(2_000_000, 50_000, 100_000);
    l.pass(6.0);
    (l.rate, l.room) = (200_000, 40_000);
    l.pass(1.0);
    // What is in flight fits into the path and its queue again.
    assert!(l.state().volumes.short < 150_000, "{:?}", l.state().volumes);
    l.pass(13.0);
    assert!(l.state().most_rate() < 260_000, "{:?}", l.state().rates);
    let (before, from, lost) = (l.delivered, l.now, l.lost);
    l.pass(5.0);
    let rate = (l.delivered - before) * 1_000_000 / (l.now - from);
    assert!(rate > 180_000, "{rate}");
    let lost = u64::from(l.lost - lost) * 100 / (l.delivered - before);
    assert!(lost < 5, "{lost} % lost");
}

#[test]
fn a_shallow_queue_ends_a_probe_and_bounds_what_is_in_flight() {
    let mut l = Line::new(1_000_000, 100_000, 10_000);
    l.pass(20.0);
    let long = l.state().volumes.long;
    assert!((80_000..=140_000).contains(&long), "{long}");
    let (before, from, lost) = (l.delivered, l.now, l.lost);
    l.pass(20.0);
    let rate = (l.delivered - before) * 1_000_000 / (l.now - from);
    assert!(rate > 850_000, "{rate}");
    let lost = u64::from(l.lost - lost) * 100 / (l.delivered - before);
    assert!(lost < 3, "{lost} % lost");
}

#[test]
fn how_much_was_in_flight_when_losses_came_to_be_too_many() {
    // 2 % of 100,000 may be lost, and nothing was before: 40,000 sent at once behind
    // 60,000 crossed that with its first 1,224.
    let lost = Lost {
        bytes: 40_000,
        sent_in_flight: 100_000,
        since: 40_000,
        app_limited: false,
        delivered: 0,
        now: Instant::ZERO,
    };
    let at = |lost: &Lost| {
        let mut bbr = Bbr::new(10 * MSS);
        bbr.0.cycle.sample = true;
        bbr.0.phase = Phase::Up;
        bbr.on_lost(lost);
        assert_eq!((bbr.0.phase, bbr.0.cycle.too_high), (Phase::Down, true));
        bbr.0.volumes.long
    };
    assert_eq!(at(&lost), 61_224);
    // All that came before was lost already.
    assert_eq!(at(&Lost { since: 100_000, ..lost }), 60_000);
    assert_eq!(at(&Lost { bytes: 200_000, since: 200_000, ..lost }), 7_000, "never below beta");
}

#[test]
fn what_was_no_loss_leaves_no_trace() {
    let mut l = Line::new(1_000_000, 100_000, 1_000_000);
    l.until(Phase::Up);
    let (window, long) = (l.bbr.window(), l.state().volumes.long);
    let volume = l.in_flight();
    l.bbr.on_lost(&Lost {
        bytes: 10_000,
        sent_in_flight: volume,
        since: 10_000,
        app_limited: false,
        delivered: l.delivered,
        now: l.at(),
    });
    l.bbr.on_loss(volume, MSS, l.at());
    assert_eq!(l.state().phase, Phase::Down);
    assert!(l.state().volumes.long < long);
    l.bbr.on_undo();
    assert_eq!(l.state().phase, Phase::Refill, "the probe begins again");
    assert_eq!((l.state().volumes.long, l.state().rates.short), (long, NO_RATE));
    assert!(l.bbr.window() >= window);
}

#[test]
fn a_timeout_leaves_a_segment_until_it_is_over() {
    let mut l = line();
    l.until(Phase::Cruise);
    let window = l.bbr.window();
    l.bbr.on_timeout(l.in_flight(), MSS, false, l.at());
    assert_eq!(l.bbr.window(), MSS);
    l.bbr.on_timeout(MSS, MSS, true, l.at());
    // The end of the recovery is heard with the next acknowledgment.
    l.recovering_until = 0;
    l.step();
    while l.bbr.window() < window * 9 / 10 {
        l.step();
    }
}

#[test]
fn marks_end_startup_and_slow_down_later() {
    let mut l = line();
    l.pass(0.3);
    assert_eq!(l.state().phase, Phase::Startup);
    l.bbr.on_marks(l.in_flight(), MSS, l.at());
    assert_eq!(l.state().phase, Phase::Drain);
    let mut l = line();
    l.until(Phase::Cruise);
    let rate = l.state().rates.now;
    for _ in 0..4 {
        l.bbr.on_marks(l.in_flight(), MSS, l.at());
        l.pass(0.11);
    }
    assert!(l.state().volumes.short < NONE && l.state().rates.now <= rate);
    assert!(l.state().rates.short < NO_RATE);
}

#[test]
fn after_a_pause_it_sends_at_the_rate_of_the_path_and_need_not_probe() {
    let mut l = line();
    l.until(Phase::Cruise);
    while !l.flight.is_empty() {
        let window = l.bbr.0.window;
        l.bbr.0.window = 0;
        l.step();
        l.bbr.0.window = window;
    }
    l.now += 8_000_000;
    let sent = Sent { bytes: MSS, alone: true, app_limited: true, srtt: 1, mss: MSS, now: l.at() };
    l.bbr.on_sent(&sent);
    assert!(l.state().idle);
    assert!(l.state().pacer.rate() <= l.state().rates.now);
    for _ in 0..50 {
        l.step();
        assert_ne!(l.state().phase, Phase::Rtt, "the pause was one");
    }
}

#[test]
fn nothing_overflows_and_no_sample_is_no_harm() {
    let mut bbr = Bbr::new(MAX_WINDOW);
    for now in [Instant::ZERO, Instant::from_millis(1 << 40), Instant::FAR_FUTURE] {
        for micros in [0, 1, u32::MAX] {
            let path = Path {
                delivered: u64::MAX,
                span: u32::MAX,
                micros,
                sent_in_flight: u32::MAX,
                lost_since: u32::MAX,
                ..Path::default()
            };
            let sample = Sample::of(u32::MAX, 65_535, now);
            bbr.on_ack(&sample);
            bbr.on_ack(&Sample { path: Some(path), rtt: Some(micros), ..sample });
            bbr.on_ack(&Sample { path: Some(Path::default()), ..sample });
            bbr.on_marks(u32::MAX, u32::MAX, now);
            bbr.on_timeout(0, 1, false, now);
            bbr.on_undo();
            let max = u32::MAX;
            bbr.on_sent(&Sent {
                bytes: max,
                alone: true,
                app_limited: true,
                srtt: 1,
                mss: max,
                now,
            });
            assert!(bbr.window() <= MAX_WINDOW.max(4 * 65_535));
        }
    }
}

#[test]
fn a_round_trip_that_delivers_nearly_all_lowers_nothing() {
    // A segment, what was delivered, what has left at the least, and what stays of a thousand, after
    // a round trip with losses.
    for (mss, latest, left, short) in [
        (1, 1000, NO_RATE, 1000),
        (1, 978, NO_RATE, 1000),
        (1, 977, NO_RATE, 977),
        (1, 800, NO_RATE, 800),
        (1, 300, NO_RATE, 700),
        (1, 880, 900, 1000),
        (1, 879, 900, 879),
        (1, 300, 900, 700),
        (1, 977, 1200, 977),
        // Three and four of 83 segments.
        (12, 964, NO_RATE, 1000),
        (12, 952, NO_RATE, 952),
    ] {
        let mut bbr = Bbr::new(10 * MSS);
        let state = &mut *bbr.0;
        (state.phase, state.rounds, state.mss) = (Phase::Cruise, 100, mss);
        (state.least.rtt, state.rates.left) = (1_000_000, [left, NO_RATE]);
        (state.rates.short, state.rates.latest) = (1000, latest);
        (state.volumes.short, state.volumes.latest) = (1000, latest as u32);
        (state.losses.any, state.losses.round_start) = (true, true);
        let sample = Sample::of(MSS, MSS, Instant::ZERO);
        let ack = Ack { sample: &sample, path: Path::default(), rate: 0 };
        state.update_congestion(&ack);
        assert_eq!((state.rates.short, state.volumes.short), (short, short as u32), "{latest}");
        assert!(!state.losses.any);
        // What leaves now is at the rate of the window.
        assert_eq!(state.rates.left, [NO_RATE, u64::from(10 * MSS)]);
    }
}
