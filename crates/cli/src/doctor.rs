//! `anabranch doctor`: what this machine offers, and what mends the rest.

use crate::failure::Failure;
use crate::say::say;
use device::{namespace, tap};
use std::fs;
use std::io;

const ABOUT: &str = "\
Looks for what the stack can use: the TUN/TAP driver, rights, private network
namespaces, queue steering by eBPF, processors and their vector instructions.
Behind what is missing stands the command that mends it. A namespace and a TAP
device in it are made on trial, and are gone afterwards.

Exit code: 0 if `anabranch serve` or `anabranch demo` can use a TAP device here,
1 if neither can.";

/// How to report.
#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
pub struct Args {}

/// Capability bits of capabilities(7).
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_BPF: u32 = 39;

/// What was found of one thing.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    what: &'static str,
    /// `None`: neither good nor bad.
    good: Option<bool>,
    text: String,
    /// The command that mends it.
    mend: Option<String>,
}

impl Finding {
    fn note(what: &'static str, text: impl Into<String>) -> Finding {
        Finding { what, good: None, text: text.into(), mend: None }
    }
    fn good(what: &'static str, text: impl Into<String>) -> Finding {
        Finding { what, good: Some(true), text: text.into(), mend: None }
    }
    fn bad(what: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { what, good: Some(false), text: text.into(), mend: Some(mend.into()) }
    }
    fn print(&self) {
        let mark = match self.good {
            None => "  -  ",
            Some(true) => " ok  ",
            Some(false) => " NO  ",
        };
        say(format_args!("{mark} {:<14} {}", self.what, self.text));
        if let Some(mend) = &self.mend {
            say(format_args!("      {:<14} mend: {mend}", ""));
        }
    }
}

/// Looks at everything, and prints what it found.
///
/// # Errors
/// [`Failure`] if there can be no TAP device here at all.
pub fn run(_args: &Args) -> Result<(), Failure> {
    let rights = Rights::read();
    let tun = tun();
    let usable = tun.good == Some(true);
    for finding in [kernel(), processors(), instructions(), limits()] {
        finding.print();
    }
    tun.print();
    rights.net_admin().print();
    let can_serve = usable && rights.has(CAP_NET_ADMIN);
    // From here on this process is in a network of its own.
    let private = private();
    private.print();
    let trial = (private.good == Some(true)).then(trial);
    if let Some((finding, _)) = &trial {
        finding.print();
    }
    let steered = trial.as_ref().is_some_and(|(_, steered)| *steered);
    rights.steering(steered).print();

    let can_demo = trial.is_some_and(|(finding, _)| finding.good == Some(true));
    say("");
    let serve = if can_serve { "can run as you are" } else { "needs the above" };
    let demo = if can_demo { "can run over TAP as you are" } else { "will run in memory" };
    say(format_args!("anabranch serve  {serve}"));
    say(format_args!("anabranch demo   {demo}"));
    say("anabranch bench  can run as you are");
    if can_serve || can_demo {
        Ok(())
    } else {
        Err(Failure::failed("there can be no TAP device here: see the mends above"))
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn executable() -> String {
    let path = std::env::current_exe().ok();
    path.map_or_else(|| "$(command -v anabranch)".into(), |path| path.display().to_string())
}

fn kernel() -> Finding {
    let release = read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "of unknown release".into());
    Finding::note("kernel", format!("Linux {release}"))
}

fn processors() -> Finding {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let online = read("/sys/devices/system/cpu/online").unwrap_or_else(|| "unknown".into());
    let text = format!("{usable} for this process (online: {online})");
    if usable > 1 {
        return Finding::good("processors", text);
    }
    Finding::note("processors", format!("{text}: organizations cannot differ much"))
}

fn instructions() -> Finding {
    #[cfg(target_arch = "x86_64")]
    {
        let has = [
            ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
            ("AVX-512 (BW)", std::arch::is_x86_feature_detected!("avx512bw")),
            ("SHA", std::arch::is_x86_feature_detected!("sha")),
        ];
        let names: Vec<&str> = has.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
        if names.iter().any(|name| name.starts_with("AVX")) {
            return Finding::good("instructions", names.join(", "));
        }
    }
    Finding::note("instructions", "no AVX2: checksums by portable code, at about a third the speed")
}

fn limits() -> Finding {
    let limits = read("/proc/self/limits").unwrap_or_default();
    let soft = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let files = soft("Max open files").unwrap_or_else(|| "?".into());
    let threads = soft("Max processes").unwrap_or_else(|| "?".into());
    Finding::note("limits", format!("{files} open files, {threads} threads"))
}

fn tun() -> Finding {
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

/// Effective capabilities.
struct Rights(u64);

impl Rights {
    fn read() -> Rights {
        let status = read("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let bits = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
        Rights(bits.unwrap_or(0))
    }

    fn has(&self, capability: u32) -> bool {
        self.0 >> capability & 1 == 1
    }

    fn net_admin(&self) -> Finding {
        let what = "CAP_NET_ADMIN";
        if self.has(CAP_NET_ADMIN) {
            return Finding::good(what, "TAP devices can be made in this network");
        }
        let mend = format!("sudo setcap cap_net_admin,cap_bpf+ep {}   (or sudo)", executable());
        Finding::bad(what, "no right to make TAP devices in this network", mend)
    }

    /// Can a device's queues be steered by an eBPF program? `tried` and done?
    fn steering(&self, tried: bool) -> Finding {
        let what = "queue steering";
        let open = read("/proc/sys/kernel/unprivileged_bpf_disabled").as_deref() == Some("0");
        if tried || open || self.has(CAP_BPF) || self.has(CAP_SYS_ADMIN) {
            return Finding::good(what, "eBPF brings frames to the queue of their processor");
        }
        let mend = format!("sudo setcap cap_net_admin,cap_bpf+ep {}   (or sudo)", executable());
        let text = "no CAP_BPF: threads pass frames on to each other, which is slower";
        Finding::bad(what, text, mend)
    }
}

/// Why there are no user namespaces, as a command against it.
fn namespace_mend() -> &'static str {
    let is = |path: &str, value: &str| read(path).as_deref() == Some(value);
    if is("/proc/sys/user/max_user_namespaces", "0") {
        "sudo sysctl -w user.max_user_namespaces=15000"
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    } else {
        "run it by sudo   (in a container: start it with --security-opt seccomp=unconfined)"
    }
}

fn private() -> Finding {
    let what = "namespaces";
    match namespace::enter_private() {
        Ok(()) => Finding::good(what, "a private network can be made"),
        Err(namespace::Error::NotAllowed(e)) => {
            let text = format!("no private network can be made: {e}");
            Finding::bad(what, text, namespace_mend())
        }
        Err(e) => Finding::bad(what, e.to_string(), "run it by sudo"),
    }
}

/// Makes a TAP device with all that it can have, in the private network. Is it
/// steered?
fn trial() -> (Finding, bool) {
    let what = "TAP on trial";
    let config = tap::Config::default().with_queues(2);
    match tap::open(&config) {
        Ok(device) => {
            let text = "a private one with 2 queues, checksum and segmentation offload";
            (Finding::good(what, text), device.steering.is_some())
        }
        Err(tap::Error::NoDriver | tap::Error::NotAllowed(_)) => {
            (Finding::bad(what, "not even a private one", "see `TAP driver` above"), false)
        }
        Err(e) => (Finding::bad(what, e.to_string(), "sudo dmesg | tail"), false),
    }
}
