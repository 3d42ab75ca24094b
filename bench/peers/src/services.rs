//! What every stack serves, on whatever connection it accepts: by the port that was asked for.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Reads all.
pub const DISCARD: u16 = 9;
/// Writes without end.
pub const CHARGEN: u16 = 19;
/// Pages of [`PAGE`] bytes by HTTP, one connection for many.
pub const HTTP: u16 = 80;
/// Bytes of a page.
pub const PAGE: usize = 32 << 10;
/// What stands before a page.
pub const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 32768\r\n\r\n";
/// Anything else echoes.
pub const ECHO: u16 = 7;

/// Serves a connection.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, port: u16) {
    // The client ends connections as it likes.
    let _ = match port {
        DISCARD => discard(&mut stream).await,
        CHARGEN => chargen(&mut stream).await,
        HTTP => http(&mut stream).await,
        _ => echo(&mut stream).await,
    };
    let _ = stream.shutdown().await;
}

async fn discard(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    let mut bytes = vec![0; 65536];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}

async fn chargen(stream: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
    let bytes = vec![b'c'; 65536];
    loop {
        stream.write_all(&bytes).await?;
    }
}

async fn http(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> std::io::Result<()> {
    let mut answer = HEAD.as_bytes().to_vec();
    answer.resize(HEAD.len() + PAGE, b'h');
    let (mut bytes, mut asked) = (vec![0; 2048], Vec::new());
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(()),
            n => asked.extend(&bytes[..n]),
        }
        if asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            stream.write_all(&answer).await?;
        }
    }
}

async fn echo(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> std::io::Result<()> {
    let mut bytes = vec![0; 2048];
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(()),
            n => stream.write_all(&bytes[..n]).await?,
        }
    }
}
