//! An echo server: a thread for each client, and a client that goes away takes
//! nobody with it.
//!
//! ```sh
//! sudo cargo run --release --example echo            # on a TAP device; then: nc 10.99.0.2 7
//! cargo run --release --example echo memory          # with a client in memory, no root needed
//! ```

use anabranch::device::{memory, tap};
use anabranch::{Stack, TcpListener, TcpStream};
use std::error::Error;
use std::io::{self, Read, Write};
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("memory") {
        return in_memory();
    }
    let config = tap::Config::default().with_queues(2).with_kernel_address([10, 99, 0, 1], 24);
    let stack = Stack::builder()
        .device(tap::open(&config)?)
        .address("10.99.0.2/24")
        .organization("processor-per-connection")
        .processors(2)
        .start()?;
    Ok(serve(TcpListener::bind(&stack, "10.99.0.2:7")?)?)
}

/// Serves until the stack stops.
fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, peer) = listener.accept()?;
        thread::spawn(move || {
            if let Err(error) = echo(stream) {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes)? {
            0 => return Ok(()),
            n => stream.write_all(&bytes[..n])?,
        }
    }
}

/// The same with a client of our own.
pub fn in_memory() -> Result<(), Box<dyn Error>> {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("10.99.0.2/24").start()?;
    let client = Stack::builder().device(right).address("10.99.0.1/24").start()?;
    let listener = TcpListener::bind(&server, "10.99.0.2:7")?;
    let serving = thread::spawn(move || serve(listener));

    // One that goes away without a word, and one that does not.
    let rude = TcpStream::connect(&client, "10.99.0.2:7")?;
    rude.set_linger(Some(std::time::Duration::ZERO))?;
    drop(rude);
    let mut stream = TcpStream::connect(&client, "10.99.0.2:7")?;
    stream.write_all(b"hello")?;
    let mut bytes = [0; 5];
    stream.read_exact(&mut bytes)?;
    println!("{}", String::from_utf8_lossy(&bytes));
    assert_eq!(&bytes, b"hello");

    server.stop();
    let end = serving.join().expect("no panic").expect_err("it serves for ever");
    println!("the server ends: {end}");
    Ok(())
}
