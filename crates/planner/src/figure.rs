//! Line charts as SVG: [`lines`], or [`Figure`] where axes are logarithmic.

use crate::Error;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::ops::Range;

/// A curve: points (x, y), in the order in which they are joined, and its name for
/// the legend. Points that are not finite are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// A curve through `points`.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points }
    }
}

/// A chart's title and axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    title: String,
    x_label: String,
    y_label: String,
    log_x: bool,
    log_y: bool,
}

/// Width and height, pixels.
const SIZE: (u32, u32) = (800, 500);

/// Colours that eyes of all kinds tell apart (Okabe and Ito 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 150),
];

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
            log_x: false,
            log_y: false,
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

    /// The chart, as SVG.
    ///
    /// # Errors
    /// [`Error::Asked`] if there is nothing to draw.
    pub fn draw(&self, series: &[Series]) -> Result<String, Error> {
        let shown = |&(x, y): &(f64, f64)| {
            x.is_finite() && y.is_finite() && (!self.log_x || x > 0.0) && (!self.log_y || y > 0.0)
        };
        let series: Vec<Series> = series
            .iter()
            .map(|one| Series::new(&one.name, one.points.iter().copied().filter(shown).collect()))
            .collect();
        let points = || series.iter().flat_map(|one| &one.points);
        if points().next().is_none() {
            return Err(Error::Asked(format!("`{}` has no points to draw", self.title)));
        }
        let x = range(points().map(|point| point.0), self.log_x, false);
        let y = range(points().map(|point| point.1), self.log_y, true);
        match (self.log_x, self.log_y) {
            (false, false) => self.on::<RangedCoordf64, RangedCoordf64, _, _>(x, y, &series),
            (true, false) => self.on(x.log_scale(), y, &series),
            (false, true) => self.on(x, y.log_scale(), &series),
            (true, true) => self.on(x.log_scale(), y.log_scale(), &series),
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
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            root.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&root)
                .caption(&self.title, ("sans-serif", 18))
                .margin(12)
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
            for (index, one) in series.iter().enumerate() {
                let colour = COLOURS[index % COLOURS.len()];
                let line =
                    LineSeries::new(one.points.iter().copied(), colour.filled().stroke_width(2));
                chart.draw_series(line.point_size(2))?.label(&one.name).legend(move |(x, y)| {
                    PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2))
                });
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(WHITE.mix(0.8))
                .border_style(RGBColor(200, 200, 200))
                .label_font(("sans-serif", 13))
                .draw()?;
            root.present()?;
        }
        Ok(text)
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
