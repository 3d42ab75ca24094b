//! How many threads the system has for a process. The runtime of Rust ends the process if a thread that has been
//! given cannot map its signal stack, so the limit on mappings must not be reached.

use crate::StartError;

/// Threads that are left to the system, for all else.
const RESERVE: usize = 256;
/// The mappings of a thread: its stack and its signal stack, and a guard page below each.
const MAPPINGS: usize = 4;

fn read(path: &str) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim().parse().unwrap_or(usize::MAX)
}

/// What the system's limits leave for threads of one kind, however many there are already.
pub(crate) fn most() -> usize {
    let mappings = read("/proc/sys/vm/max_map_count") / MAPPINGS;
    let threads = read("/proc/sys/kernel/threads-max").min(read("/proc/sys/kernel/pid_max"));
    let user = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
    let user = user.map_or(usize::MAX, |n| n as usize);
    mappings.min(threads).min(user).saturating_sub(RESERVE).max(1)
}

/// Are there `threads` more, beside those that the process has mapped memory for?
///
/// # Errors
/// [`StartError::Threads`].
pub(crate) fn check(organization: &'static str, threads: usize) -> Result<(), StartError> {
    let mapped = std::fs::read("/proc/self/maps").unwrap_or_default();
    let mapped = mapped.iter().filter(|byte| **byte == b'\n').count();
    let left = most().saturating_sub(mapped / MAPPINGS);
    if threads > left {
        return Err(StartError::Threads { organization, threads, left });
    }
    Ok(())
}
