//! What the unit tests share: one TCB, and a peer that the test plays. The
//! sequence numbers that tests speak of are relative: our SYN is 0, the peer's
//! SYN is 0, so that the first data byte is 1 both ways.

use crate::{Config, Isn, Outgoing, State, Tcb, TransmitOffload};
use std::sync::Arc;
use std::time::Duration;
use wire::tcp::{Flags, Header, Options, SackBlocks};
use wire::{Instant, Parts, Seq, Slice};

pub(crate) const ISS: u32 = 0xffff_fff0;
pub(crate) const IRS: u32 = 0x7fff_fffe;
pub(crate) const MSS: u16 = 1000;

thread_local! {
    /// The thread's connections take no short way.
    pub(crate) static LONG: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A configuration in which segments are easy to count: no options, and the window
/// halves.
pub(crate) fn bare() -> Config {
    Config {
        window_scaling: false,
        timestamps: false,
        sack: false,
        receive_buffer: 60_000,
        max_receive_buffer: 0,
        nagle: false,
        pacing: false,
        congestion: crate::congestion::Algorithm::NewReno,
        ..Config::default()
    }
}

pub(crate) fn sack() -> Config {
    Config { sack: true, ..bare() }
}

/// Flags by their letters, as tcpdump writes them.
pub(crate) fn flags(letters: &str) -> Flags {
    letters.chars().fold(Flags::default(), |set, c| {
        set.with(match c {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            _ => panic!("{c}"),
        })
    })
}

/// A segment of the peer.
pub(crate) fn header(letters: &str, seq: u32, ack: u32, window: u16) -> Header {
    Header {
        source_port: 0,
        destination_port: 0,
        seq: Seq(IRS) + seq,
        ack: Seq(ISS) + ack,
        flags: flags(letters),
        window,
        urgent: 0,
        options: Options::NONE,
    }
}

pub(crate) fn payload(len: usize) -> Parts {
    if len == 0 { Parts::new() } else { [Slice::copy_of(&vec![b'x'; len])].into_iter().collect() }
}

pub(crate) struct Peer {
    pub tcb: Tcb,
    pub now: Instant,
    pub offload: TransmitOffload,
}

/// What came out: flags, relative SEQ, payload length, relative ACK.
pub(crate) type Said = (String, u32, usize, u32);

pub(crate) fn said(o: &Outgoing) -> Said {
    let letters: Vec<(Flags, char)> = vec![
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ACK, '.'),
    ];
    let flags = letters.iter().filter(|(f, _)| o.header.flags.has(*f)).map(|(_, c)| c).collect();
    let ack = if o.header.flags.ack() { o.header.ack.distance_from(Seq(IRS)) } else { 0 };
    let len = o.payload.iter().map(|s| s.len()).sum();
    (flags, o.header.seq.distance_from(Seq(ISS)), len, ack)
}

/// As [`said`], for expectations.
pub(crate) fn s(letters: &str, seq: u32, len: usize, ack: u32) -> Said {
    (letters.into(), seq, len, ack)
}

