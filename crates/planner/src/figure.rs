//! Line charts as SVG: [`lines`], or [`Figure`] where axes are logarithmic.
//!
//! Each curve has a colour and a mark of its own, and its name stands at its end, beside
//! the plot: nothing covers the data.

mod labels;
mod scale;
mod style;

use crate::Error;
use labels::Label;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use scale::{Linear, Log};
use std::ops::Range;
use style::{Canvas, GUIDE, Pixel, Style};

/// A curve: points (x, y), in the order in which they are joined, and its name, which
/// stands at its end. Points that are not finite are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn; `None`: by its place among the others.
    style: Option<Style>,
    /// Intervals (x, low, high).
    intervals: Vec<(f64, f64, f64)>,
    /// Single values beside the curve.
    dots: Vec<(f64, f64)>,
}

impl Series {
    /// A curve through `points`.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points, style: None, intervals: Vec::new(), dots: Vec::new() }
    }

    /// With the colour and the mark of number `number`: the same in every figure. Curves
    /// of one number are told apart by `dash`: 0 is a whole line.
    #[must_use]
    pub fn styled(self, number: usize, dash: usize) -> Series {
        Series { style: Some(Style::new(number, dash)), ..self }
    }

    /// With bars (x, low, high) from the lower to the upper end of an interval. Those that
    /// are not finite are left out.
    #[must_use]
    pub fn intervals(self, intervals: Vec<(f64, f64, f64)>) -> Series {
        Series { intervals, ..self }
    }

    /// With single values (x, y) as small rings: samples that are far from the others.
    #[must_use]
    pub fn dots(self, dots: Vec<(f64, f64)>) -> Series {
        Series { dots, ..self }
    }

    /// Leaves out what `shown` refuses.
    fn retain(&mut self, shown: impl Fn(&(f64, f64)) -> bool) {
        self.points.retain(&shown);
        self.dots.retain(&shown);
        self.intervals.retain(|(x, low, high)| shown(&(*x, *low)) && shown(&(*x, *high)));
    }

    /// All values on the y axis.
    fn heights(&self) -> impl Iterator<Item = f64> {
        let ends = self.intervals.iter().flat_map(|(_, low, high)| [*low, *high]);
        self.points.iter().chain(&self.dots).map(|point| point.1).chain(ends)
    }

    /// Draws intervals, single values and the curve over them. Returns the curve's pixels.
    fn draw(
        &self,
        on: &Canvas<'_>,
        style: Style,
        pixel: impl Fn(f64, f64) -> Pixel,
    ) -> Result<Vec<Pixel>, Box<dyn std::error::Error>> {
        for &(x, low, high) in &self.intervals {
            style.draw_interval(on, pixel(x, low), pixel(x, high))?;
        }
        for &(x, y) in &self.dots {
            on.draw(&Circle::new(pixel(x, y), 2, style.colour.stroke_width(1)))?;
        }
        let pixels: Vec<Pixel> = self.points.iter().map(|&(x, y)| pixel(x, y)).collect();
        style.draw(on, &pixels)?;
        Ok(pixels)
    }

    /// A grey, dashed line without marks: what curves are to be compared with.
    #[must_use]
    pub fn guide(self) -> Series {
        Series { style: Some(GUIDE), ..self }
    }
}

/// A chart's title and axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    title: String,
    x_label: String,
    y_label: String,
    note: String,
    log_x: bool,
    log_y: bool,
    x_guides: Vec<(f64, String)>,
    y_guides: Vec<(f64, String)>,
}

/// Width and height of the plot with its axes, pixels.
const SIZE: (u32, u32) = (800, 500);
/// Height of the note, pixels.
const NOTE: u32 = 24;

/// A chart of `series` with linear axes, as SVG. Labels name their unit; the y
/// axis begins at 0.
///
/// # Errors
/// [`Error::Asked`] if there is nothing to draw.
pub fn lines(
    title: &str,
    x_label: &str,
    y_label: &str,
    series: &[Series],
) -> Result<String, Error> {
    Figure::new(title, x_label, y_label).draw(series)
}

impl Figure {
    /// Linear axes; labels name their unit.
    pub fn new(title: &str, x_label: &str, y_label: &str) -> Figure {
        Figure {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            y_label: y_label.to_owned(),
            note: String::new(),
            log_x: false,
            log_y: false,
            x_guides: Vec::new(),
            y_guides: Vec::new(),
        }
    }

    /// A logarithmic x axis; points with x up to 0 are left out.
    #[must_use]
    pub fn log_x(self) -> Figure {
        Figure { log_x: true, ..self }
    }

    /// A logarithmic y axis; points with y up to 0 are left out.
    #[must_use]
    pub fn log_y(self) -> Figure {
        Figure { log_y: true, ..self }
    }

