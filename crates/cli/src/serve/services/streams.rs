//! What a tester of stacks wants at the other end of a connection: echo,
//! discard, chargen, close, sink.

use crate::tally::Tally;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of the largest application buffer, and of one that has yet to prove
/// that it is worth more: many connections say little.
const BUFFER: usize = 128 * 1024;
const SMALL: usize = 4 * 1024;
/// How long `sink` holds a connection.
const HOLD: Duration = Duration::from_secs(60);
/// How long `close` waits for the end of a stream that it has closed.
const LINGER: Duration = Duration::from_secs(60);

/// A connection, as services see it.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Reads and sends back, until the peer's stream ends.
///
/// # Errors
/// Those of the connection.
pub async fn echo(mut stream: impl Stream, tally: &Tally) -> io::Result<()> {
    let mut buffer = vec![0; SMALL];
    loop {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return stream.shutdown().await;
        }
        Tally::add(&tally.bytes_in, n);
        stream.write_all(&buffer[..n]).await?;
        Tally::add(&tally.bytes_out, n);
        grow(&mut buffer, n);
    }
}

/// Reads all, and closes at the end of the stream.
///
/// # Errors
/// Those of the connection.
pub async fn discard(mut stream: impl Stream, tally: &Tally) -> io::Result<()> {
    drain(&mut stream, tally).await?;
    stream.shutdown().await
}

async fn drain(stream: &mut (impl AsyncRead + Unpin), tally: &Tally) -> io::Result<()> {
    let mut buffer = vec![0; SMALL];
    loop {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        Tally::add(&tally.bytes_in, n);
        grow(&mut buffer, n);
    }
}

/// A buffer that was filled is made larger.
fn grow(buffer: &mut Vec<u8>, filled: usize) {
    if filled == buffer.len() && filled < BUFFER {
        buffer.resize((filled * 4).min(BUFFER), 0);
    }
}

/// RFC 864's recommended pattern: lines of 72 of the 95 printing characters,
/// each line starting one further. Whole cycles, so that it can be repeated.
fn pattern() -> Vec<u8> {
    const PRINTING: u8 = 95;
    let line = |start: u8| {
        let characters = (0..72).map(move |i| b' ' + (start + i) % PRINTING);
        characters.chain(*b"\r\n")
    };
    let cycle: Vec<u8> = (0..PRINTING).flat_map(line).collect();
    cycle.repeat(BUFFER.div_ceil(cycle.len()))
}

/// Writes without end, from accept on.
///
/// # Errors
/// Those of the connection.
pub async fn chargen(stream: impl Stream, tally: &Tally) -> io::Result<()> {
    static PATTERN: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(pattern);
    let (mut reader, mut writer) = tokio::io::split(stream);
    let write = async {
        loop {
            let n = writer.write(&PATTERN).await?;
            Tally::add(&tally.bytes_out, n);
            let mut from = n;
            while from < PATTERN.len() {
                let n = writer.write(&PATTERN[from..]).await?;
                Tally::add(&tally.bytes_out, n);
                from += n;
            }
        }
    };
    // "Any data received is thrown away." The end of the peer's stream is not
    // the end of ours.
    let read = async {
        match drain(&mut reader, tally).await {
            Ok(()) => std::future::pending().await,
            Err(error) => Err(error),
        }
    };
    tokio::select! {
        end = write => end,
        end = read => end,
    }
}

/// Never reads; holds the connection for [`HOLD`].
///
/// # Errors
/// None.
pub async fn sink(stream: impl Stream, _: &Tally) -> io::Result<()> {
    tokio::time::sleep(HOLD).await;
    drop(stream);
    Ok(())
}

/// After the first byte answers `bye\r\n`, and closes first.
///
/// # Errors
/// Those of the connection.
pub async fn close(mut stream: impl Stream, tally: &Tally) -> io::Result<()> {
    let n = stream.read(&mut [0; 512]).await?;
    Tally::add(&tally.bytes_in, n);
    if n > 0 {
        stream.write_all(b"bye\r\n").await?;
        Tally::add(&tally.bytes_out, 5);
    }
    stream.shutdown().await?;
    // Unread bytes would turn our FIN into a reset.
    match tokio::time::timeout(LINGER, drain(&mut stream, tally)).await {
        Ok(end) => end,
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
