//! One table, and one sentence.

use super::host::Link;
use crate::failure::Failure;
use crate::table;

/// What one organization did.
#[derive(Debug)]
pub struct Result {
    /// Its name.
    pub organization: &'static str,
    /// Threads that processed packets.
    pub processors: usize,
    /// The large file.
    pub gbit_per_s: f64,
    /// Small requests on connections that were kept.
    pub requests_per_s: f64,
    /// Small requests with a connection each.
    pub connections_per_s: f64,
    /// Bulk data in memory, on one processor.
    pub memory_gbit_per_s: Option<f64>,
    /// Small messages in memory, on one processor.
    pub memory_transactions_per_s: Option<f64>,
}

/// Measures the organizations in memory, on one processor each, with samples of
/// so many seconds; with 0, not at all.
///
/// # Errors
/// If a connection fails.
pub fn measure_in_memory(figures: &mut [Result], seconds: f64) -> std::result::Result<(), Failure> {
    if seconds <= 0.0 {
        return Ok(());
    }
    let names: Vec<&str> = figures.iter().map(|row| row.organization).collect();
    let measured = lab::quick(&names, 1, seconds).map_err(Failure::failed)?;
    for row in figures {
        let of = |workload: lab::Workload| {
            let is =
                |m: &&lab::Row| m.organization == row.organization && m.workload == workload.name();
            measured.iter().find(is).map(|m| m.median)
        };
        let (bulk, echoes) = (of(lab::Workload::Bulk), of(lab::Workload::Rr));
        row.memory_gbit_per_s = bulk;
        row.memory_transactions_per_s = echoes;
    }
    Ok(())
}

/// A whole number with separators.
fn whole(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn rate(n: f64) -> String {
    format!("{n:.2}")
}

/// All figures.
pub fn table(figures: &[Result], link: &Link, mebibytes: u32) -> String {
    let way = match link {
        Link::Tap => "over TAP",
        Link::Memory => "in memory",
    };
    let way = way.to_owned() + ",";
    let header = [
        "organization",
        "pro-\ncessors",
        &format!("large file\n{way}\nGbit/s"),
        &format!("requests\n{way}\n1/s"),
        &format!("connections\n{way}\n1/s"),
        "bulk\nin memory,\nGbit/s",
        "echoes\nin memory,\n1/s",
    ];
    let rows: Vec<Vec<String>> = figures
        .iter()
        .map(|row| {
            vec![
                row.organization.to_owned(),
                row.processors.to_string(),
                rate(row.gbit_per_s),
                whole(row.requests_per_s),
                whole(row.connections_per_s),
                row.memory_gbit_per_s.map_or_else(|| "-".into(), rate),
                row.memory_transactions_per_s.map_or_else(|| "-".into(), whole),
            ]
        })
        .collect();
    let notes = format!(
        "large file: {mebibytes} MiB, SHA-256 right each time; requests: small, 16 kept connections;\n\
         connections: one small request each; in memory: stack to stack, one processor each (for\n\
         uniprocessor: one for both). Medians of 3 samples.\n"
    );
    table::render(&header, &rows) + &notes
}

/// Which was best at what.
pub fn sentence(figures: &[Result], link: &Link) -> String {
    let way = match link {
        Link::Tap => "over TAP",
        Link::Memory => "from stack to stack",
    };
    let gbit = |n: f64| format!("{} Gbit/s", rate(n));
    let a_second = |n: f64| format!("{}/s", whole(n));
    let best = |of: &dyn Fn(&Result) -> Option<f64>| {
        let all = figures.iter().filter_map(|row| Some((row.organization, of(row)?)));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    type Show<'a> = &'a dyn Fn(f64) -> String;
    let bests = [
        (format!("a large file {way}"), best(&|r| Some(r.gbit_per_s)), &gbit as Show<'_>),
        (format!("small requests {way}"), best(&|r| Some(r.requests_per_s)), &a_second),
        (format!("new connections {way}"), best(&|r| Some(r.connections_per_s)), &a_second),
        ("bulk data in memory".into(), best(&|r| r.memory_gbit_per_s), &gbit),
        ("small messages in memory".into(), best(&|r| r.memory_transactions_per_s), &a_second),
    ];
    let mut winners: Vec<(&str, Vec<String>)> = Vec::new();
    for (what, best, show) in bests {
        let Some((name, figure)) = best else { continue };
        let praise = format!("{what} ({})", show(figure));
        match winners.iter_mut().find(|(winner, _)| *winner == name) {
            Some((_, praises)) => praises.push(praise),
            None => winners.push((name, vec![praise])),
        }
    }
    let parts: Vec<String> = winners
        .into_iter()
        .map(|(name, praises)| format!("{name} was best at {}", list(&praises)))
        .collect();
    format!("Here, {}; every byte arrived as it was sent.", parts.join("; "))
}

/// `a, b and c`.
fn list(items: &[String]) -> String {
    match items {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => items.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(organization: &'static str, a: f64, b: f64) -> Result {
        Result {
            organization,
            processors: 1,
            gbit_per_s: a,
            requests_per_s: b,
            connections_per_s: b,
            memory_gbit_per_s: None,
            memory_transactions_per_s: None,
        }
    }

    #[test]
    fn the_best_are_named() {
        let figures = [row("one", 12.0, 1234.0), row("two", 3.0, 1_234_567.0)];
        assert_eq!(
            sentence(&figures, &Link::Tap),
            "Here, one was best at a large file over TAP (12.00 Gbit/s); two was best at small \
             requests over TAP (1,234,567/s) and new connections over TAP (1,234,567/s); every \
             byte arrived as it was sent."
        );
        let table = table(&figures, &Link::Memory, 256);
        assert!(table.contains("12.00") && table.contains("file: 256 MiB"), "{table}");
    }
}
