//! Runs scripts, several at once.

use crate::prepare::{Prepared, prepare};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What scripts are run with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// packetdrill.
    pub packetdrill: PathBuf,
    /// The stack, as a library for it.
    pub library: PathBuf,
    /// The organizations that each script is run under.
    pub organizations: Vec<String>,
    /// Where prepared scripts are written.
    pub folder: PathBuf,
    /// Over IPv6, with a link that takes 20 bytes more, so that segments are as large.
    pub ipv6: bool,
    /// How many run at once.
    pub at_once: usize,
    /// A script that takes longer than this has failed.
    pub timeout: Duration,
}

/// What became of a script under one organization.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed; the first line that packetdrill said.
    Failed(String),
}

/// A script to run: where it is, and what it is called.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its path in the folder of all scripts.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Runs all scripts under all organizations. The outcomes are in the order of the
/// scripts, and for each in that of the organizations.
///
/// # Errors
/// If a script cannot be read or prepared, or packetdrill not be started.
pub fn run(setup: &Setup, scripts: &[Script]) -> io::Result<Vec<Vec<Outcome>>> {
    fs::create_dir_all(&setup.folder)?;
    let count = setup.organizations.len();
    let outcomes: Vec<Mutex<Option<io::Result<Outcome>>>> =
        (0..scripts.len() * count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..setup.at_once.clamp(1, outcomes.len().max(1)) {
            scope.spawn(|| {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(outcome) = outcomes.get(index)
                {
                    let (script, organization) = (index / count, index % count);
                    let organization = &setup.organizations[organization];
                    let result = one(setup, &scripts[script], index, organization);
                    *outcome.lock().expect("nobody panics with it") = Some(result);
                }
            });
        }
    });
    let mut outcomes = outcomes
        .into_iter()
        .map(|outcome| outcome.into_inner().expect("nobody panics with it").expect("each was run"));
    scripts.iter().map(|_| outcomes.by_ref().take(count).collect()).collect()
}

/// Runs one script under one organization.
fn one(setup: &Setup, script: &Script, index: usize, organization: &str) -> io::Result<Outcome> {
    let prepared = prepare(&script.path)?;
    let path = setup.folder.join(format!("{index}.pkt"));
    fs::write(&path, &prepared.text)?;
    let child = command(setup, &prepared, organization, &path).spawn();
    let child = child.map_err(|error| {
        io::Error::new(error.kind(), format!("{}: {error}", setup.packetdrill.display()))
    })?;
    let outcome = wait(child, setup.timeout)?;
    fs::remove_file(&path)?;
    Ok(match outcome {
        // Told by the script's own name.
        Outcome::Failed(why) => {
            let prefix = format!("{}:", path.display());
            Outcome::Failed(why.strip_prefix(&prefix).unwrap_or(&why).to_owned())
        }
        passed => passed,
    })
}

/// Where the ends are, for packetdrill, if a script does not say; and what google's own command
/// defines: the cookies of Fast Open that they have with the key of its scripts and with one of
/// zeros, and a name.
const IPV4: [&str; 11] = [
    "--ip_version=ipv4",
    "--local_ip=192.168.0.1",
    "--gateway_ip=192.168.0.2",
    "--netmask_ip=255.255.0.0",
    "--remote_ip=192.0.2.1",
    "-D",
    "TFO_COOKIE=3021b9d889017eeb",
    "-D",
    "TFO_COOKIE_ZERO=b7c12350a90dc8f5",
    "-D",
    "CODE=host_unreachable",
];
/// The same over IPv6, as its own command has it.
const IPV6: [&str; 11] = [
    "--ip_version=ipv6",
    "--mtu=1520",
    "--local_ip=fd3d:0a0b:17d6::1",
    "--gateway_ip=fd3d:0a0b:17d6:8888::1",
    "--remote_ip=fd3d:fa7b:d17d::1",
    "-D",
    "TFO_COOKIE=c1d1e9742a47a9bc",
    "-D",
    "TFO_COOKIE_ZERO=82af1a8f9a205c34",
    "-D",
    "CODE=address_unreachable",
];
/// A router that no script takes for an end.
const ROUTER: &str = "192.168.255.254";

fn command(setup: &Setup, prepared: &Prepared, organization: &str, path: &Path) -> Command {
    let mut flags = vec![format!("organization={organization}")];
    let names_ends = prepared.local.is_some() || prepared.remote.is_some();
    let mut link: Vec<String> = IPV4.map(str::to_owned).into();
    if prepared.ipv6.unwrap_or(setup.ipv6) && !names_ends {
        flags.push("local=fd3d:a0b:17d6::1/48;gateway=fd3d:a0b:17d6:8888::1".into());
        flags.push(format!("mtu={}", prepared.mtu.unwrap_or(1520)));
        link = IPV6.map(str::to_owned).into();
    } else {
        flags.extend(prepared.mtu.map(|mtu| format!("mtu={mtu}")));
        if let Some(local) = &prepared.local {
            flags.push(format!("local={local}/16;gateway={ROUTER}"));
            link[1] = format!("--local_ip={local}");
            link[2] = format!("--gateway_ip={ROUTER}");
        }
        if let Some(remote) = &prepared.remote {
            link[4] = format!("--remote_ip={remote}");
        }
    }
    flags.extend(prepared.parameters.iter().cloned());
    let mut command = Command::new(&setup.packetdrill);
    command
        .args(&link)
        .arg(format!("--so_filename={}", setup.library.display()))
        .arg(format!("--so_flags={}", flags.join(";")))
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn wait(mut child: Child, timeout: Duration) -> io::Result<Outcome> {
    let mut errors = child.stderr.take().expect("it is piped");
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        errors.read_to_end(&mut said).map(|_| said)
    });
    let end = Instant::now() + timeout;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            return Ok(Outcome::Failed(format!("it has not ended within {timeout:?}")));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = said.join().expect("it does not panic")?;
    if status.success() {
        return Ok(Outcome::Passed);
    }
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().find(|line| !line.trim().is_empty());
    Ok(Outcome::Failed(first.map_or_else(|| status.to_string(), str::to_owned)))
}
