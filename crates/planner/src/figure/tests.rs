use super::*;

fn curve(name: &str) -> Series {
    Series::new(name, (1..=9).map(|x| (f64::from(x) * 10.0, f64::from(x * x))).collect())
}

#[test]
fn a_chart_has_title_axes_and_legend() {
    let text = lines("R & D", "load, %", "residence, µs", &[curve("a <b>"), curve("c")]);
    let text = text.expect("drawn");
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
    for part in ["R &amp; D", "load, %", "residence, µs", "a &lt;b&gt;", "<polyline", "<circle"] {
        assert!(text.contains(part), "{part}");
    }
    // Two curves, and a line to the name of each.
    let coloured = |colour: &str| text.matches(&format!("stroke=\"{colour}\"")).count();
    assert!(coloured("#0072B2") >= 2 && coloured("#D55E00") >= 2);
}

#[test]
fn what_is_not_finite_is_left_out() {
    let mut with = curve("a");
    with.points.extend([(f64::NAN, 1.0), (1.0, f64::INFINITY)]);
    let title = |series: &[Series]| lines("t", "x", "y", series).expect("drawn");
    assert_eq!(title(&[with]), title(&[curve("a")]));
    let nothing = Series::new("a", vec![(f64::NAN, 1.0)]);
    let error = lines("empty", "x", "y", &[nothing]).expect_err("nothing").to_string();
    assert_eq!(error, "`empty` has no points to draw");
}

#[test]
fn any_range_can_be_drawn() {
    let figure = Figure::new("t", "x", "y");
    for points in [
        vec![(1.0, 1.0)],
        vec![(0.0, 0.0), (1e-300, 1e300)],
        vec![(-5.0, -3.0), (5.0, -1.0)],
        vec![(1.0, 7.0), (2.0, 7.0)],
        vec![(1e-12, 1e12), (1e12, 1e-12)],
    ] {
        let series = [Series::new("a", points)];
        figure.clone().draw(&series).expect("linear");
        if series[0].points.iter().all(|(x, y)| *x > 0.0 && *y > 0.0) {
            figure.clone().log_x().log_y().draw(&series).expect("logarithmic");
        }
    }
    let log = figure.log_x().draw(&[Series::new("a", vec![(0.0, 1.0), (1.0, 1.0), (1e4, 5.0)])]);
    assert!(log.expect("drawn").contains("10k"));
}

#[test]
fn labels_are_short() {
    let labels = [0.0, 0.25, 7.0, 12.5, 120.0, 9999.0, 10_000.0, 2.5e6, 3e9].map(|v| number(&v));
    assert_eq!(labels, ["0", "0.25", "7", "12.5", "120", "9999", "10k", "2.5M", "3G"]);
}

#[test]
fn guides_and_notes_are_said() {
    let figure = Figure::new("t", "x", "y").at_x(40.0, "asked").at_y(200.0, "at most");
    let figure = figure.note("a machine, a day");
    let ideal = Series::new("ideal", vec![(1.0, 1.0), (90.0, 90.0)]).guide();
    let text = figure.draw(&[curve("a"), ideal]).expect("drawn");
    for part in ["asked", "at most", "a machine, a day", "ideal"] {
        assert!(text.contains(part), "{part}");
    }
    // A guide beyond the data widens the axis.
    assert!(figure.at_x(1000.0, "far").draw(&[curve("a")]).expect("drawn").contains("far"));
}

#[test]
fn intervals_and_single_values_are_drawn_and_seen() {
    let draw = |series: Series| lines("t", "x", "y", &[series]).expect("drawn");
    let plain = draw(curve("a"));
    let ring = draw(curve("a").dots(vec![(20.0, 500.0)]));
    assert_eq!(ring.matches("<circle").count(), plain.matches("<circle").count() + 1);
    // The axis goes up to the ring: it has a label that the curve alone has not.
    let has_label = |text: &str| text.lines().any(|line| line == "300");
    assert!(has_label(&ring) && !has_label(&plain));
    // The bar and its two ends, in the curve's colour: axes have lines of their own.
    let bar = draw(curve("a").intervals(vec![(10.0, 0.5, 2.0), (f64::NAN, 1.0, 2.0)]));
    let coloured = |text: &str| text.matches("stroke=\"#0072B2\"").count();
    assert_eq!(coloured(&bar), coloured(&plain) + 3);
}
