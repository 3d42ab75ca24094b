//! [`Folder`]: where results lie, and how a run that was cut off goes on.

use super::case;
use super::experiment::Experiment;
use super::needed::Needed;
use super::record::{Key, Record};
use super::session::{Session, Shard};
use super::trouble::Trouble;
use planner::Calibration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file of samples, a line of JSON each.
pub const SAMPLES: &str = "samples.jsonl";
const MANIFEST: &str = "manifest.json";
const CALIBRATION: &str = "calibration.toml";
const NEEDED: &str = "needed.json";
const EXPERIMENTS: &str = "experiments";
/// The version of folders that this program knows.
const VERSION: u32 = 1;
/// The largest file that is read, bytes.
const MOST_BYTES: u64 = 1 << 30;

/// What a folder is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    experiments: Vec<String>,
    full: bool,
    seed: u64,
    shard: (usize, usize),
}

/// A folder of results that samples are added to.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    samples: File,
    /// Bytes of whole lines.
    length: u64,
}

/// What a folder has.
#[derive(Clone, Debug)]
pub struct Contents {
    /// What was to be run.
    pub session: Session,
    /// What was run so far.
    pub records: Vec<Record>,
    /// What the model says must be different for claims to come out that do not, if it was
    /// searched.
    pub needed: Vec<Needed>,
}

impl Contents {
    /// What tells the runs apart that were made.
    pub fn done(&self) -> BTreeSet<Key> {
        self.records.iter().map(Record::key).collect()
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error, mend: &str) -> Trouble {
    Trouble::Folder(format!("cannot {what} {}: {error}: {mend}", path.display()))
}

impl Folder {
    /// A new folder for the results of a session.
    ///
    /// # Errors
    /// If there are results in it already, or it cannot be made or written.
    pub fn create(path: &Path, session: &Session) -> Result<Folder, Trouble> {
        if path.join(MANIFEST).exists() {
            return Err(Trouble::Refused(format!(
                "{0} has results already: `anabranch lab resume {0}` goes on with them, or name another folder",
                path.display()
            )));
        }
        let made = fs::create_dir_all(path.join(EXPERIMENTS));
        made.map_err(|e| {
            Trouble::Refused(format!(
                "cannot make the folder {}: {e}: name one that can be written",
                path.display()
            ))
        })?;
        for experiment in &session.experiments {
            let file = path.join(EXPERIMENTS).join(format!("{}.toml", experiment.name));
            write(&file, experiment.text.as_bytes())?;
        }
        let manifest = Manifest {
            version: VERSION,
            experiments: session.experiments.iter().map(|one| one.name.clone()).collect(),
            full: session.full,
            seed: session.seed,
            shard: (session.shard.index, session.shard.of),
        };
        let text = serde_json::to_string_pretty(&manifest).unwrap_or_default() + "\n";
        let folder = Folder::append(path)?;
        if folder.length > 0 {
            return Err(Trouble::Refused(format!(
                "{} has samples of something else: name another folder",
                path.display()
            )));
        }
        // The manifest comes last: a folder with one is whole.
        write(&path.join(MANIFEST), text.as_bytes())?;
        Ok(folder)
    }

    /// A folder that was made before, to go on with it. Cuts off a line that was not
    /// completed.
    ///
    /// # Errors
    /// If it has no results, cannot be read or written, or is in use.
    pub fn resume(path: &Path) -> Result<(Folder, Contents), Trouble> {
        let contents = read(path)?;
        Ok((Folder::append(path)?, contents))
    }

    fn append(path: &Path) -> Result<Folder, Trouble> {
        let file = path.join(SAMPLES);
        let wrong = |e: &io::Error| cannot("write", &file, e, "name a folder that can be written");
        let opened = File::options().read(true).append(true).create(true).open(&file);
        let mut samples = opened.map_err(|e| wrong(&e))?;
        match samples.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Trouble::Refused(format!(
                    "{} is in use by another run: wait for its end",
                    path.display()
                )));
            }
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        if samples.metadata().is_ok_and(|file| file.is_file()) {
            samples.read_to_end(&mut bytes).map_err(|e| wrong(&e))?;
        }
        let length = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) as u64;
        if length < bytes.len() as u64 {
            samples.set_len(length).map_err(|e| wrong(&e))?;
        }
        Ok(Folder { path: path.to_owned(), samples, length })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a sample. It is there as a whole, or not at all.
    ///
    /// # Errors
    /// If the file cannot be written; what is in it stays.
    pub fn add(&mut self, record: &Record) -> Result<(), Trouble> {
        let mut line = serde_json::to_vec(record).unwrap_or_default();
        line.push(b'\n');
        if let Err(error) = self.samples.write_all(&line).and_then(|()| self.samples.flush()) {
            // What was written of it goes; if that fails, too, `resume` does it.
            let _ = self.samples.set_len(self.length);
            let mend = format!(
                "free some room, then `anabranch lab resume {}` goes on; the samples so far are kept",
                self.path.display()
            );
            return Err(cannot("write", &self.path.join(SAMPLES), &error, &mend));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// The calibration in it, if there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn calibration(&self) -> Result<Option<Calibration>, Trouble> {
        Folder::calibration_in(&self.path)
    }

    /// The calibration in a folder, if there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn calibration_in(path: &Path) -> Result<Option<Calibration>, Trouble> {
        let path = path.join(CALIBRATION);
        if !path.exists() {
            return Ok(None);
        }
        let loaded = planner::calibration::load(&path);
        loaded.map(Some).map_err(|error| Trouble::Folder(error.to_string()))
    }

    /// Keeps a calibration.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, calibration: &Calibration) -> Result<(), Trouble> {
        let text = calibration.to_toml().map_err(|e| Trouble::Folder(e.to_string()))?;
        write(&self.path.join(CALIBRATION), text.as_bytes())
    }
}

