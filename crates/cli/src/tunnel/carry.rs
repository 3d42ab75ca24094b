//! [`carry`]: bytes both ways between two connections, which hold none while nothing goes.

use super::scratch;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};

/// Carries bytes both ways until both have ended.
///
/// # Errors
/// Those of either connection.
pub async fn carry(
    one: &mut (impl AsyncRead + AsyncWrite + Unpin),
    other: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> io::Result<()> {
    let (mut there, mut back) = (Way::default(), Way::default());
    poll_fn(|cx| {
        let there = there.poll(cx, one, other)?;
        let back = back.poll(cx, other, one)?;
        if there.is_ready() && back.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

/// Bytes that are carried one way before others have their turn: what was carried leaves then.
const AT_ONCE: usize = 256 * 1024;

/// One way.
#[derive(Default)]
struct Way {
    /// What was read and found no room, and how much of that has found some since.
    left: Vec<u8>,
    written: usize,
    has_ended: bool,
    is_done: bool,
}

impl Way {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        let mut carried = 0;
        while !self.is_done {
            if carried >= AT_ONCE {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            ready!(self.write_left(cx, to))?;
            if self.has_ended {
                ready!(Pin::new(&mut *to).poll_shutdown(cx))?;
                self.is_done = true;
                break;
            }
            carried += ready!(self.read_and_write(cx, from, to))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads, and writes what finds room at once from where it was read to. Returns the bytes read.
    fn read_and_write(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<usize>> {
        scratch::with(|buf| {
            ready!(Pin::new(from).poll_read(cx, buf))?;
            let mut bytes = buf.filled();
            self.has_ended = bytes.is_empty();
            while !bytes.is_empty() {
                match Pin::new(&mut *to).poll_write(cx, bytes) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(n)) => bytes = &bytes[n..],
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => break,
                }
            }
            self.left = bytes.to_vec();
            Poll::Ready(Ok(buf.filled().len()))
        })
    }

    /// Writes what is left, which lets go of its memory.
    fn write_left(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        while self.written < self.left.len() {
            match ready!(Pin::new(&mut *to).poll_write(cx, &self.left[self.written..]))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                n => self.written += n,
            }
        }
        (self.left, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    /// Buffers of all sizes, and a reader that is slow: all comes, in order, and the end behind it.
    #[test]
    fn all_bytes_and_both_ends_come_through() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            for room in [1, 100, 70_000, 1 << 20] {
                let (mut client, mut near) = duplex(room);
                let (mut far, mut server) = duplex(room / 2 + 1);
                let carrying = async { carry(&mut near, &mut far).await.expect("no error") };
                let sent: Vec<u8> = (0..1_000_000_u32).map(|i| (i / 7) as u8).collect();
                let asking = async {
                    client.write_all(&sent).await.expect("written");
                    client.shutdown().await.expect("its end");
                    let mut back = Vec::new();
                    client.read_to_end(&mut back).await.expect("read");
                    assert!(back == sent, "{room}");
                };
                let answering = async {
                    let mut all = Vec::new();
                    server.read_to_end(&mut all).await.expect("read");
                    server.write_all(&all).await.expect("written");
                    server.shutdown().await.expect("its end");
                };
                tokio::join!(carrying, asking, answering);
            }
        });
    }
}
