//! The table, in Markdown.

pub fn header(names: &[&str]) -> String {
    format!("| load | {} | ratio |\n|---|{}---|", names.join(" | "), "---|".repeat(names.len()))
}

/// A line: medians with ranges, and the ratio of the first to the best of the others.
pub fn line(title: &str, samples: &[Vec<f64>]) -> String {
    let spread = |values: &Vec<f64>| {
        let mut values = values.clone();
        values.sort_by(f64::total_cmp);
        (values[values.len() / 2], values[0], values[values.len() - 1])
    };
    let spreads: Vec<_> = samples.iter().map(spread).collect();
    let cells: Vec<String> =
        spreads.iter().map(|(m, least, most)| format!("{m:.1} ({least:.1}–{most:.1})")).collect();
    let best = spreads[1..].iter().map(|s| s.0).fold(0.0, f64::max);
    format!("| {title} | {} | {:.2} |", cells.join(" | "), spreads[0].0 / best)
}
