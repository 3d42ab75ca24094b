//! [`BenchPlan`]: what to measure.

use crate::Error;
use crate::load::Meter;
use device::fault::Spec;
use instrument::Instruments;
use std::sync::Arc;

/// What the connections do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// TCP: data without end.
    Bulk,
    /// TCP: a message is echoed, one outstanding on each connection.
    Rr,
    /// TCP: connect, one message echoed, close, and again.
    Crr,
    /// UDP: datagrams without end, a window of them outstanding on each flow.
    Udp,
    /// UDP: a datagram of the driver is echoed, one outstanding on each flow.
    UdpRr,
}

impl Workload {
    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Workload::Bulk => "bulk",
            Workload::Rr => "rr",
            Workload::Crr => "crr",
            Workload::Udp => "udp",
            Workload::UdpRr => "udp-rr",
        }
    }
    /// Does it count transactions (and not bits)?
    pub const fn is_transactions(self) -> bool {
        matches!(self, Workload::Rr | Workload::Crr | Workload::UdpRr)
    }
    /// Is it over UDP?
    pub const fn is_udp(self) -> bool {
        matches!(self, Workload::Udp | Workload::UdpRr)
    }
    /// The unit of its figures.
    pub const fn unit(self) -> &'static str {
        if self.is_transactions() { "transactions/s" } else { "Gbit/s" }
    }
}

/// Which way data goes, as the stack under test sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It sends.
    Send,
    /// It receives.
    Receive,
    /// It does both at once.
    Both,
}

impl Direction {
    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Send => "send",
            Direction::Receive => "receive",
            Direction::Both => "both",
        }
    }
    pub(crate) const fn sends(self) -> bool {
        matches!(self, Direction::Send | Direction::Both)
    }
    pub(crate) const fn receives(self) -> bool {
        matches!(self, Direction::Receive | Direction::Both)
    }
}

/// What stands at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Another stack like the one under test.
    Stack,
    /// A simulated peer inside the device (the papers' in-memory drivers),
    /// which costs next to nothing.
    Driver,
}

impl Peer {
    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Peer::Stack => "stack",
            Peer::Driver => "driver",
        }
    }
}

/// The family of the two hosts' addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Its name on the command line; its number in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Family::V4 => "4",
            Family::V6 => "6",
        }
    }
    /// Bytes of the IP header.
    const fn header(self) -> usize {
        match self {
            Family::V4 => wire::ipv4::LEN,
            Family::V6 => wire::ipv6::LEN,
        }
    }
}

/// What stands between the application's data and the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presentation {
    /// Nothing: bytes are bytes.
    #[default]
    None,
    /// Arrays of structures are encoded in XDR and decoded (Schmidt and Suda
    /// 1996, 4.2).
    Xdr,
}

impl Presentation {
    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Presentation::None => "none",
            Presentation::Xdr => "xdr",
        }
    }
}

/// How a driver comes by the buffers of the payload that it sends. (Buffers of
/// what the stack sends are always taken last in, first out, by each thread.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiveBuffers {
    /// Few, over and over: payload comes up in the cache.
    #[default]
    Lifo,
    /// From a circular list twice the size of the second-level cache, one for
    /// each queue: payload comes from memory (Yates 1996, 3.2).
    Circular,
}

