//! Joining folders of results: shards of one session, or machines side by side.

use super::folder::{Contents, Folder, read};
use super::record::Key;
use super::session::{Session, Shard};
use super::sheet::machines;
use super::trouble::Trouble;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What was joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Runs in the new folder.
    pub runs: usize,
    /// Runs that more than one folder had, on machines of one kind: the first counts.
    pub twice: usize,
    /// Kinds of machines.
    pub machines: usize,
}

/// Joins the results in `from` into the new folder `to`. Machines of several kinds are
/// refused unless they are to stand `side_by_side`: they are never compared.
///
/// # Errors
/// If folders are of other experiments, cannot be read, or `to` cannot be made.
pub fn merge(to: &Path, from: &[PathBuf], side_by_side: bool) -> Result<Joined, Trouble> {
    let mut all: Vec<Contents> = Vec::new();
    for path in from {
        let contents = read(path)?;
        if let Some(first) = all.first() {
            same(&first.session, &contents.session, path)?;
        }
        all.push(contents);
    }
    let Some(first) = all.first() else {
        return Err(Trouble::Refused("name the folders that are to be joined".to_owned()));
    };
    let session = Session { shard: Shard::WHOLE, ..first.session.clone() };
    let records: Vec<_> = all.iter().flat_map(|contents| contents.records.clone()).collect();
    let kinds = machines(&records);
    if kinds.len() > 1 && !side_by_side {
        return Err(Trouble::Refused(format!(
            "the folders are of different machines ({}): add --side-by-side to keep each by itself",
            kinds.join("; ")
        )));
    }
    let mut folder = Folder::create(to, &session)?;
    let mut seen: BTreeSet<(String, Key)> = BTreeSet::new();
    let mut joined = Joined { runs: 0, twice: 0, machines: kinds.len() };
    for record in &records {
        if seen.insert((record.setting.kind(), record.key())) {
            folder.add(record)?;
            joined.runs += 1;
        } else {
            joined.twice += 1;
        }
    }
    for path in from {
        if let Some(calibration) = Folder::calibration_in(path)? {
            folder.keep(&calibration)?;
            break;
        }
    }
    Ok(joined)
}

/// Are these the same experiments, run by the same seed and for as long?
fn same(one: &Session, other: &Session, path: &Path) -> Result<(), Trouble> {
    let texts = |session: &Session| -> Vec<String> {
        session.experiments.iter().map(|experiment| experiment.text.clone()).collect()
    };
    let differs = if texts(one) != texts(other) {
        "other experiments"
    } else if one.full != other.full {
        "runs of another length"
    } else if one.seed != other.seed {
        "another seed"
    } else {
        return Ok(());
    };
    let path = path.display();
    Err(Trouble::Refused(format!("{path} has {differs}: join folders of one session only")))
}

#[cfg(test)]
mod tests;
