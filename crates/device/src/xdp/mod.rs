//! A device on an interface that the Linux kernel keeps: sockets of AF_XDP, one for each
//! receive queue.
//!
//! A program that the driver runs for each frame takes what is for the stack's addresses;
//! all else goes the kernel's way, so that the machine keeps its interface. The program is
//! written here, instruction by instruction, and leaves the interface with the device,
//! or with the process, however that ends. The addresses must not be the kernel's own: both
//! would answer for them, and neither could hear its neighbours. Where the
//! driver can, the card reads and writes our frames itself; elsewhere the kernel copies.
//!
//! AF_XDP takes on each queue only what arrived there, and on which one that is, the card
//! decides. So each queue has a socket for each processor, which share the queue's memory, and the
//! program hands a frame to the socket of the processor that its flow belongs to. No frame comes up
//! at another, whatever hash the card has, and however many queues.
//!
//! Groups and broadcasts stay the kernel's, but for ARP and the solicited-node groups of
//! IPv6. Frames with a VLAN tag stay the kernel's, too.

mod ethtool;
mod lost;
mod port;
mod program;
mod queue;
mod socket;
mod watch;

use crate::tap::Control;
use crate::{Capabilities, Counts, Device, Medium, Queue, bpf};
use lost::Lost;
use port::Port;
use program::Spread;
use queue::{Intake, Outlet};
use socket::{HEADROOM, Member, Place, Sizes, patiently};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use wire::steering::Steering;

pub use ethtool::{Offer, offer};
pub use socket::available;

/// Which frames the stack takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// All that arrive.
    All,
    /// Those for these addresses, with the bits of their prefix: IPv4 and IPv6, ARP and
    /// neighbour solicitations for them.
    Prefixes(Vec<(IpAddr, u8)>),
}

/// How the program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the driver if it can, else by the kernel.
    Any,
    /// By the driver (native).
    Driver,
    /// By the kernel, after the driver (generic): slower, on every interface.
    Kernel,
}

/// How a device is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The interface.
    pub interface: String,
    /// How many of its receive queues, from the first; 0: all. Frames that come up on others
    /// are the kernel's.
    pub queues: usize,
    /// How many processors the device is for: it has a queue for each, at which the frames of
    /// that processor's flows come up, whatever queue of the interface they arrive on. 0: as many
    /// as the interface's queues. At most [`MOST_SOCKETS`] by both; where there are as many processors
    /// as queues, more have a queue each, and frames come up where they arrive.
    pub processors: usize,
    /// How flows are spread over processors.
    pub steering: Steering,
    /// Which frames.
    pub take: Take,
    /// How the program is run.
    pub mode: Mode,
    /// Let the kernel copy frames even where the card could do without.
    pub copies: bool,
    /// Leave the checksums of what is sent to the kernel or the card, where they can.
    pub offload: bool,
    /// Believe the checksums of what arrives. `None`: of a `veth`, whose other end is on this
    /// machine and may leave them out, and of no other.
    pub trusts_checksums: Option<bool>,
    /// Poll the card for so many microseconds in each call, and keep its interrupts away.
    pub busy_poll: Option<u32>,
}

impl Config {
    /// A device on this interface that takes nothing yet.
    pub fn new(interface: impl Into<String>) -> Config {
        Config {
            interface: interface.into(),
            queues: 0,
            processors: 0,
            steering: Steering::new(RandomState::new().hash_one(0)),
            take: Take::Prefixes(Vec::new()),
            mode: Mode::Any,
            copies: false,
            offload: true,
            trusts_checksums: None,
            busy_poll: None,
        }
    }
}

setters! { Config {
    with_queues queues: usize,
    with_processors processors: usize,
    with_steering steering: Steering,
    with_take take: Take,
    with_mode mode: Mode,
    with_copies copies: bool,
    with_offload offload: bool,
    with_trusts_checksums trusts_checksums: Option<bool>,
    with_busy_poll busy_poll: Option<u32>,
} }

