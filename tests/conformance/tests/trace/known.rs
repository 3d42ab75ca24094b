//! [`Known`]: what the far end knows of a connection; and the frames that it
//! makes for one.

use crate::app::{FAR_DATAGRAMS, FAR_PORT, Trace, answer};
use crate::link::{DATAGRAMS, FAR, PORT, STACK};
use crate::script::{Manner, Opener, PLACES, Plan, UNIT, byte};
use anabranch_device_input::frames;
use wire::tcp::{Flags, Header, Options};
use wire::{Packet, Seq, ethernet, ipv4, protocol};

/// The far end's initial sequence number.
pub const IRS: Seq = Seq(0xffff_f800);
/// Bytes of the whole stream.
pub const WHOLE: usize = PLACES as usize * UNIT;
/// What the far end knows of a connection.
pub struct Known {
    pub plan: Plan,
    pub number: usize,
    /// The stack's port.
    pub port: u16,
    /// The stack's initial sequence number.
    pub iss: Option<Seq>,
    /// What the stack has sent, by place.
    pub sent: Vec<Option<u8>>,
    /// Where its FIN stands.
    pub fin: Option<usize>,
    /// How much of it has been acknowledged.
    pub acked: u32,
    /// The headers of all its segments.
    pub headers: Vec<Header>,
}

impl Known {
    pub fn new(number: usize, plan: Plan) -> Known {
        let port = PORT + number as u16;
        Known {
            plan,
            number,
            port,
            iss: None,
            sent: vec![None; 2 * WHOLE],
            fin: None,
            acked: 0,
            headers: Vec::new(),
        }
    }

    /// The place behind all that the stack has sent without a gap, its FIN
    /// counted.
    pub fn next(&self) -> u32 {
        let bytes = self.sent.iter().take_while(|b| b.is_some()).count();
        (bytes + usize::from(self.fin == Some(bytes))) as u32
    }

    /// The stack has sent this segment.
    pub fn heard(&mut self, header: &Header, data: &[u8]) {
        self.headers.push(*header);
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
    pub fn segment(&self, flags: Flags, place: usize, data: &[u8], acked: u32) -> Packet {
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

    pub fn data(&self, place: usize, len: usize, twist: u8, acked: u32) -> Packet {
        let bytes: Vec<u8> = (place..place + len).map(|at| byte(self.number, at, twist)).collect();
        self.segment(Flags::ACK, place, &bytes, acked)
    }

    /// Our SYN, or if the stack opens, our answer to its.
    pub fn syn(&self) -> Packet {
        tcp(&self.syn_header(), &[])
    }

    /// Its header.
    pub fn syn_header(&self) -> Header {
        let flags = match self.plan.opener {
            Opener::Peer => Flags::SYN,
            Opener::Stack => Flags::SYN.with(Flags::ACK),
        };
        Header {
            source_port: FAR_PORT + self.number as u16,
            destination_port: self.port,
            seq: IRS,
            ack: self.iss.filter(|_| flags.ack()).map_or(Seq(0), |iss| iss + 1),
            flags,
            window: 0xffff,
            urgent: 0,
            options: Options { mss: Some(1460), ..Options::NONE },
        }
    }

    /// All of the stream, its end, and an acknowledgment of all that has come.
    pub fn epilogue(&self) -> Vec<Packet> {
        let acked = self.next();
        let mut frames: Vec<Packet> = (0..WHOLE)
            .step_by(4 * UNIT)
            .map(|place| self.data(place, (4 * UNIT).min(WHOLE - place), 0, acked))
            .collect();
        frames.push(self.segment(Flags::ACK.with(Flags::FIN), WHOLE, &[], acked));
        frames
    }

    /// An acknowledgment, if there is more to acknowledge than was.
    pub fn acknowledge(&mut self) -> Option<Packet> {
        let next = self.next();
        let is_more = next != std::mem::replace(&mut self.acked, next);
        is_more.then(|| self.segment(Flags::ACK, WHOLE + 1, &[], next))
    }

    /// Has the stack said what it had to say?
    pub fn check(&self, trace: &Trace) {
        let seen = &trace.connections[self.number];
        let most = if let Manner::Close(most) = self.plan.manner { most } else { usize::MAX };
        let answers: Vec<u8> = seen.stream.iter().take(most).map(|b| answer(*b)).collect();
        let sent: Vec<u8> = self.sent.iter().map_while(|b| *b).collect();
        assert_eq!(sent, answers[..sent.len()], "connection {}", self.number);
        if let Some(fin) = self.fin {
            assert_eq!(fin, answers.len(), "the end of connection {}", self.number);
        }
    }
}

/// The datagram in `frame` in fragments, the last one first.
pub fn in_fragments(frame: &Packet) -> Vec<Packet> {
    const LEN: usize = 8 * 30;
    let bytes = &frame.to_vec()[ethernet::LEN..];
    let header = ipv4::Header::parse(bytes).expect("IP");
    let payload = &bytes[usize::from(header.header_len)..];
    let sum = payload.iter().fold(0u16, |sum, byte| sum.wrapping_mul(31) ^ u16::from(*byte));
    let fragment = |(n, part): (usize, &[u8])| {
        let header = ipv4::Header {
            identification: sum,
            more_fragments: (n + 1) * LEN < payload.len(),
            fragment_offset: (n * LEN) as u16,
            ..header
        };
        let datagram = frames::datagram(header, part);
        Packet::copy_of(&frames::frame(&datagram, ethernet::ethertype::IPV4, None))
    };
    let mut fragments: Vec<Packet> = payload.chunks(LEN).enumerate().map(fragment).collect();
    fragments.reverse();
    fragments
}

fn framed(protocol: u8, payload: &[u8]) -> Packet {
    let header = frames::ip(FAR.into(), STACK.into(), protocol, payload.len());
    let datagram = frames::datagram(header, payload);
    Packet::copy_of(&frames::frame(&datagram, ethernet::ethertype::IPV4, None))
}

pub fn tcp(header: &Header, data: &[u8]) -> Packet {
    framed(protocol::TCP, &frames::segment(header, data, FAR.into(), STACK.into()))
}

pub fn udp(flow: usize, payload: &[u8]) -> Packet {
    let ports = (FAR_DATAGRAMS + flow as u16, DATAGRAMS);
    framed(protocol::UDP, &frames::udp(ports, payload, FAR.into(), STACK.into()))
}
