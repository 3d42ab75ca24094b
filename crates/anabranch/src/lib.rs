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
//!   [TAP](device::tap) or [TUN device](device::tun) to the Linux kernel, or [one of your
//!   own](device::custom), and wrappers that make [a bad link](device::fault) of them or
//!   [write what passes to a file](device::pcap);
//! - addresses with the length of their networks' prefixes ([`Cidr`]), routers and
//!   [routes](Route);
//! - an [`Organization`], how many processors it has, and [what it leaves
//!   open](organization::Options). [The list](organization) has all twelve; which one
//!   suits a load, the command `anabranch plan` tells. The sockets are the same under
//!   each.
//!
//! IPv4 and IPv6 are alike. A socket on `[::]` is for both, unless it was bound for IPv6
//! only. Addresses and routes are given when the stack starts, and can be changed while it
//! runs ([`Stack::host`]); or they come by what routers say ([`Builder::slaac`]). An address of
//! IPv6 on Ethernet is checked for another station that has it ([`Builder::dad`]). A link-local
//! address is followed by the number of the interface whose link is meant, from 1 on, or by its
//! device's name: `[fe80::1%2]:80`, [`SocketAddrV6::scope_id`](std::net::SocketAddrV6::scope_id).
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
//! In organizations whose units have a thread each, tasks may run on the stack's own
//! threads ([`mod@unit`]), where no message is handed from thread to thread.
//!
//! # The end
//!
//! The last handle of a stack waits for a moment until what was written is
//! acknowledged ([`Builder::drain`], [`Stack::shutdown`]). [`Stack::stop`] ends at once: its
//! connections are reset, which their streams tell once by an error of the kind
//! `ConnectionAborted`, and whatever is bound, opened, accepted, sent or received by UDP later
//! returns one of the kind `NetworkDown`.
//!
//! # Memory
//!
//! What connections and packets have used is kept for those that follow, and not given back
//! to the system: a stack has as much as it needed at its busiest moment. [`TcpConfig`]
//! bounds each connection, [`Builder::max_connections`] how many there are, and
//! [`Builder::memory`] what they hold together.
//!
//! # A view into a running stack
//!
//! [`Stack::counters`] and [`Stack::connections`] are there always. A stack that is
//! [observable](Builder::observable) can be [captured](capture) while it runs, and has
//! [instruments] that sleep until somebody watches. With the feature `control` it opens a
//! [control socket](Builder::control), by which `anabranch ss`, `top` and `capture` look into
//! it from another process of the same owner.
//!
//! # Names
//!
//! A name, such as `example.org:80`, is looked up by the stack's own sockets, at the servers that
//! [`Builder`] (`dns`) or DHCP has named, if the feature `dns` is on. It is never looked up by the
//! system's resolver, unless that is asked for ([`Builder::system_resolver`]).
//!
//! # Features
//!
//! `dns` (off by default): names by DNS over the stack's own sockets.
//!
//! `control` (off by default): control sockets.
//!
//! `futures` (off by default): [devices of one's own](device::custom) whose packets are a
//! `Stream` and a `Sink` of `Bytes`.
//!
//! `hyper` (off by default): what hyper asks of a runtime, in `unit::rt`.
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
mod alarms;
mod builder;
pub mod capture;
mod closing;
#[cfg(feature = "control")]
pub mod control;
pub mod device;
pub mod dhcp;
mod dns;
mod error;
mod forms;
mod groups;
pub mod host;
pub mod instruments;
mod listener;
mod names;
pub mod netstack;
mod observe;
mod options;
pub mod organization;
mod path_mtu;
mod prefix;
mod scope;
mod sentence;
mod servers;
mod shared_bytes;
mod socket;
mod stack;
mod stream;
mod stream_options;
mod takers;
mod tasks;
pub mod tokio;
mod trace;
mod udp;
pub mod unit;
mod wait;
mod ways;

pub use addresses::{Cidr, CidrError, Route};
pub use builder::Builder;
pub use error::Error;
pub use host::Host;
pub use listener::TcpListener;
pub use names::ToSocketAddrs;
pub use net::{Counters, DropReason};
pub use netstack::Netstack;
pub use observe::Connection;
pub use options::TcpOptions;
pub use organization::{Options, Organization};
pub use platform::Clock;
#[cfg(not(shuttle))]
pub use platform::{RunningThread, VirtualTime};
pub use prefix::Prefix;
pub use servers::{NameServer, NameServerError};
pub use shared_bytes::SharedBytes;
pub use stack::Stack;
pub use stream::TcpStream;
pub use tcp::congestion::Algorithm as CongestionAlgorithm;
pub use tcp::{
    AccurateEcn, Config as TcpConfig, CounterOptions, EcnMode, FastOpenKey, Info as TcpInfo,
    Keepalive, State as TcpState,
};
pub use udp::UdpSocket;
