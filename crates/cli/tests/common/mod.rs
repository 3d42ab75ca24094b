//! A server in a private network namespace, and the kernel as its client.
#![allow(dead_code)]

pub mod lines;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long anything may take before the test fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The command, with these words as arguments.
pub fn anabranch(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

/// Runs the command, which has to refuse: exit code 2, and one line, which is
/// returned.
pub fn refused(arguments: &str) -> String {
    let output = anabranch(arguments).output().expect("the command runs");
    let Output { status, stdout, stderr } = output;
    let stderr = String::from_utf8(stderr).expect("text");
    assert_eq!(status.code(), Some(2), "{arguments}: {stderr}");
    assert!(stdout.is_empty(), "{arguments}");
    assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
    assert!(stderr.starts_with("anabranch: "), "{stderr}");
    assert!(!stderr.contains("  "), "two spaces in a row: {stderr}");
    stderr
}

/// Runs `test` in a private network namespace, if the process may have one.
pub fn isolated(test: impl FnOnce() + Send) {
    if let Err(error) = device::namespace::in_private(test) {
        println!("skipped: {error}");
    }
}

/// The names of the interfaces in the calling thread's namespace.
pub fn interfaces() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").expect("/proc");
    let name = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
    text.lines().filter_map(name).collect()
}

/// A running `anabranch serve`; it is killed when dropped.
pub struct Server {
    child: Child,
    lines: mpsc::Receiver<String>,
    /// What it said when ready.
    pub ready: String,
}

impl Server {
    /// Starts it, and waits until it is ready. `None` if there can be no TAP
    /// device here.
    pub fn start(arguments: &str) -> Option<Server> {
        Server::start_by(anabranch(&format!("serve {arguments}")))
    }

    /// As [`Server::start`], by any command that becomes one.
    pub fn start_by(mut command: Command) -> Option<Server> {
        let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.expect("the command runs");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut server = Server { child, lines, ready: String::new() };
        match server.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                assert!(line.starts_with("ready: "), "{line}");
                server.ready = line;
                Some(server)
            }
            Err(_) => {
                let _ = server.child.kill();
                let mut stderr = String::new();
                let mut pipe = server.child.stderr.take().expect("piped");
                pipe.read_to_string(&mut stderr).expect("text");
                let missing = ["not allowed to make", "/dev/net/tun"];
                assert!(missing.iter().any(|why| stderr.contains(why)), "{stderr}");
                println!("skipped: {stderr}");
                None
            }
        }
    }

    /// The name of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the pipe of its standard error: nobody reads there any more.
    pub fn leave_errors(&mut self) {
        self.child.stderr = None;
    }

    /// What it says next, a line.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("a signal");
    }

    /// Waits for its end. Returns the exit code, and what it said since it was
    /// ready.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let give_up = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < give_up, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let lines: Vec<String> = self.lines.iter().collect();
        (status.code(), lines.join("\n"))
    }

    /// Ends it by SIGTERM; it has to end well.
    pub fn terminate(self) -> String {
        self.signal(rustix::process::Signal::TERM);
        let (code, text) = self.wait();
        assert_eq!(code, Some(0), "{text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The packets of a file in pcapng. Blocks are type, length, content and length again.
pub fn packets(file: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_ne_bytes(file[at..at + 4].try_into().expect("four")) as usize;
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        let (kind, len) = (word(at), word(at + 4));
        if kind == 6 {
            found.push(file[at + 28..at + 28 + word(at + 20)].to_vec());
        }
        assert_eq!(word(at + len - 4), len);
        at += len;
    }
    found
}
