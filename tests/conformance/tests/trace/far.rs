//! [`Far`]: the other end of the link. It is no TCP: it says what the script
//! says, and after that closes every connection in order.

use crate::app::{End, FAR_DATAGRAMS, FAR_PORT, Record, Trace, answer};
use crate::link::{DATAGRAMS, FAR, Link, PORT, STACK, prepare};
use crate::script::{DATAGRAM_FLOWS, Manner, Opener, PLACES, Plan, Scenario, Step, UNIT, byte};
use anabranch_conformance::until;
use anabranch_device_input::frames;
use wire::tcp::{Flags, Header, Options};
use wire::{Packet, Seq, arp, ethernet, ipv4, protocol};

/// The far end's initial sequence number.
const IRS: Seq = Seq(0xffff_f800);
/// Bytes of the whole stream.
const WHOLE: usize = PLACES as usize * UNIT;
/// The payload of datagrams that only ask whether somebody is there.
const HELLO: &[u8] = b"hello";

/// What the far end knows of a connection.
struct Known {
    plan: Plan,
    number: usize,
    /// The stack's port.
    port: u16,
    /// The stack's initial sequence number.
    iss: Option<Seq>,
    /// What the stack has sent, by place.
    sent: Vec<Option<u8>>,
    /// Where its FIN stands.
    fin: Option<usize>,
    /// How much of it has been acknowledged.
    acked: u32,
}

impl Known {
    fn new(number: usize, plan: Plan) -> Known {
        let port = PORT + number as u16;
        Known { plan, number, port, iss: None, sent: vec![None; 2 * WHOLE], fin: None, acked: 0 }
    }

    /// The place behind all that the stack has sent without a gap, its FIN
    /// counted.
    fn next(&self) -> u32 {
        let bytes = self.sent.iter().take_while(|b| b.is_some()).count();
        (bytes + usize::from(self.fin == Some(bytes))) as u32
    }

    /// The stack has sent this segment.
    fn heard(&mut self, header: &Header, data: &[u8]) {
        if header.flags.syn() {
            self.iss = Some(header.seq);
            self.port = header.source_port;
        }
        let Some(iss) = self.iss.filter(|_| !header.flags.syn() && !header.flags.rst()) else {
            return;
        };
        let at = header.seq.distance_from(iss + 1) as usize;
        for (place, byte) in self.sent[at..].iter_mut().zip(data) {
            assert!(place.is_none_or(|before| before == *byte), "it is another byte now");
            *place = Some(*byte);
        }
        if header.flags.fin() {
            let end = at + data.len();
            assert!(self.fin.is_none_or(|before| before == end), "the end is elsewhere now");
            self.fin = Some(end);
        }
    }

    /// A frame to the stack, from `place` (in bytes) of our stream, that
    /// acknowledges `acked` bytes.
    fn segment(&self, flags: Flags, place: usize, data: &[u8], acked: u32) -> Packet {
        let header = Header {
            source_port: FAR_PORT + self.number as u16,
            destination_port: self.port,
            seq: IRS + 1 + place as u32,
            ack: self.iss.map_or(Seq(0), |iss| iss + 1 + acked),
            flags,
            window: 0xffff,
            urgent: 0,
            options: Options::NONE,
        };
        tcp(&header, data)
    }

    fn data(&self, place: usize, len: usize, twist: u8, acked: u32) -> Packet {
        let bytes: Vec<u8> = (place..place + len).map(|at| byte(self.number, at, twist)).collect();
        self.segment(Flags::ACK, place, &bytes, acked)
    }

    /// Our SYN, or if the stack opens, our answer to its.
    fn syn(&self) -> Packet {
        let flags = match self.plan.opener {
            Opener::Peer => Flags::SYN,
            Opener::Stack => Flags::SYN.with(Flags::ACK),
        };
        let header = Header {
            source_port: FAR_PORT + self.number as u16,
            destination_port: self.port,
            seq: IRS,
            ack: self.iss.filter(|_| flags.ack()).map_or(Seq(0), |iss| iss + 1),
            flags,
            window: 0xffff,
            urgent: 0,
            options: Options { mss: Some(1460), ..Options::NONE },
        };
        tcp(&header, &[])
    }

