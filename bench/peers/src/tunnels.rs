//! Programs that carry connections from a TUN device to a SOCKS5 server: the same one for all, in
//! this process, which serves what it is asked for itself.

use crate::run::{self, DEVICE};
use crate::services;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PROXY: &str = "127.0.0.1:1080";
/// `cargo build --release` makes it.
const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/release/anabranch");
/// `cargo install tun2proxy`.
const THEIRS: &str = "tun2proxy-bin";

/// The program, and what says that it is another than the usual one.
fn program(name: &str) -> String {
    let (variable, usual) = match name {
        "tunnel: anabranch" => ("ANABRANCH", OURS),
        _ => ("TUN2PROXY", THEIRS),
    };
    std::env::var(variable).unwrap_or_else(|_| usual.into())
}

/// Is the program there?
pub fn is_there(name: &str) -> bool {
    let program = program(name);
    let in_path = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(&program).exists())
    };
    Path::new(&program).exists() || !program.contains('/') && in_path()
}

/// Serves until it is killed, and the program with it.
pub async fn serve(name: &str) {
    let listener = TcpListener::bind(PROXY).await.expect("a port");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program(name));
    let proxy = format!("socks5://{PROXY}");
    match name {
        "tunnel: anabranch" => command.args(["tunnel", "--proxy", &proxy, "--tun", DEVICE]),
        _ => command.args(["--proxy", &proxy, "--tun", DEVICE, "--verbosity", "off"]),
    };
    command.stdout(io::stderr());
    let _child = command.spawn().expect("the program");
    while !Path::new("/sys/class/net").join(DEVICE).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    run::ready();
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            // Who does not speak SOCKS5 is not served.
            let _ = proxied(stream).await;
        });
    }
}

/// RFC 1928: who connects wherever it be is served by the port.
async fn proxied(mut stream: TcpStream) -> io::Result<()> {
    let mut methods = [0; 255];
    stream.read_u8().await?;
    let count = usize::from(stream.read_u8().await?);
    stream.read_exact(&mut methods[..count]).await?;
    stream.write_all(&[5, 0]).await?;
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    let mut address = [0; 16];
    let len = if request[3] == 4 { 16 } else { 4 };
    stream.read_exact(&mut address[..len]).await?;
    let port = stream.read_u16().await?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    services::serve(stream, port).await;
    Ok(())
}
