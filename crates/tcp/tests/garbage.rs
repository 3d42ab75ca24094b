//! Whatever a peer sends, in whatever state, at whatever time: no panic, no
//! endless answer, no more memory than agreed, and the invariants hold.

extern crate anabranch_tcp as tcp;

use buffer::Buf;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use tcp::input::listen::{self, Listen};
use tcp::*;
use wire::tcp::{AccEcn, Flags, Header, Options, SackBlocks};
use wire::{Instant, Parts, Seq, Slice};

/// A field of a segment: near what the connection expects, or anything.
#[derive(Clone, Copy, Debug)]
enum Field {
    Near(i32),
    Any(u32),
}

impl Field {
    fn from(self, base: u32) -> u32 {
        match self {
            Field::Near(d) => base.wrapping_add(d as u32),
            Field::Any(n) => n,
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Segment {
        seq: Field,
        ack: Field,
        flags: u16,
        window: u16,
        len: usize,
        timestamps: Option<(Field, Field)>,
        sack: Vec<(Field, Field)>,
        mss: Option<u16>,
        scale: Option<u8>,
        ecn: (u8, Option<(bool, usize, [u32; 3])>),
    },
    Wait(u64),
    Timeout,
    Send(usize),
    Receive(usize),
    Outside(usize),
    Shutdown,
    Release,
    Abort,
    Mtu(u16),
    Icmp(bool),
    Nagle(bool),
}

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        8 => (-3..3i32).prop_map(Field::Near),
        8 => (-5000..20_000i32).prop_map(Field::Near),
        1 => any::<u32>().prop_map(Field::Any),
    ]
}

fn flags() -> impl Strategy<Value = u16> {
    prop_oneof![
        10 => Just(Flags::ACK.0),
        4 => Just(Flags::ACK.0 | 8),
        2 => Just(Flags::ACK.0 | Flags::FIN.0),
        2 => Just(Flags::SYN.0 | Flags::ACK.0),
        1 => Just(Flags::SYN.0),
        1 => Just(Flags::RST.0),
        6 => (0..8u32).prop_map(|ace| Flags::ACK.with(Flags::of_ace(ace)).0),
        2 => (0..512u16).prop_map(|f| f & !Flags::RST.0),
        1 => 0..512u16,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![5 => Just(0), 5 => 1..3usize, 5 => 1..3000usize, 1 => 1..70_000usize];
    let segment = (
        field(),
        field(),
        flags(),
        prop_oneof![Just(0), 0..50u16, any::<u16>()],
        len,
        prop::option::weighted(0.8, (field(), field())),
        prop::collection::vec((field(), field()), 0..4),
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        (0..4u8, any::<Option<(bool, usize, [u32; 3])>>()),
    )
        .prop_map(|(seq, ack, flags, window, len, timestamps, sack, mss, scale, ecn)| {
            Step::Segment { seq, ack, flags, window, len, timestamps, sack, mss, scale, ecn }
        });
    prop_oneof![
        60 => segment,
        5 => (0..1_000_000u64).prop_map(Step::Wait),
        1 => (0..100_000_000_000u64).prop_map(Step::Wait),
        8 => Just(Step::Timeout),
        10 => (0..50_000usize).prop_map(Step::Send),
        5 => (0..20_000usize).prop_map(Step::Receive),
        1 => (0..50_000usize).prop_map(Step::Outside),
        1 => Just(Step::Shutdown),
        1 => prop_oneof![Just(Step::Release), Just(Step::Abort)],
        1 => any::<u16>().prop_map(Step::Mtu),
        1 => any::<bool>().prop_map(Step::Icmp),
        1 => any::<bool>().prop_map(Step::Nagle),
    ]
}

struct Victim {
    tcb: Tcb,
    now: Instant,
    offload: TransmitOffload,
    /// What it said last: where its sequence space and the peer's are.
    seq: u32,
    ack: u32,
    timestamp: u32,
    peer_timestamp: u32,
}

impl Victim {
    fn drain(&mut self) {
        self.tcb.check_invariants();
        let mut count = 0;
        while let Some(out) = self.tcb.poll_transmit(self.now, self.offload) {
            count += 1;
            assert!(count < 60_000, "it never stops");
            assert!(out.header.len() <= 60);
            let len: usize = out.payload.iter().map(|s| s.len()).sum();
            assert!(len < 65_536);
            self.seq = out.header.seq.0.wrapping_add(len as u32);
            if out.header.flags.ack() {
                self.ack = out.header.ack.0;
            }
            if let Some((value, _)) = out.header.options.timestamps {
                self.timestamp = value;
            }
            self.tcb.check_invariants();
        }
        assert!(!self.tcb.wants_transmit());
        self.tcb.take_events();
        let info = self.tcb.info();
        assert!(info.footprint < 3_000_000, "{info:?}");
        if self.tcb.state() == State::Closed {
            assert_eq!(self.tcb.next_timeout(), None);
        }
    }

    fn segment(&mut self, step: &Step) {
        let Step::Segment { seq, ack, flags, window, len, timestamps, sack, mss, scale, ecn } =
            step
        else {
            return;
        };
        let mut blocks = SackBlocks::NONE;
        for (l, r) in sack {
            blocks.push(Seq(l.from(self.seq)), Seq(r.from(self.seq)));
        }
        let stamps = timestamps
            .map(|(value, echo)| (value.from(self.peer_timestamp), echo.from(self.timestamp)));
        let header = Header {
            source_port: 1,
            destination_port: 2,
            seq: Seq(seq.from(self.ack)),
            ack: Seq(ack.from(self.seq)),
            flags: Flags(*flags),
            window: *window,
            urgent: 5,
            options: Options {
                mss: *mss,
                window_scale: *scale,
                sack_permitted: mss.is_some(),
                timestamps: stamps,
                sack: blocks,
                acc_ecn: ecn.1.map(|(order, count, n)| AccEcn::new(order, count, n)),
            },
        };
        if let (Some((value, _)), Some((Field::Near(0..), _))) = (stamps, timestamps) {
            self.peer_timestamp = value;
        }
        let mut payload = Parts::new();
        let mut left = *len;
        while left > 0 {
            let n = left.min(1900);
            payload.push(Slice::new(Buf::with_capacity(2048), 66, n));
            left -= n;
        }
        // What there is no TCB for must survive it too.
        if let Some(mut wait) = TimeWait::new(&self.tcb) {
            let _ = wait.input(&header, *len, self.now);
        }
        let _ = input::closed::reply(&header, *len);
        if let Listen::Open = listen::input(&header, *len) {
            let config = Arc::new(Config::default());
            let isn = Isn { seq: Seq(1), timestamp_offset: 0 };
            Tcb::accept(&config, isn, 1460, &header, self.now);
        }
        self.tcb.input_coalesced(&header, payload, 0, ecn.0, self.now);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Segment { .. } => self.segment(step),
            Step::Wait(micros) => self.now += Duration::from_micros(*micros),
            Step::Timeout => {
                if let Some(at) = self.tcb.next_timeout() {
                    self.now = self.now.max(at);
                    self.tcb.on_timeout(self.now);
                }
            }
            Step::Send(n) => drop(self.tcb.send(&vec![7; *n])),
            Step::Receive(n) => drop(self.tcb.receive(&mut vec![0; *n])),
            Step::Outside(n) => self.tcb.set_unread_outside(*n),
            Step::Shutdown => self.tcb.shutdown_write(),
            Step::Release => self.tcb.release(),
            Step::Abort => self.tcb.abort(),
            Step::Mtu(mss) => {
                self.tcb.on_mss(Seq(self.seq.wrapping_sub(1)), *mss);
            }
            Step::Icmp(true) => self.tcb.icmp_error(IcmpError::Hard(Unreachable::Port)),
            Step::Icmp(false) => self.tcb.icmp_error(IcmpError::Soft(Unreachable::Host)),
            Step::Nagle(on) => self.tcb.set_nagle(*on),
        }
        self.drain();
    }
}

