//! [`Peer`]: a stack and the kernel, connected by a TAP device.

use anabranch::device::fault;
use anabranch::device::tap::{self, Error};
use anabranch::{Stack, TcpConfig};
use anabranch_conformance::{Rig, within};
use device::namespace;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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

/// The TAP device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
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
        let config = tap::Config::default()
            .with_name("ana-peer")
            .with_queues(self.rig.processors)
            .with_offload(link.offload)
            .with_kernel_address(kernel, prefix);
        let mut device = match tap::open(&config) {
            Ok(device) => device,
            Err(error @ (Error::NoDriver | Error::NoAccess | Error::NotAllowed(_))) => {
                println!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
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
            .start();
        Some(stack.expect("a stack"))
    }
}