    /// All of the stream, its end, and an acknowledgment of all that has come.
    fn epilogue(&self) -> Vec<Packet> {
        let acked = self.next();
        let mut frames: Vec<Packet> = (0..WHOLE)
            .step_by(4 * UNIT)
            .map(|place| self.data(place, (4 * UNIT).min(WHOLE - place), 0, acked))
            .collect();
        frames.push(self.segment(Flags::ACK.with(Flags::FIN), WHOLE, &[], acked));
        frames
    }

    /// An acknowledgment, if there is more to acknowledge than was.
    fn acknowledge(&mut self) -> Option<Packet> {
        let next = self.next();
        let is_more = next != std::mem::replace(&mut self.acked, next);
        is_more.then(|| self.segment(Flags::ACK, WHOLE + 1, &[], next))
    }

    /// Has the stack said what it had to say?
    fn check(&self, trace: &Trace) {
        let seen = &trace.connections[self.number];
        let most = if let Manner::Close(most) = self.plan.manner { most } else { usize::MAX };
        let answers: Vec<u8> = seen.stream.iter().take(most).map(|b| answer(*b)).collect();
        let sent: Vec<u8> = self.sent.iter().map_while(|b| *b).collect();
        if seen.end == Some(End::Whole) && self.fin.is_some() {
            assert!(sent.len() <= answers.len());
        }
        assert_eq!(sent, answers[..sent.len()], "connection {}", self.number);
        if let Some(fin) = self.fin {
            assert_eq!(fin, answers.len(), "the end of connection {}", self.number);
        }
    }
}

fn framed(protocol: u8, payload: &[u8]) -> Packet {
    let header = frames::ip(FAR.into(), STACK.into(), protocol, payload.len());
    let datagram = frames::datagram(header, payload);
    Packet::copy_of(&frames::frame(&datagram, ethernet::ethertype::IPV4, None))
}

fn tcp(header: &Header, data: &[u8]) -> Packet {
    framed(protocol::TCP, &frames::segment(header, data, FAR.into(), STACK.into()))
}

fn udp(flow: usize, payload: &[u8]) -> Packet {
    let ports = (FAR_DATAGRAMS + flow as u16, DATAGRAMS);
    framed(protocol::UDP, &frames::udp(ports, payload, FAR.into(), STACK.into()))
}

/// The far end.
pub struct Far {
    known: Vec<Known>,
    scenario: Scenario,
    record: Record,
}

impl Far {
    /// One that will play this.
    pub fn new(scenario: &Scenario) -> Far {
        let plans = scenario.plans.iter().enumerate();
        Far {
            known: plans.map(|(number, plan)| Known::new(number, *plan)).collect(),
            record: Record::new(scenario.plans.len()),
            scenario: scenario.clone(),
        }
    }

    /// Plays it to `link`. What the application has seen.
    ///
    /// # Panics
    /// If a connection does not end, or the stack says something that it did not
    /// have to say.
    pub fn play(mut self, mut link: impl Link) -> Trace {
        link.start(self.record.clone());
        prepare(&mut link, &self.scenario.plans, FAR_PORT);
        self.greet(&mut link);
        self.say(&mut link);
        let expected = self.datagrams();
        self.part(&mut link, &expected);
        drop(link);
        let mut trace = self.record.trace().clone();
        for flow in &mut trace.datagrams {
            flow.retain(|payload| payload != HELLO);
        }
        self.known.iter().for_each(|known| known.check(&trace));
        trace
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

    /// Takes in what the stack has sent, and answers what has to be answered at
    /// once.
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
                let frames: Vec<Packet> = open.flat_map(Known::epilogue).collect();
                drop(trace);
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
