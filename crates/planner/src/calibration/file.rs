//! The file of a calibration: its path, and reading, checking and writing it.

use super::{Anchor, ByLevel, Calibration, Estimate, Layers, Machine, VERSION};
use crate::Error;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest file that is read, bytes: a calibration has some tens of KiB.
const MOST_BYTES: u64 = 4 << 20;

/// The largest figure of a calibration, whatever its unit.
const MOST: f64 = 1e15;
/// The greatest number of processors, connections or bytes of a case.
const MOST_COUNT: usize = 1_000_000_000;

/// Where `anabranch calibrate` writes unless told otherwise:
/// `$XDG_CONFIG_HOME/anabranch/calibration.toml`, or else below `~/.config`.
/// `None` if neither that variable nor `HOME` names an absolute directory.
pub fn default_path() -> Option<PathBuf> {
    path_in(std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from), {
        std::env::var_os("HOME").map(PathBuf::from)
    })
}

/// [`default_path`] with the two variables given.
pub(crate) fn path_in(config: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let config = config.filter(absolute);
    let below = config.or_else(|| home.filter(absolute).map(|home| home.join(".config")))?;
    Some(below.join("anabranch").join("calibration.toml"))
}

/// Reads a calibration.
///
/// # Errors
/// If there is no such file, or [`parse`] refuses it.
pub fn load(path: &Path) -> Result<Calibration, Error> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::File(format!(
            "no calibration at {shown}: run `anabranch calibrate`, or name a file with --calibration"
        )),
        _ => Error::File(format!(
            "cannot read the calibration {shown}: {error}: name a readable file"
        )),
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::File(format!(
            "{shown} is larger than {} MiB, so not a calibration: name a file that `anabranch calibrate` wrote",
            MOST_BYTES >> 20
        )));
    }
    let text = std::str::from_utf8(&text).map_err(|_| {
        Error::File(format!(
            "{shown} is not text, so not a calibration: name a file that `anabranch calibrate` wrote"
        ))
    })?;
    parse(text).map_err(|error| match error {
        Error::File(message) => Error::File(format!("{shown}: {message}")),
        other => other,
    })
}

/// Reads a calibration from the text of its file.
///
/// # Errors
/// If it is malformed, if it is of another version, or if [`Calibration::check`] refuses
/// its figures.
pub fn parse(text: &str) -> Result<Calibration, Error> {
    /// The field that every version of the file has.
    #[derive(serde::Deserialize)]
    struct Version {
        version: Option<u32>,
    }
    let malformed = |error: toml::de::Error| {
        // Only the message, as the error's text includes lines of the file.
        let message = error.message().lines().next().unwrap_or("malformed").to_owned();
        let line = error
            .span()
            .and_then(|span| text.get(..span.start))
            .map_or(1, |before| 1 + before.bytes().filter(|byte| *byte == b'\n').count());
        Error::File(format!(
            "not a calibration: line {line}: {message}: run `anabranch calibrate` to write a new one"
        ))
    };
    let version: Version = toml::from_str(text).map_err(malformed)?;
    match version.version {
        Some(VERSION) => {}
        Some(other) => {
            return Err(Error::File(format!(
                "a calibration of version {other}, and this program knows version {VERSION}: run `anabranch calibrate` to write a new one"
            )));
        }
        None => {
            return Err(Error::File(
                "not a calibration: it has no version: run `anabranch calibrate` to write one"
                    .into(),
            ));
        }
    }
    let calibration: Calibration = toml::from_str(text).map_err(malformed)?;
    calibration.check()?;
    Ok(calibration)
}

impl Calibration {
    /// The text of its file.
    ///
    /// # Errors
    /// If [`parse`] would refuse it.
    pub fn to_toml(&self) -> Result<String, Error> {
        self.check()?;
        toml::to_string_pretty(self)
            .map_err(|error| Error::File(format!("cannot write the calibration: {error}")))
    }

    /// Checks that all figures are finite and not negative, and intervals in order.
    ///
    /// # Errors
    /// [`Error::File`] names the first figure that is not.
    pub fn check(&self) -> Result<(), Error> {
        let primitives = &self.primitives;
        number("took_s", self.took_s)?;
        number("reference_ns", self.reference_ns)?;
        if self.machine.processors == 0 {
            return Err(Error::File("machine.processors is 0: it must be 1 or more".into()));
        }
        levels("primitives.copy_ns_per_byte", &primitives.copy_ns_per_byte)?;
        levels("primitives.checksum_ns_per_byte", &primitives.checksum_ns_per_byte)?;
        levels("primitives.copy_checksum_ns_per_byte", &primitives.copy_checksum_ns_per_byte)?;
        for (name, lock) in &primitives.locks {
            estimate(&format!("primitives.locks.{name}.alone_ns"), &lock.alone_ns)?;
            estimate(&format!("primitives.locks.{name}.contended_ns"), &lock.contended_ns)?;
        }
        for (name, figure) in [
            ("line_transfer_ns", &primitives.line_transfer_ns),
            ("ring_item_ns", &primitives.ring_item_ns),
            ("ring_batched_item_ns", &primitives.ring_batched_item_ns),
            ("wake_call_ns", &primitives.wake_call_ns),
            ("wake_up_ns", &primitives.wake_up_ns),
            ("context_switch_ns", &primitives.context_switch_ns),
        ] {
            estimate(&format!("primitives.{name}"), figure)?;
        }
        for (name, device) in &primitives.devices {
            estimate(&format!("primitives.devices.{name}.receive_ns"), &device.receive_ns)?;
            estimate(&format!("primitives.devices.{name}.transmit_ns"), &device.transmit_ns)?;
            estimate(&format!("primitives.devices.{name}.empty_ns"), &device.empty_ns)?;
        }
        for (work, layers) in &self.layers {
            check_layers(&format!("layers.{work}"), layers)?;
        }
        for (work, ipv6) in &self.ipv6 {
            ipv6.check(&format!("ipv6.{work}"))?;
        }
        check_organizations("", &self.organizations)?;
        if let Some(other) = &self.other_state {
            estimate("other_state.line_transfer_ns", &other.line_transfer_ns)?;
            check_organizations("other_state.", &other.organizations)?;
        }
        Ok(())
    }
}

