//! Between whom connections are.

use crate::{Ear, End};
use anabranch::{Stack, TcpListener, TcpStream};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as KernelListener, TcpStream as KernelStream};

/// Two hosts.
pub trait World: Sync {
    /// A listener at the host that accepts; `we_connect`: the stack connects.
    ///
    /// # Errors
    /// As the call.
    fn listen(&self, we_connect: bool) -> io::Result<Ear>;
    /// Connects to the host that accepts.
    ///
    /// # Errors
    /// As the call.
    fn connect(&self, we_connect: bool, port: u16) -> io::Result<End>;
}

/// The stack at one end, Linux at the other.
#[derive(Debug)]
pub struct Ours {
    /// The stack.
    pub stack: Stack,
    /// Its address.
    pub ours: Ipv4Addr,
    /// Linux's.
    pub kernels: Ipv4Addr,
}

impl World for Ours {
    fn listen(&self, we_connect: bool) -> io::Result<Ear> {
        if we_connect {
            return KernelListener::bind((self.kernels, 0)).map(Ear::Kernels);
        }
        TcpListener::bind(&self.stack, (self.ours, 0)).map(Ear::Ours)
    }
    fn connect(&self, we_connect: bool, port: u16) -> io::Result<End> {
        if we_connect {
            return TcpStream::connect(&self.stack, (self.kernels, port)).map(End::Ours);
        }
        KernelStream::connect((self.ours, port)).map(End::Kernels)
    }
}

/// Linux at both ends, over its loopback.
#[derive(Debug)]
pub struct Kernels;

const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

impl World for Kernels {
    fn listen(&self, _: bool) -> io::Result<Ear> {
        KernelListener::bind((LOOPBACK, 0)).map(Ear::Kernels)
    }
    fn connect(&self, _: bool, port: u16) -> io::Result<End> {
        KernelStream::connect(SocketAddr::from((LOOPBACK, port))).map(End::Kernels)
    }
}
