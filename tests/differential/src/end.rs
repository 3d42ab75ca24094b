//! A stream or listener, of the stack or of Linux.

use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// An end of a connection.
#[derive(Debug)]
pub enum End {
    /// The stack's.
    Ours(anabranch::TcpStream),
    /// Linux's.
    Kernels(std::net::TcpStream),
}

/// Calls the function of the same name.
macro_rules! both {
    ($self:ident.$call:ident($($argument:expr),*)) => {
        match $self {
            End::Ours(stream) => stream.$call($($argument),*),
            End::Kernels(stream) => stream.$call($($argument),*),
        }
    };
}

impl End {
    /// Our own address.
    ///
    /// # Errors
    /// As the stream's call, as all of these.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        both!(self.local_addr())
    }
    /// The other end's.
    ///
    /// # Errors
    /// See above.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        both!(self.peer_addr())
    }
    /// Switches waiting.
    ///
    /// # Errors
    /// See above.
    pub fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        both!(self.set_nonblocking(on))
    }
    /// How long a read waits.
    ///
    /// # Errors
    /// See above.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        both!(self.set_read_timeout(timeout))
    }
    /// How long a write waits.
    ///
    /// # Errors
    /// See above.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        both!(self.set_write_timeout(timeout))
    }
    /// Nagle's algorithm.
    ///
    /// # Errors
    /// See above.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        both!(self.set_nodelay(on))
    }
    /// Nagle's algorithm.
    ///
    /// # Errors
    /// See above.
    pub fn nodelay(&self) -> io::Result<bool> {
        both!(self.nodelay())
    }
    /// The time to live.
    ///
    /// # Errors
    /// See above.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        both!(self.set_ttl(ttl))
    }
    /// The time to live.
    ///
    /// # Errors
    /// See above.
    pub fn ttl(&self) -> io::Result<u32> {
        both!(self.ttl())
    }
    /// What went wrong.
    ///
    /// # Errors
    /// See above.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        both!(self.take_error())
    }
    /// Looks at what comes next.
    ///
    /// # Errors
    /// See above.
    pub fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
        both!(self.peek(bytes))
    }
    /// Shuts down.
    ///
    /// # Errors
    /// See above.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        both!(self.shutdown(how))
    }
    /// How long a close waits.
    ///
    /// # Errors
    /// See above.
    pub fn set_linger(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            End::Ours(stream) => stream.set_linger(time),
            End::Kernels(stream) => Ok(sockopt::set_socket_linger(stream, time)?),
        }
    }
    /// How long a close waits.
    ///
    /// # Errors
    /// See above.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        match self {
            End::Ours(stream) => stream.linger(),
            End::Kernels(stream) => Ok(sockopt::socket_linger(stream)?),
        }
    }
}

impl Read for &End {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            End::Ours(stream) => (&mut &*stream).read(bytes),
            End::Kernels(stream) => (&mut &*stream).read(bytes),
        }
    }
}

impl Write for &End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            End::Ours(stream) => (&mut &*stream).write(bytes),
            End::Kernels(stream) => (&mut &*stream).write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A listener.
#[derive(Debug)]
pub enum Ear {
    /// The stack's.
    Ours(anabranch::TcpListener),
    /// Linux's.
    Kernels(std::net::TcpListener),
}

impl Ear {
    /// Where it listens.
    ///
    /// # Errors
    /// As the listener's call.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Ear::Ours(listener) => listener.local_addr(),
            Ear::Kernels(listener) => listener.local_addr(),
        }
    }
    /// The next connection.
    ///
    /// # Errors
    /// As the listener's call.
    pub fn accept(&self) -> io::Result<(End, SocketAddr)> {
        match self {
            Ear::Ours(listener) => listener.accept().map(|(s, from)| (End::Ours(s), from)),
            Ear::Kernels(listener) => listener.accept().map(|(s, from)| (End::Kernels(s), from)),
        }
    }
}
