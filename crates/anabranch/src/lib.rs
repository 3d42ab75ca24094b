//! Anabranch: a TCP/IP stack for Linux, in user space, whose spread over many cores,
//! its *parallel organization*, is a setting.
//!
//! A [`Stack`] is a host of its own: it has devices, addresses and an organization.
//! Sockets are those of `std::net`, with the stack as first argument; those in
//! [`tokio`] are the same for tasks.
//!
//! ```
//! use anabranch::{Stack, TcpListener, TcpStream, device::memory};
//! use std::io::{Read, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (left, right) = memory::pair(memory::Config::default());
//! let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
//! let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
//!
//! let listener = TcpListener::bind(&server, "10.0.0.1:80")?;
//! let mut there = TcpStream::connect(&client, "10.0.0.1:80")?;
//! let (mut here, from) = listener.accept()?;
//! there.write_all(b"hello")?;
//! let mut bytes = [0; 5];
//! here.read_exact(&mut bytes)?;
//! assert_eq!((&bytes, from.ip().to_string().as_str()), (b"hello", "10.0.0.2"));
//! # Ok(())
//! # }
//! ```
//!
//! # What a stack is made of
//!
//! [`Stack::builder`] takes
//! - one or more devices: two back to back in [memory](device::memory), a
//!   [TAP device](device::tap) to the Linux kernel, or [one of your
//!   own](device::custom), and wrappers that make [a bad link](device::fault) of them or
//!   [write what passes to a file](device::pcap);
//! - addresses with the length of their networks' prefixes ([`Cidr`]), routers and
//!   [routes](Route);
//! - an [`Organization`], how many processors it has, and [what it leaves
//!   open](organization::Options). [The list](organization) has all twelve; which one
//!   suits a load, the command `anabranch plan` tells. The sockets are the same under
//!   each.
//!
//! There is only IPv4 yet.
//!
//! # UDP
//!
//! ```
//! use anabranch::{Stack, UdpSocket, device::memory};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (left, right) = memory::pair(memory::Config::default());
//! let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
//! let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
//!
//! let here = UdpSocket::bind(&server, "10.0.0.1:53")?;
//! let there = UdpSocket::bind(&client, "10.0.0.2:0")?;
//! there.send_to(b"question", "10.0.0.1:53")?;
//! let mut bytes = [0; 100];
//! let (n, from) = here.recv_from(&mut bytes)?;
//! assert_eq!((&bytes[..n], from), (&b"question"[..], there.local_addr()?));
//! # Ok(())
//! # }
//! ```
//!
//! # Tasks
//!
//! The sockets in [`tokio`] implement `AsyncRead` and `AsyncWrite` of the crate
//! `tokio`, and need nothing else of it: no reactor, and no feature. hyper, rustls
//! and others run on them unchanged. The blocking form of a socket becomes the form
//! for tasks by `into_tokio`, and `into_blocking` leads back.
//!
//! # The end
//!
//! The last handle of a stack waits for a moment until what was written is
//! acknowledged ([`Builder::drain`], [`Stack::shutdown`]). [`Stack::stop`] ends at once,
//! and whatever is called later returns an error of the kind `NetworkDown`.
//!
//! # Features
//!
//! `futures` (off by default): [devices of one's own](device::custom) whose packets are a
//! `Stream` and a `Sink` of `Bytes`.
//!
//! `tracing` (off by default): connections that are opened, closed, reset or refused,
//! and stacks that start and stop, are events of the crate `tracing`, with the target
//! `anabranch`. They are made on the threads of the stack, which wait for the
//! subscriber; so it must not use sockets of the same stack.
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "anabranch runs on Linux only: it sleeps at its descriptors and has its TAP devices"
);

mod addresses;
mod builder;
mod closing;
pub mod device;
mod error;
mod forms;
pub mod instruments;
mod listener;
mod names;
pub mod netstack;
pub mod organization;
mod prefix;
mod sentence;
mod socket;
mod stack;
mod stream;
pub mod tokio;
mod trace;
mod udp;
mod wait;

pub use addresses::{Cidr, CidrError, Route};
pub use builder::Builder;
pub use error::Error;
pub use listener::TcpListener;
pub use names::ToSocketAddrs;
pub use net::{Counters, DropReason};
pub use netstack::Netstack;
pub use organization::{Options, Organization};
pub use platform::Clock;
#[cfg(not(shuttle))]
pub use platform::{RunningThread, VirtualTime};
pub use prefix::Prefix;
pub use stack::{Connection, Stack};
pub use stream::TcpStream;
pub use tcp::congestion::Algorithm as CongestionAlgorithm;
pub use tcp::{Config as TcpConfig, Info as TcpInfo, Keepalive, State as TcpState};
pub use udp::UdpSocket;
