//! A stack whose packets are written to a file, for Wireshark or tcpdump.
//!
//! ```sh
//! cargo run --release --example pcap capture.pcapng && tcpdump -nr capture.pcapng
//! ```

use anabranch::device::{memory, pcap};
use anabranch::{Stack, TcpListener, TcpStream};
use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| "capture.pcapng".into(), PathBuf::from);
    capture(&path)
}

/// Writes the packets of a short conversation to `path`.
pub fn capture(path: &Path) -> Result<(), Box<dyn Error>> {
    let (left, right) = memory::pair(memory::Config::default());
    let left = pcap::wrap(left, path)?;
    let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
    let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
    let listener = TcpListener::bind(&server, "10.0.0.1:80")?;
    let mut there = TcpStream::connect(&client, "10.0.0.1:80")?;
    let (mut here, _) = listener.accept()?;
    there.write_all(b"hello")?;
    here.read_exact(&mut [0; 5])?;
    drop((here, there, listener));
    // The device goes with its stack, and what was not written yet is written then.
    drop((client, server));
    println!("{} has {} bytes", path.display(), std::fs::metadata(path)?.len());
    Ok(())
}