/// Writes a file of a folder, whole or not at all.
///
/// # Errors
/// If it cannot be written; what was in it stays, then.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    replace(path, bytes).map_err(|error| {
        let mend = match error.kind() {
            io::ErrorKind::IsADirectory => "name a file",
            io::ErrorKind::StorageFull => "free some room, or name a folder elsewhere",
            _ => "name a folder that can be written",
        };
        cannot("write", path, &error, mend)
    })
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // The file behind a link is replaced, not the link. If there is none yet, it is made.
    if path.is_symlink() && !path.exists() {
        File::create(path)?;
    }
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A device or a pipe cannot be replaced.
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn text(path: &Path) -> Result<String, Trouble> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text"))
    };
    read().map_err(|error| cannot("read", path, &error, "name a folder of results"))
}

/// Reads a folder of results. A last line that was not completed does not count.
///
/// # Errors
/// If it is none, or a file in it is malformed: one line with the file and the line.
pub fn read(path: &Path) -> Result<Contents, Trouble> {
    let file = path.join(MANIFEST);
    if !file.exists() {
        return Err(Trouble::Refused(format!(
            "{} has no results in it: name a folder that `anabranch lab run` made",
            path.display()
        )));
    }
    let malformed = |line: usize, what: String| {
        let mend = "mend it, or run the experiment anew in another folder";
        Trouble::Folder(format!("{}, line {line}: {what}: {mend}", file.display()))
    };
    let manifest: Manifest = serde_json::from_str(&text(&file)?)
        .map_err(|error| malformed(error.line(), error.to_string()))?;
    if manifest.version != VERSION {
        let version = manifest.version;
        return Err(malformed(1, format!("version {version}, and this program has {VERSION}")));
    }
    let mut experiments = Vec::new();
    for name in &manifest.experiments {
        let file = path.join(EXPERIMENTS).join(format!("{name}.toml"));
        let shown = file.display().to_string();
        let experiment = Experiment::parse(&shown, &text(&file)?).map_err(Trouble::Folder)?;
        case::check(&shown, &experiment).map_err(Trouble::Folder)?;
        experiments.push(experiment);
    }
    let (index, of) = manifest.shard;
    let shard = Shard { index: index.max(1), of: of.max(1) };
    let session = Session { experiments, full: manifest.full, seed: manifest.seed, shard };
    let records = read_samples(&path.join(SAMPLES))?;
    let needed = read_needed(path)?;
    Ok(Contents { session, records, needed })
}

fn read_samples(file: &Path) -> Result<Vec<Record>, Trouble> {
    let text = text(file)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |(n, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let (file, n) = (file.display(), n + 1);
            Trouble::Folder(format!(
                "{file}, line {n}: no sample: {error}: remove the line, and `anabranch lab resume` makes the run again"
            ))
        })
    };
    whole.lines().enumerate().map(parse).collect()
}

/// Keeps what a search over the costs found in a folder.
///
/// # Errors
/// If it cannot be written.
pub fn keep_needed(path: &Path, needed: &[Needed]) -> Result<(), Trouble> {
    let text = serde_json::to_string_pretty(needed).unwrap_or_default() + "\n";
    write(&path.join(NEEDED), text.as_bytes())
}

fn read_needed(path: &Path) -> Result<Vec<Needed>, Trouble> {
    let file = path.join(NEEDED);
    if !file.exists() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text(&file)?).map_err(|error| {
        let (file, line) = (file.display(), error.line());
        Trouble::Folder(format!("{file}, line {line}: {error}: remove it, then search again"))
    })
}

/// The name of a new folder for the results of `name`, with the time.
pub fn default_name(name: &str) -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let time: String = now.chars().filter(|c| !matches!(c, '-' | ':' | 'Z')).collect();
    format!("lab-{name}-{time}")
}

#[cfg(test)]
mod tests;
