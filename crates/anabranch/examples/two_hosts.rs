//! Two hosts in one process, joined by a link that loses packets: TCP, UDP, and
//! what TCP knows of its connection in the end.
//!
//! ```sh
//! cargo run --release --example two_hosts
//! ```

use anabranch::device::{fault, memory};
use anabranch::{Organization, Stack, TcpConfig, TcpListener, TcpStream, UdpSocket};
use std::error::Error;
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

/// Bytes to send.
const BYTES: usize = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    in_memory()
}

/// Sends over a bad link, and looks at what it took.
pub fn in_memory() -> Result<(), Box<dyn Error>> {
    let (left, right) = memory::pair(memory::Config::default());
    let right = fault::wrap(right, &"loss=1%,delay=1ms".parse()?, 1);
    let tcp = TcpConfig::default().with_min_rto(Duration::from_millis(20));
    let host = |device, address, organization: Organization| {
        let builder = Stack::builder().device(device).address(address);
        builder.organization(organization).tcp(tcp.clone()).start()
    };
    let server = host(left, "10.0.0.1/24", Organization::UNIPROCESSOR)?;
    let client = host(right, "10.0.0.2/24", Organization::GROUP_LOCKS)?;

    let listener = TcpListener::bind(&server, "10.0.0.1:80")?;
    let reading = thread::spawn(move || -> std::io::Result<usize> {
        let (mut stream, peer) = listener.accept()?;
        println!("{peer} is connected");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)
    });
    let mut stream = TcpStream::connect(&client, "10.0.0.1:80")?;
    stream.write_all(&vec![7; BYTES])?;
    let info = stream.info()?;
    drop(stream);
    assert_eq!(reading.join().expect("no panic")?, BYTES);
    println!("{BYTES} bytes arrived; round trip {:?}, {} sent again", info.srtt, info.retransmits);

    // A datagram may be lost: ask until there is an answer.
    let here = UdpSocket::bind(&server, "10.0.0.1:53")?;
    let there = UdpSocket::bind(&client, "10.0.0.2:0")?;
    there.connect("10.0.0.1:53")?;
    there.set_read_timeout(Some(Duration::from_millis(50)))?;
    thread::spawn(move || {
        let mut bytes = [0; 100];
        while let Ok((n, peer)) = here.recv_from(&mut bytes) {
            let _ = here.send_to(&bytes[..n], peer);
        }
    });
    let mut bytes = [0; 100];
    let n = loop {
        there.send(b"anybody there?")?;
        if let Ok(n) = there.recv(&mut bytes) {
            break n;
        }
    };
    println!("{}", String::from_utf8_lossy(&bytes[..n]));
    server.stop();
    Ok(())
}
