//! Anabranch: a TCP/IP stack in user space whose spread over many cores, its
//! parallel organization, is a setting.
//!
//! A [`Stack`] is a host of its own: it has devices, addresses and an
//! organization. Sockets are those of `std::net`, with the stack as first
//! argument; those in [`tokio`] are the same for tasks.
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
#![forbid(unsafe_code)]

mod addresses;
mod builder;
mod closing;
pub mod device;
mod error;
pub mod instruments;
mod listener;
mod names;
pub mod organization;
mod socket;
mod stack;
mod stream;
pub mod tokio;
mod udp;
mod wait;

pub use addresses::{Cidr, CidrError, Route};
pub use builder::Builder;
pub use error::Error;
pub use listener::TcpListener;
pub use names::ToSocketAddrs;
pub use net::{Counters, DropReason};
pub use organization::{Options, Organization};
pub use stack::Stack;
pub use stream::TcpStream;
pub use tcp::congestion::Algorithm as CongestionAlgorithm;
pub use tcp::{Config as TcpConfig, Info as TcpInfo, Keepalive, State as TcpState};
pub use udp::UdpSocket;