fn header(seq: u32, ack: u32, flags: Flags) -> Header {
    Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 5000,
        urgent: 0,
        options: Options {
            mss: Some(1000),
            window_scale: Some(2),
            sack_permitted: true,
            timestamps: Some((1000, 0)),
            ..Options::NONE
        },
    }
}

/// A connection that began as `kind` says, with its handshake done or not.
fn victim(kind: u8, isn: u32, config: Config, offload: TransmitOffload) -> Victim {
    let now = Instant::from_millis(5);
    let config = Arc::new(config);
    let isn = Isn { seq: Seq(isn), timestamp_offset: 9 };
    let ask = if config.ecn == EcnMode::AskAccurate { Flags::ACE } else { Flags::default() };
    let syn = header(u32::MAX - 10, 0, Flags::SYN.with(ask));
    let tcb = match kind {
        0 | 1 => Tcb::connect(&config, isn, 1460, now),
        _ => Tcb::accept(&config, isn, 1460, &syn, now),
    };
    let seq = isn.seq.0;
    let ack = u32::MAX - 9;
    let mut v = Victim { tcb, now, offload, seq, ack, timestamp: 0, peer_timestamp: 1000 };
    v.drain();
    v.seq = seq.wrapping_add(1);
    match kind {
        1 => {
            let agreed = if ask == Flags::ACE { Flags::CWR } else { Flags::default() };
            let flags = Flags::SYN.with(Flags::ACK).with(agreed);
            let answer = header(u32::MAX - 10, v.seq, flags);
            v.tcb.input(&answer, Parts::new(), now);
            assert_eq!(v.tcb.state(), State::Established);
        }
        3.. => {
            let mut answer = header(ack, v.seq, Flags::ACK.with(Flags::of_ace(2)));
            answer.options.timestamps = v.tcb.info().timestamps.then_some((1000, 0));
            v.tcb.input(&answer, Parts::new(), now);
            assert_eq!(v.tcb.state(), State::Established);
        }
        _ => {}
    }
    v
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500, failure_persistence: None, ..ProptestConfig::default()
    })]
    #[test]
    fn garbage_does_no_harm(
        kind in 0..6u8,
        isn in prop_oneof![any::<u32>(), u32::MAX - 20_000..u32::MAX],
        receive_buffer in prop_oneof![Just(1), 1..100_000usize],
        send_buffer in 1..100_000usize,
        switches in any::<(bool, bool, bool, bool)>(),
        segmentation in prop_oneof![Just(0), 0..70_000usize],
        keepalive in any::<bool>(),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let keepalive = keepalive.then_some(Keepalive::new(Duration::from_secs(1)).with_probes(2));
        let (window_scaling, timestamps, sack, accurate) = switches;
        let ecn = if accurate { EcnMode::AskAccurate } else { EcnMode::Accept };
        let config = Config::default()
            .with_receive_buffer(receive_buffer)
            .with_send_buffer(send_buffer)
            .with_window_scaling(window_scaling)
            .with_timestamps(timestamps)
            .with_sack(sack)
            .with_ecn(ecn)
            .with_keepalive(keepalive);
        let mut v = victim(kind, isn, config, TransmitOffload { segmentation, want_sum: true });
        for s in &steps {
            v.step(s);
        }
    }
}
