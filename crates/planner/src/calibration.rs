//! [`Calibration`]: measured costs on a machine, with 95 % confidence intervals. The
//! file is TOML; `anabranch calibrate` writes it.
//!
//! A file holds measurements only, and nothing that a model derives. So it also serves
//! later models.

use crate::Work;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod file;
mod ipv6;
mod other;

pub use file::{default_path, load, parse};
pub use ipv6::OverIpv6;

/// Rates go with this power of the speed where too few cases tell which it is.
pub const POWER: f64 = 1.5;

/// The version of the file that this code writes and reads.
pub const VERSION: u32 = 2;

/// A measured figure: its best estimate, and the ends of its 95 % confidence
/// interval, in the unit of the field's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The best estimate (a median).
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

/// Measurements of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// [`VERSION`].
    pub version: u32,
    /// The date of the measurement: RFC 3339, UTC.
    pub date: String,
    /// The duration of the measurement, seconds.
    pub took_s: f64,
    /// The median time of a fixed piece of work between the measured cases, ns. It is
    /// the speed of the machine that predictions assume.
    pub reference_ns: f64,
    /// The machine.
    pub machine: Machine,
    /// Costs of single operations.
    pub primitives: Primitives,
    /// The time of an operation in each layer, by work: `uniprocessor`, 16 connections.
    pub layers: BTreeMap<Work, Layers>,
    /// What an operation takes over IPv6, by work; all the rest is of IPv4.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ipv6: BTreeMap<Work, OverIpv6>,
    /// Whole stacks against a simulated peer, by the organization's name.
    pub organizations: BTreeMap<String, Vec<Anchor>>,
    /// What was measured of several processors while these were further from each other, or
    /// nearer, than mostly; if that was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_state: Option<OtherState>,
}

/// Measurements in a state of the machine that was met less often. A host moves a virtual
/// machine's processors; what shares memory is of another kind then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherState {
    /// To get a cache line that another processor has written, ns, in this state.
    pub line_transfer_ns: Estimate,
    /// Whole stacks on several processors, by the organization's name.
    pub organizations: BTreeMap<String, Vec<Anchor>>,
}

/// The machine that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The processor's name, as it reports it.
    pub model: String,
    /// Processors that programs may run on.
    pub processors: usize,
    /// First-level data cache of a processor, bytes; 0: unknown.
    pub l1_bytes: u64,
    /// Second-level cache, bytes; 0: unknown.
    pub l2_bytes: u64,
    /// Third-level cache, bytes; 0: unknown.
    pub l3_bytes: u64,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// `kvm` and the like; empty if none is known.
    pub hypervisor: String,
    /// Name and release of the operating system's kernel.
    pub kernel: String,
}

/// A figure for data in each level of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByLevel {
    /// In the first-level cache.
    pub l1: Estimate,
    /// In the second-level cache.
    pub l2: Estimate,
    /// In memory.
    pub dram: Estimate,
}

/// Costs of single operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Primitives {
    /// To copy, ns a byte.
    pub copy_ns_per_byte: ByLevel,
    /// To sum for a checksum, ns a byte.
    pub checksum_ns_per_byte: ByLevel,
    /// To copy and sum in one pass, ns a byte.
    pub copy_checksum_ns_per_byte: ByLevel,
    /// Locks, by name (`spin`, `ticket`, `mcs`, `adaptive`, `os`, `rw`).
    pub locks: BTreeMap<String, LockCosts>,
    /// To get a cache line that another processor has written, ns.
    pub line_transfer_ns: Estimate,
    /// A ring between two threads: to put one item in and take it out, ns.
    pub ring_item_ns: Estimate,
    /// The same for each of a batch of 32, ns.
    pub ring_batched_item_ns: Estimate,
    /// To wake a sleeping thread, ns of the waker's time.
    pub wake_call_ns: Estimate,
    /// From that call until the other thread runs, ns.
    pub wake_up_ns: Estimate,
    /// To switch between two threads of one processor, ns.
    pub context_switch_ns: Estimate,
    /// Devices by name (`memory`, `tap`).
    pub devices: BTreeMap<String, DeviceCosts>,
}

/// The costs of a lock of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockCosts {
    /// To take and release it without contention, ns.
    pub alone_ns: Estimate,
    /// The transfer from one thread to the next, on another processor, when several
    /// threads always want it, ns. The work under the lock is not included.
    pub contended_ns: Estimate,
}

/// The costs of one queue of a device, for packets of 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceCosts {
    /// To receive one of a batch of 32, ns.
    pub receive_ns: Estimate,
    /// To transmit one of a batch of 32, ns.
    pub transmit_ns: Estimate,
    /// To poll an empty queue, ns.
    pub empty_ns: Estimate,
}

/// The time of an operation in each layer, ns, in one thread that does nothing else, with
/// all data in its cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layers {
    /// Bytes of payload of an operation, one way.
    pub payload_bytes: f64,
    /// Frames from the device for an operation, on average.
    pub packets_in: f64,
    /// Frames to the device for an operation, on average.
    pub packets_out: f64,
    /// Frames from the device in a round that was not empty, on average.
    pub batch_in: f64,
    /// Taking frames from the device, the simulated peer included, ns.
    pub receive_ns: f64,
    /// Ethernet and ARP, both ways, ns.
    pub link_ns: f64,
    /// IP, both ways, ns.
    pub ip_ns: f64,
    /// TCP or UDP, both ways, ns.
    pub transport_ns: f64,
    /// The application, ns.
    pub application_ns: f64,
    /// Handing frames to the device, the simulated peer included, ns.
    pub transmit_ns: f64,
}

/// A measured case: a whole stack under one organization against a simulated peer. All
/// its threads are confined to as many processors as it has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// What connections did.
    pub work: Work,
    /// Bytes of a message, or of the payload of a datagram or a segment.
    pub bytes: usize,
    /// Processors.
    pub processors: usize,
    /// Connections, all busy.
    pub connections: usize,
    /// Operations a second.
    pub operations_per_s: Estimate,
    /// Processor time of an operation over all threads, ns.
    pub processor_ns: f64,
    /// Context switches for an operation, voluntary or not.
    pub switches: f64,
    /// Hand-offs between threads for an operation, measured over 64 connections.
    pub hand_offs: f64,
    /// Time that an operation waits for locks over all threads, ns, measured over 64
    /// connections.
    pub lock_wait_ns: f64,
    /// The speed of the machine just then, relative to its speed when the primitives were
    /// measured.
    pub speed: f64,
}
