//! A capture that goes to a client as pcapng, in frames: four bytes of length, the upper
//! ones first, and as many bytes. A frame without bytes is the end, and a line of JSON with
//! the counts follows.

use super::session::{End, Shown, Woken, tell};
use crate::capture::{Capture, Filter, Options, SNAPLEN, Writer};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long the thread sleeps when no packet waits.
const LOOK: Duration = Duration::from_millis(2);
/// Packets that are written between two looks at what the client says.
const TURN: usize = 4096;
/// Bytes that are written at once.
const BLOCK: usize = 64 * 1024;

/// What a client asks for: JSON with `filter`, `snaplen` and `count`, each of which may be
/// missing.
fn options(question: &str) -> Result<Options, String> {
    let asked: Value = serde_json::from_str(question).map_err(|_| "it is no JSON".to_owned())?;
    let filter: Filter = match asked["filter"].as_str() {
        Some(text) => text.parse().map_err(|error| format!("{error}"))?,
        None => Filter::default(),
    };
    let snaplen = asked["snaplen"].as_u64().map_or(SNAPLEN, |n| n.min(SNAPLEN as u64) as usize);
    let count = asked["count"].as_u64();
    Ok(Options::default().with_filter(filter).with_snaplen(snaplen).with_count(count))
}

/// Captures until the client says that it has enough, or has as many as it asked for.
pub(super) fn stream(
    to: &mut UnixStream,
    end: &End,
    shown: &Shown,
    question: &str,
) -> io::Result<()> {
    let attached = options(question)
        .and_then(|options| shown.view.capture(options).map_err(|error| error.to_string()));
    let capture = match attached {
        Ok(capture) => capture,
        Err(error) => return tell(to, &json!({ "error": error })),
    };
    tell(to, &json!({ "capturing": true }))?;
    let mut writer = Writer::new(Vec::with_capacity(2 * BLOCK), &capture)?;
    loop {
        let over = capture.is_over();
        send(to, end, &capture, &mut writer, over)?;
        if over {
            break;
        }
        match end.wait(to, LOOK)? {
            Woken::Late => {}
            Woken::Closed => capture.end(),
            Woken::Readable => {
                if to.read(&mut [0; 64])? == 0 {
                    capture.end();
                }
            }
        }
    }
    writer.finish(&capture)?;
    frame(to, end, writer.get_mut())?;
    write(to, end, &[0; 4])?;
    tell(to, &json!({ "captured": writer.written(), "dropped": writer.dropped() }))
}

/// Sends the packets that wait, or the first of them, unless the capture is `over`: packets may come
/// faster than they are written, and the client is to be heard meanwhile.
fn send(
    to: &mut UnixStream,
    end: &End,
    capture: &Capture,
    writer: &mut Writer<Vec<u8>>,
    over: bool,
) -> io::Result<()> {
    for _ in 0..if over { usize::MAX } else { TURN } {
        let Some(captured) = capture.next() else { break };
        writer.write(&captured)?;
        if writer.get_mut().len() >= BLOCK {
            frame(to, end, writer.get_mut())?;
        }
    }
    frame(to, end, writer.get_mut())
}

/// Sends what `bytes` has as a frame, and empties it.
fn frame(to: &mut UnixStream, end: &End, bytes: &mut Vec<u8>) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    write(to, end, &(bytes.len() as u32).to_be_bytes())?;
    write(to, end, bytes)?;
    bytes.clear();
    Ok(())
}

/// Writes all, however long the client takes, unless the socket is to close.
fn write(to: &mut UnixStream, end: &End, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if end.is_announced()? {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
