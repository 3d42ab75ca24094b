//! One table, and one sentence.

use crate::failure::Failure;
use crate::table::{render, thousands};

/// A median, and the least and the greatest of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Figure {
    /// The figure of these samples.
    pub fn new(samples: &[f64]) -> Figure {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |n: usize| sorted.get(n).copied().unwrap_or(0.0);
        Figure { median: at(sorted.len() / 2), min: at(0), max: at(sorted.len().saturating_sub(1)) }
    }

    /// Half of what lies between the least and the greatest, of the median.
    fn spread(&self) -> f64 {
        (self.max - self.min) / 2.0 / self.median.max(f64::MIN_POSITIVE)
    }

    fn show(&self, number: fn(f64) -> String) -> String {
        format!("{} ±{:2.0} %", number(self.median), 100.0 * self.spread())
    }
}

/// What one organization did.
#[derive(Debug)]
pub struct Figures {
    /// Its name.
    pub organization: &'static str,
    /// Threads that processed packets.
    pub processors: usize,
    /// The large file.
    pub gbit_per_s: Figure,
    /// Small requests on connections that were kept.
    pub requests_per_s: Figure,
    /// Small requests with a connection each.
    pub connections_per_s: Figure,
    /// Bulk data in memory, on one processor.
    pub memory_gbit_per_s: Option<Figure>,
    /// Small messages in memory, on one processor.
    pub memory_transactions_per_s: Option<Figure>,
}

/// Measures the organizations in memory, on one processor each, with samples of
/// `seconds`; not at all if that is 0.
///
/// # Errors
/// If a connection fails.
pub fn measure_in_memory(figures: &mut [Figures], seconds: f64) -> Result<(), Failure> {
    if seconds <= 0.0 {
        return Ok(());
    }
    let names: Vec<&str> = figures.iter().map(|row| row.organization).collect();
    let measured = lab::quick(&names, 1, seconds).map_err(Failure::failed)?;
    for row in figures {
        let of = |workload: lab::Workload| {
            let is =
                |m: &&lab::Row| m.organization == row.organization && m.workload == workload.name();
            let found = measured.iter().find(is)?;
            Some(Figure { median: found.median, min: found.min, max: found.max })
        };
        (row.memory_gbit_per_s, row.memory_transactions_per_s) =
            (of(lab::Workload::Bulk), of(lab::Workload::Rr));
    }
    Ok(())
}

fn rate(n: f64) -> String {
    format!("{n:.2}")
}

/// All figures; `way` is the link's.
pub fn table(figures: &[Figures], way: &str, mebibytes: u32) -> String {
    let header = [
        "organization",
        "pro-\ncessors",
        &format!("large file\n{way},\nGbit/s"),
        &format!("requests\n{way},\n1/s"),
        &format!("connections\n{way},\n1/s"),
        "bulk\nin memory,\nGbit/s",
        "echoes\nin memory,\n1/s",
    ];
    let cells = |row: &Figures| {
        let memory = |figure: Option<Figure>, number| {
            figure.map_or_else(|| "-".into(), |figure| figure.show(number))
        };
        vec![
            row.organization.to_owned(),
            row.processors.to_string(),
            row.gbit_per_s.show(rate),
            row.requests_per_s.show(thousands),
            row.connections_per_s.show(thousands),
            memory(row.memory_gbit_per_s, rate),
            memory(row.memory_transactions_per_s, thousands),
        ]
    };
    let notes = format!(
        "large file: {mebibytes} MiB, SHA-256 right each time; requests: small, 16 kept connections;\n\
         connections: one small request each; in memory: stack to stack, one processor each (for\n\
         uniprocessor: one for both). Medians of 3 samples, and ± half of what lies between the\n\
         least and the greatest.\n"
    );
    render(&header, &figures.iter().map(cells).collect::<Vec<_>>()) + &notes
}

/// The best, if its least sample is above the greatest of each other one.
fn best<'a>(all: impl Iterator<Item = (&'a str, Figure)> + Clone) -> Option<(&'a str, Figure)> {
    let best = all.clone().max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let mut others = all.filter(|(name, _)| *name != best.0);
    others.all(|(_, other)| other.max < best.1.min).then_some(best)
}

/// Which was best at what, where one was beyond the noise.
pub fn sentence(figures: &[Figures], way: &str) -> String {
    type Of = fn(&Figures) -> Option<Figure>;
    type Show = fn(f64) -> String;
    let gbit: Show = |n| format!("{} Gbit/s", rate(n));
    let a_second: Show = |n| format!("{}/s", thousands(n));
    let tried: [(String, Of, Show); 5] = [
        (format!("a large file {way}"), |r| Some(r.gbit_per_s), gbit),
        (format!("small requests {way}"), |r| Some(r.requests_per_s), a_second),
        (format!("new connections {way}"), |r| Some(r.connections_per_s), a_second),
        ("bulk data in memory".into(), |r| r.memory_gbit_per_s, gbit),
        ("small messages in memory".into(), |r| r.memory_transactions_per_s, a_second),
    ];
    let (mut winners, mut noise) = (Vec::<(&str, Vec<String>)>::new(), Vec::new());
    for (what, of, show) in tried {
        let all = figures.iter().filter_map(|row| Some((row.organization, of(row)?)));
        let Some((name, figure)) = best(all.clone()) else {
            noise.extend((all.count() > 0).then_some(what));
            continue;
        };
        let praise = format!("{what} ({})", show(figure.median));
        match winners.iter_mut().find(|(winner, _)| *winner == name) {
            Some((_, praises)) => praises.push(praise),
            None => winners.push((name, vec![praise])),
        }
    }
    let mut parts: Vec<String> = winners
        .into_iter()
        .map(|(name, praises)| format!("{name} was best at {}", list(&praises)))
        .collect();
    if !noise.is_empty() {
        parts.push(format!("the best at {} is within the noise", list(&noise)));
    }
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

    /// Samples within 5 % of these.
    fn row(organization: &'static str, a: f64, b: f64) -> Figures {
        let figure = |n: f64| Figure::new(&[1.05 * n, n, 0.95 * n]);
        Figures {
            organization,
            processors: 1,
            gbit_per_s: figure(a),
            requests_per_s: figure(b),
            connections_per_s: figure(b),
            memory_gbit_per_s: None,
            memory_transactions_per_s: None,
        }
    }

    #[test]
    fn the_best_are_named() {
        let figures = [row("one", 12.0, 1234.0), row("two", 3.0, 1_234_567.0)];
        assert_eq!(
            sentence(&figures, "over TAP"),
            "Here, one was best at a large file over TAP (12.00 Gbit/s); two was best at small \
             requests over TAP (1,234,567/s) and new connections over TAP (1,234,567/s); every \
             byte arrived as it was sent."
        );
        let table = table(&figures, "in memory", 256);
        assert!(table.contains("12.00 ± 5 %") && table.contains("file: 256 MiB"), "{table}");
    }

    #[test]
    fn nobody_is_best_within_the_noise() {
        let figures = [row("one", 12.0, 1000.0), row("two", 3.0, 1099.0)];
        assert_eq!(
            sentence(&figures, "over TAP"),
            "Here, one was best at a large file over TAP (12.00 Gbit/s); the best at small \
             requests over TAP and new connections over TAP is within the noise; every byte \
             arrived as it was sent."
        );
    }
}
