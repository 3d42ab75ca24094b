//! What every stack serves, on whatever connection it accepts: by the port that was asked for.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Reads all.
pub const DISCARD: u16 = 9;
/// Writes without end.
pub const CHARGEN: u16 = 19;
/// Anything else echoes.
pub const ECHO: u16 = 7;

/// Serves a connection.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, port: u16) {
    // The client ends connections as it likes.
    let _ = match port {
        DISCARD => discard(&mut stream).await,
        CHARGEN => chargen(&mut stream).await,
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

async fn echo(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> std::io::Result<()> {
    let mut bytes = vec![0; 2048];
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(()),
            n => stream.write_all(&bytes[..n]).await?,
        }
    }
}
