//! How curves look: colours, marks and dashes.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::TextStyle;

/// What is drawn on, in pixels.
pub(super) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// A place there, from the left and from the top.
pub(super) type Pixel = (i32, i32);

/// One for each organization. The first eight are those that eyes of all kinds tell apart
/// (Okabe and Ito 2008), without yellow, and grey for it; marks tell apart the others.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 150),
    RGBColor(136, 34, 85),
    RGBColor(128, 128, 0),
    RGBColor(51, 34, 136),
    RGBColor(120, 60, 20),
];

/// Dashes and gaps between them, pixels; the first is a whole line.
const DASHES: [(i32, i32); 4] = [(0, 0), (8, 4), (2, 3), (14, 4)];

/// A colour, a mark and a dash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    pub(super) colour: RGBColor,
    mark: Option<Mark>,
    dash: (i32, i32),
}

/// Lines to compare with.
pub(super) const GUIDE: Style = Style { colour: RGBColor(110, 110, 110), mark: None, dash: (5, 4) };

/// A shape, filled or not.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    shape: Shape,
    filled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Wedge,
    Hexagon,
}

const SHAPES: [Shape; 6] =
    [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Wedge, Shape::Hexagon];

impl Shape {
    /// Its corners round the middle; none: a circle.
    fn corners(self) -> &'static [Pixel] {
        match self {
            Shape::Circle => &[],
            Shape::Square => &[(-3, -3), (3, -3), (3, 3), (-3, 3)],
            Shape::Triangle => &[(0, -4), (4, 3), (-4, 3)],
            Shape::Diamond => &[(0, -5), (4, 0), (0, 5), (-4, 0)],
            Shape::Wedge => &[(-4, -3), (4, -3), (0, 4)],
            Shape::Hexagon => &[(-2, -4), (2, -4), (4, 0), (2, 4), (-2, 4), (-4, 0)],
        }
    }
}

/// The font of labels.
pub(super) fn font(colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", 13).into_font().color(&colour)
}

impl Style {
    /// That of number `number`; colours and marks come again after twelve.
    pub(super) fn new(number: usize, dash: usize) -> Style {
        let number = number % COLOURS.len();
        Style {
            colour: COLOURS[number],
            mark: Some(Mark {
                shape: SHAPES[number % SHAPES.len()],
                filled: number < SHAPES.len(),
            }),
            dash: DASHES[dash % DASHES.len()],
        }
    }

    /// Draws a bar from the lower to the upper end of an interval.
    pub(super) fn draw_interval(
        &self,
        on: &Canvas<'_>,
        low: Pixel,
        high: Pixel,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let stroke = self.colour.stroke_width(1);
        on.draw(&PathElement::new([low, high], stroke))?;
        for (x, y) in [low, high] {
            on.draw(&PathElement::new([(x - 4, y), (x + 4, y)], stroke))?;
        }
        Ok(())
    }

    /// Draws a curve through `pixels`.
    pub(super) fn draw(
        &self,
        on: &Canvas<'_>,
        pixels: &[Pixel],
    ) -> Result<(), Box<dyn std::error::Error>> {
        let stroke = self.colour.stroke_width(if self.mark.is_some() { 2 } else { 1 });
        match self.dash {
            (0, _) => on.draw(&PathElement::new(pixels.to_vec(), stroke))?,
            (dash, gap) => {
                on.draw(&DashedPathElement::new(pixels.iter().copied(), dash, gap, stroke))?;
            }
        }
        pixels
            .iter()
            .filter_map(|at| Some((at, self.mark?)))
            .try_for_each(|(at, mark)| mark.draw(on, *at, self.colour))
    }
}

impl Mark {
    fn draw(
        self,
        on: &Canvas<'_>,
        (x, y): Pixel,
        colour: RGBColor,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let fill = if self.filled { colour } else { WHITE };
        let corners = self.shape.corners().iter();
        let mut corners: Vec<Pixel> = corners.map(|(right, down)| (x + right, y + down)).collect();
        let Some(&first) = corners.first() else {
            on.draw(&Circle::new((x, y), 4, fill.filled()))?;
            on.draw(&Circle::new((x, y), 4, colour.stroke_width(1)))?;
            return Ok(());
        };
        on.draw(&Polygon::new(corners.clone(), fill.filled()))?;
        corners.push(first);
        on.draw(&PathElement::new(corners, colour.stroke_width(1)))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_curves_are_told_apart() {
        let styles: Vec<Style> = (0..12).map(|number| Style::new(number, 0)).collect();
        for (n, style) in styles.iter().enumerate() {
            let same = |other: &Style| other.colour == style.colour || other.mark == style.mark;
            assert!(!styles[..n].iter().any(same), "{n}");
        }
        assert_eq!(Style::new(12, 0), styles[0]);
        assert_ne!(Style::new(0, 1), styles[0]);
    }
}
