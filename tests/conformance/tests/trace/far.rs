//! [`Far`]: the other end of the link. It is not a TCP: it sends what the script says,
//! and then closes every connection in order.

use crate::app::{FAR_PORT, Record, Trace};
use crate::known::{IRS, Known, WHOLE, in_fragments, tcp, udp};
use crate::link::{FAR, Link, STACK, prepare};
use crate::script::{DATAGRAM_FLOWS, Opener, Scenario, Step, UNIT};
use anabranch_conformance::until;
use anabranch_device_input::frames;
use wire::tcp::{Flags, Header};
use wire::{Packet, arp, ethernet, ipv4, protocol};

/// The payload of datagrams that only ask whether the stack is there.
const HELLO: &[u8] = b"hello";

/// The far end.
pub struct Far {
    known: Vec<Known>,
    scenario: Scenario,
    record: Record,
    /// The streams of the epilogue come in fragments.
    fragments: bool,
    /// The epilogue waits until the stack has closed all connections.
    waits: bool,
}

impl Far {
    /// One that will play this.
    pub fn new(scenario: &Scenario) -> Far {
        let plans = scenario.plans.iter().enumerate();
        Far {
            known: plans.map(|(number, plan)| Known::new(number, *plan)).collect(),
            record: Record::new(scenario.plans.len()),
            scenario: scenario.clone(),
            fragments: false,
            waits: false,
        }
    }

    /// The same, with the streams of the epilogue in fragments.
    pub fn fragmenting(self) -> Far {
        Far { fragments: true, ..self }
    }

    /// Plays it to `link`. What the application has seen.
    ///
    /// # Panics
    /// If a connection does not end, or the stack says something that it did not
    /// have to say.
    pub fn play(mut self, mut link: impl Link) -> Trace {
        self.run(&mut link);
        drop(link);
        let mut trace = self.record.trace().clone();
        for flow in &mut trace.datagrams {
            flow.retain(|payload| payload != HELLO);
        }
        self.known.iter().for_each(|known| known.check(&trace));
        trace
    }

    fn run(&mut self, link: &mut impl Link) {
        link.start(self.record.clone());
        prepare(link, &self.scenario.plans, FAR_PORT);
        self.greet(link);
        self.say(link);
        if self.waits {
            until("the stack has closed all connections", || {
                self.hear(link);
                self.known.iter().all(|known| known.fin.is_some())
            });
        }
        let expected = self.datagrams();
        self.part(link, &expected);
    }

    /// Plays the scenario. Then it repeats its FIN on the first connection, which the
    /// stack closes first, and opens another connection between the same ports. If the
    /// stack does not keep order, an old segment may reach the new connection, which
    /// resets its sender.
    ///
    /// # Panics
    /// If the stack has no TIME-WAIT: RFC 9293 3.10.7.4 wants the FIN
    /// acknowledged again, and by RFC 1122 4.2.2.13 the new connection may be
    /// accepted if its sequence numbers are beyond the old ones.
    pub fn in_time_wait(mut self, mut link: impl Link, ordered: bool) {
        self.waits = true;
        self.run(&mut link);
        let first = &mut self.known[0];
        assert!(first.fin.is_some() && first.next() as usize > first.fin.unwrap_or(0));
        first.headers.clear();
        let old = first.iss.map(|iss| iss + first.next());
        let fin = first.segment(Flags::ACK.with(Flags::FIN), WHOLE, &[], first.next());
        let syn = Header { seq: IRS + 1_000_000, ..first.syn_header() };
        let syn = tcp(&syn, &[]);
        let (at_once, later) =
            if ordered { (vec![fin, syn], vec![]) } else { (vec![fin], vec![syn]) };
        link.put(at_once);
        let end = IRS + 1 + WHOLE as u32 + 1;
        self.until_it_says(&mut link, "FIN is acknowledged again", |header| {
            header.flags == Flags::ACK && header.ack == end
        });
        link.put(later);
        self.until_it_says(&mut link, "there is another connection", |header| header.flags.syn());
        let headers = &self.known[0].headers;
        let reset = headers.iter().any(|header| header.flags.rst());
        assert!(!ordered || !reset, "{headers:?}");
        let iss = headers.iter().find(|header| header.flags.syn()).map(|header| header.seq);
        assert!(iss.zip(old).is_some_and(|(new, old)| new.after(old)), "{iss:?} after {old:?}");
    }

    /// Waits until there is such a segment of the first connection.
    fn until_it_says(&mut self, link: &mut impl Link, what: &str, so: impl Fn(&Header) -> bool) {
        until(what, || {
            self.hear(link);
            self.known[0].headers.iter().any(&so)
        });
    }

    /// Opens all connections, and makes sure that datagrams are heard.
    fn greet(&mut self, link: &mut impl Link) {
        let request = frames::arp(arp::Operation::Request, FAR.octets(), STACK.octets());
        link.put(vec![Packet::copy_of(&frames::frame(&request, ethernet::ethertype::ARP, None))]);
        let mut rounds = 0usize;
        until("all connections are open, and datagrams heard", || {
            let mut out = Vec::new();
            if rounds.is_multiple_of(50) {
                let silent = self.known.iter().filter(|k| k.iss.is_none());
                out.extend(silent.filter(|k| k.plan.opener == Opener::Peer).map(Known::syn));
                let trace = self.record.trace();
                let deaf = (0..DATAGRAM_FLOWS).filter(|flow| trace.datagrams[*flow].is_empty());
                out.extend(deaf.map(|flow| udp(flow, HELLO)));
            }
            rounds += 1;
            link.put(out);
            self.hear(link);
            let trace = self.record.trace();
            self.known.iter().all(|k| k.iss.is_some())
                && trace.connections.iter().all(|c| c.opened)
                && trace.datagrams.iter().all(|flow| !flow.is_empty())
        });
    }

