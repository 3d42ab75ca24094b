//! Two TCBs, two applications, and a network between them, in virtual time.
#![allow(dead_code)]

use buffer::{Buf, sum};
use std::sync::Arc;
use std::time::Duration;
use tcp::*;
use wire::tcp::Header;
use wire::{Instant, Parts, Seq, Slice};

/// A generator of test randomness (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n.max(1)
    }
    pub fn percent(&mut self, p: u8) -> bool {
        self.below(100) < u64::from(p)
    }
}

/// What the network does to segments.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub loss: u8,
    pub duplicate: u8,
    /// Percent of segments that are late by up to 3 delays.
    pub reorder: u8,
    pub delay: Duration,
}

impl Path {
    pub const GOOD: Path =
        Path { loss: 0, duplicate: 0, reorder: 0, delay: Duration::from_millis(1) };
}

/// A link with a queue in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    /// Bytes a second.
    pub rate: u64,
    /// Bytes that wait before it marks what can be marked and drops the rest.
    pub queue: u64,
    /// Does it mark at all?
    pub marks: bool,
    /// When what waits has gone.
    pub free_at: Instant,
    /// The most bytes that have waited.
    pub most: u64,
}

impl Bottleneck {
    pub fn new(rate: u64, queue: u64, marks: bool) -> Bottleneck {
        Bottleneck { rate, queue, marks, free_at: Instant::from_millis(0), most: 0 }
    }

    /// A packet comes. Returns how long it takes, and whether it is marked; `None` if
    /// it is dropped.
    fn pass(&mut self, len: usize, ect: bool, now: Instant) -> Option<(Duration, bool)> {
        let micros = self.free_at.since(now).as_micros() as u64;
        let waiting = micros * self.rate / 1_000_000;
        let long = waiting > self.queue;
        if long && !(self.marks && ect) || waiting > 20 * self.queue {
            return None;
        }
        self.most = self.most.max(waiting);
        let takes = Duration::from_micros((len as u64 + 40) * 1_000_000 / self.rate);
        self.free_at = self.free_at.max(now) + takes;
        Some((self.free_at.since(now), long))
    }
}

/// One end: a TCB and an application that sends `data`, closes, and reads.
pub struct End {
    pub tcb: Option<Tcb>,
    pub config: Arc<Config>,
    pub isn: Isn,
    pub mss: u16,
    pub offload: TransmitOffload,
    pub data: Vec<u8>,
    pub sent: usize,
    pub got: Vec<u8>,
    pub eof: bool,
    /// Shut down sending after `data`.
    pub closes: bool,
    /// Read at most this much at a time; 0: do not read.
    pub reads: usize,
    /// Write at most this much at a time.
    pub writes: usize,
    /// The window's right edge that this end has told, scaled.
    pub edge: Option<Seq>,
    /// The most it told by which it may be exceeded because of scaling.
    pub shift: u8,
    pub segments: usize,
    pub events: Events,
}

impl End {
    pub fn new(config: Config, mss: u16, isn: u32) -> End {
        End {
            tcb: None,
            config: Arc::new(config),
            isn: Isn { seq: Seq(isn), timestamp_offset: isn.wrapping_mul(77) },
            mss,
            offload: TransmitOffload { segmentation: 0, want_sum: true },
            data: Vec::new(),
            sent: 0,
            got: Vec::new(),
            eof: false,
            closes: true,
            reads: usize::MAX,
            writes: usize::MAX,
            edge: None,
            shift: 0,
            segments: 0,
            events: Events::NONE,
        }
    }
    pub fn state(&self) -> State {
        self.tcb.as_ref().map_or(State::Listen, Tcb::state)
    }
    pub fn tcb(&mut self) -> &mut Tcb {
        self.tcb.as_mut().expect("open")
    }

    /// Lets the application do what it can. Returns whether it did something.
    fn application(&mut self) -> bool {
        let Some(tcb) = self.tcb.as_mut() else { return false };
        let mut busy = false;
        self.events = self.events | tcb.take_events();
        if self.sent < self.data.len() {
            let end = self.data.len().min(self.sent.saturating_add(self.writes));
            if let Ok(n) = tcb.send(&self.data[self.sent..end]) {
                self.sent += n;
                busy |= n > 0;
            }
        }
        let open = matches!(tcb.state(), State::Established | State::CloseWait);
        if open && self.closes && self.sent == self.data.len() {
            tcb.shutdown_write();
            busy = true;
        }
        let mut buf = vec![0; self.reads.min(100_000)];
        if !self.eof
            && !buf.is_empty()
            && let Ok(n) = tcb.receive(&mut buf)
        {
            self.got.extend_from_slice(&buf[..n]);
            self.eof = n == 0;
            busy |= n > 0;
        }
        tcb.check_invariants();
        busy
    }
}

struct Flight {
    at: Instant,
    order: u64,
    to: usize,
    header: Header,
    payload: Vec<u8>,
    /// The bits of ECN in its IP header.
    ecn: u8,
}

