//! An interface that the kernel keeps, but for what is for the stack (AF_XDP).

use super::{Kind, Naming, Opened, Peer, Request, Trial};
use crate::failure::Failure;
use crate::finding::{CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, Finding, Rights, read};
use device::xdp::{self, Take};
use std::io;
use std::net::IpAddr;

/// The row.
pub static KIND: Kind = Kind {
    title: "interface",
    way: "over AF_XDP",
    naming: Some(Naming {
        option: "xdp",
        default: None,
        help: "interface to share with the kernel by AF_XDP: what is for --address comes here, \
               all else stays the kernel's; --address must not be an address of the kernel, \
               --peer-address and --mtu count for nothing. For frames that the kernel put \
               together: `ethtool -K NAME gro off lro off`",
    }),
    has_peers: true,
    goes_silently: true,
    open,
    prepare: || Err("it is there for `serve` only".into()),
    examine,
    trial: |_| Trial { findings: Vec::new(), usable: false },
};

fn open(request: &Request<'_>) -> Result<Opened, Failure> {
    let name = request.name;
    let one = |address: &IpAddr| (*address, if address.is_ipv4() { 32 } else { 128 });
    let ours = std::iter::once(&request.ours).chain(request.others).map(one).collect();
    let config = xdp::Config::new(name)
        .with_take(Take::Prefixes(ours))
        .with_offload(request.offload)
        .with_processors(request.queues);
    let device = xdp::open(&config).map_err(Failure::refused)?;
    Ok(Opened { device, peer: Peer::Kernel })
}

fn examine(rights: &Rights) -> Vec<Finding> {
    let what = "AF_XDP";
    let is_root = rights.has(CAP_SYS_ADMIN);
    let may =
        rights.has(CAP_NET_ADMIN) && rights.has(CAP_NET_RAW) && (is_root || rights.has(CAP_BPF));
    let mut findings = vec![match xdp::available() {
        Ok(()) if may => Finding::note(what, "interfaces can be shared with the kernel (--xdp)"),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error()) => {
            Finding::note(what, "not in this kernel (CONFIG_XDP_SOCKETS): --xdp cannot be used")
        }
        Err(e) if e.kind() != io::ErrorKind::PermissionDenied => {
            Finding::note(what, format!("no socket: {e}"))
        }
        _ => Finding::note(what, "no right to share interfaces: run `serve --xdp` by sudo"),
    }];
    findings.extend(interfaces().iter().filter_map(|name| card(name)));
    findings
}

/// What an interface offers.
fn card(name: &str) -> Option<Finding> {
    let offer = xdp::offer(name).ok()?;
    let driver = if offer.driver.is_empty() { "unknown" } else { &offer.driver };
    let fits = match offer.mtu {
        mtu if mtu <= xdp::MOST_MTU => format!("MTU {mtu}"),
        mtu => format!("MTU {mtu}, at most {} for --xdp", xdp::MOST_MTU),
    };
    let queues = offer.queues;
    Some(Finding::note("interface", format!("{name}: driver {driver}, queues: {queues}, {fits}")))
}

/// The interfaces of this network, but for `lo`.
fn interfaces() -> Vec<String> {
    let text = read("/proc/thread-self/net/dev").unwrap_or_default();
    let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    names.filter(|name| name != "lo").take(8).collect()
}
