//! Figures as PNG: what is drawn as SVG, in pixels, with a font that comes with the program.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels for each of a drawing's own: figures are read on screens with many, and printed.
const SCALE: f32 = 2.0;

/// Draws figures in pixels.
pub struct Painter {
    options: Options<'static>,
}

impl Painter {
    /// With DejaVu Sans for all text: what fonts a machine has makes no difference.
    pub fn new() -> Painter {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Painter { options }
    }

    /// The drawing `svg` as PNG, on white.
    ///
    /// # Errors
    /// A line, if it is no drawing or has no size.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, String> {
        let tree = Tree::from_str(svg, &self.options).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the figure has no size")?;
        let mut pixels =
            Pixmap::new(size.width(), size.height()).ok_or("the figure is too large")?;
        pixels.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pixels of a drawing that are not white.
    fn drawn(svg: &str) -> usize {
        let png = Painter::new().png(svg).expect("a drawing");
        let pixels = Pixmap::decode_png(&png).expect("PNG");
        assert_eq!((pixels.width(), pixels.height()), (400, 200));
        pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    }

    #[test]
    fn lines_and_letters_are_there() {
        let svg = |inside: &str| {
            format!(
                "<svg width=\"200\" height=\"100\" xmlns=\"http://www.w3.org/2000/svg\">{inside}</svg>"
            )
        };
        assert_eq!(drawn(&svg("")), 0);
        assert_eq!(drawn(&svg("<rect x=\"0\" y=\"0\" width=\"10\" height=\"10\"/>")), 400);
        let text = "<text x=\"10\" y=\"50\" font-family=\"sans-serif\" font-size=\"20\">Gbit/s \u{b5}s</text>";
        let letters = drawn(&svg(text));
        assert!((500..5000).contains(&letters), "{letters}");
    }

    #[test]
    fn what_is_no_drawing_is_refused() {
        for bad in ["", "<svg", "<svg width=\"0\" xmlns=\"http://www.w3.org/2000/svg\"/>"] {
            assert!(Painter::new().png(bad).is_err(), "{bad}");
        }
    }
}