impl ReceiveBuffers {
    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            ReceiveBuffers::Lifo => "lifo",
            ReceiveBuffers::Circular => "circular",
        }
    }
    /// Bytes of all buffers of a queue.
    pub fn bytes(self) -> usize {
        match self {
            ReceiveBuffers::Lifo => 64 * 1024,
            ReceiveBuffers::Circular => 2 * crate::setup::machine::second_level_cache(),
        }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// What the connections do.
    pub workload: Workload,
    /// The organizations, by name; their samples are interleaved.
    pub organizations: Vec<String>,
    /// Processors of the stack under test; a peer that is a stack has as many.
    pub processors: usize,
    /// Connections, or flows of UDP.
    pub connections: usize,
    /// How many of them carry anything; `None`: all.
    pub active: Option<usize>,
    /// Bytes of the application's reads and writes (bulk), of a message (rr,
    /// crr, udp-rr) or of a datagram's payload (udp); `None`: 64 KiB, 64 bytes, or
    /// as many as the MTU takes.
    pub bytes: Option<usize>,
    /// Bytes of the link's largest IP datagram.
    pub mtu: usize,
    /// Which way data goes (bulk and udp).
    pub direction: Direction,
    /// What stands at the other end.
    pub peer: Peer,
    /// The family of the addresses.
    pub family: Family,
    /// What stands above the transport, of bulk and udp.
    pub presentation: Presentation,
    /// Readers in bulk wait with their buffers, so that data is verified as it is copied
    /// there.
    pub posted: bool,
    /// Each connection of rr has one transaction, and then rests.
    pub resting: bool,
    /// Plain segments pass the layers by, at both ends.
    pub express: bool,
    /// How the driver comes by the payload that it sends.
    pub receive_buffers: ReceiveBuffers,
    /// Are transport checksums computed and verified? If not, by neither end: as
    /// if the device did both.
    pub checksum: bool,
    /// Bytes of payload in a segment that a driver receives, at most.
    pub segment: Option<usize>,
    /// What the link does to packets on their way, between two stacks; none: nothing.
    pub faults: Option<Spec>,
    /// Length of a sample, seconds.
    pub seconds: f64,
    /// Samples of each organization.
    pub repeat: usize,
    /// Time between the last connection's establishment and the sample, seconds.
    pub warm_up: f64,
    /// Time for the bound before each sample, seconds.
    pub bound: f64,
    /// The congestion control of both ends.
    pub congestion: tcp::congestion::Algorithm,
    /// What the organizations leave open.
    pub options: organizations::Options,
    /// Packets that a connection may send in its turn.
    pub burst: usize,
    /// Measure with instruments, too: threads, locks, queues, connections.
    pub instruments: bool,
    /// Measure organizations that run on one processor only on one, beside the
    /// others, for comparison.
    pub reference: bool,
    /// Confine all threads of a sample to as many processors as the stack under
    /// test has, the first ones that the process may use ([`crate::setup::affinity`]): for
    /// organizations whose threads are more.
    pub confine: bool,
}

impl BenchPlan {
    /// The set-up of Yates 1996, 3.2: packets of 4 KB of payload on a link with
    /// FDDI's MTU, and a driver at the other end.
    pub fn yates(self) -> BenchPlan {
        let (bytes, segment) = (Some(4096), Some(4096));
        BenchPlan { mtu: 4352, bytes, segment, peer: Peer::Driver, ..self }
    }
}

impl Default for BenchPlan {
    fn default() -> BenchPlan {
        BenchPlan {
            workload: Workload::Bulk,
            organizations: vec!["uniprocessor".to_owned()],
            processors: 1,
            connections: 1,
            active: None,
            bytes: None,
            mtu: 1500,
            direction: Direction::Send,
            peer: Peer::Stack,
            family: Family::V4,
            presentation: Presentation::None,
            posted: false,
            resting: false,
            express: true,
            receive_buffers: ReceiveBuffers::Lifo,
            checksum: true,
            segment: None,
            faults: None,
            seconds: 1.0,
            repeat: 5,
            warm_up: 0.3,
            bound: 0.3,
            congestion: Default::default(),
            options: organizations::Options::default(),
            burst: 32,
            instruments: false,
            reference: false,
            confine: false,
        }
    }
}

/// Bytes of the TCP header with timestamps (RFC 7323 3.2).
const TCP_HEADER: usize = 32;
/// Bytes of a message of the presentation layer over TCP, about.
const XDR_MESSAGE: usize = 4096;
/// The least bytes of a datagram with a message of the presentation layer.
const XDR_DATAGRAM: usize = 64;
/// Bytes of the UDP header.
const UDP_HEADER: usize = 8;
/// The most connections that a plan may have.
const MAX_CONNECTIONS: usize = 1 << 20;