    /// A line below the chart: where the figures are from.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Figure {
        Figure { note: note.into(), ..self }
    }

    /// A dashed vertical line at `x`.
    #[must_use]
    pub fn at_x(mut self, x: f64, label: impl Into<String>) -> Figure {
        self.x_guides.push((x, label.into()));
        self
    }

    /// A dashed horizontal line at `y`.
    #[must_use]
    pub fn at_y(mut self, y: f64, label: impl Into<String>) -> Figure {
        self.y_guides.push((y, label.into()));
        self
    }

    /// The chart, as SVG.
    ///
    /// # Errors
    /// [`Error::Asked`] if there is nothing to draw.
    pub fn draw(&self, series: &[Series]) -> Result<String, Error> {
        let shown = |&(x, y): &(f64, f64)| {
            x.is_finite() && y.is_finite() && (!self.log_x || x > 0.0) && (!self.log_y || y > 0.0)
        };
        let mut series: Vec<Series> = series.to_vec();
        series.iter_mut().for_each(|one| one.retain(shown));
        series.retain(|one| !one.points.is_empty());
        let points = || series.iter().flat_map(|one| &one.points);
        if points().next().is_none() {
            return Err(Error::Asked(format!("`{}` has no points to draw", self.title)));
        }
        // Guides are part of what is to be seen.
        let guides = |guides: &[(f64, String)], log: bool| {
            let at = guides.iter().map(|(at, _)| *at);
            at.filter(|at| at.is_finite() && (!log || *at > 0.0)).collect::<Vec<f64>>()
        };
        let (at_x, at_y) = (guides(&self.x_guides, self.log_x), guides(&self.y_guides, self.log_y));
        let x = range(points().map(|point| point.0).chain(at_x), self.log_x, false);
        let values = points().map(|point| point.0).collect::<Vec<f64>>();
        let heights = series.iter().flat_map(Series::heights);
        let y = range(heights.chain(at_y), self.log_y, true);
        match (self.log_x, self.log_y) {
            (false, false) => self.on(Linear::new(x, &values), y, &series),
            (true, false) => self.on(Log::new(x, &values), y, &series),
            (false, true) => self.on(Linear::new(x, &values), Log::new(y, &[]), &series),
            (true, true) => self.on(Log::new(x, &values), Log::new(y, &[]), &series),
        }
        .map_err(|error| Error::Asked(format!("`{}` cannot be drawn: {error}", self.title)))
    }

    fn on<X, Y, IntoX, IntoY>(
        &self,
        x: IntoX,
        y: IntoY,
        series: &[Series],
    ) -> Result<String, Box<dyn std::error::Error>>
    where
        IntoX: AsRangedCoord<CoordDescType = X, Value = f64>,
        IntoY: AsRangedCoord<CoordDescType = Y, Value = f64>,
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let beside = labels::width(series.iter().map(|one| one.name.as_str()));
        let note = if self.note.is_empty() { 0 } else { NOTE };
        let mut text = String::new();
        {
            let size = (SIZE.0 + beside, SIZE.1 + note);
            let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
            root.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&root)
                .caption(&self.title, ("sans-serif", 18))
                .margin(12)
                .margin_right(12 + beside)
                .margin_bottom(12 + note)
                .x_label_area_size(45)
                .y_label_area_size(75)
                .build_cartesian_2d(x, y)?;
            chart
                .configure_mesh()
                .max_light_lines(0)
                .x_desc(&self.x_label)
                .y_desc(&self.y_label)
                .label_style(("sans-serif", 13))
                .x_label_formatter(&number)
                .y_label_formatter(&number)
                .draw()?;
            let area = chart.plotting_area();
            let (columns, rows) = area.get_pixel_range();
            self.draw_guides(
                &root,
                |x, y| area.map_coordinate(&(x.unwrap_or(0.0), y.unwrap_or(0.0))),
                (columns, rows.clone()),
            )?;
            let mut ends = Vec::new();
            for (index, one) in series.iter().enumerate() {
                let style = one.style.unwrap_or(Style::new(index, 0));
                let pixels = one.draw(&root, style, |x, y| area.map_coordinate(&(x, y)))?;
                ends.extend(pixels.last().map(|&end| Label::new(&one.name, style.colour, end)));
            }
            labels::draw(&root, SIZE.0 as i32, rows, ends)?;
            if !self.note.is_empty() {
                let at = (12, (size.1 - NOTE) as i32);
                root.draw(&Text::new(self.note.clone(), at, style::font(GUIDE.colour)))?;
            }
            root.present()?;
        }
        Ok(text)
    }

    /// Dashed lines through the whole plot, with their labels inside.
    fn draw_guides(
        &self,
        root: &Canvas<'_>,
        pixel: impl Fn(Option<f64>, Option<f64>) -> Pixel,
        (columns, rows): (Range<i32>, Range<i32>),
    ) -> Result<(), Box<dyn std::error::Error>> {
        let mut tops = Vec::new();
        for (y, label) in &self.y_guides {
            let (_, top) = pixel(None, Some(*y));
            if rows.contains(&top) {
                tops.push(top);
                GUIDE.draw(root, &[(columns.start, top), (columns.end, top)])?;
                let at = (columns.start + 4, top + 2);
                root.draw(&Text::new(label.clone(), at, style::font(GUIDE.colour)))?;
            }
        }
        // Their labels stand below each other, as lines may be close, and not on those across.
        let mut free = labels::beside(&tops, rows.start + 2);
        for (x, label) in &self.x_guides {
            let (line, _) = pixel(Some(*x), None);
            if columns.contains(&line) {
                GUIDE.draw(root, &[(line, rows.end), (line, rows.start)])?;
                let left = labels::within(label, line + 4, columns.end);
                let at = (left, free.next().unwrap_or(rows.start));
                root.draw(&Text::new(label.clone(), at, style::font(GUIDE.colour)))?;
            }
        }
        Ok(())
    }
}

/// From the least to the greatest value, with some room; linear ones `from_zero`
/// if asked for.
fn range(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Range<f64> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        (low, high) = (low.min(value), high.max(value));
    }
    if log {
        // As far apart as scales can be told.
        let low = low.max(high * 1e-15);
        return low / 1.1..high * 1.1;
    }
    if from_zero {
        (low, high) = (low.min(0.0), high + (high - low.min(0.0)) * 0.08);
    }
    match high > low {
        true => low..high,
        false => low - 1.0..low + 1.0,
    }
}

/// As short as a label can be: digits that count, `k` and `M`.
fn number(value: &f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (*value, ""),
    };
    let text = match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    };
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests;
