//! Files that options name, to write to.

use crate::failure::Failure;
use crate::say::say;
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The file that `option` names. Asked for before the work, where that is long: that
/// it cannot be written is better known then than after.
///
/// # Errors
/// [`Failure::refused`], if it cannot be made.
pub fn create(path: &Path, option: &str) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        Failure::refused(format!(
            "cannot write {}: {error}: choose another {option} file",
            path.display()
        ))
    })
}

/// Writes a text.
///
/// # Errors
/// [`Failure::failed`], if it cannot be written.
pub fn write_text(mut to: impl Write, text: &str) -> Result<(), Failure> {
    to.write_all(text.as_bytes()).map_err(Failure::failed)
}

/// Where the figures go that `--json` asks for.
#[derive(Debug)]
pub enum Json {
    /// Nobody asked.
    Nowhere,
    /// To standard output, instead of what people read.
    Stdout,
    /// To a file, beside it.
    File(File),
}

impl Json {
    /// As `--json` says.
    ///
    /// # Errors
    /// [`Failure::refused`], if the file cannot be made.
    pub fn to(path: Option<&Path>) -> Result<Json, Failure> {
        match path {
            None => Ok(Json::Nowhere),
            Some(path) if path == Path::new("-") => Ok(Json::Stdout),
            Some(path) => create(path, "--json").map(Json::File),
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
        match self {
            Json::Nowhere => Ok(()),
            Json::Stdout => write_json(std::io::stdout().lock(), figures),
            Json::File(file) => write_json(file, figures),
        }
    }
}

fn write_json<T: Serialize + ?Sized>(mut to: impl Write, figures: &T) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut to, figures).map_err(Failure::failed)?;
    writeln!(to).map_err(Failure::failed)
}
