//! The end of a tunnel: whatever address and port is asked for, it answers. It echoes
//! TCP and UDP, where a real program would connect onward to where the peer wants to go.
//!
//! ```sh
//! sudo cargo run --release --example netstack        # on a TUN device; then: nc 10.99.0.77 4321
//! cargo run --release --example netstack memory      # with a client in memory, no root needed
//! ```

use anabranch::device::{Medium, memory, tun};
use anabranch::netstack::UdpSession;
use anabranch::tokio::{TcpStream, UdpSocket};
use anabranch::{Netstack, Stack};
use std::error::Error;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("memory") {
        return in_memory().await;
    }
    // The kernel sends what is for 10.99.0.0/24 to the device; `ip route add … dev
    // ana-example` sends more.
    let config = tun::Config::default().with_name("ana-example");
    let netstack = Netstack::over(tun::open(&config.with_kernel_address([10, 99, 0, 1], 24))?)?;
    Ok(serve(Arc::new(netstack)).await?)
}

/// Serves until the stack stops.
async fn serve(netstack: Arc<Netstack>) -> io::Result<()> {
    loop {
        tokio::select! {
            stream = netstack.accept() => {
                let stream = stream?;
                println!("TCP: {} asks for {}", stream.peer_addr()?, stream.local_addr()?);
                tokio::spawn(echo(stream));
            }
            session = netstack.accept_udp() => {
                let session = session?;
                println!("UDP: {} asks for {}", session.peer_addr(), session.local_addr());
                tokio::spawn(echo_datagrams(session));
            }
        }
    }
}

async fn echo(stream: TcpStream) -> io::Result<()> {
    let (mut read, mut write) = stream.into_split();
    tokio::io::copy(&mut read, &mut write).await?;
    write.shutdown().await
}

/// Ends by an error once the peer has said nothing for two minutes.
async fn echo_datagrams(session: UdpSession) -> io::Result<()> {
    let mut bytes = [0; 65535];
    loop {
        let n = session.recv(&mut bytes).await?;
        session.send(&bytes[..n]).await?;
    }
}

/// With a client in memory, whose way to everywhere leads here.
pub async fn in_memory() -> Result<(), Box<dyn Error>> {
    let (left, right) = memory::pair(memory::Config::default().with_medium(Medium::Ip));
    let serving = tokio::spawn(serve(Arc::new(Netstack::over(left)?)));
    let client = Stack::builder().device(right).address("10.0.0.2/24");
    let client = client.route("default via 10.0.0.1").start()?;

    let mut stream = TcpStream::connect(&client, "203.0.113.9:443").await?;
    stream.write_all(b"hello").await?;
    let mut bytes = [0; 5];
    stream.read_exact(&mut bytes).await?;
    let socket = UdpSocket::bind(&client, "10.0.0.2:0").await?;
    socket.send_to(b"hello", "198.51.100.1:53").await?;
    let (n, from) = socket.recv_from(&mut bytes).await?;
    println!("{n} bytes came back from {from}");
    assert_eq!((&bytes, from), (b"hello", "198.51.100.1:53".parse()?));
    client.stop();
    serving.abort();
    Ok(())
}