/// Why there is no device, and what to do about it. Its `Debug` is its `Display`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such interface.
    #[error("there is no interface `{0}`: `ip link` lists those that are there")]
    Missing(String),
    /// The kernel was built without AF_XDP.
    #[error("this kernel has no AF_XDP: take one with CONFIG_XDP_SOCKETS, or use a TAP device")]
    NoKernel,
    /// Rights are missing.
    #[error(
        "not allowed to take frames of `{0}`: run as root, or grant CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF"
    )]
    NotAllowed(String),
    /// Another program is at the interface, or another socket at its queue.
    #[error(
        "`{0}` has an XDP program or an AF_XDP socket already: end who uses it, or `ip link set dev {0} xdp off`"
    )]
    InUse(String),
    /// Its frames are too long.
    #[error("frames of `{name}` do not fit, its MTU is {mtu}: `ip link set dev {name} mtu {most}`")]
    Mtu {
        /// The interface.
        name: String,
        /// Its MTU, bytes.
        mtu: usize,
        /// The largest one that fits, bytes.
        most: usize,
    },
    /// The driver does not run programs.
    #[error("the driver of `{0}` runs no XDP programs: let the kernel do it (mode `Kernel`)")]
    NoDriver(String),
    /// It has fewer queues.
    #[error(
        "`{name}` has {has} receive queues, not {asked}: ask for fewer, or `ethtool -L {name}`"
    )]
    Queues {
        /// The interface.
        name: String,
        /// Its queues.
        has: usize,
        /// What was asked for.
        asked: usize,
    },
    /// More sockets than a process should have for an interface.
    #[error(
        "`{name}` has {queues} receive queues, too many for {processors} processors: at most \
         {MOST_SOCKETS} by both; `ethtool -L {name}` makes them fewer"
    )]
    TooManySockets {
        /// The interface.
        name: String,
        /// Its queues.
        queues: usize,
        /// The processors.
        processors: usize,
    },
    /// More prefixes than a program should compare.
    #[error("{0} prefixes are too many for one interface: at most {MOST_PREFIXES}")]
    TooManyPrefixes(usize),
    /// Another system call failed.
    #[error("cannot take frames of `{name}` ({step}): {source}; check the kernel's log")]
    System {
        /// The interface.
        name: String,
        /// What was being done.
        step: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

debug_is_display!(Error);

/// The most prefixes of [`Take::Prefixes`]: each frame is compared with all of them.
pub const MOST_PREFIXES: usize = 64;
/// The most sockets: one for each processor on each queue.
pub const MOST_SOCKETS: usize = 256;
/// Frames of a queue, each way.
const ENTRIES: u32 = 2048;
/// Bytes of a frame's memory; a small one for small frames.
const CHUNKS: [usize; 2] = [2048, 4096];
/// Bytes of an Ethernet header with a VLAN tag.
const LINK: usize = wire::ethernet::LEN + 4;
/// The largest MTU that drivers can have with a program (a page, less what they need of it).
pub const MOST_MTU: usize = 3498;

/// Makes the device. The program leaves the interface when its queues are dropped.
///
/// # Errors
/// [`Error`]; nothing is left behind then.
pub fn open(config: &Config) -> Result<Device, Error> {
    let name = &config.interface;
    let step = |step| move |e| refused(name, step, e);
    let control = Control::new().map_err(step("socket"))?;
    let mtu = control.mtu(name).map_err(|_| Error::Missing(name.clone()))?;
    let ethernet = control.ethernet(name).map_err(step("Ethernet address"))?;
    let interface = rustix::net::netdevice::name_to_index(&control, name)
        .map_err(|e| refused(name, "index", e.into()))?;
    let offer = offer(name).map_err(step("queues"))?;
    let queues = if config.queues == 0 { offer.queues } else { config.queues };
    if queues > offer.queues {
        return Err(Error::Queues { name: name.clone(), has: offer.queues, asked: queues });
    }
    let fits = |chunk: &&usize| mtu + LINK + HEADROOM <= **chunk;
    let chunk = CHUNKS.iter().find(fits).filter(|_| mtu <= MOST_MTU);
    let Some(&chunk) = chunk else {
        return Err(Error::Mtu { name: name.clone(), mtu, most: MOST_MTU });
    };
    let plan = Plan::new(config, queues)?;
    let Attached { map, link } = attach(config, interface, &plan)?;
    let trusts = config.trusts_checksums.unwrap_or(offer.driver == "veth");
    let (counts, lost) = (Arc::new(Counts::default()), Arc::new(Lost::default()));
    let mut offload = config.offload;
    let mut ports = Vec::new();
    for queue in 0..queues {
        let place = Place { interface, queue: queue as u32, copies: config.copies };
        let (port, members) = plan.port(place, chunk, &link).map_err(step("AF_XDP socket"))?;
        for (at, member) in members.iter().enumerate() {
            if let Some(microseconds) = config.busy_poll {
                member.socket.poll_busily(microseconds).map_err(step("busy polling"))?;
            }
            let key = (queue * plan.members + at) as u32;
            bpf::insert(map.as_fd(), key, member.socket.as_fd()).map_err(step("map"))?;
        }
        offload &= port.has_metadata;
        ports.push((Arc::new(port), members));
    }
    watch::start(interface, offer.queues, &counts, &link).map_err(step("thread"))?;
    Ok(Device {
        name: name.clone(),
        // The program leaves frames with a tag to the kernel.
        capabilities: Capabilities::new(Medium::Ethernet, mtu)
            .with_transmit_checksum(offload)
            .with_vlan(false),
        ethernet,
        queues: plan
            .deal(ports, (mtu + LINK, trusts), (&counts, &lost))
            .map_err(step("descriptor"))?,
        steering: (plan.members > 1).then_some(config.steering),
        queues_detach: false,
        counts,
        reports: vec![lost],
    })
}

/// Which sockets there are, and who has them.
struct Plan {
    /// Queues of the interface.
    queues: usize,
    /// Queues of the device.
    processors: usize,
    /// Sockets on each queue of the interface.
    members: usize,
}

impl Plan {
    fn new(config: &Config, queues: usize) -> Result<Plan, Error> {
        let processors = if config.processors == 0 { queues } else { config.processors };
        let members = match queues * processors <= MOST_SOCKETS {
            true => processors,
            false if processors == queues => 1,
            false => {
                let name = config.interface.clone();
                return Err(Error::TooManySockets { name, queues, processors });
            }
        };
        Ok(Plan { queues, processors, members })
    }

    /// Does queue `of` of the device send by socket `member` of queue `queue` of the interface?
    fn sends(&self, of: usize, (queue, member): (usize, usize)) -> bool {
        queue == of % self.queues && member == of % self.members
    }

    /// A queue of the interface, with its sockets.
    fn port(
        &self,
        place: Place,
        chunk: usize,
        link: &Arc<OwnedFd>,
    ) -> io::Result<(Port, Vec<Member>)> {
        let queue = place.queue as usize;
        let sends = |member| (0..self.processors).any(|of| self.sends(of, (queue, member)));
        let sizes = Sizes { entries: ENTRIES, chunk, members: self.members };
        let (common, members) = socket::open(place, sizes, sends)?;
        let senders = members.iter().filter(|member| member.transmit.is_some()).count();
        Ok((Port::new(common, ENTRIES, senders, link), members))
    }

    /// The device's queues, of these sockets.
    fn deal(
        &self,
        ports: Vec<(Arc<Port>, Vec<Member>)>,
        limits: (usize, bool),
        (counts, lost): (&Arc<Counts>, &Arc<Lost>),
    ) -> io::Result<Vec<Queue>> {
        let mut parts: Vec<(Vec<Intake>, Option<Outlet>)> = Vec::new();
        parts.resize_with(self.processors, Default::default);
        for (queue, (port, members)) in ports.into_iter().enumerate() {
            let mut senders = 0;
            for (at, Member { socket, receive, transmit }) in members.into_iter().enumerate() {
                // With one socket on each of as many queues, each has its own.
                let of = if self.members == self.processors { at } else { queue };
                let (socket, port) = (Arc::new(socket), port.clone());
                if let Some(ring) = transmit {
                    let (socket, port, sender) = (socket.clone(), port.clone(), senders);
                    parts[of].1 = Some(Outlet { ring, socket, port, sender });
                    senders += 1;
                }
                lost.watch(&socket);
                parts[of].0.push(Intake { ring: receive, socket, port, lost: lost.clone() });
            }
        }
        let made = parts.into_iter().map(|(intakes, outlet)| {
            let outlet = outlet.expect("each sends by one of its sockets");
            queue::queue(intakes, outlet, limits, counts)
        });
        made.collect()
    }
}

/// A program at its interface, and the map by which it finds sockets.
struct Attached {
    map: OwnedFd,
    link: Arc<OwnedFd>,
}

fn attach(config: &Config, interface: u32, plan: &Plan) -> Result<Attached, Error> {
    const BY_KERNEL: u32 = 2;
    const BY_DRIVER: u32 = 4;
    let name = &config.interface;
    if let Take::Prefixes(prefixes) = &config.take
        && prefixes.len() > MOST_PREFIXES
    {
        return Err(Error::TooManyPrefixes(prefixes.len()));
    }
    let map = bpf::sockets((plan.queues * plan.members) as u32);
    let map = map.map_err(|e| refused(name, "map", e))?;
    let members = plan.members as u32;
    let spread = (members > 1).then_some(Spread { steering: config.steering, members });
    let program = program::program(&config.take, map.as_raw_fd() as u32, spread);
    let program = bpf::load(bpf::XDP, &program).map_err(|e| refused(name, "program", e))?;
    let by = |flags| patiently(libc::EBUSY, || bpf::attach_xdp(program.as_fd(), interface, flags));
    let link = match config.mode {
        Mode::Kernel => by(BY_KERNEL),
        Mode::Driver => by(BY_DRIVER),
        Mode::Any => match by(BY_DRIVER) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => by(BY_KERNEL),
            done => done,
        },
    };
    let link = link.map_err(|e| match e.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::NoDriver(name.clone()),
        _ => refused(name, "attach", e),
    })?;
    Ok(Attached { map, link: Arc::new(link) })
}

fn refused(name: &str, step: &'static str, source: io::Error) -> Error {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Error::NotAllowed(name.into()),
        Some(libc::EBUSY | libc::EEXIST) => Error::InUse(name.into()),
        Some(libc::EAFNOSUPPORT) => Error::NoKernel,
        _ => Error::System { name: name.into(), step, source },
    }
}

#[cfg(test)]
mod tests;