type Drops = Box<dyn FnMut(usize, Seq, usize) -> bool>;

pub struct Sim {
    pub now: Instant,
    pub ends: [End; 2],
    pub paths: [Path; 2],
    /// What stands in front of each path.
    pub bottlenecks: [Option<Bottleneck>; 2],
    pub random: Random,
    /// Says what is lost beside: who sends it, where it begins, and its payload.
    pub drops: Option<Drops>,
    flights: Vec<Flight>,
    order: u64,
    /// Prints every segment; for people.
    pub trace: bool,
}

impl Sim {
    /// End 0 is about to connect to end 1.
    pub fn new(a: End, b: End, path: Path, seed: u64) -> Sim {
        let now = Instant::from_millis(1000);
        let mut ends = [a, b];
        let e = &mut ends[0];
        e.tcb = Some(Tcb::connect(&e.config, e.isn, e.mss, now));
        Sim {
            now,
            ends,
            paths: [path; 2],
            bottlenecks: [None; 2],
            random: Random::new(seed),
            drops: None,
            flights: Vec::new(),
            order: 0,
            trace: false,
        }
    }

    pub fn connect_both(&mut self) {
        let e = &mut self.ends[1];
        e.tcb = Some(Tcb::connect(&e.config, e.isn, e.mss, self.now));
    }

    /// What `from` has to send goes into the network.
    fn transmit(&mut self, from: usize) {
        let mut count = 0;
        loop {
            let end = &mut self.ends[from];
            let Some(tcb) = end.tcb.as_mut() else { return };
            let Some(out) = tcb.poll_transmit(self.now, end.offload) else {
                assert!(!tcb.wants_transmit());
                return;
            };
            tcb.check_invariants();
            count += 1;
            assert!(count < 100_000, "it never stops");
            self.check(from, &out);
            self.cut(from, out);
        }
    }

    fn check(&mut self, from: usize, out: &Outgoing) {
        let len: usize = out.payload.iter().map(|s| s.len()).sum();
        let h = &out.header;
        if let Some(known) = out.sum {
            let bytes: Vec<u8> = out.payload.iter().flat_map(|s| s.to_vec()).collect();
            let fold = |s: u16| if s == 0xffff { 0 } else { s };
            assert_eq!(fold(known), fold(sum::sum(&bytes)), "the sum is wrong");
        }
        let single = if out.gso_size > 0 { out.gso_size as usize } else { len };
        let options = h.len() - 20;
        let end = &self.ends[from];
        // A peer that announces next to nothing gets 48 all the same.
        let room = end.mss.min(self.ends[1 - from].mss.max(48)) as usize;
        if len > 0 {
            assert!(single + options <= room || single == 1, "{single} + {options} > {room}");
        }
        if out.gso_size > 0 {
            assert!(len <= end.offload.segmentation && len > single);
        }
        if let Some(edge) = self.ends[1 - from].edge
            && len > 0
        {
            let last = h.seq + len as u32 + u32::from(h.flags.fin());
            assert!(last.before_or_at(edge), "beyond the window: {last:?} {edge:?}");
        }
        if h.flags.ack() && !h.flags.rst() {
            let shift = if h.flags.syn() {
                0
            } else {
                self.ends[from].tcb.as_ref().unwrap().info().receive_shift
            };
            let edge = h.ack + (u32::from(h.window) << shift);
            let end = &mut self.ends[from];
            if let Some(before) = end.edge {
                let slack = 1 << shift;
                assert!((edge + slack).after_or_at(before), "the window shrank");
            }
            end.edge = Some(end.edge.map_or(edge, |e| e.latest(edge)));
        } else if h.flags.syn() {
            self.ends[from].edge = None;
        }
    }

    /// Cuts what a device with TSO would, and posts the segments.
    fn cut(&mut self, from: usize, out: Outgoing) {
        let bytes: Vec<u8> = out.payload.iter().flat_map(|s| s.to_vec()).collect();
        let size = if out.gso_size > 0 { out.gso_size as usize } else { bytes.len().max(1) };
        let pieces: Vec<&[u8]> =
            if bytes.is_empty() { vec![&[]] } else { bytes.chunks(size).collect() };
        let last = pieces.len() - 1;
        for (i, piece) in pieces.into_iter().enumerate() {
            let mut header = out.header;
            header.seq += (i * size) as u32;
            if i < last {
                let drop = wire::tcp::Flags::FIN.with(wire::tcp::Flags::PSH);
                header.flags = header.flags.without(drop);
            }
            self.post_as(from, header, piece.to_vec(), out.ect);
        }
    }

    /// Sends a segment that cannot be marked.
    pub fn post(&mut self, from: usize, header: Header, payload: Vec<u8>) {
        self.post_as(from, header, payload, false);
    }

