//! The control socket: a client sends a line with what it wants to know, and gets JSON.

use super::{Viewed, accept, connections, place};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// Asks for the connections.
pub const CONNECTIONS: &str = "connections";

/// Bytes of the longest question.
const QUESTION: u64 = 64;
/// How long a client may take to ask, and a connection to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The control socket of a server. It is removed when dropped.
pub struct Control(PathBuf);

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        // Unless another server is there.
        let _ = self.0.parent().map(fs::remove_dir);
    }
}

impl Control {
    /// Answers those who ask from now on. Must be called within a runtime.
    ///
    /// # Errors
    /// If there can be no such socket.
    pub fn open(viewed: &Arc<Viewed>) -> io::Result<Control> {
        let directory = place::directory();
        let path = place::socket(&directory, &viewed.device);
        let bind = || {
            place::make(&directory)?;
            UnixListener::bind(&path)
        };
        let listener = match bind() {
            // A server that has just ended took the directory with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => bind()?,
            bound => bound?,
        };
        let control = Control(path);
        fs::set_permissions(&control.0, fs::Permissions::from_mode(0o600))?;
        tokio::spawn(serve(listener, viewed.clone()));
        Ok(control)
    }
}

async fn serve(listener: UnixListener, viewed: Arc<Viewed>) {
    loop {
        let (stream, _) = accept::next(|| listener.accept()).await;
        let viewed = viewed.clone();
        tokio::spawn(async move {
            // A client that goes away before it has its answer is its own affair.
            let _ = answer(stream, viewed).await;
        });
    }
}

async fn answer(mut stream: UnixStream, viewed: Arc<Viewed>) -> io::Result<()> {
    let asks = rustix::net::sockopt::socket_peercred(&stream)?.uid;
    if !may_ask(asks.as_raw(), rustix::process::geteuid().as_raw()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut question = String::new();
    let mut reader = BufReader::new((&mut stream).take(QUESTION));
    tokio::time::timeout(PATIENCE, reader.read_line(&mut question)).await??;
    let text = match question.trim_end() {
        CONNECTIONS => {
            let listed = move || connections::json(&viewed.stack.connections(PATIENCE));
            tokio::task::spawn_blocking(listed).await?
        }
        _ => json!({ "error": "unknown question: client and server are of different versions" }),
    };
    stream.write_all(text.to_string().as_bytes()).await?;
    stream.shutdown().await
}

/// May user `asks` look into a server of user `owner`?
fn may_ask(asks: u32, owner: u32) -> bool {
    asks == owner || asks == 0
}

/// Asks the server on `device`, or the only one that runs.
///
/// # Errors
/// If there is none, or more than one, or it does not answer.
pub fn ask(device: Option<&str>, question: &str) -> Result<Value, Failure> {
    let directory = place::directory();
    let stream = connect(&directory, device)?;
    let text = exchange(stream, question);
    let text = text.map_err(|e| Failure::failed(format!("the server does not answer: {e}")))?;
    let answer: Value = serde_json::from_str(&text)
        .map_err(|_| Failure::failed("the server has ended before it answered: try again"))?;
    match answer.get("error").and_then(Value::as_str) {
        Some(error) => Err(Failure::failed(error)),
        None => Ok(answer),
    }
}

/// The connection to the one server that is meant.
fn connect(directory: &Path, device: Option<&str>) -> Result<Blocking, Failure> {
    let sockets = match place::is_safe(directory) {
        Ok(()) => place::sockets(directory),
        Err(_) => Vec::new(),
    };
    let wanted = |name: &str| device.is_none_or(|device| device == name);
    let mut live: Vec<(String, Blocking)> = Vec::new();
    for (name, path) in sockets.into_iter().filter(|(name, _)| wanted(name)) {
        match Blocking::connect(&path) {
            Ok(stream) => live.push((name, stream)),
            // Its server was killed.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => drop(fs::remove_file(path)),
            Err(_) => {}
        }
    }
    if live.len() > 1 {
        let names: Vec<&str> = live.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        return Err(Failure::refused(format!("several servers run, on {names}: name a device")));
    }
    live.pop().map(|(_, stream)| stream).ok_or_else(|| {
        let which = device.map_or(String::new(), |device| format!(" on `{device}`"));
        Failure::refused(format!(
            "no server of yours runs{which}: start one by `anabranch serve`, or look as its owner, \
             who may be root"
        ))
    })
}

fn exchange(mut stream: Blocking, question: &str) -> io::Result<String> {
    stream.set_read_timeout(Some(4 * PATIENCE))?;
    writeln!(stream, "{question}")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_and_root_may_ask() {
        assert!(may_ask(1000, 1000) && may_ask(0, 1000) && may_ask(0, 0));
        assert!(!may_ask(1001, 1000) && !may_ask(1000, 0));
    }

    #[test]
    fn what_a_killed_server_has_left_is_no_server() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("anabranch");
        place::make(&directory).expect("made");
        let path = directory.join("ana0.1.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
        assert!(path.exists());
        let error = connect(&directory, None).expect_err("none runs");
        assert!(error.to_string().contains("no server of yours runs"), "{error}");
        assert!(!path.exists(), "it is tidied away");

        let listen = |name: &str| {
            std::os::unix::net::UnixListener::bind(directory.join(name)).expect("bound")
        };
        let _one = listen("ana0.2.sock");
        assert!(connect(&directory, None).is_ok());
        let _other = listen("ana8.3.sock");
        let error = connect(&directory, None).expect_err("which one?");
        assert!(error.to_string().contains("ana0, ana8: name a device"), "{error}");
        assert!(connect(&directory, Some("ana8")).is_ok());
        assert!(connect(&directory, Some("ana9")).is_err());
    }
}
