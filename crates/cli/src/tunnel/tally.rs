//! [`Tally`]: what has happened, and who is told when something fails.

use super::proxy::Proxy;
use rustix::io::Errno;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Lines that wait to be printed. What comes when there are so many is not printed.
const LINES: usize = 16;

/// What has happened.
#[derive(Debug)]
pub struct Tally {
    /// Connections that reached the proxy.
    pub connections: AtomicU64,
    /// UDP sessions that the proxy relays.
    pub sessions: AtomicU64,
    /// Connections and sessions that it could not be asked for, or refused.
    pub failed: AtomicU64,
    /// What failed has been told; it is once, and again when something else went well.
    told: AtomicBool,
    /// Printed by a thread of its own: whoever counts may be a thread of the stack, which must not
    /// wait for a terminal that nobody reads.
    lines: SyncSender<String>,
}

impl Tally {
    /// Of a tunnel that has carried nothing; failures are told to `to`.
    ///
    /// # Errors
    /// The system's, where it has no thread left.
    pub fn new(mut to: impl Write + Send + 'static) -> io::Result<Tally> {
        let (lines, told) = sync_channel::<String>(LINES);
        thread::Builder::new().name("tunnel-says".into()).spawn(move || {
            while let Ok(line) = told.recv() {
                // Nobody may be there to read it.
                let _ = writeln!(to, "{line}");
            }
        })?;
        let (connections, sessions, failed) = Default::default();
        Ok(Tally { connections, sessions, failed, told: AtomicBool::new(false), lines })
    }

    /// Something could not be carried by way of `proxy`.
    pub fn failed(&self, proxy: &Proxy, error: &io::Error) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if !self.told.swap(true, Ordering::Relaxed) {
            let hint = hint(error);
            let _ = self.lines.try_send(format!("anabranch: by way of {proxy}: {error}{hint}"));
        }
    }

    /// Tells something else.
    pub fn say(&self, line: String) {
        let _ = self.lines.try_send(line);
    }

    /// Something is carried.
    pub fn went_well(&self) {
        self.told.store(false, Ordering::Relaxed);
    }
}

/// What may be done about `error`. What the proxy says of a host, and what we say of its answer, is no error of the
/// system, and says all itself.
fn hint(error: &io::Error) -> &'static str {
    match (error.raw_os_error().map(Errno::from_raw_os_error), error.kind()) {
        (Some(Errno::MFILE), _) => ": raise ulimit -n",
        (Some(Errno::NFILE), _) => ": raise fs.file-max",
        // All ports are taken, or the proxy's family has no address here.
        (Some(Errno::ADDRNOTAVAIL), _) => {
            ": widen net.ipv4.ip_local_port_range, or see whether the proxy's family of addresses is on"
        }
        (Some(Errno::NOBUFS | Errno::NOMEM), _) => "",
        (Some(_), _) | (None, ErrorKind::TimedOut) => ": is the proxy up?",
        (None, _) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    /// Nobody reads what is written to it.
    struct Full(Sender<()>);

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.0.send(()).expect("the test waits");
            loop {
                thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// As the thread of a stack does, which would never come back.
    #[test]
    fn nobody_waits_for_who_does_not_read() {
        let proxy: Proxy = "socks5://127.0.0.1:1080".parse().expect("a proxy");
        let (began, begins) = channel();
        let tally = Tally::new(Full(began)).expect("a thread");
        for time in 0..1000 {
            tally.failed(&proxy, &ErrorKind::ConnectionRefused.into());
            tally.went_well();
            if time == 0 {
                begins.recv().expect("the first is written");
            }
        }
        assert_eq!(tally.failed.load(Ordering::Relaxed), 1000);
    }

    #[test]
    fn each_failure_has_its_own_mend() {
        let of = |errno: Errno| hint(&errno.into());
        assert_eq!(of(Errno::CONNREFUSED), ": is the proxy up?");
        assert_eq!(of(Errno::MFILE), ": raise ulimit -n");
        assert_eq!(of(Errno::NFILE), ": raise fs.file-max");
        assert!(of(Errno::ADDRNOTAVAIL).contains("ip_local_port_range"));
        assert_eq!(of(Errno::NOBUFS), "");
        assert_eq!(hint(&ErrorKind::TimedOut.into()), ": is the proxy up?");
        assert_eq!(hint(&ErrorKind::PermissionDenied.into()), "");
        // The proxy says so of the host.
        assert_eq!(hint(&ErrorKind::ConnectionRefused.into()), "");
    }
}
