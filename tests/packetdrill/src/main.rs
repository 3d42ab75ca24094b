//! The command: see the library.
#![forbid(unsafe_code)]

use anabranch_packetdrill_scripts::expectations::{Expectation, Expectations, parse};
use anabranch_packetdrill_scripts::report::report;
use anabranch_packetdrill_scripts::run::{Outcome, Script, Setup, run};
use anabranch_packetdrill_scripts::{packetdrill, scripts};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
Runs packetdrill's scripts against Anabranch.

anabranch-packetdrill-scripts --library FILE [OPTION…] FOLDER

  --library FILE         libanabranch_packetdrill.so
  --expectations FILE    what is expected of each script; else what fails is told
  --organizations LIST   default: uniprocessor,group-locks,message-parallel
  --ipv6                 over IPv6
  --only TEXT            scripts whose names contain it
  --at-once N            default: as many as processors

packetdrill is looked for in PATH, or where PACKETDRILL says. Without it the
command says `skipped: packetdrill is not installed` and ends with 0.";

struct Arguments {
    folder: PathBuf,
    library: PathBuf,
    expectations: Option<PathBuf>,
    organizations: Vec<String>,
    ipv6: bool,
    only: String,
    at_once: usize,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        folder: PathBuf::new(),
        library: PathBuf::new(),
        expectations: None,
        organizations: ["uniprocessor", "group-locks", "message-parallel"].map(Into::into).into(),
        ipv6: false,
        only: String::new(),
        at_once: std::thread::available_parallelism().map_or(1, Into::into),
    };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("{argument} wants a value\n\n{USAGE}"));
        match argument.as_str() {
            "--library" => arguments.library = value()?.into(),
            "--expectations" => arguments.expectations = Some(value()?.into()),
            "--organizations" => {
                arguments.organizations = value()?.split(',').map(str::to_owned).collect();
            }
            "--ipv6" => arguments.ipv6 = true,
            "--only" => arguments.only = value()?,
            "--at-once" => {
                arguments.at_once = value()?.parse().map_err(|_| "--at-once wants a number")?;
            }
            "--help" | "-h" => return Err(USAGE.into()),
            _ if argument.starts_with('-') => return Err(format!("no {argument}\n\n{USAGE}")),
            _ => arguments.folder = argument.into(),
        }
    }
    if arguments.folder.as_os_str().is_empty() || arguments.library.as_os_str().is_empty() {
        return Err(USAGE.into());
    }
    Ok(arguments)
}

fn read_expectations(path: &Path) -> Result<Expectations, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}, {error}", path.display()))
}

fn execute() -> Result<bool, String> {
    let arguments = arguments()?;
    let Some(packetdrill) = packetdrill() else {
        println!("skipped: packetdrill is not installed");
        return Ok(true);
    };
    let library = std::fs::canonicalize(&arguments.library)
        .map_err(|error| format!("{}: {error}: build it first", arguments.library.display()))?;
    let found = scripts(&arguments.folder)
        .map_err(|error| format!("{}: {error}", arguments.folder.display()))?;
    let mut expectations = match &arguments.expectations {
        Some(path) => read_expectations(path)?,
        None => Expectations::new(),
    };
    let named = found.into_iter().map(|path| {
        let name = path.strip_prefix(&arguments.folder).unwrap_or(&path).display().to_string();
        Script { name, path }
    });
    let all: Vec<Script> = named.filter(|script| script.name.contains(&arguments.only)).collect();
    expectations.retain(|name, _| name.contains(&arguments.only));
    if arguments.expectations.is_none() {
        expectations = all.iter().map(|s| (s.name.clone(), Expectation::Passes)).collect();
    }
    let applies = |script: &Script| {
        !matches!(expectations.get(&script.name), Some(Expectation::NotApplicable(_)))
    };
    let (to_run, rest): (Vec<Script>, Vec<Script>) = all.into_iter().partition(applies);
    let setup = Setup {
        packetdrill,
        library,
        organizations: arguments.organizations,
        folder: std::env::temp_dir().join(format!("anabranch-packetdrill-{}", std::process::id())),
        ipv6: arguments.ipv6,
        at_once: arguments.at_once,
        timeout: Duration::from_secs(30),
    };
    let outcomes = run(&setup, &to_run).map_err(|error| error.to_string())?;
    // Empty by now, unless something went wrong.
    let _ = std::fs::remove_dir(&setup.folder);
    let mut results: Vec<(String, Vec<Outcome>)> =
        to_run.into_iter().map(|script| script.name).zip(outcomes).collect();
    results.extend(rest.into_iter().map(|script| (script.name, Vec::new())));
    results.sort();
    let report = report(&setup.organizations, &results, &expectations);
    print!("{}", report.table);
    report.surprises.iter().for_each(|surprise| println!("NOT AS EXPECTED: {surprise}"));
    Ok(report.surprises.is_empty())
}

fn main() -> ExitCode {
    match execute() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
