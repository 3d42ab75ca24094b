//! The stack against the kernel of this machine: Linux's sockets on one side of
//! a TAP device or a pair of interfaces, ours on the other, in a network namespace of their own. Without
//! the rights for that, the tests say so and pass.
#![forbid(unsafe_code)]

pub mod cases;
mod link;
mod macros;

pub use link::{KERNEL, KERNEL_V6, Link, OURS, OURS_V6, Peer, ip, pair};
