//! Names at the ends of curves, beside the plot, none over another.

use super::style::{Canvas, Pixel, font};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use std::ops::Range;

/// Height of a line of text, pixels.
const LINE: i32 = 15;
/// Width of a character, pixels, on average.
const NARROW: i32 = 7;
/// Pixels from the plot to the names: room for a line from a curve's end to its name.
const GAP: i32 = 22;

/// The name of a curve that ends at a place.
pub(super) struct Label {
    name: String,
    colour: RGBColor,
    end: Pixel,
}

impl Label {
    pub(super) fn new(name: &str, colour: RGBColor, end: Pixel) -> Label {
        Label { name: name.to_owned(), colour, end }
    }
}

/// Pixels that names take beside the plot.
pub(super) fn width<'a>(names: impl Iterator<Item = &'a str>) -> u32 {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    // A character of 13 pixels' height is narrower than this.
    GAP as u32 + 8 * longest.min(60) as u32
}

/// Writes names to the right of `left`, each as near to the height of its curve's end as
/// the others let it.
pub(super) fn draw(
    on: &Canvas<'_>,
    left: i32,
    rows: Range<i32>,
    mut labels: Vec<Label>,
) -> Result<(), Box<dyn std::error::Error>> {
    labels.sort_by_key(|label| label.end.1);
    let wanted: Vec<i32> = labels.iter().map(|label| label.end.1).collect();
    for (label, height) in labels.iter().zip(places(&wanted, rows)) {
        let (from, to) = ((label.end.0 + 5, label.end.1), (left + GAP / 2 - 2, height));
        // Dots, so that they do not look like a part of the curve.
        let dots = label.colour.mix(0.6).stroke_width(1);
        on.draw(&DashedPathElement::new([from, to], 2, 3, dots))?;
        let at = (left + GAP / 2, height - LINE / 2);
        on.draw(&Text::new(label.name.clone(), at, font(label.colour)))?;
    }
    Ok(())
}

/// Heights from `first` on, a line apart, at which a text is on none of the lines at `tops`, nor on the
/// texts below these.
pub(super) fn beside(tops: &[i32], first: i32) -> impl Iterator<Item = i32> {
    let heights = (0..).map(move |line| first + LINE * line);
    heights
        .filter(move |height| tops.iter().all(|top| !(top - LINE..top + LINE + 2).contains(height)))
}

/// Where a text begins that should begin at `left`, so that it ends before `right`; then it ends
/// before the line that it would stand behind.
pub(super) fn within(text: &str, left: i32, right: i32) -> i32 {
    let width = NARROW * text.chars().count() as i32;
    if left + width <= right { left } else { left - 8 - width }
}

/// Heights at least a line apart from each other, in the order of `wanted`, and within
/// `rows` if there is room.
fn places(wanted: &[i32], rows: Range<i32>) -> Vec<i32> {
    let mut places = wanted.to_vec();
    for n in 1..places.len() {
        places[n] = places[n].max(places[n - 1] + LINE);
    }
    // Those that were pushed out below go up again, and push others.
    let mut below = rows.end.max(rows.start + LINE * (places.len() as i32 - 1));
    for place in places.iter_mut().rev() {
        *place = (*place).min(below);
        below = *place - LINE;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_guides_stand_clear_of_lines_and_of_the_plots_end() {
        assert_eq!(beside(&[], 10).take(3).collect::<Vec<_>>(), [10, 25, 40]);
        assert_eq!(beside(&[30], 10).take(3).collect::<Vec<_>>(), [10, 55, 70]);
        assert_eq!(within("asked", 100, 200), 100);
        assert_eq!(within("asked", 190, 200), 147);
    }

    #[test]
    fn names_do_not_cover_each_other() {
        assert_eq!(places(&[100, 200], 0..400), [100, 200]);
        assert_eq!(places(&[100, 101, 102], 0..400), [100, 115, 130]);
        assert_eq!(places(&[399, 400, 400], 0..400), [370, 385, 400]);
        assert_eq!(places(&[5, 5, 5, 5], 0..30), [0, 15, 30, 45]);
        assert!(places(&[], 0..30).is_empty());
    }
}