impl Machine {
    /// True for the same machine. The kernel's release may differ, and the size of the
    /// memory by a sixteenth, as kernels reserve a part of it.
    pub fn same_as(&self, other: &Machine) -> bool {
        let name = |machine: &Machine| machine.kernel.split_whitespace().next().map(str::to_owned);
        let alike = |machine: &Machine| Machine {
            kernel: name(machine).unwrap_or_default(),
            memory_bytes: 0,
            ..machine.clone()
        };
        let apart = self.memory_bytes.abs_diff(other.memory_bytes);
        alike(self) == alike(other) && apart <= self.memory_bytes.max(other.memory_bytes) / 16
    }

    /// The differences from `other` in words; empty for the same machine.
    pub fn differs_from(&self, other: &Machine) -> String {
        if self.same_as(other) {
            return String::new();
        }
        let mut parts = Vec::new();
        if self.model != other.model {
            parts.push(format!("{} and not {}", named(&self.model), named(&other.model)));
        }
        if self.processors != other.processors {
            parts.push(format!("{} processors and not {}", self.processors, other.processors));
        }
        if self.hypervisor != other.hypervisor {
            parts.push(format!("{} and not {}", host(&self.hypervisor), host(&other.hypervisor)));
        }
        let caches = |machine: &Machine| (machine.l1_bytes, machine.l2_bytes, machine.l3_bytes);
        if caches(self) != caches(other) {
            parts.push("other caches".into());
        }
        if parts.is_empty() {
            parts.push("another memory or system".into());
        }
        parts.join(", ")
    }
}

fn named(model: &str) -> &str {
    if model.is_empty() { "an unknown processor" } else { model }
}

fn host(hypervisor: &str) -> String {
    if hypervisor.is_empty() { "no hypervisor".into() } else { format!("a guest of {hypervisor}") }
}

fn number(name: &str, value: f64) -> Result<(), Error> {
    if (0.0..=MOST).contains(&value) {
        return Ok(());
    }
    Err(Error::File(format!(
        "{name} is {value}: it must be a number from 0 to {MOST:e}: run `anabranch calibrate` to write a new file"
    )))
}

pub(super) fn estimate(name: &str, estimate: &Estimate) -> Result<(), Error> {
    number(&format!("{name}.value"), estimate.value)?;
    number(&format!("{name}.low"), estimate.low)?;
    number(&format!("{name}.high"), estimate.high)?;
    if estimate.low <= estimate.value && estimate.value <= estimate.high {
        return Ok(());
    }
    Err(Error::File(format!(
        "{name} is {} and not between its low {} and high {}: run `anabranch calibrate` to write a new file",
        estimate.value, estimate.low, estimate.high
    )))
}

fn levels(name: &str, levels: &ByLevel) -> Result<(), Error> {
    estimate(&format!("{name}.l1"), &levels.l1)?;
    estimate(&format!("{name}.l2"), &levels.l2)?;
    estimate(&format!("{name}.dram"), &levels.dram)
}

pub(super) fn check_layers(name: &str, layers: &Layers) -> Result<(), Error> {
    for (part, value) in [
        ("payload_bytes", layers.payload_bytes),
        ("packets_in", layers.packets_in),
        ("packets_out", layers.packets_out),
        ("batch_in", layers.batch_in),
        ("receive_ns", layers.receive_ns),
        ("link_ns", layers.link_ns),
        ("ip_ns", layers.ip_ns),
        ("transport_ns", layers.transport_ns),
        ("application_ns", layers.application_ns),
        ("transmit_ns", layers.transmit_ns),
    ] {
        number(&format!("{name}.{part}"), value)?;
    }
    Ok(())
}

fn check_organizations(
    table: &str,
    organizations: &BTreeMap<String, Vec<Anchor>>,
) -> Result<(), Error> {
    for (name, anchors) in organizations {
        for (index, anchor) in anchors.iter().enumerate() {
            check_anchor(&format!("{table}organizations.{name}, case {}", index + 1), anchor)?;
        }
    }
    Ok(())
}

fn check_anchor(name: &str, anchor: &Anchor) -> Result<(), Error> {
    estimate(&format!("{name}: operations_per_s"), &anchor.operations_per_s)?;
    for (part, value) in [
        ("processor_ns", anchor.processor_ns),
        ("switches", anchor.switches),
        ("hand_offs", anchor.hand_offs),
        ("lock_wait_ns", anchor.lock_wait_ns),
        ("speed", anchor.speed),
    ] {
        number(&format!("{name}: {part}"), value)?;
    }
    if anchor.processors == 0 || anchor.connections == 0 || anchor.operations_per_s.value <= 0.0 {
        return Err(Error::File(format!(
            "{name}: no processors, connections or operations: run `anabranch calibrate` to write a new file"
        )));
    }
    let counts = [
        ("processors", anchor.processors),
        ("connections", anchor.connections),
        ("bytes", anchor.bytes),
    ];
    match counts.into_iter().find(|(_, count)| *count > MOST_COUNT) {
        Some((part, count)) => Err(Error::File(format!(
            "{name}: {part} is {count}, and {MOST_COUNT} at most can be: run `anabranch calibrate` to write a new file"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
