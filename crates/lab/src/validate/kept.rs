//! [`Kept`]: every sample of a validation, as a line of JSON, as soon as it is taken; so one that is
//! cut off goes on where it was, and what it measured can be compared again.

use super::Validation;
use crate::Error;
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::case::{Case, Measured};
use planner::{Calibration, Work};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// The largest file that is read, bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The first line: what the samples are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// When the calibration was measured whose loads are drawn.
    calibration: String,
    family: String,
    points: usize,
    most_connections: usize,
    seeds: Vec<u64>,
}

/// A sample of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// The seed of its validation.
    pub seed: u64,
    /// The organization's name.
    pub organization: String,
    /// What connections do.
    pub work: Work,
    /// Processors.
    pub processors: usize,
    /// Connections.
    pub connections: usize,
    /// Operations a second, as they were.
    pub per_s: f64,
    /// Bytes of payload of each.
    pub bytes: usize,
    /// What a piece of work took meanwhile, ns.
    pub piece_ns: f64,
    /// Did it take that all the time, on all processors?
    pub steady: bool,
    /// How far the processors were apart before and after, ns, if there were several.
    pub apart_ns: Option<[f64; 2]>,
}

impl Taken {
    pub(super) fn of(seed: u64, case: &Case, measured: &Measured) -> Taken {
        // A pause of the machine in one window is no figure of the case; but where most
        // windows have nothing in them, all of them together are.
        let median = crate::statistics::median(&measured.rates);
        Taken {
            seed,
            organization: case.organization.clone(),
            work: case.work,
            processors: case.processors,
            connections: case.connections,
            per_s: if median > 0.0 { median } else { measured.rate() },
            bytes: measured.bytes,
            piece_ns: measured.piece_ns,
            steady: measured.steady,
            apart_ns: measured.cacheline.map(|line| [line.before, line.after]),
        }
    }

    pub(super) fn is_of(&self, seed: u64, case: &Case) -> bool {
        let of = (&self.organization, self.work, self.processors, self.connections);
        seed == self.seed
            && of == (&case.organization, case.work, case.processors, case.connections)
    }

    pub(super) fn apart(&self) -> Option<CachelineLatency> {
        self.apart_ns.map(|[before, after]| CachelineLatency { before, after })
    }
}

/// The samples so far, and the file that they are kept in, if in any.
#[derive(Debug, Default)]
pub struct Kept {
    file: Option<File>,
    samples: Vec<Taken>,
}

impl Kept {
    /// Those of the file at `path`, which is made if there is none, for validations of `seeds` that
    /// are otherwise as `like`. A file that is there goes on with the seeds in it, which are returned. A
    /// line that was cut off is left out.
    ///
    /// # Errors
    /// [`Error::Plan`] for a file of something else, and for one that cannot be used.
    pub fn open(
        path: &Path,
        calibration: &Calibration,
        like: &Validation,
        seeds: Vec<u64>,
    ) -> Result<(Kept, Vec<u64>), Error> {
        let Validation { points, most_connections, .. } = *like;
        let date = calibration.date.clone();
        let family = like.family.name().to_owned();
        let mut head = Head { calibration: date, family, points, most_connections, seeds };
        let cannot = |error: &dyn std::fmt::Display| {
            let path = path.display();
            Error::Plan(format!("cannot keep samples in {path}: {error}: name another file"))
        };
        let mut text = String::new();
        match File::open(path).map(|file| file.take(MOST_BYTES + 1)) {
            Ok(mut file) => _ = file.read_to_string(&mut text).map_err(|error| cannot(&error))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(&error)),
        }
        if text.len() as u64 > MOST_BYTES {
            return Err(cannot(&"it is longer than 1 GiB"));
        }
        let mut lines = text.lines();
        let first = lines.next();
        if let Some(first) = first {
            let of = serde_json::from_str::<Head>(first).ok();
            head.seeds = of.as_ref().map(|of| of.seeds.clone()).unwrap_or_default();
            if of.as_ref() != Some(&head) {
                let what = format!(
                    "{} is not of this calibration, family and as many points: name another file",
                    path.display()
                );
                return Err(Error::Plan(what));
            }
        }
        let opened = File::options().create(true).append(true).open(path);
        let mut file = opened.map_err(|error| cannot(&error))?;
        if first.is_none() {
            writeln!(file, "{}", json(&head)?).map_err(|error| cannot(&error))?;
        } else if !text.ends_with('\n') {
            writeln!(file).map_err(|error| cannot(&error))?;
        }
        let samples = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((Kept { file: Some(file), samples }, head.seeds))
    }

    /// Those of a point of the validation with `seed`.
    pub(super) fn of(&self, seed: u64, case: &Case) -> impl Iterator<Item = &Taken> {
        self.samples.iter().filter(move |taken| taken.is_of(seed, case))
    }

    /// Keeps one more.
    pub(super) fn keep(&mut self, taken: Taken) -> Result<(), Error> {
        if let Some(file) = &mut self.file {
            writeln!(file, "{}", json(&taken)?).map_err(|error| {
                let text = format!(
                    "cannot keep a sample: {error}: free some room; the same --keep goes on with what is there"
                );
                std::io::Error::new(error.kind(), text)
            })?;
        }
        self.samples.push(taken);
        Ok(())
    }
}

