//! Anabranch as a stack that packetdrill drives.
//!
//! packetdrill (Cardwell and others, "packetdrill: Scriptable Network Stack Testing,
//! from Sockets to Packets", USENIX ATC 2013) runs scripts of system calls and packets.
//! With `--so_filename` it calls a library instead of the kernel: this one.
//!
//! ```text
//! packetdrill --ip_version=ipv4 --local_ip=192.168.0.1 --gateway_ip=192.168.0.2 \
//!     --so_filename=target/debug/libanabranch_packetdrill.so \
//!     --so_flags='organization=group-locks;tcp_timestamps=0' script.pkt
//! ```
//!
//! `--so_flags` says what the stack is made of: see [`Flags`].
//!
//! Time is virtual ([`anabranch::VirtualTime`]): it stands still while the stack, whose
//! threads really run, has anything to do, and moves when the script waits. So a script
//! takes no longer than its work, and what it measures is exact.
//!
//! | file | what it has |
//! |---|---|
//! | `lib` | the symbol that packetdrill looks up |
//! | `interface` | the table of functions that it fills |
//! | `calls` | these functions: pointers of C to values and back |
//! | `memory` | what C's pointers point at |
//! | `drill` | what a script has: a stack, and descriptors |
//! | `socket`, `readiness`, `sockopt` | system calls |
//! | `world` | the stack and its time |
//! | `wire` | its device |

mod calls;
mod drill;
mod errno;
mod flags;
mod interface;
mod memory;
mod options;
mod readiness;
mod socket;
mod sockopt;
mod wire;
mod world;

pub use flags::{Flags, FlagsError};
pub use interface::Interface;

use drill::Drill;
use std::ffi::c_char;

/// What packetdrill looks up and calls once: fills `interface`.
///
/// # Safety
/// `flags` is null or a string of C, and `interface` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(
    flags: *const c_char,
    interface: *mut Interface,
) {
    // SAFETY: the caller's contract is the one of this function.
    let flags = unsafe { memory::text(flags) };
    let drill = Flags::parse(&flags).map_err(|error| error.to_string()).and_then(|flags| {
        let organization = flags.organization.clone();
        Drill::start(flags).map_err(|error| format!("cannot start {organization}: {error}"))
    });
    let drill = match drill {
        Ok(drill) => drill,
        Err(error) => {
            // The function has no other way to say that there is no stack.
            eprintln!("anabranch: {error}");
            std::process::exit(1);
        }
    };
    // SAFETY: the caller says that it can be written to. What was there is not read.
    unsafe { interface.write(Interface::of(drill)) };
}
