//! Small plots for terminals: a line of blocks for each curve.

use lab::notebook::chart::Panel;

/// Heights, from nothing to the greatest.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a panel's table: the curve, its data, the place on the x axis, the median.
const CURVE: usize = 0;
const DATA: usize = 1;
const X: usize = 2;
const MEDIAN: usize = 3;

/// The curves of a panel, each as a line of blocks; none if nothing was drawn.
pub fn plot(panel: &Panel) -> Option<String> {
    panel.svg.as_ref().ok()?;
    let mut curves: Vec<(String, Vec<(&str, f64)>)> = Vec::new();
    for row in &panel.rows {
        let value: f64 = row.get(MEDIAN)?.parse().ok()?;
        let name = match row[DATA].as_str() {
            "measured" => row[CURVE].clone(),
            data => format!("{} ({data})", row[CURVE]),
        };
        let point = (row[X].as_str(), value);
        match curves.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push(point),
            None => curves.push((name, vec![point])),
        }
    }
    let values = || curves.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
    let most = values().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let width = curves.iter().map(|(name, _)| name.chars().count()).max()?;
    let mut text = format!("{}\n", panel.title);
    for (name, points) in &curves {
        let blocks: String = points.iter().map(|point| block(point.1, most)).collect();
        let (first, last) = (points.first()?, points.last()?);
        text += &format!(
            "  {name:<width$}  {blocks}  {} at {} to {} at {}\n",
            first.1, first.0, last.1, last.0
        );
    }
    Some(text)
}

fn block(value: f64, most: f64) -> char {
    let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    BLOCKS[(share * (BLOCKS.len() - 1) as f64).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_a_line_of_blocks() {
        let row = |curve: &str, x: &str, y: &str| {
            ["", "", "", ""]
                .iter()
                .zip([curve, "measured", x, y])
                .map(|(_, cell)| cell.to_owned())
                .collect()
        };
        let mut panel = Panel {
            title: "T".into(),
            source: String::new(),
            svg: Ok("<svg/>".into()),
            header: Vec::new(),
            rows: vec![row("a", "1", "0"), row("a", "2", "10"), row("longer", "1", "5")],
            notes: Vec::new(),
        };
        let text = plot(&panel).expect("drawn");
        assert!(text.contains("  a       ▁█  0 at 1 to 10 at 2\n"), "{text}");
        panel.svg = Err("nothing".into());
        assert_eq!(plot(&panel), None);
    }
}
