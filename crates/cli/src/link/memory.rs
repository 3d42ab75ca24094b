//! Two devices back to back in memory, with a second stack at the other end.

use super::{Kind, Opened, Peer, Request, Trial};
use crate::failure::Failure;
use device::memory;

/// The row.
pub static KIND: Kind = Kind {
    title: "memory",
    way: "from stack to stack",
    naming: None,
    has_peers: false,
    goes_silently: false,
    open,
    prepare: || Ok("All of it runs in memory, from stack to stack."),
    examine: |_| Vec::new(),
    trial: |_| Trial { findings: Vec::new(), usable: false },
};

fn open(request: &Request<'_>) -> Result<Opened, Failure> {
    let config = memory::Config::default().with_queues(request.queues).with_mtu(request.mtu);
    let (device, other) = memory::pair(config);
    Ok(Opened { device, peer: Peer::Stack(Box::new(other)) })
}
