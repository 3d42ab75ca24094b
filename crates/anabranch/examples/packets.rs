//! A device whose packets are a stream and a sink: here the program between two stacks
//! is a task that carries packets from one to the other, as an end of a VPN carries them
//! to its peers.
//!
//! ```sh
//! cargo run --release --example packets --features futures
//! ```

use anabranch::device::custom::{Config, packets};
use anabranch::tokio::TcpStream;
use anabranch::{Netstack, Stack};
use futures_util::StreamExt;
use std::error::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    in_memory().await
}

/// Both ends, the task between them, and a conversation.
pub async fn in_memory() -> Result<(), Box<dyn Error>> {
    let (left, left_packets) = packets(Config::ip(), 256)?;
    let (right, right_packets) = packets(Config::ip(), 256)?;
    let netstack = Netstack::over(left)?;
    let client = Stack::builder().device(right).address("10.0.0.2/24");
    let client = client.route("default via 10.0.0.1").start()?;

    // Here a real tunnel would encrypt, and send to its peer.
    let (to_left, from_left) = left_packets.split();
    let (to_right, from_right) = right_packets.split();
    let carry = async {
        let there = from_left.map(Ok).forward(to_right);
        let back = from_right.map(Ok).forward(to_left);
        tokio::join!(there, back)
    };

    let talk = async {
        let (stream, accepted) =
            tokio::join!(TcpStream::connect(&client, "198.51.100.7:80"), netstack.accept());
        let (mut stream, mut accepted) = (stream?, accepted?);
        println!("{} asks for {}", accepted.peer_addr()?, accepted.local_addr()?);
        stream.write_all(b"hello").await?;
        let mut bytes = [0; 5];
        accepted.read_exact(&mut bytes).await?;
        assert_eq!(&bytes, b"hello");
        // Nobody is left to carry what would be said at the end.
        client.stop();
        netstack.stack().stop();
        Ok::<(), Box<dyn Error>>(())
    };
    tokio::select! {
        done = talk => done,
        _ = carry => Err("a stack has ended".into()),
    }
}
