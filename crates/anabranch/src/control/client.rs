//! The side of those who look.

use super::place;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a stack may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there is no stack to look into.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// None that this user may ask has a control socket, of this name if one was given.
    #[error("no stack{} has a control socket for you: look as its owner", named(.0))]
    None(Option<String>),
    /// More than one has, and no name was given, or that of several: then with the numbers of their processes.
    #[error("several stacks have control sockets, {}: name one", .0.join(", "))]
    Several(Vec<String>),
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!(" called `{name}`"))
}

impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, error)
    }
}

/// A connection to a stack's control socket, for one question.
#[derive(Debug)]
pub struct Client(UnixStream);

/// What is to be captured.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CaptureRequest {
    /// Which packets: the text of a [`Filter`](crate::capture::Filter).
    pub filter: String,
    /// Bytes of each, at most.
    pub snaplen: Option<usize>,
    /// How many packets.
    pub count: Option<u64>,
}

impl CaptureRequest {
    /// All of these packets.
    pub fn new(filter: impl Into<String>) -> CaptureRequest {
        CaptureRequest { filter: filter.into(), ..CaptureRequest::default() }
    }

    /// With another [`CaptureRequest::snaplen`].
    #[must_use]
    pub fn with_snaplen(mut self, snaplen: Option<usize>) -> CaptureRequest {
        self.snaplen = snaplen;
        self
    }

    /// With another [`CaptureRequest::count`].
    #[must_use]
    pub fn with_count(mut self, count: Option<u64>) -> CaptureRequest {
        self.count = count;
        self
    }
}

/// What became of a capture's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureCounts {
    /// In the file.
    pub captured: u64,
    /// Wanted, but not in the file, since the reader was too slow.
    pub dropped: u64,
}

/// Ends a capture from another thread.
#[derive(Debug)]
pub struct Stopper(UnixStream);

impl Stopper {
    /// No more packets are wanted. Those that wait still come.
    pub fn stop(&self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

impl Client {
    /// Connects to the control socket of this name, or to the only one that this user has. Where several processes
    /// have one of that name, `NAME.PROCESS` is that of the process with this number.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn connect(name: Option<&str>) -> Result<Client, ConnectError> {
        connect(&place::directory(), name).map(Client)
    }

    /// The connections of the stack, as JSON.
    ///
    /// # Errors
    /// If the stack does not answer.
    pub fn connections(self) -> io::Result<String> {
        let mut answers = self.ask("connections")?;
        line(&mut answers)
    }

    /// Rates, as a line of JSON every `interval`, until `each` says `false` or the stack
    /// ends.
    ///
    /// # Errors
    /// If the stack does not answer, and those of `each`.
    pub fn rates(
        self,
        interval: Duration,
        mut each: impl FnMut(&str) -> io::Result<bool>,
    ) -> io::Result<()> {
        let mut answers = self.ask(&format!("rates {}", interval.as_millis().max(1)))?;
        answers.get_ref().set_read_timeout(Some(PATIENCE + interval))?;
        while each(&line(&mut answers)?)? {}
        Ok(())
    }

    /// What ends the capture that this client is about to ask for.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn stopper(&self) -> io::Result<Stopper> {
        self.0.try_clone().map(Stopper)
    }

    /// Captures into `to`, as pcapng, until it is [stopped](Client::stopper), or has as many
    /// packets as were asked for, or the stack ends. `to` is flushed whenever no packet
    /// waits.
    ///
    /// # Errors
    /// If the stack cannot be captured or does not answer, and those of `to`.
    pub fn capture(
        self,
        request: &CaptureRequest,
        to: &mut impl Write,
    ) -> io::Result<CaptureCounts> {
        let asked = json!({
            "filter": request.filter, "snaplen": request.snaplen, "count": request.count,
        });
        let mut answers = self.ask(&format!("capture {asked}"))?;
        line(&mut answers)?;
        answers.get_ref().set_read_timeout(None)?;
        let mut block = Vec::new();
        loop {
            let mut len = [0; 4];
            answers.read_exact(&mut len).map_err(killed)?;
            let len = u32::from_be_bytes(len);
            if len == 0 {
                break;
            }
            block.clear();
            let came = (&mut answers).take(len.into()).read_to_end(&mut block).map_err(killed)?;
            if came < len as usize {
                return Err(killed(io::ErrorKind::UnexpectedEof.into()));
            }
            to.write_all(&block)?;
            if answers.buffer().is_empty() {
                to.flush()?;
            }
        }
        to.flush()?;
        let counts = parsed(&line(&mut answers)?)?;
        let count = |key: &str| counts[key].as_u64().unwrap_or(0);
        Ok(CaptureCounts { captured: count("captured"), dropped: count("dropped") })
    }

    fn ask(mut self, question: &str) -> io::Result<BufReader<UnixStream>> {
        self.0.set_read_timeout(Some(PATIENCE))?;
        writeln!(self.0, "{question}")?;
        Ok(BufReader::with_capacity(256 * 1024, self.0))
    }
}

