//! [`Peer`]: a stack and the kernel, connected by a device.

use anabranch::device::tap::{Error, IoUring};
use anabranch::device::xdp::{self, Take};
use anabranch::device::{Device, fault};
use anabranch::{Stack, TcpConfig};
use anabranch_conformance::{Rig, within};
use device::{namespace, tap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::time::Duration;

/// The kernel's address.
pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// The stack's address.
pub const OURS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
/// The kernel's address of IPv6.
pub const KERNEL_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1);
/// The stack's address of IPv6.
pub const OURS_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2);

/// The organization that a case runs on.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    rig: Rig,
}

/// The device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// One end of a pair of interfaces by AF_XDP, the other being the kernel's, in place of
    /// a TAP device.
    pub xdp: bool,
    /// The TAP device reads and writes many frames by one call.
    pub io_uring: bool,
    /// Checksums and segmentation are left to the other side.
    pub offload: bool,
    /// Faults, as text.
    pub faults: &'static str,
    /// Bytes of the stack's receive buffers; 0: as many as usual.
    pub receive_buffer: usize,
}

impl Peer {
    /// `organization` in Rust's spelling.
    pub fn new(organization: &str, processors: usize) -> Peer {
        Peer { rig: Rig::new(organization, processors) }
    }

    /// Runs `case` in a private network namespace, if the process may have one.
    ///
    /// # Panics
    /// If the case does, or hangs.
    pub fn isolated(self, name: &'static str, case: fn(Peer)) {
        let run = move || within(name, move || case(self));
        if let Err(error) = namespace::in_private(run) {
            println!("skipped: {error}");
        }
    }

    /// A stack at [`OURS`] on a TAP device with the kernel at [`KERNEL`]; `None`
    /// if there can be no such device here.
    ///
    /// # Panics
    /// If the device or the stack fails for any other reason.
    pub fn stack(self, link: Link) -> Option<Stack> {
        self.stack_at(link, (OURS.into(), KERNEL.into()), 24)
    }

    /// The same at [`OURS_V6`] and [`KERNEL_V6`]. It takes the kernel a second to find
    /// that nobody else has its address.
    ///
    /// # Panics
    /// As [`Peer::stack`].
    pub fn stack_v6(self, link: Link) -> Option<Stack> {
        self.stack_at(link, (OURS_V6.into(), KERNEL_V6.into()), 64)
    }

    fn stack_at(self, link: Link, (ours, kernel): (IpAddr, IpAddr), prefix: u8) -> Option<Stack> {
        let opened = match link.xdp {
            true => pair((ours, kernel), prefix, (self.rig.processors, self.rig.processors)),
            false => self.tap(link, kernel, prefix),
        };
        let mut device = opened?;
        if !link.faults.is_empty() {
            device = fault::wrap(device, &link.faults.parse().expect("faults"), 1);
        }
        let mut tcp = TcpConfig::default().with_min_rto(Duration::from_millis(50));
        if link.receive_buffer > 0 {
            (tcp.receive_buffer, tcp.max_receive_buffer) = (link.receive_buffer, 0);
        }
        let stack = Stack::builder()
            .device(device)
            .address((ours, prefix))
            .organization(self.rig.organization)
            .processors(self.rig.processors)
            .tcp(tcp)
            .express(anabranch_conformance::express())
            .start();
        Some(stack.expect("a stack"))
    }

    fn tap(self, link: Link, kernel: IpAddr, prefix: u8) -> Option<Device> {
        let config = tap::Config::default()
            .with_name("ana-peer")
            .with_queues(self.rig.processors)
            .with_offload(link.offload)
            .with_io_uring(if link.io_uring { IoUring::Required } else { IoUring::Off })
            .with_kernel_address(kernel, prefix);
        match tap::open(&config) {
            Ok(device) => Some(device),
            Err(
                error @ (Error::NoDriver
                | Error::NoAccess
                | Error::NotAllowed(_)
                | Error::NoIoUring { .. }),
            ) => {
                println!("skipped: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// One end of a pair of interfaces with so many queues, by AF_XDP and for so many processors;
/// `None` if there can be no such device here.
///
/// # Panics
/// If the device fails for any other reason.
pub fn pair(
    (ours, kernel): (IpAddr, IpAddr),
    prefix: u8,
    (queues, processors): (usize, usize),
) -> Option<Device> {
    let q = format!("numrxqueues {queues} numtxqueues {queues}");
    if !ip(&format!("link add ana-near {q} type veth peer name ana-far {q}")) {
        println!("skipped: there is no `ip`, or no veth");
        return None;
    }
    for name in ["ana-near", "ana-far"] {
        tap::disable_ipv6(name);
        assert!(ip(&format!("link set {name} up")), "{name} comes up");
    }
    assert!(ip(&format!("address add {kernel}/{prefix} dev ana-far")), "an address");
    let take = Take::Prefixes(vec![(ours, 32)]);
    let config = xdp::Config::new("ana-near").with_take(take).with_processors(processors);
    match xdp::open(&config) {
        Ok(device) => Some(device),
        Err(error @ (xdp::Error::NoKernel | xdp::Error::NotAllowed(_))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Calls the program `ip`; does it succeed?
pub fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).status();
    done.is_ok_and(|status| status.success())
}
