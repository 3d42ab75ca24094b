//! The sockets beside those of `std::net`: each scenario runs on both, and says what came of
//! it. What differs stands in [`DIFFERENT`] and, with its reason, in
//! `docs/std-parity.md`.
#![cfg(not(shuttle))]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;
use std::time::Duration;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(20);
/// A wait that is meant to end without anything having come.
const MOMENT: Duration = Duration::from_millis(20);

/// What came of it, and of which kind the error is.
fn said<T: Debug>(result: io::Result<T>) -> String {
    match result {
        Ok(value) => format!("Ok({value:?})"),
        Err(error) => format!("Err({:?})", error.kind()),
    }
}

/// The kernel's own.
mod kernel {
    pub use std::net::{TcpListener, TcpStream, UdpSocket};

    pub struct Net;

    impl Net {
        pub fn listen(&self, at: impl std::net::ToSocketAddrs) -> std::io::Result<TcpListener> {
            TcpListener::bind(at)
        }
        pub fn connect(&self, to: impl std::net::ToSocketAddrs) -> std::io::Result<TcpStream> {
            TcpStream::connect(to)
        }
        pub fn connect_timeout(
            &self,
            to: &std::net::SocketAddr,
            timeout: std::time::Duration,
        ) -> std::io::Result<TcpStream> {
            TcpStream::connect_timeout(to, timeout)
        }
        pub fn bind(&self, at: impl std::net::ToSocketAddrs) -> std::io::Result<UdpSocket> {
            UdpSocket::bind(at)
        }
    }

    include!("streams.rs");
    include!("datagrams.rs");
}

/// Ours.
mod library {
    use anabranch::ToSocketAddrs;
    pub use anabranch::{TcpListener, TcpStream, UdpSocket};

    pub struct Net(pub anabranch::Stack);

    impl Net {
        pub fn listen(&self, at: impl ToSocketAddrs) -> std::io::Result<TcpListener> {
            TcpListener::bind(&self.0, at)
        }
        pub fn connect(&self, to: impl ToSocketAddrs) -> std::io::Result<TcpStream> {
            TcpStream::connect(&self.0, to)
        }
        pub fn connect_timeout(
            &self,
            to: &std::net::SocketAddr,
            timeout: std::time::Duration,
        ) -> std::io::Result<TcpStream> {
            TcpStream::connect_timeout(&self.0, to, timeout)
        }
        pub fn bind(&self, at: impl ToSocketAddrs) -> std::io::Result<UdpSocket> {
            UdpSocket::bind(&self.0, at)
        }
    }

    include!("streams.rs");
    include!("datagrams.rs");
}

/// What differs: the scenario, what comes of it with `std::net`, and with ours.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("read what came before our shutdown for reading", "Ok(3)", "Ok(0)"),
    ("peer_addr after the peer's reset was noticed", "Err(NotConnected)", "Ok(127.0.0.1)"),
    ("read after a write has told of the peer's reset", "Ok(0)Ok(0)", "Err(ConnectionReset)Ok(0)"),
    ("connect to port 0", "Err(ConnectionRefused)", "Err(NetworkUnreachable)"),
    ("a datagram that is too large", "Err(Uncategorized)", "Err(InvalidInput)"),
    ("send without being connected", "Err(Uncategorized)", "Err(NotConnected)"),
    ("local_addr of a socket on 0.0.0.0 that is connected", "Ok(127.0.0.1)", "Ok(0.0.0.0)"),
    ("broadcast without leave", "Err(PermissionDenied)", "Ok(3)"),
];

fn scenarios(kernel: &kernel::Net, library: &library::Net) -> Vec<(&'static str, String, String)> {
    let theirs = kernel::STREAMS.iter().chain(kernel::DATAGRAMS);
    let ours = library::STREAMS.iter().chain(library::DATAGRAMS);
    let both = theirs.zip(ours);
    both.map(|((name, theirs), (_, ours))| (*name, theirs(kernel), ours(library))).collect()
}

#[test]
fn each_scenario_ends_as_with_std_or_is_documented() {
    let docs = include_str!("../../../../docs/std-parity.md");
    for organization in ["uniprocessor", "group-locks", "message-parallel", "thread-per-connection"]
    {
        let (device, _peer) =
            anabranch::device::memory::pair(anabranch::device::memory::Config::default());
        let stack = anabranch::Stack::builder()
            .device(device)
            .address("10.0.0.1/24")
            .organization(organization)
            .start()
            .expect("a stack");
        let all = scenarios(&kernel::Net, &library::Net(stack));
        assert!(all.len() >= 50, "{} scenarios", all.len());
        let names: BTreeSet<_> = all.iter().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), all.len(), "each has a name of its own");
        let mut wrong = String::new();
        for (name, theirs, ours) in &all {
            let known = DIFFERENT.iter().find(|(known, ..)| known == name);
            let (expected_theirs, expected_ours) =
                known.map_or((theirs.as_str(), theirs.as_str()), |(_, t, o)| (*t, *o));
            if (theirs.as_str(), ours.as_str()) != (expected_theirs, expected_ours) {
                wrong += &format!("{name}: std {theirs}, ours {ours}\n");
            }
        }
        assert!(wrong.is_empty(), "{organization}: {} scenarios\n{wrong}", all.len());
    }
    for (name, theirs, ours) in DIFFERENT {
        let row = format!("| {name} | `{theirs}` | `{ours}` |");
        assert!(docs.contains(&row), "docs/std-parity.md lacks: {row}");
    }
}
