//! The client: the kernel's sockets, on one thread. It prints one figure: Gbit/s, or what was
//! done in a second.

use crate::run::STACK;
use crate::services::{CHARGEN, DISCARD, ECHO};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::LocalSet;

/// The loads: a name, how many at a time, and what its figure is.
pub const LOADS: [(&str, usize, &str); 8] = [
    ("down", 1, "Gbit/s"),
    ("up", 1, "Gbit/s"),
    ("down", 8, "Gbit/s"),
    ("up", 8, "Gbit/s"),
    ("echo", 1, "1/s"),
    ("echo", 64, "1/s"),
    ("connect", 16, "1/s"),
    ("udp", 64, "1/s"),
];

const WARM: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(1500);
/// Bytes of a question.
const SIZE: usize = 64;

/// Runs `NAME-COUNT`.
#[tokio::main(flavor = "current_thread")]
pub async fn run(load: &str) {
    let (name, count) = load.split_once('-').expect("NAME-COUNT");
    let (name, count): (Rc<str>, usize) = (name.into(), count.parse().expect("a count"));
    let done = Rc::new(Cell::new(0));
    let local = LocalSet::new();
    for _ in 0..count {
        let (name, done) = (name.clone(), done.clone());
        local.spawn_local(async move {
            if let Err(error) = one(&name, &done).await {
                eprintln!("{name}: {error}");
            }
        });
    }
    let measured = local.run_until(async {
        tokio::time::sleep(WARM).await;
        let (start, before) = (Instant::now(), done.get());
        tokio::time::sleep(MEASURED).await;
        (done.get() - before) as f64 / start.elapsed().as_secs_f64()
    });
    let a_second = measured.await;
    let is_bulk = matches!(&*name, "down" | "up");
    println!("{}", if is_bulk { a_second * 8.0 / 1e9 } else { a_second });
    std::process::exit(0);
}

async fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((STACK, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn one(name: &str, done: &Cell<u64>) -> io::Result<()> {
    let add = |n: usize| done.set(done.get() + n as u64);
    match name {
        "down" => {
            let (mut stream, mut bytes) = (connect(CHARGEN).await?, vec![0; 262_144]);
            while let n @ 1.. = stream.read(&mut bytes).await? {
                add(n);
            }
        }
        "up" => {
            let (mut stream, bytes) = (connect(DISCARD).await?, vec![0; 131_072]);
            loop {
                add(stream.write(&bytes).await?);
            }
        }
        "echo" => {
            let mut stream = connect(ECHO).await?;
            loop {
                ask(&mut stream).await?;
                add(1);
            }
        }
        "connect" => loop {
            ask(&mut connect(ECHO).await?).await?;
            add(1);
        },
        "udp" => loop {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            socket.connect((STACK, ECHO)).await?;
            let patience = Duration::from_millis(200);
            // After a loss it begins again.
            while tokio::time::timeout(patience, exchange(&socket)).await.is_ok_and(|r| r.is_ok()) {
                add(1);
            }
        },
        _ => return Err(io::Error::other("there is no such load")),
    }
    Ok(())
}

async fn ask(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(&[7; SIZE]).await?;
    stream.read_exact(&mut [0; SIZE]).await.map(drop)
}

async fn exchange(socket: &UdpSocket) -> io::Result<()> {
    socket.send(&[7; SIZE]).await?;
    socket.recv(&mut [0; SIZE]).await.map(drop)
}
