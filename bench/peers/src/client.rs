//! The client: the kernel's sockets, on one thread. It prints one figure: Gbit/s, or what was
//! done in a second; and its share of a processor meanwhile.

use crate::askers;
use crate::run::{STACK, STACK_V6};
use crate::services::{CHARGEN, DISCARD, ECHO, HEAD, HTTP, PAGE};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// A load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// What is done.
    pub name: &'static str,
    /// By how many at a time.
    pub count: usize,
    /// What its figure is.
    pub unit: &'static str,
    /// Over IPv6.
    pub v6: bool,
    /// Over a path of 20 ms, on which so many of a thousand packets are lost each way.
    pub path: Option<u32>,
}

impl Load {
    const fn new(name: &'static str, count: usize, unit: &'static str) -> Load {
        Load { name, count, unit, v6: false, path: None }
    }
    const fn v6(self) -> Load {
        Load { v6: true, ..self }
    }
    const fn over(self, lost: u32) -> Load {
        Load { path: Some(lost), ..self }
    }
    /// Is less of it better?
    pub fn is_cost(&self) -> bool {
        self.name == "idle"
    }
    /// As the client's argument.
    pub fn word(&self) -> String {
        format!("{}-{}-{}", self.name, self.count, if self.v6 { 6 } else { 4 })
    }
    /// As a row's title.
    pub fn title(&self) -> String {
        let family = if self.v6 { ", IPv6" } else { "" };
        let path = self
            .path
            .map_or(String::new(), |lost| format!(", 20 ms, {} % lost", f64::from(lost) / 10.0));
        format!("{}, {}{family}{path} ({})", self.name, self.count, self.unit)
    }
}

/// All loads.
pub const LOADS: [Load; 18] = [
    Load::new("down", 1, "Gbit/s"),
    Load::new("up", 1, "Gbit/s"),
    Load::new("down", 8, "Gbit/s"),
    Load::new("up", 8, "Gbit/s"),
    Load::new("echo", 1, "1/s"),
    Load::new("echo", 64, "1/s"),
    Load::new("connect", 16, "1/s"),
    Load::new("udp", 64, "1/s"),
    Load::new("http", 64, "1/s"),
    Load::new("idle", 10_000, "KiB each"),
    Load::new("burst", 10_000, "1/s"),
    Load::new("down", 1, "Gbit/s").v6(),
    Load::new("echo", 1, "1/s").v6(),
    Load::new("connect", 16, "1/s").v6(),
    Load::new("slow down", 1, "Mbit/s").over(0),
    Load::new("slow up", 1, "Mbit/s").over(0),
    Load::new("slow down", 1, "Mbit/s").over(10),
    Load::new("slow up", 1, "Mbit/s").over(10),
];

/// Before anything counts.
pub const WARM: Duration = Duration::from_millis(300);
/// For so long it counts.
pub const MEASURED: Duration = Duration::from_millis(1500);
/// Bytes of a question.
pub const SIZE: usize = 64;

/// What a path of 20 ms needs to fill.
const SLOW_WARM: Duration = Duration::from_secs(1);
const SLOW_MEASURED: Duration = Duration::from_secs(4);

/// Runs `NAME-COUNT-FAMILY`.
pub fn run(load: &str) {
    let [name, count, family] = load.split('-').collect::<Vec<_>>()[..] else {
        panic!("NAME-COUNT-FAMILY")
    };
    let (name, count): (Rc<str>, usize) = (name.into(), count.parse().expect("a count"));
    let stack = if family == "6" { STACK_V6 } else { STACK };
    if let Some(measured) = askers::measured(&name, stack, count) {
        return match measured {
            Ok((a_second, share)) => println!("{a_second} {share}"),
            Err(error) => eprintln!("{name}: {error}"),
        };
    }
    tasks(name, stack, count);
}

