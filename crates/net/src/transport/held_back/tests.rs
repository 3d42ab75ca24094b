use crate::config::{Config, Unit};
use crate::connections::{SharedRef, SharedTable};
use crate::harness::*;
use crate::{Call, Departures, Domain, Egress, HostShared};
use std::sync::Arc;
use sync::spin::Spin;
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Packet, Seq, arp};

/// Without the option, RFC 9293 MUST-15.
const MSS: usize = 536;
const NOW: Instant = Instant::from_millis(5000);

/// Contexts over one table, as two threads have them.
struct Contexts {
    domains: [Domain<App, SharedRef<Spin, ()>>; 2],
    departures: Departures,
}

impl Contexts {
    fn new() -> Contexts {
        let mut config = Config::new(vec![interface()], 7);
        config.tcp = Arc::new(tcp::Config::default().with_nagle(false));
        let config = Arc::new(config);
        let table = Arc::new(SharedTable::new(&config, 2, Spin::default));
        let (departures, host_shared) = (Departures::new(2), HostShared::new(&config));
        let domains = [0, 1].map(|index| {
            let (unit, conns) = (Unit::any(index, 2), SharedRef::new(table.clone()));
            Domain::with_connections(config.clone(), unit, App::default(), conns)
                .sharing(&host_shared)
                .departing(departures.clone())
        });
        let mut contexts = Contexts { domains, departures };
        contexts.takes(0, &arp_frame(arp::Operation::Request, PEER, US));
        let mut egress = Egress::new(1);
        for domain in &mut contexts.domains {
            domain.call(Call::Listen(end(US, 80), ()), NOW, &mut egress);
        }
        contexts
    }

    /// A frame comes to a context. What leaves, and whether more is to be done.
    fn takes(&mut self, context: usize, frame: &[u8]) -> (Vec<Packet>, bool) {
        let mut egress = Egress::new(1);
        self.domains[context].input(Packet::copy_of(frame), NOW, &mut egress);
        self.serves(context, egress)
    }

    fn serves(&mut self, context: usize, mut egress: Egress) -> (Vec<Packet>, bool) {
        let more = self.domains[context].serve(NOW, &mut egress, usize::MAX);
        (egress.batch(0).drain(..).collect(), more)
    }

    /// The device has what a context has sent.
    fn hands_on(&mut self, context: u16) {
        let turns = self.domains[usize::from(context)].take_report().expect("it has sent");
        self.departures.handed_on(context, turns);
    }

    /// A peer has connected, by segments to the first context; our next sequence number.
    fn connected(&mut self) -> Seq {
        let (answer, _) = self.takes(0, &segment(Flags::SYN, 0, Seq(0)));
        self.hands_on(0);
        assert_eq!(self.domains[0].take_report(), None, "once");
        let ours = parse_tcp(&answer[0]).seq + 1;
        self.takes(0, &segment(Flags::ACK, 1, ours));
        ours
    }
}

fn segment(flags: Flags, seq: u32, ack: Seq) -> Vec<u8> {
    let header = Header {
        source_port: 5000,
        destination_port: 80,
        seq: Seq(seq),
        ack,
        flags,
        window: 10_000,
        urgent: 0,
        options: Options::NONE,
    };
    tcp_frame(&header, b"")
}

/// A thread is held up with what it has sent, of which it looks to another as if it were lost.
#[test]
fn a_retransmission_waits_for_what_it_follows() {
    let mut contexts = Contexts::new();
    let ours = contexts.connected();
    contexts.domains[0].app.text = vec![7; 4 * MSS];
    // The application writes, in the first context.
    let (id, _) = contexts.domains[0].app.opened[0];
    contexts.domains[0].call(Call::Notify(id), NOW, &mut Egress::new(1));
    let (sent, more) = contexts.serves(0, Egress::new(1));
    assert_eq!((sent.len(), more), (4, false));
    for _ in 0..2 {
        let (out, more) = contexts.takes(1, &segment(Flags::ACK, 1, ours));
        assert_eq!((out.len(), more), (0, false));
    }
    let (out, more) = contexts.takes(1, &segment(Flags::ACK, 1, ours));
    assert_eq!((out.len(), more), (0, true), "the first context's frames have not left");
    assert!(contexts.domains[1].is_held_back());
    // Nor does it leave by the way of the other context, or twice.
    let (out, more) = contexts.takes(1, &segment(Flags::ACK, 1, ours));
    assert_eq!((out.len(), more), (0, true));
    contexts.hands_on(0);
    let (out, more) = contexts.serves(1, Egress::new(1));
    assert_eq!((out.len(), more), (1, false));
    assert_eq!(parse_tcp(&out[0]).seq, ours, "the first again");
}

/// Where all has left, nothing waits.
#[test]
fn a_retransmission_that_follows_nothing_goes_at_once() {
    let mut contexts = Contexts::new();
    let ours = contexts.connected();
    contexts.domains[0].app.text = vec![7; 4 * MSS];
    let (id, _) = contexts.domains[0].app.opened[0];
    contexts.domains[0].call(Call::Notify(id), NOW, &mut Egress::new(1));
    let (sent, _) = contexts.serves(0, Egress::new(1));
    assert_eq!(sent.len(), 4);
    contexts.hands_on(0);
    let again: Vec<Packet> =
        (0..3).flat_map(|_| contexts.takes(1, &segment(Flags::ACK, 1, ours)).0).collect();
    assert_eq!(again.len(), 1);
    assert_eq!(parse_tcp(&again[0]).seq, ours);
}
