//! The rows of a bench as a table, for people.

use crate::table::{render, short, thousands};
use lab::cacheline_latency::{CachelineLatency, is_alike};
use lab::speed::{self, Paces};
use lab::{Detail, Row};

/// The rows as a table, under what they have in common.
pub fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let detailed = rows.iter().any(|row| row.detail.is_some());
    let cost = if first.cpu_s_per_gb.is_some() { "CPU s/GB" } else { "CPU s/100k" };
    let mut header = vec!["organization", "CPUs", first.unit, "min", "max", cost, "switches/s"];
    if detailed {
        header.extend(["lock ms/s", "queue µs", "p50 µs", "p99 µs", "Jain"]);
    }
    header.extend(["of bound", "a core"]);
    let table = render(&header, &rows.iter().map(|row| cells(row, detailed)).collect::<Vec<_>>());
    let widest = rows.iter().max_by_key(|row| row.processors).unwrap_or(first);
    let mut text = format!("{}\n{}", title(widest), table.trim_end());
    if rows.iter().any(|row| row.reference) {
        text += "\n* for comparison: one processor and one thread, for both ends if a stack is the peer";
    }
    if let Some(detail) = rows.iter().find_map(|row| row.detail.as_ref()) {
        text += "\nlock: waiting for locks, all threads of the stack. queue: mean time between threads.\n";
        text += match detail.latency_of {
            "transaction" => "p50, p99: of a transaction.",
            _ => {
                "p50, p99: of a packet, from being taken from the device to the end of its connection's turn."
            }
        };
    }
    if detailed {
        text += "\nJain: 1 if all connections get the same, 1/n if one of n gets all.";
    }
    text += "\nof bound: payload carried, of the bound; a core: the same for each second of processor time.";
    if let Some(row) = rows.iter().find(|row| row.bytes_per_connection.is_some()) {
        let bytes = thousands(row.bytes_per_connection.unwrap_or(0.0));
        text +=
            &format!("\nmemory: {bytes} bytes a connection, both ends, with {}.", row.organization);
    }
    if let Some(line) = cacheline(rows.iter().flat_map(|row| &row.cacheline_ns)) {
        text += &format!("\n{line}");
    }
    if let Some(line) = pace(rows.iter().flat_map(|row| &row.piece_ns)) {
        text += &format!("\n{line}");
    }
    text
}

/// What a fixed piece of work took, if that was not the same all the time: whether samples can be
/// compared.
pub fn pace<'a>(paces: impl Iterator<Item = &'a Paces>) -> Option<String> {
    let all = paces.copied().reduce(Paces::with)?;
    let Paces { least, greatest } = all;
    (!speed::is_alike(least, greatest)).then(|| {
        format!(
            "A fixed piece of work took {least:.0} to {greatest:.0} ns: the machine was not at one pace, \
             so compare samples by their `piece_ns` in --json."
        )
    })
}

/// How long a cache line took between processors: whether samples can be compared.
pub fn cacheline<'a>(ways: impl Iterator<Item = &'a CachelineLatency>) -> Option<String> {
    let ways: Vec<f64> = ways.flat_map(|a| [a.before, a.after]).collect();
    let end = |of: fn(f64, f64) -> f64| ways.iter().copied().reduce(of);
    let (least, most) = (end(f64::min)?, end(f64::max)?);
    if is_alike(least, most) {
        return Some(format!("A cache line took {least:.0} to {most:.0} ns between processors."));
    }
    Some(format!(
        "A cache line took {least:.0} to {most:.0} ns between processors: the machine was not in one state, \
         so compare samples by their `cacheline_ns` in --json."
    ))
}

/// What all rows have in common.
fn title(row: &Row) -> String {
    let connections = match row.active {
        active if active == row.connections => row.connections.to_string(),
        active => format!("{active} of {}", row.connections),
    };
    let of_all = match row.processors {
        1 => String::new(),
        n => format!(", on {n} processors {}", short(row.bound_of_processors_gbit_per_s)),
    };
    format!(
        "{}, {connections} connections, {} bytes, IPv{}, MTU {}, {}, peer: {}, bound {} Gbit/s{of_all}",
        row.workload,
        row.payload_bytes,
        row.family,
        row.mtu,
        row.direction,
        row.peer,
        short(row.bound_gbit_per_s),
    )
}

fn cells(row: &Row, detailed: bool) -> Vec<String> {
    let number = |value: f64| if value >= 1000.0 { thousands(value) } else { short(value) };
    let mark = if row.reference { "*" } else { "" };
    let cost = row.cpu_s_per_gb.or(row.cpu_s_per_100k).unwrap_or(0.0);
    let mut cells = vec![
        format!("{}{mark}", row.organization),
        format!("{}{mark}", row.processors),
        number(row.median),
        number(row.min),
        number(row.max),
        format!("{cost:.3}"),
        thousands(row.context_switches_per_s),
    ];
    if detailed {
        cells.extend(row.detail.as_ref().map_or_else(Default::default, costs));
    }
    cells.push(format!("{:.1} %", 100.0 * row.ratio_to_bound));
    cells.push(format!("{:.1} %", 100.0 * row.ratio_to_bound_per_core));
    cells
}

/// What the instruments say of an organization.
fn costs(detail: &Detail) -> [String; 5] {
    let locks = detail.samples.iter().any(|sample| !sample.report.locks.is_empty());
    [
        if locks { short(detail.lock_wait_ms_per_s) } else { "-".to_owned() },
        detail.queue_residence_us.map_or("-".to_owned(), short),
        short(detail.latency.p50_us),
        short(detail.latency.p99_us),
        format!("{:.3}", detail.jain),
    ]
}
