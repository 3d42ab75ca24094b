//! An answer of HTTP/1.1, of which only the length of the body counts.

use std::io::{self, ErrorKind, Read};

/// Bytes of the longest header.
const LONGEST_HEADER: usize = 16 * 1024;
/// Bytes of the longest body.
const LONGEST_BODY: u64 = 1 << 40;

/// What is known of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Bytes of its body.
    pub(super) bytes: u64,
    /// May the connection be used again?
    pub(super) stays: bool,
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

/// Reads one answer and its body, which has to have a length.
///
/// # Errors
/// Those of the connection, and `InvalidData` if it is no such answer.
pub(super) fn read(connection: &mut dyn Read) -> io::Result<Answer> {
    let mut buffer = vec![0; 16 * 1024];
    let mut filled = 0;
    let end = loop {
        if let Some(end) = end_of_header(&buffer[..filled]) {
            break end;
        }
        if filled >= LONGEST_HEADER {
            return Err(wrong("the header is too long"));
        }
        let read = connection.read(&mut buffer[filled..])?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        filled += read;
    };
    let header = std::str::from_utf8(&buffer[..end]).map_err(|_| wrong("a header of no text"))?;
    let answer = parse(header)?;
    let mut left = answer.bytes.saturating_sub((filled - end) as u64);
    if (filled - end) as u64 > answer.bytes {
        return Err(wrong("more came than was asked for"));
    }
    while left > 0 {
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match connection.read(&mut buffer[..most])? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => left -= read as u64,
        }
    }
    Ok(answer)
}

fn end_of_header(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn parse(header: &str) -> io::Result<Answer> {
    let mut lines = header.split("\r\n");
    let first = lines.next().unwrap_or("");
    let mut words = first.split(' ');
    let version = words.next().filter(|version| matches!(*version, "HTTP/1.0" | "HTTP/1.1"));
    let version = version.ok_or_else(|| wrong("no answer of HTTP/1"))?;
    let status = words.next().and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or_else(|| wrong("an answer without a status"))?;
    let mut answer = Answer { status, bytes: 0, stays: version == "HTTP/1.1" };
    let mut length = None;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            let bytes = value.parse().ok().filter(|bytes| *bytes <= LONGEST_BODY);
            length = Some(bytes.ok_or_else(|| wrong("a length that is none"))?);
        } else if name.eq_ignore_ascii_case("connection") {
            answer.stays &= !value.eq_ignore_ascii_case("close");
        }
    }
    if length.is_none() && status != 204 && status != 304 {
        return Err(wrong("an answer without Content-Length"));
    }
    answer.bytes = length.unwrap_or(0);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut into[..1])
        }
    }

    #[test]
    fn answers_are_read_to_their_end() {
        let text = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
        for mut from in [Box::new(&text[..]) as Box<dyn Read>, Box::new(Slow(text))] {
            let answer = read(&mut *from).expect("whole");
            assert_eq!(answer, Answer { status: 200, bytes: 5, stays: true });
        }
        let close = b"HTTP/1.1 503 No\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n";
        let answer = read(&mut &close[..]).expect("whole");
        assert_eq!((answer.status, answer.stays), (503, false));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let long = "HTTP/1.1 200 OK\r\n".to_owned() + &"x: y\r\n".repeat(4000);
        for bad in [
            "",
            "HTTP/1.1 200",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
            &long,
        ] {
            assert!(read(&mut bad.as_bytes()).is_err(), "{}", &bad[..bad.len().min(60)]);
        }
    }
}
