//! The sockets for tasks: as those of `tokio::net`, with the stack as first
//! argument. They need no runtime of their own and no reactor: any executor
//! polls them.
//!
//! Import what is in this module, or the module by another name (`use anabranch::tokio as
//! stack;`): by its own it hides the crate `tokio`.
//!
//! ```
//! use anabranch::tokio::{TcpListener, TcpStream};
//! use anabranch::{Stack, device::memory};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (left, right) = memory::pair(memory::Config::default());
//! let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
//! let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
//!
//! let listener = TcpListener::bind(&server, "10.0.0.1:80").await?;
//! let mut there = TcpStream::connect(&client, "10.0.0.1:80").await?;
//! let (mut here, _) = listener.accept().await?;
//! there.write_all(b"hello").await?;
//! let mut bytes = [0; 5];
//! here.read_exact(&mut bytes).await?;
//! assert_eq!(&bytes, b"hello");
//! # Ok(())
//! # }
//! ```

mod listener;
mod ready;
mod split;
mod stream;
mod udp;

pub use listener::TcpListener;
pub use ready::{Interest, Ready};
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use stream::TcpStream;
pub use udp::UdpSocket;