    /// Processes what the stack has sent, and answers what needs an immediate answer.
    fn hear(&mut self, link: &mut impl Link) -> bool {
        let heard = link.take();
        for frame in &heard {
            let bytes = frame.to_vec();
            let (link_header, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
            match link_header.ethertype {
                ethernet::ethertype::ARP => self.answer_arp(&bytes[len..], link),
                ethernet::ethertype::IPV4 => self.hear_datagram(&bytes[len..], link),
                other => panic!("ethertype {other:#x}"),
            }
        }
        !heard.is_empty()
    }

    fn answer_arp(&self, bytes: &[u8], link: &mut impl Link) {
        let request = arp::Message::parse(bytes).expect("ARP");
        if request.operation == arp::Operation::Request && request.target_ip == FAR {
            let reply = frames::arp(arp::Operation::Reply, FAR.octets(), STACK.octets());
            link.put(vec![Packet::copy_of(&frames::frame(&reply, ethernet::ethertype::ARP, None))]);
        }
    }

    fn hear_datagram(&mut self, bytes: &[u8], link: &mut impl Link) {
        let header = ipv4::Header::parse(bytes).expect("IP");
        if header.protocol != protocol::TCP {
            return;
        }
        let segment = &bytes[usize::from(header.header_len)..usize::from(header.total_len)];
        let (header, len) = wire::tcp::Header::parse(segment).expect("TCP");
        let number = usize::from(header.destination_port - FAR_PORT);
        let known = &mut self.known[number];
        known.heard(&header, &segment[len..]);
        if header.flags.syn() && known.plan.opener == Opener::Stack {
            link.put(vec![known.syn()]);
        }
    }

    /// The script.
    fn say(&mut self, link: &mut impl Link) {
        let mut frames = std::collections::VecDeque::new();
        for (index, step) in self.scenario.steps.iter().enumerate() {
            self.frames_of(index, step, &mut |frame| frames.push_back(frame));
        }
        let sizes = self.scenario.batches.clone();
        for size in sizes.into_iter().cycle() {
            if frames.is_empty() {
                break;
            }
            let batch = frames.drain(..size.min(frames.len())).collect();
            link.put(batch);
        }
    }

    fn frames_of(&self, index: usize, step: &Step, out: &mut impl FnMut(Packet)) {
        let known = |flow: usize| &self.known[flow % self.known.len()];
        let at = |place: u16| usize::from(place) * UNIT;
        match *step {
            Step::Data { flow, place, len, twist } => {
                out(known(flow).data(at(place), at(len), twist, 0));
            }
            Step::Train { flow, place, count, twist } => {
                for n in 0..count {
                    out(known(flow).data(at(place + 2 * n), at(2), twist, 0));
                }
            }
            Step::Fin { flow, place } => {
                out(known(flow).segment(Flags::FIN.with(Flags::ACK), at(place), &[], 0));
            }
            Step::Reset { flow, place } => out(known(flow).segment(Flags::RST, at(place), &[], 0)),
            // After a RST it would open another connection.
            Step::Syn { flow } if self.was_reset(index, flow) => {}
            Step::Syn { flow } => out(known(flow).syn()),
            Step::Datagram { flow, .. } => {
                out(udp(flow % DATAGRAM_FLOWS, &payload(index, step)));
            }
        }
    }

    /// Has the script a RST for this connection before step `index`?
    fn was_reset(&self, index: usize, flow: usize) -> bool {
        let count = self.known.len();
        let is_same = |other: usize| other % count == flow % count;
        let mut before = self.scenario.steps[..index].iter();
        before.any(|step| matches!(step, Step::Reset { flow, .. } if is_same(*flow)))
    }

    /// The datagrams of the script, by flow, how many.
    fn datagrams(&self) -> Vec<usize> {
        let mut counts = vec![0; DATAGRAM_FLOWS];
        for step in &self.scenario.steps {
            if let Step::Datagram { flow, .. } = step {
                counts[flow % DATAGRAM_FLOWS] += 1;
            }
        }
        counts
    }

    /// Closes all connections that are left.
    fn part(&mut self, link: &mut impl Link, datagrams: &[usize]) {
        let mut quiet = 0usize;
        until("all connections have ended, and all datagrams come", || {
            if quiet.is_multiple_of(50) {
                let trace = self.record.trace();
                let open = self.known.iter().filter(|k| trace.connections[k.number].end.is_none());
                let mut frames: Vec<Packet> = open.flat_map(Known::epilogue).collect();
                drop(trace);
                if self.fragments {
                    frames = frames.iter().flat_map(in_fragments).collect();
                }
                link.put(frames);
            }
            quiet += usize::from(!self.hear(link));
            link.put(self.known.iter_mut().filter_map(Known::acknowledge).collect());
            let trace = self.record.trace();
            let came = trace.datagrams.iter().zip(datagrams).all(|(came, wanted)| {
                came.iter().filter(|payload| *payload != HELLO).count() == *wanted
            });
            came && trace.connections.iter().all(|c| c.end.is_some())
        });
    }
}

/// The payload of the datagram that is step `index`: it tells which it is.
fn payload(index: usize, step: &Step) -> Vec<u8> {
    let Step::Datagram { len, .. } = step else { return Vec::new() };
    let mut payload = (index as u32).to_be_bytes().to_vec();
    payload.resize(4 + usize::from(*len) * UNIT, 7);
    payload
}
