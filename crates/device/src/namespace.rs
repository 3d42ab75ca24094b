//! Private network namespaces: interfaces, routes and ports of one's own, that
//! vanish with the last thread or process in them.

use crate::tap::Control;
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;

/// Why there is no private namespace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither CAP_SYS_ADMIN nor user namespaces.
    #[error(
        "not allowed to make a network namespace ({0}): run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces)"
    )]
    NotAllowed(io::Error),
    /// The process may make user namespaces only while it has one thread.
    #[error(
        "cannot make a user namespace in a process with several threads: run as root, or enter the namespace first of all"
    )]
    Threads,
    /// A step after the namespace was made failed.
    #[error("cannot set up the private network namespace ({step}): {source}; run as root instead")]
    System {
        /// What was being done.
        step: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    // SAFETY: only namespaces are unshared; memory and descriptors stay in common.
    unsafe { unshare_unsafe(flags) }
}

/// Moves the calling thread, and the threads and processes that it starts from
/// now on, into a new network namespace with only `lo`, which is up.
///
/// Without CAP_SYS_ADMIN it makes a user namespace too, in which the user is
/// root; the kernel allows that only while the process has a single thread.
///
/// # Errors
/// [`Error`].
pub fn enter_private() -> Result<(), Error> {
    if let Err(refused) = unshare(UnshareFlags::NEWNET) {
        if refused != Errno::PERM {
            return Err(Error::NotAllowed(refused.into()));
        }
        enter_user_namespace()?;
    }
    let step = |step| move |source| Error::System { step, source };
    let control = Control::new().map_err(step("socket"))?;
    control.set_up("lo", true).map_err(step("bring up lo"))
}

/// A new user namespace with a network namespace in it, our user mapped to root.
fn enter_user_namespace() -> Result<(), Error> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET).map_err(|refused| match refused {
        Errno::INVAL => Error::Threads,
        _ => Error::NotAllowed(refused.into()),
    })?;
    let write = |step, path, text: String| {
        std::fs::write(path, text).map_err(|source| Error::System { step, source })
    };
    // user_namespaces(7): setgroups has to be given up before the group map.
    write("setgroups", "/proc/self/setgroups", "deny".into())?;
    write("user map", "/proc/self/uid_map", format!("0 {user} 1"))?;
    write("group map", "/proc/self/gid_map", format!("0 {group} 1"))
}

/// Runs `f` in a thread of its own in a new network namespace, which threads
/// that it starts inherit, and which is gone afterwards.
///
/// # Errors
/// [`Error`], without `f` having run.
///
/// # Panics
/// If `f` does.
pub fn in_private<R: Send>(f: impl FnOnce() -> R + Send) -> Result<R, Error> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| enter_private().map(|()| f()));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn threads_in_it_see_only_a_loopback_of_its_own() {
        let outside = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = outside.local_addr().expect("bound");
        let inside = in_private(|| {
            assert!(TcpStream::connect(address).is_err());
            let listener = TcpListener::bind(address).expect("the port is free here");
            let client = std::thread::spawn(move || TcpStream::connect(address).is_ok());
            assert!(client.join().expect("no panic") && listener.accept().is_ok());
            let away = UdpSocket::bind("0.0.0.0:0").expect("bind");
            assert!(away.send_to(b"x", "192.0.2.1:9").is_err());
        });
        if let Err(error) = inside {
            assert!(!error.to_string().contains('\n'));
            println!("skipped: {error}");
        }
        assert!(TcpStream::connect(address).is_ok());
    }

    #[test]
    #[should_panic(expected = "on purpose")]
    fn a_panic_comes_through() {
        let fails: fn() = || panic!("on purpose");
        if let Err(error) = in_private(fails) {
            println!("skipped: {error}");
            fails();
        }
    }
}