/// The loads that are tasks of tokio.
#[tokio::main(flavor = "current_thread")]
async fn tasks(name: Rc<str>, stack: &'static str, count: usize) {
    match &*name {
        "idle" => return idle(stack, count).await,
        "burst" => return burst(stack, count).await,
        _ => {}
    }
    let slow = name.starts_with("slow");
    let (warm, span) = if slow { (SLOW_WARM, SLOW_MEASURED) } else { (WARM, MEASURED) };
    let done = Rc::new(Cell::new(0));
    let local = LocalSet::new();
    for _ in 0..count {
        let (name, done) = (name.clone(), done.clone());
        local.spawn_local(async move {
            if let Err(error) = one(&name, stack, &done).await {
                eprintln!("{name}: {error}");
            }
        });
    }
    let measured = local.run_until(async {
        tokio::time::sleep(warm).await;
        let (start, before, busy) = (Instant::now(), done.get(), busy());
        tokio::time::sleep(span).await;
        let seconds = start.elapsed().as_secs_f64();
        ((done.get() - before) as f64 / seconds, (self::busy() - busy).as_secs_f64() / seconds)
    });
    let (a_second, share) = measured.await;
    let figure = match &*name {
        "down" | "up" => a_second * 8.0 / 1e9,
        "slow down" | "slow up" => a_second * 8.0 / 1e6,
        _ => a_second,
    };
    println!("{figure} {share}");
    std::process::exit(0);
}

/// The processor's time that this thread, which does all, has had.
pub fn busy() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Opens so many connections, has a word on each, says so, and keeps them until it is killed.
async fn idle(stack: &str, count: usize) {
    let Some(_streams) = opened(stack, count).await else { return };
    println!("{count} 0");
    std::future::pending().await
}

/// So many connections, with a word on each; `None` if one does not come about.
async fn opened(stack: &str, count: usize) -> Option<Vec<TcpStream>> {
    let mut streams = Vec::new();
    while streams.len() < count {
        let asked = async {
            let mut stream = connect(stack, ECHO).await?;
            ask(&mut stream).await.map(|()| stream)
        };
        match asked.await {
            Ok(stream) => streams.push(stream),
            Err(error) => {
                eprintln!("{} connections: {error}", streams.len());
                return None;
            }
        }
    }
    Some(streams)
}

/// What is not answered by then counts as never.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks on so many connections at once: how many answers came in a second, until the last or for
/// [`PATIENCE`].
async fn burst(stack: &str, count: usize) {
    let Some(streams) = opened(stack, count).await else { return };
    let (local, answered, start) = (LocalSet::new(), Rc::new(Cell::new(0)), Instant::now());
    let before = busy();
    let tasks: Vec<_> = streams
        .into_iter()
        .map(|mut stream| {
            let answered = answered.clone();
            local.spawn_local(async move {
                if ask(&mut stream).await.is_ok() {
                    answered.set(answered.get() + 1);
                }
                stream
            })
        })
        .collect();
    let all = async {
        let mut streams = Vec::new();
        for task in tasks {
            streams.push(task.await);
        }
        streams
    };
    let _streams = local.run_until(tokio::time::timeout(PATIENCE, all)).await;
    let seconds = start.elapsed().as_secs_f64();
    let share = (busy() - before).as_secs_f64() / seconds;
    println!("{} {share}", f64::from(answered.get()) / seconds);
    std::process::exit(0);
}

async fn connect(stack: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((stack, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn one(name: &str, stack: &str, done: &Cell<u64>) -> io::Result<()> {
    let add = |n: usize| done.set(done.get() + n as u64);
    match name {
        "down" | "slow down" => {
            let (mut stream, mut bytes) = (connect(stack, CHARGEN).await?, vec![0; 262_144]);
            while let n @ 1.. = stream.read(&mut bytes).await? {
                add(n);
            }
        }
        "up" | "slow up" => {
            let (mut stream, bytes) = (connect(stack, DISCARD).await?, vec![0; 131_072]);
            loop {
                add(stream.write(&bytes).await?);
            }
        }
        "http" => {
            let (mut stream, mut answer) =
                (connect(stack, HTTP).await?, vec![0; HEAD.len() + PAGE]);
            loop {
                stream.write_all(b"GET / HTTP/1.1\r\nHost: stack\r\n\r\n").await?;
                stream.read_exact(&mut answer).await?;
                add(1);
            }
        }
        _ => return Err(io::Error::other("there is no such load")),
    }
    Ok(())
}

async fn ask(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(&[7; SIZE]).await?;
    stream.read_exact(&mut [0; SIZE]).await.map(drop)
}