    /// Sends a segment through the wire format and the path.
    fn post_as(&mut self, from: usize, header: Header, payload: Vec<u8>, ect: bool) {
        let mut bytes = vec![0; header.len()];
        assert!(bytes.len() <= 60, "options do not fit");
        header.emit(&mut bytes);
        let header = Header::parse(&bytes).unwrap().0;
        let path = self.paths[from];
        if self.trace {
            println!(
                "{:>9} {} {:?} seq {:?}+{} ack {:?} win {} {:?}",
                self.now.as_micros(),
                ["->", "<-"][from],
                header.flags,
                header.seq,
                payload.len(),
                header.ack,
                header.window,
                header.options.sack.as_slice(),
            );
        }
        self.ends[from].segments += 1;
        if self.drops.as_mut().is_some_and(|lost| lost(from, header.seq, payload.len())) {
            return;
        }
        let (mut waits, mut ecn) = (Duration::ZERO, if ect { wire::ipv4::ECT_0 } else { 0 });
        if let Some(bottleneck) = &mut self.bottlenecks[from] {
            let Some((wait, marked)) = bottleneck.pass(payload.len(), ect, self.now) else {
                return;
            };
            waits = wait;
            if marked {
                ecn = wire::ipv4::CE;
            }
        }
        let copies = 1 + u32::from(self.random.percent(path.duplicate));
        for _ in 0..copies {
            if self.random.percent(path.loss) {
                continue;
            }
            let mut delay = path.delay + waits;
            if self.random.percent(path.reorder) {
                delay += path.delay * self.random.below(300) as u32 / 100;
            }
            self.order += 1;
            self.flights.push(Flight {
                at: self.now + delay,
                order: self.order,
                to: 1 - from,
                header,
                payload: payload.clone(),
                ecn,
            });
        }
    }

    fn arrive(&mut self, f: Flight) {
        let end = &mut self.ends[f.to];
        let Some(tcb) = end.tcb.as_mut() else {
            if let input::listen::Listen::Open = input::listen::input(&f.header, f.payload.len()) {
                end.tcb = Some(Tcb::accept(&end.config, end.isn, end.mss, &f.header, self.now));
            }
            return;
        };
        if tcb.state() == State::Closed && !tcb.wants_transmit() {
            if let Some(reply) = input::closed::reply(&f.header, f.payload.len()) {
                self.post(f.to, reply, Vec::new());
            }
            return;
        }
        let mut parts = Parts::new();
        // As a device delivers it: behind headers, in a larger block.
        for piece in f.payload.chunks(1900) {
            let mut buf = Buf::with_capacity(2048);
            buf.get_mut().unwrap()[54..54 + piece.len()].copy_from_slice(piece);
            parts.push(Slice::new(buf, 54, piece.len()));
        }
        tcb.input_coalesced(&f.header, parts, 0, f.ecn, self.now);
        tcb.check_invariants();
    }

    /// Handles what happens next. `false` if nothing ever will.
    pub fn step(&mut self) -> bool {
        for i in 0..2 {
            self.transmit(i);
            while self.ends[i].application() {
                self.transmit(i);
            }
            self.transmit(i);
        }
        let flight = self.flights.iter().map(|f| (f.at, f.order)).min();
        let timer =
            self.ends.iter().filter_map(|e| e.tcb.as_ref().and_then(Tcb::next_timeout)).min();
        let Some(at) = flight.map(|f| f.0).into_iter().chain(timer).min() else { return false };
        self.now = self.now.max(at);
        let mut i = 0;
        let mut due = Vec::new();
        while i < self.flights.len() {
            if self.flights[i].at <= self.now {
                due.push(self.flights.swap_remove(i));
            } else {
                i += 1;
            }
        }
        due.sort_by_key(|f| (f.at, f.order));
        for f in due {
            self.arrive(f);
        }
        for e in &mut self.ends {
            if let Some(tcb) = e.tcb.as_mut()
                && tcb.next_timeout().is_some_and(|at| at <= self.now)
            {
                tcb.on_timeout(self.now);
                tcb.check_invariants();
            }
        }
        true
    }

    /// Steps until `done`, or nothing happens any more; `false` if that, or
    /// `steps` steps, came first.
    pub fn until(&mut self, steps: usize, mut done: impl FnMut(&mut Sim) -> bool) -> bool {
        for _ in 0..steps {
            if done(self) {
                return true;
            }
            if !self.step() {
                return done(self);
            }
        }
        false
    }

    /// Runs until both ends are closed.
    pub fn finish(&mut self, steps: usize) -> bool {
        self.until(steps, |s| s.ends.iter().all(|e| e.state() == State::Closed))
    }

    pub fn story(&self) -> String {
        let end = |e: &End| {
            format!(
                "{:?} {:?}, sent {} of {}, got {}, eof {}, {:?}\n",
                e.state(),
                e.tcb.as_ref().and_then(Tcb::error),
                e.sent,
                e.data.len(),
                e.got.len(),
                e.eof,
                e.tcb.as_ref().map(Tcb::info)
            )
        };
        format!("at {:?}\n{}{}", self.now, end(&self.ends[0]), end(&self.ends[1]))
    }
}

/// Bytes in which a displaced one is noticed.
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ 0x5555);
    (0..len).map(|_| (random.next() >> 40) as u8).collect()
}
