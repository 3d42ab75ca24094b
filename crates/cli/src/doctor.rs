//! `anabranch doctor`: what this machine offers, and what mends the rest.

use crate::failure::Failure;
use crate::finding::{Finding, Rights, read};
use crate::link::LINKS;
use crate::say::say;
use device::namespace;

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

/// Looks at everything, and prints what it found.
///
/// # Errors
/// [`Failure`] if there can be no TAP device here at all.
pub fn run(_args: &Args) -> Result<(), Failure> {
    let rights = Rights::read();
    for finding in [kernel(), processors(), instructions(), limits()] {
        finding.print();
    }
    let mut can_serve = false;
    for kind in LINKS {
        let findings = (kind.examine)(&rights);
        findings.iter().for_each(Finding::print);
        can_serve |= !findings.is_empty() && findings.iter().all(|f| f.good == Some(true));
    }
    // From here on this process is in a network of its own.
    let private = private();
    private.print();
    let mut demo = None;
    for kind in LINKS.iter().filter(|_| private.good == Some(true)) {
        let trial = (kind.trial)(&rights);
        trial.findings.iter().for_each(Finding::print);
        demo = demo.or(trial.usable.then_some(kind.way));
    }
    say("");
    say(format_args!(
        "anabranch serve  {}",
        if can_serve { "can run as you are" } else { "needs the above" }
    ));
    match demo {
        Some(way) => say(format_args!("anabranch demo   can run {way} as you are")),
        None => say("anabranch demo   will run in memory"),
    }
    say("anabranch bench  can run as you are");
    let can_demo = demo.is_some();
    if can_serve || can_demo {
        Ok(())
    } else {
        Err(Failure::failed("there can be no TAP device here: see the mends above"))
    }
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
    Finding::note(
        "limits",
        format!(
            "{files} open files, {threads} threads: connections of the stack take no files, and a thread \
         each only under thread-per-connection"
        ),
    )
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