fn json(of: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(of).map_err(|error| Error::System(error.into()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::calibration;
    use super::*;

    fn taken(per_s: f64) -> Taken {
        Taken {
            seed: 7,
            organization: "group-locks".to_owned(),
            work: Work::TcpRr,
            processors: 2,
            connections: 9,
            per_s,
            bytes: 64,
            piece_ns: 45.0,
            steady: true,
            apart_ns: Some([36.0, 37.0]),
        }
    }

    /// Before, all that was said was "No such file or directory".
    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let calibration = calibration(&[Work::TcpRr], &[2], &[1]);
        let binary = folder.path().join("binary");
        std::fs::write(&binary, b"\xff\xfe\n").expect("room");
        let missing = folder.path().join("missing/samples.jsonl");
        for path in [binary.as_path(), &missing, folder.path()] {
            let kept = Kept::open(path, &calibration, &Validation::default(), vec![7]);
            let error = kept.expect_err("no samples").to_string();
            let path = path.display().to_string();
            assert!(error.contains(&path) && error.contains("name another file"), "{error}");
        }
        let file = File::options().append(true).open("/dev/full").ok();
        let mut kept = Kept { file, samples: Vec::new() };
        let error = kept.keep(taken(1e6)).expect_err("full").to_string();
        assert!(error.contains("cannot keep a sample") && error.contains("room"), "{error}");
    }

    #[test]
    fn a_validation_goes_on_where_it_was_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("samples.jsonl");
        let calibration = calibration(&[Work::TcpRr], &[2], &[1]);
        let like = Validation::default();
        let open = |seeds| Kept::open(&path, &calibration, &like, seeds);
        let (mut kept, seeds) = open(vec![7, 8]).expect("new");
        assert_eq!(seeds, [7, 8]);
        kept.keep(taken(1e6)).expect("room");
        kept.keep(taken(2e6)).expect("room");
        // Cut off within the second.
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, &text[..text.len() - 20]).expect("room");
        let (mut kept, seeds) = open(vec![1]).expect("known");
        assert_eq!((seeds.as_slice(), kept.samples.as_slice()), (&[7, 8][..], &[taken(1e6)][..]));
        kept.keep(taken(3e6)).expect("room");
        let (kept, _) = open(vec![7]).expect("known");
        let case = Case {
            organization: "group-locks".into(),
            work: Work::TcpRr,
            processors: 2,
            connections: 9,
        };
        assert_eq!(kept.of(7, &case).map(|taken| taken.per_s).collect::<Vec<_>>(), [1e6, 3e6]);
        assert_eq!(kept.of(8, &case).count(), 0);
        // Of another calibration, and no such file at all.
        let other = Calibration { date: "later".to_owned(), ..calibration.clone() };
        assert!(matches!(Kept::open(&path, &other, &like, vec![7]), Err(Error::Plan(_))));
        std::fs::write(&path, "figures\n").expect("room");
        assert!(matches!(open(vec![7]), Err(Error::Plan(_))));
    }
}
