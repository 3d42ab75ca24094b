//! The rows of a bench as a table, for people.

use comfy_table::{CellAlignment, Table, presets};
use lab::apart::{Apart, is_alike};
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
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(header);
    for row in rows {
        table.add_row(cells(row, detailed));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let widest = rows.iter().max_by_key(|row| row.processors).unwrap_or(first);
    let mut text = format!("{}\n{table}", title(widest));
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
    if let Some(line) = apart(rows.iter().flat_map(|row| &row.apart_ns)) {
        text += &format!("\n{line}");
    }
    text
}

/// How far the processors were apart: whether samples can be compared.
pub fn apart<'a>(ways: impl Iterator<Item = &'a Apart>) -> Option<String> {
    let ways: Vec<f64> = ways.flat_map(|a| [a.before, a.after]).collect();
    let end = |of: fn(f64, f64) -> f64| ways.iter().copied().reduce(of);
    let (least, most) = (end(f64::min)?, end(f64::max)?);
    if is_alike(least, most) {
        return Some(format!("A cache line took {least:.0} to {most:.0} ns between processors."));
    }
    Some(format!(
        "A cache line took {least:.0} to {most:.0} ns between processors: the machine was not in one state, \
         so compare samples by their `apart_ns` in --json."
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
        "{}, {connections} connections, {} bytes, MTU {}, {}, peer: {}, bound {} Gbit/s{of_all}",
        row.workload,
        row.payload_bytes,
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

/// Three digits that count.
pub fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Whole, with a comma between thousands.
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{short, thousands};

    #[test]
    fn numbers_for_people() {
        assert_eq!(thousands(1_234_567.8), "1,234,568");
        assert_eq!(thousands(999.0), "999");
        assert_eq!([short(123.4), short(12.34), short(1.234)], ["123", "12.3", "1.23"]);
    }
}
