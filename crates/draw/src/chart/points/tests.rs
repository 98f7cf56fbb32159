use super::{
    super::{
        layout::{LEFT, RIGHT},
        tests::{Element, parse, texts},
    },
    *,
};

fn point(x: f64, y: f64, top: f64) -> RangePoint {
    RangePoint { x, y, top, is_hollow: false }
}

fn chart(points: &[RangePoint]) -> PointChart {
    PointChart {
        title: "k = 2".into(),
        x_label: "best case (RTTs)".into(),
        y_label: "reduction (RTTs)".into(),
        legend: ["mean", "few", "best case"].map(String::from),
        panels: vec![PointPanel { title: "linux-2.4".into(), points: points.to_vec() }],
    }
}

/// The ends of every upright line: x, and y from below upwards.
fn bars(svg: &str) -> Vec<(f64, f64, f64)> {
    let lines = parse(svg).into_iter().filter(|e| e.name == "polyline");
    let pair = |text: &str| -> (f64, f64) {
        let (x, y) = text.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    let ends = lines.filter_map(|line| {
        let mut points = line.get("points").split(' ').map(pair);
        let (first, last) = (points.next()?, points.next()?);
        (first.0 == last.0 && points.next().is_none()).then_some((first.0, first.1, last.1))
    });
    ends.collect()
}

fn squares(svg: &str) -> Vec<Element> {
    let squares = parse(svg).into_iter();
    let square = |e: &Element| e.name == "rect" && e.get("width") == e.get("height");
    squares.filter(square).collect()
}

#[test]
fn points_stand_on_a_logarithmic_and_a_symmetric_axis() {
    // From 1 to 100, and from −10 to 100: five steps of 52 px.
    let svg = chart(&[point(1.0, -1.0, 0.0), point(100.0, 10.0, 100.0), point(10.0, -5.0, 0.5)]).to_svg();
    let middle = f64::from(LEFT + RIGHT) / 2.0;
    let bars = bars(&svg);
    assert_eq!(bars.len(), 3, "{svg}");
    let foot = bars[0].1 + f64::from(PLOT_HEIGHT) / 5.0;
    let step = f64::from(PLOT_HEIGHT) / 5.0;
    let expected = [
        (f64::from(LEFT), foot - step, foot - 2.0 * step),
        (f64::from(RIGHT), foot - 4.0 * step, foot - 5.0 * step),
        (middle, foot - (2.0 - 1.0 - 5f64.log10()) * step, foot - 2.5 * step),
    ];
    for (got, expected) in bars.iter().zip(expected) {
        for (got, expected) in [(got.0, expected.0), (got.1, expected.1), (got.2, expected.2)] {
            assert!((got - expected).abs() < 0.1, "{bars:?}");
        }
    }
}

#[test]
fn hollow_points_have_a_second_square() {
    let hollow = RangePoint { is_hollow: true, ..point(2.0, 3.0, 4.0) };
    let count = |points: &[RangePoint]| squares(&chart(points).to_svg()).len();
    // The legend has one of each kind.
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&[point(2.0, 3.0, 4.0)]), 4);
    assert_eq!(count(&[hollow]), 5);
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let empty = chart(&[]).to_svg();
    for (x, y, top) in [(0.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (1.0, f64::NAN, 1.0), (1.0, 1.0, f64::INFINITY)] {
        assert_eq!(chart(&[point(x, y, top)]).to_svg(), empty, "{x}, {y}, {top}");
    }
    let huge = chart(&[point(1e300, -1e300, f64::MAX), point(1e-300, 0.0, 0.0)]).to_svg();
    assert!(!huge.contains("NaN") && !huge.contains("inf"), "{huge}");
}

#[test]
fn labels_and_legend_are_written() {
    let words = texts(&chart(&[point(1.0, 2.0, 3.0)]).to_svg());
    for word in ["k = 2", "best case (RTTs)", "reduction (RTTs)", "linux-2.4", "mean", "few", "best case"] {
        assert!(words.iter().any(|text| text == word), "{word}: {words:?}");
    }
}

#[test]
fn the_diagonal_goes_up_to_the_end_of_the_y_axis() {
    let corners = |points: &[RangePoint]| {
        let svg = chart(points).to_svg();
        let lines = parse(&svg).into_iter().filter(|e| e.name == "polyline");
        let corners = lines.map(|e| e.get("points").split(' ').count());
        corners.max().unwrap_or(0)
    };
    // Only its part up to y = 1 is on the axis.
    let short = corners(&[point(0.1, 0.0, 0.5), point(1e4, 0.0, 0.5)]);
    let long = corners(&[point(0.1, 0.0, 0.5), point(1e4, 0.0, 1e4)]);
    assert!(0 < short && short < long, "{short} {long}");
}

#[test]
fn points_carry_their_values() {
    let hollow = RangePoint { is_hollow: true, ..point(2.0, 3.0, 4.5) };
    let titles = |point| {
        let elements = parse(&chart(&[point]).to_svg()).into_iter();
        let titles = elements.filter(|e| e.name == "title").map(|e| e.text);
        titles.collect::<Vec<_>>()
    };
    let values = "best case (RTTs): 2\nreduction (RTTs): 3, up to 4.5";
    assert_eq!(titles(point(2.0, 3.0, 4.5)), [format!("mean\n{values}")]);
    assert_eq!(titles(hollow), [format!("few\n{values}")]);
}
