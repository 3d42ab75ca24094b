//! The side of the stack: a thread that listens, and one for each client.

use super::session::{End, Shown, Woken, tell};
use super::{Config, captures, connections, place, rates};
use crate::Stack;
use serde_json::json;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of the longest question.
const QUESTION: usize = 16 * 1024;
/// How long a client may take to ask, and a connection to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clients at a time. More are turned away.
const CLIENTS: usize = 16;
/// How long the listener rests when it has no descriptor for a client.
const REST: Duration = Duration::from_millis(100);

/// A control socket of a running stack. It closes when dropped.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    end: Arc<End>,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.end.announce();
        let _ = fs::remove_file(&self.path);
        // Unless another socket is there.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

impl Control {
    /// Opens a control socket for `stack`, which is closed when what is returned is
    /// dropped. It does not keep the stack alive. A stack that is not
    /// [observable](crate::Builder::observable) shows its connections and counts only.
    ///
    /// # Errors
    /// If there can be no such socket.
    pub fn open(stack: &Stack, config: &Config) -> io::Result<Control> {
        place::check_name(&config.name)?;
        let directory = place::directory();
        let path = place::socket(&directory, &config.name);
        let listener = bind(&directory, &path)?;
        let control = Control { path, end: Arc::new(End::new()?) };
        fs::set_permissions(&control.path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let shown = Arc::new(Shown { view: stack.view().clone(), config: config.clone() });
        let end = control.end.clone();
        thread::Builder::new()
            .name("ana-view".into())
            .spawn(move || listen(&listener, &end, &shown))?;
        Ok(control)
    }
}

/// A socket at `path`, in this directory.
fn bind(directory: &Path, path: &Path) -> io::Result<UnixListener> {
    let bind = || {
        place::make(directory)?;
        UnixListener::bind(path)
    };
    match bind() {
        // One that has just closed took the directory with it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => bind(),
        // It has our number, so whoever has left it is dead: the first process of a container
        // that was killed and is started again has the same.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && nobody_listens(path) => {
            fs::remove_file(path)?;
            bind()
        }
        bound => bound,
    }
}

/// Is the socket at `path` one that a process has left which did not end by itself?
fn nobody_listens(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    let is_socket = fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

fn listen(listener: &UnixListener, end: &Arc<End>, shown: &Arc<Shown>) {
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        match end.wait(listener, Duration::from_secs(3600)) {
            Ok(Woken::Closed) | Err(_) => return,
            Ok(Woken::Late) => {}
            Ok(Woken::Readable) => {
                let accepted = listener.accept().is_ok_and(|(stream, _)| {
                    greet(stream, end, shown, &clients);
                    true
                });
                // It stays readable: others have to give back what it lacks.
                if !accepted {
                    thread::sleep(REST);
                }
            }
        }
    }
}

/// The place of a client among those that there may be, however its thread ends: the program's counts
/// may panic.
struct Place(Arc<AtomicUsize>);

impl Place {
    /// One, if there is any.
    fn take(clients: &Arc<AtomicUsize>) -> Option<Place> {
        let before = clients.fetch_add(1, Ordering::Relaxed);
        let place = Place(clients.clone());
        (before < CLIENTS).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers a client in a thread of its own, if there is one.
fn greet(stream: UnixStream, end: &Arc<End>, shown: &Arc<Shown>, clients: &Arc<AtomicUsize>) {
    let Some(place) = Place::take(clients) else { return };
    let (end, shown) = (end.clone(), shown.clone());
    let answer = move || {
        let _place = place;
        // A client that goes away before it has its answer is its own affair.
        let _ = answer(stream, &end, &shown);
    };
    let _ = thread::Builder::new().name("ana-view".into()).spawn(answer);
}

fn answer(mut stream: UnixStream, end: &End, shown: &Shown) -> io::Result<()> {
    let asks = rustix::net::sockopt::socket_peercred(&stream)?.uid;
    if !may_ask(asks.as_raw(), rustix::process::geteuid().as_raw()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let question = question(&mut stream)?;
    let (word, rest) = question.split_once(' ').unwrap_or((&question, ""));
    match word {
        "connections" => tell(&mut stream, &connections::json(&shown.view.connections(PATIENCE))),
        "rates" => match rest.parse() {
            Ok(ms) if (1..=3_600_000).contains(&ms) => {
                rates::stream(&mut stream, end, shown, Duration::from_millis(ms))
            }
            _ => tell(&mut stream, &json!({ "error": "no such interval: 1 ms to an hour" })),
        },
        "capture" => captures::stream(&mut stream, end, shown, rest),
        _ => {
            let text = "unknown question: client and server are of different versions";
            tell(&mut stream, &json!({ "error": text }))
        }
    }
}

/// A line from the client.
fn question(stream: &mut UnixStream) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let (mut text, mut block) = (Vec::new(), [0; 1024]);
    while !text.contains(&b'\n') && text.len() < QUESTION && Instant::now() < deadline {
        match stream.read(&mut block)? {
            0 => break,
            n => text.extend(&block[..n]),
        }
    }
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).trim().to_owned())
}

/// May user `asks` look into a stack of user `owner`?
fn may_ask(asks: u32, owner: u32) -> bool {
    asks == owner || asks == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_was_left_is_taken_and_one_that_is_used_is_not() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("ours");
        let path = directory.join("ana0.1.sock");
        // What a process leaves that is killed.
        drop(bind(&directory, &path).expect("bound"));
        assert!(path.exists());
        let used = bind(&directory, &path).expect("bound again");
        let taken = bind(&directory, &path).expect_err("used");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(UnixStream::connect(&path).is_ok());
        drop(used);
        fs::remove_file(&path).expect("there");
        fs::write(&path, "no socket").expect("written");
        assert!(bind(&directory, &path).is_err() && path.exists());
    }

    #[test]
    fn only_the_owner_and_root_may_ask() {
        assert!(may_ask(1000, 1000) && may_ask(0, 1000) && may_ask(0, 0));
        assert!(!may_ask(1001, 1000) && !may_ask(1000, 0));
    }
}
