//! Files that options name, to write to: whole, or not at all.

use crate::failure::Failure;
use crate::say::{printed, say};
use rustix::io::Errno;
use serde::Serialize;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that an option names. What is in it stays until the new text is complete: that
/// is written to a file beside it, which then takes its name.
#[derive(Debug)]
pub struct Output {
    option: &'static str,
    path: PathBuf,
}

impl Output {
    /// Looks whether the file can be written, and changes nothing. Commands that take
    /// long ask first, so that nobody waits for figures that have no place to go.
    ///
    /// # Errors
    /// [`Failure::refused`], if it cannot be written.
    pub fn new(option: &'static str, path: &Path) -> Result<Output, Failure> {
        // To open a named pipe would wait for a reader, and to close it would send that away.
        if fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo()) {
            return Ok(Output { option, path: path.to_owned() });
        }
        // What a link without a file behind it names is made, and goes again; the link stays.
        let is_new = !path.exists();
        let opened = File::options().append(true).create(true).open(path);
        let output = Output { option, path: path.to_owned() };
        opened.map_err(|error| {
            Failure::refused(format!(
                "cannot write {option} {}: {error}: name a file that can be made",
                path.display()
            ))
        })?;
        if is_new && let Ok(made) = path.canonicalize() {
            let _ = fs::remove_file(made);
        }
        Ok(output)
    }

    /// Replaces what is in the file by `text`.
    ///
    /// # Errors
    /// [`Failure::failed`], if it cannot be written; the file is as it was, then.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        self.replace(text.as_bytes()).map_err(|error| {
            let (path, mend) = (self.path.display(), mend(&error));
            Failure::failed(format!("cannot write {} {path}: {error}: {mend}", self.option))
        })
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        // The file behind a link is replaced, not the link. If there is none yet, it is made.
        if !self.path.exists() && self.path.is_symlink() {
            File::create(&self.path)?;
        }
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let before = fs::metadata(&path).ok();
        // A device or a pipe cannot be replaced.
        if before.as_ref().is_some_and(|before| !before.is_file()) {
            return File::options().write(true).open(&path)?.write_all(bytes);
        }
        let beside = beside(&path);
        let mut file = match File::create(&beside) {
            Ok(file) => file,
            // The directory takes no new file, but the old one can be written.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return fs::write(&path, bytes);
            }
            Err(error) => return Err(error),
        };
        let written = file
            .write_all(bytes)
            .and_then(|()| before.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
            .and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

/// The name under which the new text is written: a short one, since the file's own may be as
/// long as names can be.
fn beside(path: &Path) -> PathBuf {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".anabranch-{}-{number}", std::process::id()))
}

/// Do no two of these options name the same file? Devices may be named twice.
///
/// # Errors
/// [`Failure::refused`], if two do.
pub fn distinct(named: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let known: Vec<_> = named
        .iter()
        .filter_map(|(option, path)| Some((option, (*path)?)))
        .filter(|(_, path)| !path.exists() || path.is_file())
        .map(|(option, path)| (option, path, place(path)))
        .collect();
    for (n, (option, path, place)) in known.iter().enumerate() {
        if let Some((other, ..)) = known[..n].iter().find(|(.., other)| other == place) {
            return Err(Failure::refused(format!(
                "{other} and {option} both name {}: give each a file of its own",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Where a file is or would be, without links and dots in the way.
fn place(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default();
    parent.canonicalize().unwrap_or_else(|_| parent.to_owned()).join(name)
}

/// Where the figures go that `--json` asks for.
#[derive(Debug)]
pub enum Json {
    /// Figures were not asked for.
    Nowhere,
    /// To standard output, instead of what people read.
    Stdout,
    /// To a file, beside what people read.
    File(Output),
}

impl Json {
    /// As `--json` says.
    ///
    /// # Errors
    /// [`Failure::refused`], if the file cannot be written.
    pub fn to(path: Option<&Path>) -> Result<Json, Failure> {
        match path {
            None => Ok(Json::Nowhere),
            Some(path) if path == Path::new("-") => Ok(Json::Stdout),
            Some(path) => Output::new("--json", path).map(Json::File),
        }
    }

    /// Writes `figures`; and prints what people read, unless the figures are there.
    ///
    /// # Errors
    /// [`Failure::failed`], if they cannot be written.
    pub fn report<T: Serialize + ?Sized>(
        self,
        figures: &T,
        words: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if !matches!(self, Json::Stdout) {
            say(words().trim_end());
        }
        let text = || serde_json::to_string_pretty(figures).map_err(Failure::failed);
        match self {
            Json::Nowhere => Ok(()),
            Json::Stdout => print(text()?),
            Json::File(file) => file.write(&(text()? + "\n")),
        }
    }
}

/// Prints what was asked for, all of it.
///
/// # Errors
/// [`Failure::failed`], if it finds no room there.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    printed(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// What helps against it.
fn mend(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => "raise ulimit -n",
        Some(Errno::NOSPC | Errno::DQUOT) => "free some room",
        _ => "name a file that can be written",
    }
}

#[cfg(test)]
mod tests;
