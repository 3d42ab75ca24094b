//! A TAP device, with the kernel's own stack at its other end.

use super::{Kind, Naming, Opened, Peer, Request, Trial};
use crate::failure::Failure;
use crate::finding::{CAP_BPF, CAP_NET_ADMIN, CAP_SYS_ADMIN, Finding, Rights, executable, read};
use device::{namespace, tap};
use std::fs;
use std::io;

/// The row.
pub static KIND: Kind = Kind {
    title: "TAP device",
    way: "over TAP",
    naming: Some(Naming {
        option: "tap",
        default: Some("ana0"),
        help: "TAP device to make; it is removed at the end",
    }),
    has_peers: false,
    goes_silently: false,
    open,
    prepare,
    examine,
    trial,
};

/// The row of interfaces that somebody else has made.
pub static EXISTING: Kind = Kind {
    title: "TAP device",
    way: "over TAP",
    naming: Some(Naming {
        option: "existing-tap",
        default: None,
        help: "TAP device to take that is there already (`ip tuntap add mode tap`): it stays at \
               the end, and its address and MTU stay as they are; its owner needs no rights. One \
               without `multi_queue` has one queue: one processor reads it, and hands on what is \
               for the others",
    }),
    has_peers: false,
    goes_silently: false,
    open: take,
    prepare: || Err("it is there for `serve` only".into()),
    examine: |_| Vec::new(),
    trial: |_| Trial { findings: Vec::new(), usable: false },
};

fn take(request: &Request<'_>) -> Result<Opened, Failure> {
    let open = |queues| {
        let config = tap::Config::default().with_name(request.name).with_existing(true);
        tap::open(&config.with_queues(queues).with_offload(request.offload))
    };
    let device = match open(request.queues) {
        // It may have one queue only. The stack spreads what comes by that.
        Err(error @ tap::Error::Unsuitable { .. }) => open(1).map_err(|_| error),
        opened => opened,
    };
    Ok(Opened { device: device.map_err(Failure::refused)?, peer: Peer::Kernel })
}

fn open(request: &Request<'_>) -> Result<Opened, Failure> {
    let mut config = tap::Config::default()
        .with_name(request.name)
        .with_queues(request.queues)
        .with_mtu(request.mtu)
        .with_offload(request.offload);
    config.kernel_address = request.peer;
    let device = tap::open(&config).map_err(|error| refused(&error))?;
    Ok(Opened { device, peer: Peer::Kernel })
}

/// Why there is no device.
fn refused(error: &tap::Error) -> Failure {
    match error {
        tap::Error::NotAllowed(name) => Failure::refused(format!(
            "not allowed to make TAP device `{name}`, CAP_NET_ADMIN is missing: run it by sudo, \
             or grant it once by `sudo setcap cap_net_admin,cap_bpf+ep {}`, or try `anabranch \
             demo`, which needs no rights",
            executable()
        )),
        error => Failure::refused(error),
    }
}

/// Enters a private network, and looks whether a device can be made in it.
fn prepare() -> Result<&'static str, String> {
    namespace::enter_private().map_err(|error| error.to_string())?;
    tap::open(&tap::Config::default()).map_err(|error| error.to_string())?;
    Ok("A private network: the stack, and the kernel's TCP as its client.")
}

fn examine(rights: &Rights) -> Vec<Finding> {
    vec![driver(), net_admin(rights)]
}

fn driver() -> Finding {
    let what = "TAP driver";
    let opened = fs::File::options().read(true).write(true).open("/dev/net/tun");
    match opened {
        Ok(_) => Finding::good(what, "/dev/net/tun can be opened"),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            let text = "/dev/net/tun is not open to you";
            Finding::bad(what, text, "sudo chmod 0666 /dev/net/tun")
        }
        Err(e) => {
            let text = format!("/dev/net/tun cannot be opened: {e}");
            let mend = "sudo modprobe tun   (in a container: start it with --device /dev/net/tun)";
            Finding::bad(what, text, mend)
        }
    }
}

fn net_admin(rights: &Rights) -> Finding {
    let what = "CAP_NET_ADMIN";
    if rights.has(CAP_NET_ADMIN) {
        return Finding::good(what, "TAP devices can be made in this network");
    }
    Finding::bad(what, "no right to make TAP devices in this network", grant())
}

/// The command that gives this one its rights, with what it takes away.
fn grant() -> String {
    format!(
        "sudo setcap cap_net_admin,cap_bpf+ep {}   (again after each build; `demo` then needs \
         sudo for a TAP device; or run it by sudo)",
        executable()
    )
}

/// Can a device's queues be steered by an eBPF program? `tried` and done?
fn steering(rights: &Rights, tried: bool) -> Finding {
    let what = "queue steering";
    let open = read("/proc/sys/kernel/unprivileged_bpf_disabled").as_deref() == Some("0");
    if tried || open || rights.has(CAP_BPF) || rights.has(CAP_SYS_ADMIN) {
        return Finding::good(what, "eBPF brings frames to the queue of their processor");
    }
    let text = "no CAP_BPF: threads pass frames on to each other, which is slower";
    Finding::bad(what, text, grant())
}

/// Makes a device with all that it can have, in the private network.
fn trial(rights: &Rights) -> Trial {
    let what = "TAP on trial";
    let config = tap::Config::default().with_queues(2);
    let (finding, steered) = match tap::open(&config) {
        Ok(device) => {
            let text = "a private one with 2 queues, checksum and segmentation offload";
            (Finding::good(what, text), device.steering.is_some())
        }
        Err(tap::Error::NoDriver | tap::Error::NoAccess | tap::Error::NotAllowed(_)) => {
            (Finding::bad(what, "not even a private one", "see `TAP driver` above"), false)
        }
        Err(e) => (Finding::bad(what, e.to_string(), "sudo dmesg | tail"), false),
    };
    let usable = finding.good == Some(true);
    Trial { findings: vec![finding, steering(rights, steered), io_uring()], usable }
}

/// May packets be read and written by io_uring? Nothing needs it.
fn io_uring() -> Finding {
    let text = match tap::io_uring_permitted() {
        Ok(()) => "TAP and TUN can read and write many packets by one call, where asked to".into(),
        Err(error) => format!("not to be had: {error}; nothing needs it"),
    };
    Finding::note("io_uring", text)
}
