//! `getsockopt(2)` and `setsockopt(2)`: the options that the library has. Others fail
//! with `ENOPROTOOPT`.

use crate::errno::{Answer, Errno};
use crate::options::KEEPALIVE_IDLE;
use crate::socket::{Kind, Socket, now};
use crate::world::{World, lock};
use libc::c_int;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// An integer of an option.
fn integer(bytes: &[u8]) -> Answer<c_int> {
    let bytes = bytes.get(..4).ok_or(Errno(libc::EINVAL))?;
    Ok(c_int::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

impl Socket {
    /// `setsockopt(2)`.
    pub(crate) fn set_option(&self, level: c_int, name: c_int, value: &[u8]) -> Answer {
        let mut state = lock(&self.state);
        let options = &mut state.options;
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_REUSEADDR) => options.reuse = integer(value)? != 0,
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => options.keepalive = integer(value)? != 0,
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => {
                // Linux doubles it, for what it keeps beside the bytes (socket(7)).
                options.send_buffer = Some(2 * integer(value)?.max(2304) as u32);
            }
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let seconds = integer(value.get(4..).unwrap_or_default())?;
                options.linger = (integer(value)? != 0).then_some(seconds.max(0) as u32);
            }
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => options.nodelay = integer(value)? != 0,
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => match u32::try_from(integer(value)?) {
                Ok(idle @ 1..=32767) => options.keepalive_idle = Some(idle),
                _ => return Err(Errno(libc::EINVAL)),
            },
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        let options = *options;
        if let Kind::Stream(stream) = &state.kind {
            options.apply(&stream.threads)?;
        }
        Ok(0)
    }

    /// `getsockopt(2)`.
    pub(crate) fn option(&self, world: &World, level: c_int, name: c_int) -> Answer<Vec<u8>> {
        let options = lock(&self.state).options;
        let value = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => self.take_error(),
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => match options.send_buffer {
                Some(bytes) => bytes as c_int,
                None => return Err(Errno(libc::ENOPROTOOPT)),
            },
            (libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
            (libc::SOL_SOCKET, libc::SO_REUSEADDR) => options.reuse.into(),
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => options.keepalive.into(),
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => {
                matches!(lock(&self.state).kind, Kind::Listener(..)).into()
            }
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let (on, seconds) = (options.linger.is_some(), options.linger.unwrap_or(0));
                return Ok([c_int::from(on), seconds as c_int].map(c_int::to_ne_bytes).concat());
            }
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => options.nodelay.into(),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => {
                options.keepalive_idle.unwrap_or(KEEPALIVE_IDLE) as c_int
            }
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => self.segment_size(world)?,
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        };
        Ok(value.to_ne_bytes().to_vec())
    }

    /// Why the connection was not opened or ended, told once; or 0.
    fn take_error(&self) -> c_int {
        let mut state = lock(&self.state);
        if let Poll::Ready(Err(Errno(error))) = state.poll_connected(&mut now()) {
            return error;
        }
        if let Some(Errno(error)) = state.error.take() {
            return error;
        }
        match &state.kind {
            Kind::Stream(stream) => match stream.threads.take_error() {
                Ok(Some(error)) => Errno::from(error).0,
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Payload bytes of the segments that we send.
    fn segment_size(&self, world: &World) -> Answer<c_int> {
        let tasks = match &lock(&self.state).kind {
            Kind::Stream(stream) => stream.threads.try_clone()?.into_tokio(),
            // RFC 9293 3.7.1: what counts before the peer has said something.
            _ => return Ok(536),
        };
        let mut info = pin!(tasks.info());
        let info = world.wait(None, |cx| info.as_mut().poll(cx).map_err(Errno::from))?;
        Ok(info.mss.into())
    }
}
