//! A `serve` of which each line is looked at.

use super::{PATIENCE, anabranch, interfaces};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Runs `ip` with these words; did it do what it was told?
pub fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).output();
    done.is_ok_and(|done| done.status.success())
}

/// A `serve` whose lines on both outputs are one stream.
pub struct Serve {
    pub child: Child,
    lines: Receiver<String>,
    pub seen: Vec<String>,
}

impl Serve {
    /// Starts it on `ana-test`, and waits until the device is there. `None` if there can be none.
    pub fn start(more: &str) -> Option<Serve> {
        let mut command = anabranch(&format!("serve --tap ana-test {more}"));
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        let (to, lines) = channel();
        let out: Box<dyn Read + Send> = Box::new(child.stdout.take().expect("piped"));
        let err: Box<dyn Read + Send> = Box::new(child.stderr.take().expect("piped"));
        for pipe in [out, err] {
            let to = to.clone();
            std::thread::spawn(move || {
                BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|l| to.send(l))
            });
        }
        let serve = Serve { child, lines, seen: Vec::new() };
        let start = Instant::now();
        while !interfaces().contains(&"ana-test".to_owned()) {
            if let Ok(line) = serve.lines.try_recv() {
                let missing = ["not allowed to make", "/dev/net/tun"];
                assert!(missing.iter().any(|why| line.contains(why)), "{line}");
                println!("skipped: {line}");
                return None;
            }
            assert!(start.elapsed() < PATIENCE, "no device");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(serve)
    }

    /// A line with this in it, which was not asked for before.
    pub fn says(&mut self, what: &str, patience: Duration) -> String {
        if let Some(at) = self.seen.iter().position(|line| line.contains(what)) {
            return self.seen.remove(at);
        }
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if line.contains(what) {
                        return line;
                    }
                    self.seen.push(line);
                }
                Err(_) => panic!("it does not say {what:?}: {:#?}", self.seen),
            }
        }
    }

    /// It has not said this in a line that was not asked for before.
    pub fn has_not_said(&mut self, what: &str) {
        self.seen.extend(self.lines.try_iter());
        let said = self.seen.iter().find(|line| line.contains(what));
        assert!(said.is_none(), "{said:?}");
    }

    /// Ends it by SIGTERM; it has to end well.
    pub fn terminate(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("a signal");
        assert_eq!(self.child.wait().expect("a child").code(), Some(0), "{:#?}", self.seen);
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
