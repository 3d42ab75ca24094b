//! `anabranch bench idle`: what connections cost that rest.

use super::experiments::failure;
use super::{check_processors, warn_of_processors};
use crate::failure::Failure;
use crate::files::Json;
use crate::quiet::Watch;
use crate::table::{render, short, thousands};
use lab::BenchPlan;
use lab::idle::Idle;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const MORE: &str = "\
All connections are opened before any carries anything. Then each carries a message and its
echo, all at once, and then they rest. `lost` counts packets of this burst that did not come
to the other end, or were dropped there. Memory is what the process has grown by. A process
keeps memory for the next connections, so each organization has a process of its own.

Examples:
  anabranch bench idle --connections 1000000
  anabranch bench idle --organization all --processors 2 --connections 20000";

/// `anabranch bench idle`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct IdleArgs {
    /// Organizations, separated by commas, or `all`
    #[arg(long, value_delimiter = ',', default_value = "uniprocessor")]
    organization: Vec<String>,
    /// Processors of each of the two stacks
    #[arg(long, default_value_t = 1)]
    processors: usize,
    /// Connections
    #[arg(long, default_value_t = 100_000)]
    connections: usize,
    /// Write the figures to this file, as a JSON array (`-`: to standard output,
    /// instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl IdleArgs {
    pub fn run(&self) -> Result<(), Failure> {
        let all = self.organization.iter().any(|name| name == "all");
        let names = || anabranch::Organization::all().map(|o| o.name().to_owned());
        let plan = BenchPlan {
            organizations: if all { names().collect() } else { self.organization.clone() },
            processors: self.processors,
            connections: self.connections,
            reference: all,
            ..BenchPlan::default()
        };
        plan.check().map_err(Failure::refused)?;
        check_processors(&plan)?;
        warn_of_processors(plan.processors);
        let json = Json::to(self.json.as_deref())?;
        let watch = Watch::start();
        let rows = match &plan.organizations[..] {
            [one] => vec![measure(one, &plan)?],
            many => many.iter().map(|name| elsewhere(name, &plan)).collect::<Result<_, _>>()?,
        };
        watch.end();
        json.report(&rows, || table(&rows))
    }
}

fn processors(name: &str, plan: &BenchPlan) -> usize {
    let single = name.parse().is_ok_and(anabranch::Organization::is_single);
    if single { 1 } else { plan.processors }
}

fn measure(name: &str, plan: &BenchPlan) -> Result<Idle, Failure> {
    let processors = processors(name, plan);
    lab::idle::measure_under(name, processors, plan.connections, &plan.options).map_err(failure)
}

/// Measures in a process of its own.
fn elsewhere(name: &str, plan: &BenchPlan) -> Result<Idle, Failure> {
    let ended = |why: &str| Failure::failed(format!("{name}: {why}"));
    let program = std::env::current_exe().map_err(|error| ended(&error.to_string()))?;
    let output = Command::new(program)
        .args(["bench", "idle", "--json", "-", "--organization", name])
        .args(["--processors", &processors(name, plan).to_string()])
        .args(["--connections", &plan.connections.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| ended(&error.to_string()))?;
    if !output.status.success() {
        return Err(ended(String::from_utf8_lossy(&output.stderr).trim()));
    }
    let rows: Vec<Idle> =
        serde_json::from_slice(&output.stdout).map_err(|error| ended(&error.to_string()))?;
    rows.into_iter().next().ok_or_else(|| ended("gave no figures"))
}

fn table(rows: &[Idle]) -> String {
    let header = [
        "organization",
        "CPUs",
        "connections",
        "opened in s",
        "burst in s",
        "lost",
        "bytes each,\none end",
        "MiB of all,\none end",
    ];
    let cells = |row: &Idle| {
        vec![
            row.organization.clone(),
            row.processors.to_string(),
            thousands(row.connections as f64),
            short(row.opening_s),
            short(row.burst_s),
            thousands(row.lost as f64),
            thousands(row.one_end),
            thousands(row.one_end_of_all() / f64::from(1 << 20)),
        ]
    };
    render(&header, &rows.iter().map(cells).collect::<Vec<_>>()).trim_end().to_owned()
}
