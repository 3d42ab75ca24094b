//! What `scripts/packaged` builds and runs outside of the workspace: a user of the
//! packaged library, with two hosts back to back in memory.

use anabranch::{Stack, TcpListener, TcpStream, device::memory};
use std::io::{Read, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("10.0.0.1/24").start()?;
    let client = Stack::builder().device(right).address("10.0.0.2/24").start()?;
    let listener = TcpListener::bind(&server, "10.0.0.1:80")?;
    let mut there = TcpStream::connect(&client, "10.0.0.1:80")?;
    let (mut here, from) = listener.accept()?;
    there.write_all(b"hello")?;
    let mut bytes = [0; 5];
    here.read_exact(&mut bytes)?;
    println!("{} from {from}", String::from_utf8_lossy(&bytes));
    Ok(())
}
