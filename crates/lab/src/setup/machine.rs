//! This machine, as a calibration names it, and its caches.

use crate::setup::affinity;
use planner::calibration::Machine;
use std::path::Path;

/// This machine, as far as the system tells.
pub fn this() -> Machine {
    let cpuinfo = read("/proc/cpuinfo");
    let cache = |level, kind: &[&str]| cache(Path::new(CACHES), level, kind);
    Machine {
        model: field(&cpuinfo, &["model name", "Processor", "cpu model"]),
        processors: affinity::processors(),
        l1_bytes: cache(1, &["Data", "Unified"]),
        l2_bytes: cache(2, &["Unified", "Data"]),
        l3_bytes: cache(3, &["Unified", "Data"]),
        memory_bytes: kibibytes(&field(&read("/proc/meminfo"), &["MemTotal"])),
        hypervisor: hypervisor(&cpuinfo),
        kernel: kernel(),
    }
}

const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The value of the first line `name: value` with one of these names.
fn field(text: &str, names: &[&str]) -> String {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut found = lines.filter(|(name, _)| names.contains(&name.trim()));
    found.next().map_or(String::new(), |(_, value)| value.trim().to_owned())
}

/// `16384 kB` in bytes.
fn kibibytes(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u64>().unwrap_or(0).saturating_mul(1024)
}

/// Bytes of the first processor's cache of this level; 0 if the system does not
/// say.
fn cache(caches: &Path, level: u32, kinds: &[&str]) -> u64 {
    let one = |index: u32| {
        let dir = caches.join(format!("index{index}"));
        let is_it = read(dir.join("level")) == level.to_string()
            && kinds.contains(&read(dir.join("type")).as_str());
        is_it.then(|| parse_size(&read(dir.join("size"))))?
    };
    (0..8).find_map(one).unwrap_or(0) as u64
}

/// What the machine is a guest of; empty if it is none, or hides it.
fn hypervisor(cpuinfo: &str) -> String {
    let named = read("/sys/hypervisor/type");
    if !named.is_empty() {
        return named;
    }
    let is_guest = field(cpuinfo, &["flags"]).split(' ').any(|flag| flag == "hypervisor");
    if !is_guest {
        return String::new();
    }
    let vendor = read("/sys/class/dmi/id/sys_vendor");
    if vendor.is_empty() { "unknown".to_owned() } else { vendor }
}

/// Name and release of the kernel.
fn kernel() -> String {
    let system = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!("{} {}", text(system.sysname()), text(system.release()))
}

/// Bytes of the first processor's second-level cache; 1 MiB where the system
/// does not say.
pub fn second_level_cache() -> usize {
    let cache = |index: usize| {
        let dir = std::path::PathBuf::from("/sys/devices/system/cpu/cpu0/cache");
        let dir = dir.join(format!("index{index}"));
        let read = |name| std::fs::read_to_string(dir.join(name)).ok();
        let size = read("size").filter(|_| read("level").is_some_and(|l| l.trim() == "2"))?;
        parse_size(size.trim())
    };
    (0..8).find_map(cache).unwrap_or(1 << 20)
}

/// `1024K` or `2M` in bytes.
fn parse_size(text: &str) -> Option<usize> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok().filter(|n| *n > 0)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_itself() {
        let machine = this();
        assert!(machine.same_as(&this()));
        assert!(machine.processors >= 1 && !machine.kernel.is_empty());
    }

    #[test]
    fn sizes_of_caches() {
        let sizes = ["1024K", "2M", "512", "0K", "", "K"].map(parse_size);
        assert_eq!(sizes, [Some(1 << 20), Some(2 << 20), Some(512), None, None, None]);
        assert!(second_level_cache() > 0);
    }

    #[test]
    fn what_files_say() {
        let text = "processor\t: 0\nmodel name\t: A B: C\nflags\t: x\n";
        assert_eq!(field(text, &["model name"]), "A B: C");
        assert_eq!(field(text, &["nothing"]), "");
        assert_eq!(kibibytes("16 kB"), 16384);
        assert_eq!(kibibytes("many"), 0);
        assert_eq!(kibibytes("99999999999999999999999 kB"), 0);
        assert_eq!(cache(Path::new("/nowhere"), 1, &["Data"]), 0);
    }
}
