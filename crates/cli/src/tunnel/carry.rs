//! [`carry`]: bytes both ways between two connections, which hold none while nothing goes.

use super::scratch;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};

/// Carries bytes both ways until both have ended. No more is read for `one` than it has `room` for: a peer that does
/// not read has its memory bounded there. The other has its own in the kernel, which does not say how much room there is.
///
/// # Errors
/// Those of either connection.
pub async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
    one: &mut S,
    other: &mut (impl AsyncRead + AsyncWrite + Unpin),
    room: impl Fn(&S, &mut Context<'_>) -> Poll<io::Result<usize>>,
) -> io::Result<()> {
    let (mut there, mut back) = (Way::default(), Way::default());
    poll_fn(|cx| {
        let there = there.poll(cx, one, other, |_, _| Poll::Ready(Ok(usize::MAX)))?;
        let back = back.poll(cx, other, one, &room)?;
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
    fn poll<S: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut S,
        room: impl Fn(&S, &mut Context<'_>) -> Poll<io::Result<usize>>,
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
            let room = ready!(room(to, cx))?;
            carried += ready!(self.read_and_write(cx, from, to, room))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads as much as there is `room` for, and writes what finds it at once from where it was read to. Returns the
    /// bytes read.
    fn read_and_write(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        room: usize,
    ) -> Poll<io::Result<usize>> {
        scratch::with(|all| {
            let buf = &mut all.take(room);
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
            for (room, at_once) in [(1, 1), (100, 7), (70_000, 70_000), (1 << 20, usize::MAX)] {
                let (mut client, mut near) = duplex(room);
                let (mut far, mut server) = duplex(room / 2 + 1);
                let room_of = |_: &_, _: &mut Context<'_>| Poll::Ready(Ok(at_once));
                let carrying =
                    async { carry(&mut near, &mut far, room_of).await.expect("no error") };
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

    /// What finds no room stays where it comes from.
    #[test]
    fn no_more_is_read_than_there_is_room_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (_client, mut near) = duplex(1 << 20);
            let (mut far, mut server) = duplex(5000);
            let left = std::cell::Cell::new(Some(3000));
            let room = |_: &_, _: &mut Context<'_>| match left.take() {
                Some(room) => Poll::Ready(Ok(room)),
                None => Poll::Pending,
            };
            server.write_all(&[7; 5000]).await.expect("there is room");
            let carrying = carry(&mut near, &mut far, room);
            let writing = async {
                server.write_all(&[7; 3000]).await.expect("what was read has made room");
                let more = tokio::task::unconstrained(server.write(b"x"));
                tokio::pin!(more);
                poll_fn(|cx| Poll::Ready(more.as_mut().poll(cx).is_pending())).await
            };
            tokio::select! {
                _ = carrying => panic!("it goes on"),
                is_full = writing => assert!(is_full, "all was read"),
            }
        });
    }
}