/// What an error within an answer means: a stack that ends says what there is to say before.
fn killed(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            let text = "the stack has ended without a word: what had come is written";
            io::Error::new(io::ErrorKind::UnexpectedEof, text)
        }
        _ => error,
    }
}

/// A line of an answer, unless it says what is wrong.
fn line(answers: &mut BufReader<UnixStream>) -> io::Result<String> {
    let mut text = String::new();
    answers.read_line(&mut text)?;
    if !text.ends_with('\n') {
        let text = "the stack has ended before it answered: try again";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
    }
    text.pop();
    match parsed(&text)?["error"].as_str() {
        Some(error) => Err(io::Error::other(error.to_owned())),
        None => Ok(text),
    }
}

fn parsed(text: &str) -> io::Result<Value> {
    serde_json::from_str(text).map_err(|_| io::Error::other("the stack's answer is no JSON"))
}

/// The connection to the one stack that is meant.
fn connect(directory: &Path, name: Option<&str>) -> Result<UnixStream, ConnectError> {
    let sockets: Vec<(String, PathBuf)> = match place::is_safe(directory) {
        Ok(()) => place::sockets(directory),
        Err(_) => Vec::new(),
    };
    let wanted = |other: &str, path: &Path| {
        name.is_none_or(|name| name == other || name == with_process(path))
    };
    let mut live = Vec::new();
    for (name, path) in sockets.into_iter().filter(|(name, path)| wanted(name, path)) {
        match UnixStream::connect(&path) {
            Ok(stream) => live.push((name, path, stream)),
            // Its process was killed.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => drop(fs::remove_file(path)),
            Err(_) => {}
        }
    }
    if live.len() > 1 {
        let is_one_of_many =
            |name: &str| live.iter().filter(|(other, ..)| other == name).count() > 1;
        let told = |(name, path, _): &(String, PathBuf, UnixStream)| match is_one_of_many(name) {
            true => with_process(path),
            false => name.clone(),
        };
        return Err(ConnectError::Several(live.iter().map(told).collect()));
    }
    let stream = live.pop().map(|(.., stream)| stream);
    stream.ok_or_else(|| ConnectError::None(name.map(str::to_owned)))
}

/// The name of the socket at `path` and its process's number behind it, which tells it from others of that name.
fn with_process(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Before, it was "failed to fill whole buffer", and half of a block stood at the end of the file.
    #[test]
    fn a_capture_of_a_stack_that_is_killed_says_so() {
        for came in [&b""[..], &[0, 0, 0], &[0, 0, 0, 8, 1, 2, 3]] {
            let (ours, mut theirs) = UnixStream::pair().expect("a pair");
            theirs.write_all(&[b"{}\n\0\0\0\x02ab", came].concat()).expect("room");
            let asked = std::thread::spawn(move || {
                let mut question = String::new();
                BufReader::new(theirs).read_line(&mut question).expect("asked");
            });
            let mut file = Vec::new();
            let error = Client(ours).capture(&CaptureRequest::new("tcp"), &mut file);
            let error = error.expect_err("it was killed").to_string();
            assert!(error.contains("the stack has ended"), "{error}");
            assert_eq!(file, b"ab", "whole blocks only");
            asked.join().expect("asked");
        }
    }

    #[test]
    fn what_a_killed_process_has_left_is_no_stack() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("anabranch");
        place::make(&directory).expect("made");
        let path = directory.join("ana0.1.sock");
        drop(UnixListener::bind(&path).expect("bound"));
        assert!(path.exists());
        let error = connect(&directory, None).expect_err("none runs");
        assert!(error.to_string().contains("no stack has a control socket"), "{error}");
        assert!(!path.exists(), "it is tidied away");

        let listen = |name: &str| UnixListener::bind(directory.join(name)).expect("bound");
        let _one = listen("ana0.2.sock");
        assert!(connect(&directory, None).is_ok());
        let _other = listen("ana8.3.sock");
        let error = connect(&directory, None).expect_err("which one?");
        assert!(error.to_string().contains("ana0, ana8: name one"), "{error}");
        assert!(connect(&directory, Some("ana8")).is_ok());
        assert!(connect(&directory, Some("ana9")).is_err());
    }

    /// As servers of several network namespaces are, which all have the device of the default.
    #[test]
    fn stacks_of_one_name_are_told_apart_by_their_processes() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("anabranch");
        place::make(&directory).expect("made");
        let listen = |name: &str| UnixListener::bind(directory.join(name)).expect("bound");
        let _all = ["ana0.2.sock", "ana0.3.sock", "ana8.4.sock"].map(listen);
        for (name, named) in [
            (None, "sockets, ana0.2, ana0.3, ana8: name one"),
            (Some("ana0"), "sockets, ana0.2, ana0.3: name one"),
        ] {
            let error = connect(&directory, name).expect_err("which one?").to_string();
            assert!(error.ends_with(named), "{error}");
        }
        for name in ["ana0.2", "ana0.3", "ana8", "ana8.4"] {
            assert!(connect(&directory, Some(name)).is_ok(), "{name}");
        }
        for name in ["ana0.4", "ana0.", "ana", "ana0.2.sock"] {
            assert!(connect(&directory, Some(name)).is_err(), "{name}");
        }
    }
}
