//! Captures of a running stack ([`Stack::capture`](crate::Stack::capture)), for Wireshark
//! and its kin.
//!
//! ```
//! use anabranch::{Stack, UdpSocket, capture, device::memory};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (device, _peer) = memory::pair(memory::Config::default());
//! let stack = Stack::builder().device(device).address("10.0.0.1/24").observable().start()?;
//!
//! let filter = "udp dst port 53".parse()?;
//! let capture = stack.capture(capture::Options::default().with_filter(filter))?;
//! let mut writer = capture::Writer::new(Vec::new(), &capture)?;
//!
//! let socket = UdpSocket::bind(&stack, "127.0.0.1:0")?;
//! socket.send_to(b"question", "127.0.0.1:53")?;
//! # let started = std::time::Instant::now();
//! while capture.taken() == 0 {
//!     std::thread::yield_now();
//! #   assert!(started.elapsed().as_secs() < 60);
//! }
//! while let Some(packet) = capture.next() {
//!     writer.write(&packet)?;
//! }
//! writer.finish(&capture)?;
//! # Ok(())
//! # }
//! ```

pub use ::device::capture::{Capture, Captured, Filter, FilterError, Options, SNAPLEN, Writer};
