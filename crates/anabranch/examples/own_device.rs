//! A device of one's own: a tunnel that carries IP datagrams in UDP datagrams of
//! the host, as a VPN does. Each end is a stack; between them is the host's network.
//!
//! ```sh
//! cargo run --release --example own_device           # both ends in this process
//! ```

use anabranch::device::Device;
use anabranch::device::custom::{self, PacketIo};
use anabranch::{Stack, TcpListener, TcpStream};
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::thread;

/// One end of the tunnel.
struct Tunnel {
    socket: UdpSocket,
    buffer: Box<[u8; 65536]>,
}

impl PacketIo for Tunnel {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        // Until there is no more, or the host says what became of a datagram that
        // was sent: then another call follows.
        while let Ok(n) = self.socket.recv(&mut *self.buffer) {
            // Here a real tunnel would decrypt, and look who sent it.
            deliver(&self.buffer[..n]);
        }
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        match self.socket.send(packet) {
            // No room in the host's buffers: the stack offers it again.
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            // Anything else is a lost packet, which TCP sends again.
            _ => true,
        }
    }
}

/// A device at an end of the tunnel: `socket` is connected to the other one.
fn device(socket: UdpSocket) -> io::Result<Device> {
    socket.set_nonblocking(true)?;
    // The stack sleeps at this descriptor when it has nothing to do, so nobody has
    // to wake it.
    let readable = socket.try_clone()?.into();
    let config = custom::Config::ip().with_name("tunnel").with_mtu(1400).with_readable(readable);
    let (device, _wake) = custom::open(Tunnel { socket, buffer: Box::new([0; 65536]) }, config)?;
    Ok(device)
}

fn main() -> Result<(), Box<dyn Error>> {
    in_memory()
}

/// Both ends, and a conversation between them.
pub fn in_memory() -> Result<(), Box<dyn Error>> {
    let (left, right) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    left.connect(right.local_addr()?)?;
    right.connect(left.local_addr()?)?;
    let server = Stack::builder().device(device(left)?).address("10.0.0.1/24").start()?;
    let client = Stack::builder().device(device(right)?).address("10.0.0.2/24").start()?;

    let listener = TcpListener::bind(&server, "10.0.0.1:80")?;
    let serving = thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        write!(stream, "{} bytes came through the tunnel", bytes.len())
    });
    let mut stream = TcpStream::connect(&client, "10.0.0.1:80")?;
    stream.write_all(&[7; 300_000])?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    serving.join().expect("no panic")?;
    println!("{answer}");
    assert_eq!(answer, "300000 bytes came through the tunnel");
    Ok(())
}