impl Peer {
    fn of(tcb: Tcb) -> Peer {
        Peer {
            tcb,
            now: Instant::from_millis(1000),
            offload: TransmitOffload { segmentation: 0, want_sum: true },
        }
    }
    pub fn isn() -> Isn {
        Isn { seq: Seq(ISS), timestamp_offset: 0 }
    }
    /// After an active open, the SYN still to be polled.
    pub fn connecting(config: Config) -> Peer {
        let now = Instant::from_millis(1000);
        Peer::of(Tcb::connect(&Arc::new(config), Peer::isn(), MSS, now))
    }
    /// After a SYN came, the SYN-ACK still to be polled.
    pub fn accepting(config: Config) -> Peer {
        let syn = Peer::syn("S", 0, &config);
        let now = Instant::from_millis(1000);
        Peer::of(Tcb::accept(&Arc::new(config), Peer::isn(), MSS, &syn, now))
    }
    /// The peer's SYN, with the options that `config` knows.
    pub fn syn(letters: &str, ack: u32, config: &Config) -> Header {
        let mut syn = header(letters, 0, ack, 50_000);
        syn.options.mss = Some(MSS);
        syn.options.window_scale = config.window_scaling.then_some(3);
        syn.options.sack_permitted = config.sack;
        syn.options.timestamps = config.timestamps.then_some((5000, 0));
        syn
    }
    /// In ESTABLISHED, all said and heard.
    pub fn established(config: Config) -> Peer {
        let answer = Peer::syn("S.", 1, &config);
        let mut p = Peer::connecting(config);
        assert_eq!(p.out(), [s("S", 0, 0, 0)]);
        p.tcb.input(&answer, Parts::new(), p.now);
        assert_eq!(p.out(), [s(".", 1, 0, 1)]);
        assert_eq!(p.tcb.state(), State::Established);
        p.tcb.take_events();
        p
    }
    /// In `state`, reached without data.
    pub fn at(state: State, config: Config) -> Peer {
        use State::*;
        if state == SynReceived {
            let mut p = Peer::accepting(config);
            p.out();
            return p;
        }
        let mut p = Peer::established(config);
        let (first, fin) = match state {
            FinWait1 | FinWait2 | Closing | TimeWait => (true, None),
            CloseWait | LastAck => (false, Some(1)),
            _ => (false, None),
        };
        if first {
            p.tcb.shutdown_write();
            p.out();
        }
        if let Some(ack) = fin {
            p.say("F.", 1, ack, 0);
        }
        match state {
            FinWait2 => p.say(".", 1, 2, 0),
            Closing => p.say("F.", 1, 1, 0),
            TimeWait => p.say("F.", 1, 2, 0),
            LastAck => p.tcb.shutdown_write(),
            _ => {}
        }
        p.out();
        assert_eq!(p.tcb.state(), state);
        p.tcb.take_events();
        p
    }
    /// The peer sends `len` bytes.
    pub fn say(&mut self, letters: &str, seq: u32, ack: u32, len: usize) {
        self.input(header(letters, seq, ack, 50_000), len);
    }
    /// The peer sends a pure ACK with SACK blocks.
    pub fn sack(&mut self, ack: u32, blocks: &[(u32, u32)]) {
        let mut h = header(".", 1, ack, 50_000);
        h.options.sack = SackBlocks::NONE;
        for (l, r) in blocks {
            h.options.sack.push(Seq(ISS) + *l, Seq(ISS) + *r);
        }
        self.input(h, 0);
    }
    pub fn input(&mut self, h: Header, len: usize) {
        self.tcb.input(&h, payload(len), self.now);
        self.tcb.check_invariants();
    }
    /// All that is sent now.
    pub fn out(&mut self) -> Vec<Said> {
        self.outgoing().iter().map(said).collect()
    }
    pub fn outgoing(&mut self) -> Vec<Outgoing> {
        let mut all = Vec::new();
        while let Some(o) = self.tcb.poll_transmit(self.now, self.offload) {
            self.tcb.check_invariants();
            all.push(o);
        }
        all
    }
    pub fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }
    /// Lets the next timer fire; returns after how many milliseconds it does.
    pub fn timeout(&mut self) -> u64 {
        let at = self.tcb.next_timeout().expect("a timer runs");
        let after = at.since(self.now);
        self.now = at;
        self.tcb.on_timeout(at);
        self.tcb.check_invariants();
        after.as_millis() as u64
    }
    /// Lets timers fire until a retransmission time-out was among them; what is sent
    /// before is not looked at.
    pub fn rto(&mut self) {
        let before = self.tcb.info().timeouts;
        while self.tcb.info().timeouts == before {
            self.timeout();
            if self.tcb.info().timeouts == before {
                self.out();
            }
        }
    }
    pub fn send(&mut self, len: usize) {
        assert_eq!(self.tcb.send(&vec![b'y'; len]), Ok(len));
    }
    /// The window as the peer understands it, of the only segment sent now.
    pub fn window(&mut self) -> u32 {
        let all = self.outgoing();
        let [o] = &all[..] else { panic!("{all:?}") };
        u32::from(o.header.window) << self.tcb.rcv.shift
    }
}
