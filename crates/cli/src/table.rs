//! Tables for terminals: columns as wide as they need, figures to the right; and figures
//! as people read them.

use std::fmt::Write;

/// Rows under a header, as text. The first column stands to the left, the others
/// to the right; a line break in a heading starts a second line of it.
pub fn render(header: &[impl AsRef<str>], rows: &[Vec<String>]) -> String {
    render_left(1, header, rows)
}

/// As [`render`], with the first `left` columns to the left.
pub fn render_left(left: usize, header: &[impl AsRef<str>], rows: &[Vec<String>]) -> String {
    let headings: Vec<Vec<&str>> =
        header.iter().map(|heading| heading.as_ref().lines().collect()).collect();
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
            let between = if column == 0 { "" } else { "   " };
            let _ = match column < left {
                true => write!(line, "{between}{cell:<width$}"),
                false => write!(line, "{between}{cell:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    };
    lines.iter().for_each(&mut put);
    put(&widths.iter().map(|width| "─".repeat(*width)).collect());
    rows.iter().for_each(&mut put);
    text
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
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(thousands(1_234_567.8), "1,234,568");
        assert_eq!(thousands(999.0), "999");
        assert_eq!([short(123.4), short(12.34), short(1.234)], ["123", "12.3", "1.23"]);
    }

    #[test]
    fn columns_line_up_to_the_left_where_they_are_told_to() {
        let rows = [vec!["a".into(), "b".into(), "1".into()]];
        let text = render_left(2, &["one", "two", "three"], &rows);
        assert_eq!(text.lines().last(), Some("a     b         1"));
    }

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
