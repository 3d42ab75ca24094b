//! [`Packets`]: a device whose packets are a stream and a sink.

use super::{Config, PacketIo, Wake, open};
use crate::wait::wake_each;
use ::device::Device;
use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;
use platform::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Packets one way.
#[derive(Debug, Default)]
struct Way {
    packets: VecDeque<Bytes>,
    /// Whoever waits for packets, or for room.
    waiter: Option<Waker>,
    /// One of the ends is gone.
    closed: bool,
}

impl Way {
    fn wake(way: &Mutex<Way>) {
        let waiter = way.lock().waiter.take();
        wake_each(waiter);
    }

    /// The task of `cx` waits. Who did before is dropped after the lock: with a task that nobody else
    /// has, the stack may go whose device this is.
    fn wait<T>(mut way: MutexGuard<'_, Way>, cx: &Context<'_>) -> Poll<T> {
        let before = way.waiter.replace(cx.waker().clone());
        drop(way);
        drop(before);
        Poll::Pending
    }

    fn close(way: &Mutex<Way>) {
        way.lock().closed = true;
        Way::wake(way);
    }
}

#[derive(Debug)]
struct Shared {
    capacity: usize,
    to_stack: Mutex<Way>,
    from_stack: Mutex<Way>,
}

impl Shared {
    fn close(&self) {
        Way::close(&self.to_stack);
        Way::close(&self.from_stack);
    }
}

/// The stack's side.
struct Io(Arc<Shared>);

impl PacketIo for Io {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        let packets = std::mem::take(&mut self.0.to_stack.lock().packets);
        if !packets.is_empty() {
            Way::wake(&self.0.to_stack);
        }
        packets.iter().for_each(|packet| deliver(packet));
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        let mut way = self.0.from_stack.lock();
        if way.closed {
            // Nobody is there: that is a lost packet.
            return true;
        }
        if way.packets.len() >= self.0.capacity {
            return false;
        }
        way.packets.push_back(Bytes::copy_from_slice(packet));
        let waiter = way.waiter.take();
        drop(way);
        wake_each(waiter);
        true
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The other side of a device made by [`packets`]: what the stack sends is a [`Stream`], and
/// what it is to receive goes to a [`Sink`], for tasks of any executor. Once the stack is
/// gone the stream ends, and the sink gives errors. If this is dropped, the stack's
/// packets are lost.
#[derive(Debug)]
pub struct Packets {
    shared: Arc<Shared>,
    wake: Wake,
}

/// Makes a device whose packets are a stream and a sink of [`Bytes`]; `capacity` packets, one
/// at least, may wait each way. A full sink makes its user wait; a full stream makes the
/// stack keep its packets, and senders slow down.
///
/// # Errors
/// As [`open`]; `InvalidInput` if [`Config::readable`] is given, for which there is no use.
pub fn packets(config: Config, capacity: usize) -> io::Result<(Device, Packets)> {
    if config.readable.is_some() {
        let text = "a device of packets wakes the stack by itself, without a descriptor";
        return Err(io::Error::new(ErrorKind::InvalidInput, text));
    }
    let shared = Arc::new(Shared {
        capacity: capacity.max(1),
        to_stack: Mutex::default(),
        from_stack: Mutex::default(),
    });
    let (device, wake) = open(Io(shared.clone()), config)?;
    Ok((device, Packets { shared, wake }))
}

impl Stream for Packets {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut way = self.shared.from_stack.lock();
        let was_full = way.packets.len() >= self.shared.capacity;
        match way.packets.pop_front() {
            Some(packet) => {
                drop(way);
                if was_full {
                    // The stack may keep more, and sleep.
                    self.wake.wake();
                }
                Poll::Ready(Some(packet))
            }
            None if way.closed => Poll::Ready(None),
            None => Way::wait(way, cx),
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the stack of this device has ended")
}

impl Sink<Bytes> for Packets {
    type Error = io::Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let way = self.shared.to_stack.lock();
        if way.closed {
            return Poll::Ready(Err(gone()));
        }
        if way.packets.len() < self.shared.capacity {
            return Poll::Ready(Ok(()));
        }
        Way::wait(way, cx)
    }

    fn start_send(self: Pin<&mut Self>, packet: Bytes) -> io::Result<()> {
        let mut way = self.shared.to_stack.lock();
        if way.closed {
            return Err(gone());
        }
        way.packets.push_back(packet);
        drop(way);
        self.wake.wake();
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let way = self.shared.to_stack.lock();
        if way.packets.is_empty() {
            return Poll::Ready(Ok(()));
        }
        if way.closed {
            return Poll::Ready(Err(gone()));
        }
        Way::wait(way, cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl Drop for Packets {
    fn drop(&mut self) {
        self.shared.close();
        self.shared.from_stack.lock().packets.clear();
    }
}
