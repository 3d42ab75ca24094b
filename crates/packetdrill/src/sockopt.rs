//! `getsockopt(2)` and `setsockopt(2)`: the options that the library has. Others fail
//! with `ENOPROTOOPT`.

use crate::errno::{Answer, Errno};
use crate::flags::linux_name;
use crate::options::{KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES, MtuDiscovery, Options};
use crate::socket::{Kind, Socket, now};
use crate::world::{World, lock};
use anabranch::{CongestionAlgorithm, FastOpenKey};
use libc::c_int;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// The range of a segment that a socket may ask for (Linux's `TCP_MIN_MSS`, and the
/// largest window that is not scaled).
const SEGMENT: std::ops::RangeInclusive<c_int> = 88..=32767;

/// Linux's number of the option, and of the message that it asks for (`TCP_CM_INQ`).
pub(crate) const TCP_INQ: c_int = 36;

/// An integer of an option.
fn integer(bytes: &[u8]) -> Answer<c_int> {
    let bytes = bytes.get(..4).ok_or(Errno(libc::EINVAL))?;
    Ok(c_int::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

/// An integer that is not negative, of no more bits than it has to have.
fn natural<T: TryFrom<c_int>>(bytes: &[u8]) -> Answer<T> {
    T::try_from(integer(bytes)?).map_err(|_| Errno(libc::EINVAL))
}

/// An integer of IP's options, which may be one byte.
fn small_integer(bytes: &[u8]) -> Answer<c_int> {
    match bytes {
        [byte, ..] if bytes.len() < 4 => Ok((*byte).into()),
        _ => integer(bytes),
    }
}

/// The name of a congestion control.
fn congestion(bytes: &[u8]) -> Answer<CongestionAlgorithm> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let name = std::str::from_utf8(&bytes[..end]).map_err(|_| Errno(libc::ENOENT))?;
    linux_name(name).parse().map_err(|_| Errno(libc::ENOENT))
}

impl Socket {
    /// `setsockopt(2)`.
    pub(crate) fn set_option(
        &self,
        world: &World,
        level: c_int,
        name: c_int,
        value: &[u8],
    ) -> Answer {
        let mut state = lock(&self.state);
        if (level, name) == (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT) {
            if !world.fast_opens() {
                return Err(Errno(libc::EOPNOTSUPP));
            }
            if !matches!(state.kind, Kind::Fresh) {
                return Err(Errno(libc::EINVAL));
            }
        }
        match level {
            libc::SOL_SOCKET => set_of_socket(&mut state.options, name, value)?,
            libc::IPPROTO_TCP => {
                let listens = matches!(state.kind, Kind::Fresh | Kind::Listener(..));
                if name == libc::TCP_FASTOPEN && !listens {
                    return Err(Errno(libc::EINVAL));
                }
                set_of_tcp(&mut state.options, name, value)?;
                // These are calls rather than facts: each does something.
                if let Kind::Stream(stream) = &state.kind {
                    match name {
                        libc::TCP_NODELAY => stream.threads.set_nodelay(integer(value)? != 0)?,
                        libc::TCP_CORK => stream.threads.set_cork(integer(value)? != 0)?,
                        libc::TCP_QUICKACK => stream.threads.set_quickack(integer(value)? != 0)?,
                        _ => {}
                    }
                }
            }
            libc::IPPROTO_IP => set_of_ip(&mut state.options, name, value)?,
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        if (level, name) == (libc::SOL_SOCKET, libc::SO_RCVBUF)
            && let (Kind::Stream(stream), Some(bytes)) = (&state.kind, state.options.receive_buffer)
        {
            stream.threads.set_receive_buffer_size(bytes as usize)?;
        }
        let options = state.options;
        match &state.kind {
            Kind::Stream(stream) => options.apply(&stream.threads)?,
            Kind::Listener(listener, _) => listener.set_options(&options.to_open())?,
            _ => {}
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
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => match options.receive_buffer {
                Some(bytes) => (bytes as c_int).saturating_mul(2),
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
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => {
                options.keepalive_interval.unwrap_or(KEEPALIVE_INTERVAL) as c_int
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => {
                options.keepalive_probes.unwrap_or(KEEPALIVE_PROBES).into()
            }
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => self.segment_size(world)?,
            (libc::IPPROTO_TCP, libc::TCP_CORK) => options.cork.into(),
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => options.user_timeout as c_int,
            (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT) => options.defer_accept as c_int,
            (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT) => {
                options.notsent_lowat.unwrap_or(0) as c_int
            }
            (libc::IPPROTO_TCP, libc::TCP_FASTOPEN) => options.fast_open.unwrap_or(0) as c_int,
            (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT) => options.fast_open_connect.into(),
            (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_NO_COOKIE) => {
                options.fast_open_without_cookie.into()
            }
            (libc::IPPROTO_TCP, TCP_INQ) => options.tells_unread.into(),
            (libc::IPPROTO_IP, libc::IP_TOS) => options.tos.into(),
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER) => options.mtu_discovery.number(),
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
        let asked = lock(&self.state).options.max_segment;
        let tasks = match &lock(&self.state).kind {
            Kind::Stream(stream) => stream.threads.try_clone()?.into_tokio(),
            // RFC 9293 3.7.1: what counts before the peer has said something.
            _ if asked == 0 => return Ok(536),
            _ => return Ok(asked.into()),
        };
        let mut info = pin!(tasks.info());
        let info = world.wait(None, |cx| info.as_mut().poll(cx).map_err(Errno::from))?;
        Ok(info.mss.into())
    }
}

/// Options of `SOL_SOCKET`.
fn set_of_socket(options: &mut Options, name: c_int, value: &[u8]) -> Answer<()> {
    match name {
        libc::SO_REUSEADDR => options.reuse = integer(value)? != 0,
        libc::SO_KEEPALIVE => options.keepalive = integer(value)? != 0,
        libc::SO_SNDBUF => {
            // Linux doubles it, for what it keeps beside the bytes (socket(7)).
            options.send_buffer = Some(2 * integer(value)?.max(2304) as u32);
        }
        libc::SO_RCVBUF => {
            // As of the other: so it is told, and half of that is for bytes.
            options.receive_buffer = Some(integer(value)?.max(1152) as u32);
        }
        libc::SO_LINGER => {
            let seconds = integer(value.get(4..).unwrap_or_default())?;
            options.linger = (integer(value)? != 0).then_some(seconds.max(0) as u32);
        }
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }
    Ok(())
}

/// Options of `IPPROTO_IP`, each of one byte or of four.
fn set_of_ip(options: &mut Options, name: c_int, value: &[u8]) -> Answer<()> {
    let number = small_integer(value);
    match name {
        // Linux keeps the bits of ECN for itself.
        libc::IP_TOS => options.tos = number? as u8 & !3,
        libc::IP_MTU_DISCOVER => {
            options.mtu_discovery = MtuDiscovery::of(number?).ok_or(Errno(libc::EINVAL))?;
        }
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }
    Ok(())
}

/// Options of `IPPROTO_TCP`.
fn set_of_tcp(options: &mut Options, name: c_int, value: &[u8]) -> Answer<()> {
    let within = |range: std::ops::RangeInclusive<u32>| match natural(value)? {
        number if range.contains(&number) => Ok(number),
        _ => Err(Errno(libc::EINVAL)),
    };
    match name {
        libc::TCP_NODELAY => options.nodelay = integer(value)? != 0,
        libc::TCP_CORK => options.cork = integer(value)? != 0,
        libc::TCP_QUICKACK => {}
        libc::TCP_KEEPIDLE => options.keepalive_idle = Some(within(1..=32767)?),
        libc::TCP_KEEPINTVL => options.keepalive_interval = Some(within(1..=32767)?),
        libc::TCP_KEEPCNT => options.keepalive_probes = Some(within(1..=127)? as u8),
        libc::TCP_USER_TIMEOUT => options.user_timeout = natural(value)?,
        libc::TCP_DEFER_ACCEPT => options.defer_accept = integer(value)?.max(0) as u32,
        libc::TCP_NOTSENT_LOWAT => options.notsent_lowat = Some(integer(value)? as u32),
        libc::TCP_MAXSEG => match integer(value)? {
            0 => options.max_segment = 0,
            bytes if SEGMENT.contains(&bytes) => options.max_segment = bytes as u16,
            _ => return Err(Errno(libc::EINVAL)),
        },
        libc::TCP_CONGESTION => options.congestion = Some(congestion(value)?),
        libc::TCP_FASTOPEN => options.fast_open = Some(natural(value)?),
        libc::TCP_FASTOPEN_CONNECT => options.fast_open_connect = integer(value)? != 0,
        libc::TCP_FASTOPEN_NO_COOKIE => options.fast_open_without_cookie = integer(value)? != 0,
        libc::TCP_FASTOPEN_KEY => {
            let key = value.try_into().map_err(|_| Errno(libc::EINVAL))?;
            options.fast_open_key = Some(FastOpenKey(key));
        }
        TCP_INQ => options.tells_unread = within(0..=1)? != 0,
        _ => return Err(Errno(libc::ENOPROTOOPT)),
    }
    Ok(())
}
