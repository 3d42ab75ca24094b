//! Tables for terminals: columns as wide as they need, figures to the right.

use std::fmt::Write;

/// Rows under a header, as text. The first column stands to the left, the others
/// to the right; a line break in a heading starts a second line of it.
pub fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let headings: Vec<Vec<&str>> = header.iter().map(|heading| heading.lines().collect()).collect();
    let depth = headings.iter().map(Vec::len).max().unwrap_or(0);
    let lines = (0..depth).map(|line| {
        let cell = |heading: &Vec<&str>| {
            // Headings stand on the line.
            let missing = depth - heading.len();
            line.checked_sub(missing).map_or(String::new(), |i| heading[i].to_owned())
        };
        headings.iter().map(cell).collect()
    });
    let lines: Vec<Vec<String>> = lines.collect();
    let width = |column: usize| {
        let cells = lines.iter().chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    let mut put = |row: &Vec<String>| {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "   {cell:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    };
    lines.iter().for_each(&mut put);
    put(&widths.iter().map(|width| "─".repeat(*width)).collect());
    rows.iter().for_each(&mut put);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "1".into()], vec!["longer".into(), "1,000,000".into()]];
        let text = render(&["name", "how\nmany"], &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "               how",
                "name          many",
                "──────   ─────────",
                "a                1",
                "longer   1,000,000",
            ]
        );
    }
}