impl BenchPlan {
    /// Bytes of the application's reads and writes, messages or datagrams.
    pub fn bytes(&self) -> usize {
        self.bytes.unwrap_or(match self.workload {
            Workload::Bulk if self.presentation == Presentation::Xdr => XDR_MESSAGE,
            Workload::Bulk => 64 * 1024,
            Workload::Rr | Workload::Crr | Workload::UdpRr => 64,
            Workload::Udp => self.mtu.saturating_sub(self.headers()),
        })
    }

    /// Bytes of the headers of IP and the transport in a packet with data.
    fn headers(&self) -> usize {
        self.family.header() + if self.workload.is_udp() { UDP_HEADER } else { TCP_HEADER }
    }

    /// Bytes of payload in a packet that is as full as it gets: what the bound
    /// is measured with.
    pub fn payload_in_packet(&self) -> usize {
        let fits =
            self.mtu.saturating_sub(self.headers()).min(self.segment.unwrap_or(usize::MAX)).max(1);
        self.bytes().clamp(1, fits)
    }

    /// How many connections carry something.
    pub fn active(&self) -> usize {
        self.active.unwrap_or(self.connections).min(self.connections)
    }

    /// Are both ends polled by one thread?
    pub fn is_single(&self, organization: &str) -> bool {
        // What a bad link holds back comes up by a descriptor that threads sleep at.
        let plain = self.peer == Peer::Stack && self.faults.is_none();
        organization == "uniprocessor" && self.processors == 1 && plain
    }

    /// What a sample is measured with.
    pub(crate) fn make_instruments(&self) -> Option<Arc<Instruments>> {
        self.instruments.then(Instruments::new)
    }

    /// What the loads of a sample count in. Connections of two stacks carry nothing until all are open.
    pub(crate) fn meter(&self) -> Meter {
        let meter = if self.instruments { Meter::detailed() } else { Meter::default() };
        if self.peer == Peer::Stack && !self.workload.is_udp() {
            meter.held().hold();
        }
        meter
    }

    /// The plan as it is for `organization`: on one processor if that runs on no
    /// more and is measured for comparison.
    pub(crate) fn on(&self, organization: &str) -> BenchPlan {
        let single = organizations::find(organization).is_some_and(|entry| entry.single);
        let processors = if self.reference && single { 1 } else { self.processors };
        BenchPlan { processors, reference: processors != self.processors, ..self.clone() }
    }

    /// Does the plan make sense?
    ///
    /// # Errors
    /// [`Error::Plan`], in one line that says what to change.
    pub fn check(&self) -> Result<(), Error> {
        let no = |what: String| Err(Error::Plan(what));
        check_names(&self.organizations)?;
        let counts = [
            ("organizations", self.organizations.len()),
            ("processors", self.processors),
            ("repeat", self.repeat),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return no(format!("{name} must be at least 1"));
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            return no(format!("connections must be from 1 to {MAX_CONNECTIONS}"));
        }
        if self.active.is_some_and(|active| !(1..=self.connections).contains(&active)) {
            return no(format!("active must be from 1 to the {} connections", self.connections));
        }
        let least = if self.family == Family::V6 { wire::ipv6::MIN_MTU } else { 73 };
        if !(least..=65535).contains(&self.mtu) {
            let least = least.max(576);
            return no(format!(
                "an MTU of {} bytes does not work: take {least} to 65535",
                self.mtu
            ));
        }
        if !(1..=16 << 20).contains(&self.bytes()) {
            return no("bytes must be from 1 to 16777216".to_owned());
        }
        let name = self.workload.name();
        if self.workload.is_udp() && !self.is_udp_payload() {
            let most = self.mtu - self.headers();
            return no(format!("a datagram of {name} must have 16 to {most} bytes at this MTU"));
        }
        if self.workload.is_udp() && self.connections > 16384 {
            return no(format!("{name} takes at most 16384 flows"));
        }
        if self.posted
            && (self.workload != Workload::Bulk || self.presentation != Presentation::None)
        {
            return no("--posted goes with bulk, without a presentation layer".to_owned());
        }
        self.check_driver()?;
        self.check_presentation()?;
        let times = [self.seconds, self.warm_up, self.bound];
        if times.iter().any(|t| !t.is_finite() || *t < 0.0 || *t > 3600.0) || self.seconds == 0.0 {
            return no("seconds must be more than 0 and at most 3600".to_owned());
        }
        Ok(())
    }

