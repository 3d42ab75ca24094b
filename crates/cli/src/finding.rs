//! [`Finding`]: what was found of one thing on this machine; [`Rights`]: what this process
//! may do.

use crate::say::say;
use std::fs;

/// Networks may be changed: a bit of capabilities(7).
pub const CAP_NET_ADMIN: u32 = 12;
/// Frames may be read and written past the kernel's stack.
pub const CAP_NET_RAW: u32 = 13;
/// Nearly all may be done.
pub const CAP_SYS_ADMIN: u32 = 21;
/// Programs may be given to the kernel.
pub const CAP_BPF: u32 = 39;

/// What was found of one thing.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The thing.
    pub what: &'static str,
    /// `None`: neither good nor bad.
    pub good: Option<bool>,
    /// What was found.
    pub text: String,
    /// The command that mends it.
    pub mend: Option<String>,
}

impl Finding {
    /// Neither good nor bad.
    pub fn note(what: &'static str, text: impl Into<String>) -> Finding {
        Finding { what, good: None, text: text.into(), mend: None }
    }
    /// Good.
    pub fn good(what: &'static str, text: impl Into<String>) -> Finding {
        Finding { what, good: Some(true), text: text.into(), mend: None }
    }
    /// Bad, and what mends it.
    pub fn bad(what: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { what, good: Some(false), text: text.into(), mend: Some(mend.into()) }
    }
    /// Prints a line, and one with the command that mends it.
    pub fn print(&self) {
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

/// The text of a file of the system.
pub fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The path of this command.
pub fn executable() -> String {
    let path = std::env::current_exe().ok();
    path.map_or_else(|| "$(command -v anabranch)".into(), |path| path.display().to_string())
}

/// Effective capabilities.
pub struct Rights(u64);

impl Rights {
    /// Those of this process.
    pub fn read() -> Rights {
        let status = read("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let bits = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
        Rights(bits.unwrap_or(0))
    }

    /// Does it have this one?
    pub fn has(&self, capability: u32) -> bool {
        self.0 >> capability & 1 == 1
    }
}
