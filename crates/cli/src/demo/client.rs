//! [`Client`]: a web client of the plainest kind, which checks what it gets.

use super::host::{Connection, Host};
use super::pages::{LARGE, Pages, SMALL, SMALL_TEXT};
use std::io::{self, ErrorKind, Read};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

/// Connections that small requests go over, each with a thread of its own.
const CONNECTIONS: u32 = 16;
/// Bytes of the longest header of a response that it takes.
const LONGEST_HEADER: usize = 4096;

/// A client of a [`Host`].
pub struct Client<'a> {
    /// Where to fetch from.
    pub host: &'a Host,
    /// What should be there.
    pub pages: &'a Pages,
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}

impl Client<'_> {
    /// Fetches the large file into `buffer`, which is as long, and compares it.
    /// Returns how fast it came, Gbit/s.
    ///
    /// # Errors
    /// Those of the connection, and `InvalidData` if the file is not the same.
    pub fn fetch(&self, buffer: &mut [u8]) -> io::Result<f64> {
        let begun = Instant::now();
        let mut stream = self.host.connect()?;
        let (len, early) = request(&mut *stream, LARGE, true)?;
        if len != buffer.len() || early.len() > len {
            return Err(wrong(format!("{len} bytes were announced, not {}", buffer.len())));
        }
        buffer[..early.len()].copy_from_slice(&early);
        stream.read_exact(&mut buffer[early.len()..])?;
        let seconds = begun.elapsed().as_secs_f64();
        if !self.pages.is_large(buffer) {
            return Err(wrong("the SHA-256 of what arrived is wrong"));
        }
        Ok(len as f64 * 8.0 / 1e9 / seconds)
    }

    /// Makes small requests over connections that are kept. Returns how many a second.
    ///
    /// # Errors
    /// Those of connections, and `InvalidData` if an answer is wrong.
    pub fn requests(&self, requests: u32) -> io::Result<f64> {
        let streams = (0..CONNECTIONS).map(|_| self.host.connect());
        let streams = streams.collect::<io::Result<Vec<_>>>()?;
        let left = AtomicU32::new(requests);
        timed(requests, streams, &|mut stream| {
            while take(&left) {
                small(&mut *stream, true)?;
            }
            Ok(())
        })
    }

    /// Makes small requests with a connection each. Returns how many a second.
    ///
    /// # Errors
    /// As [`Client::requests`].
    pub fn connections(&self, connections: u32) -> io::Result<f64> {
        let left = AtomicU32::new(connections);
        timed(connections, vec![(); CONNECTIONS as usize], &|()| {
            while take(&left) {
                small(&mut *self.host.connect()?, false)?;
            }
            Ok(())
        })
    }
}

fn take(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// Does `work` with each of `items` in a thread of its own. Returns `count` a
/// second.
fn timed<T: Send>(
    count: u32,
    items: Vec<T>,
    work: &(impl Fn(T) -> io::Result<()> + Sync),
) -> io::Result<f64> {
    let begun = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> =
            items.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
        })
    })?;
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

/// Fetches the small file, and compares it. If the connection is not `kept`, its
/// end has to follow.
fn small(stream: &mut dyn Connection, kept: bool) -> io::Result<()> {
    let (len, mut body) = request(stream, SMALL, kept)?;
    let early = body.len();
    body.resize(len.min(LONGEST_HEADER), 0);
    if early < body.len() {
        stream.read_exact(&mut body[early..])?;
    }
    if body != SMALL_TEXT.as_bytes() {
        return Err(wrong("a small file is not what it should be"));
    }
    if !kept && stream.read(&mut [0])? != 0 {
        return Err(wrong("more came than was announced"));
    }
    Ok(())
}

/// Asks for `path`. Returns the length of the body, and what of it came with the
/// header.
fn request(stream: &mut dyn Connection, path: &str, kept: bool) -> io::Result<(usize, Vec<u8>)> {
    let connection = if kept { "keep-alive" } else { "close" };
    let text = format!("GET {path} HTTP/1.1\r\nHost: demo\r\nConnection: {connection}\r\n\r\n");
    stream.write_all(text.as_bytes())?;
    let mut header = Vec::with_capacity(LONGEST_HEADER);
    loop {
        let before = header.len();
        header.resize(LONGEST_HEADER, 0);
        let n = stream.read(&mut header[before..])?;
        header.truncate(before + n);
        if let Some(end) = header.windows(4).position(|window| window == b"\r\n\r\n") {
            let body = header.split_off(end + 4);
            return Ok((content_length(&header)?, body));
        }
        if n == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

fn content_length(header: &[u8]) -> io::Result<usize> {
    let text = String::from_utf8_lossy(header);
    if !text.starts_with("HTTP/1.1 200 ") {
        return Err(wrong(format!("the answer was {:?}", text.lines().next().unwrap_or_default())));
    }
    let field = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    field.ok_or_else(|| wrong("no length was announced"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let good = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n";
        assert_eq!(content_length(good).expect("good"), 7);
        for bad in ["HTTP/1.1 404 Not Found\r\ncontent-length: 7", "HTTP/1.1 200 OK\r\n", ""] {
            assert!(content_length(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
