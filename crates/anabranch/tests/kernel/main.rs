//! Beside the Linux kernel, over a TAP device in a network namespace of its own.
#![cfg(not(shuttle))]

mod groups;