    /// What the simulated peers of the papers can do.
    fn check_driver(&self) -> Result<(), Error> {
        let no = |what: &str| Err(Error::Plan(what.to_owned()));
        let circular = self.receive_buffers == ReceiveBuffers::Circular;
        if circular && (self.peer == Peer::Stack || self.direction != Direction::Receive) {
            return no("circular buffers are the driver's: --peer driver --direction receive");
        }
        if self.peer == Peer::Driver && self.faults.is_some() {
            return no(
                "a driver repeats nothing: loss, reorder, duplicate and delay_us take a stack as peer",
            );
        }
        match (self.peer, self.workload) {
            (Peer::Stack, Workload::UdpRr) => {
                return no("udp-rr is asked by the driver: use --peer driver");
            }
            (Peer::Stack, _) => return Ok(()),
            (Peer::Driver, Workload::Crr) => {
                return no("the driver's connections stay: use --peer stack for crr");
            }
            (Peer::Driver, _) => {}
        }
        if self.direction == Direction::Both && !self.workload.is_transactions() {
            return no("the driver goes one way: use --direction send or receive");
        }
        if self.active() != self.connections && self.driver_begins() {
            return no("the driver speaks on all its connections: leave out --active");
        }
        Ok(())
    }

    /// What the presentation layer can do.
    fn check_presentation(&self) -> Result<(), Error> {
        let no = |what: &str| Err(Error::Plan(what.to_owned()));
        if self.presentation == Presentation::None {
            return Ok(());
        }
        if self.workload.is_transactions() {
            return no("--presentation xdr goes with bulk and udp only");
        }
        if self.peer == Peer::Driver && self.direction.receives() {
            return no("the driver sends no XDR: use --peer stack, or --direction send");
        }
        if self.bytes() < XDR_DATAGRAM {
            return no("messages in XDR have at least 64 bytes: leave out --bytes");
        }
        Ok(())
    }

    /// Does a driver open the connections, and send on them of its own?
    pub(crate) fn driver_begins(&self) -> bool {
        let begins = self.workload.is_transactions() || self.direction.receives();
        self.peer == Peer::Driver && begins
    }

    /// Does a driver open the connections, or have its own flows? It does where it
    /// can: a stack that is called while it sends has its locks wanted by one more.
    pub(crate) fn driver_opens(&self) -> bool {
        let all = self.workload == Workload::Bulk && self.active() == self.connections;
        // The presentation layer wants to know of its connections beforehand.
        let plain = self.presentation == Presentation::None;
        self.driver_begins() || (self.peer == Peer::Driver && all && plain)
    }

    fn is_udp_payload(&self) -> bool {
        (16..=self.mtu - self.headers()).contains(&self.bytes())
    }
}

/// Is there an organization of each of these names?
///
/// # Errors
/// [`Error::Plan`], if not.
pub(crate) fn check_names(names: &[String]) -> Result<(), Error> {
    let Some(name) = names.iter().find(|name| organizations::find(name).is_none()) else {
        return Ok(());
    };
    let known: Vec<_> = organizations::CATALOG.iter().map(|entry| entry.name).collect();
    let known = known.join(", ");
    Err(Error::Plan(format!("there is no organization '{name}': choose from {known}")))
}
