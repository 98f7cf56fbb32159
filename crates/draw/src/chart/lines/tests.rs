use super::{
    super::{
        layout::{LEFT, RIGHT, WIDTH},
        tests::{Element, parse, texts},
    },
    *,
};

/// The x axis, and the pixel of the largest number on the y axis, of a single panel without titles.
const FOOT: i32 = 294;
const TOP: i32 = FOOT - PLOT_HEIGHT;

fn chart(lines: &[&[(f64, f64)]]) -> LineChart {
    LineChart {
        series: (0..lines.len()).map(|i| format!("series {i}")).collect(),
        panels: vec![LinePanel { title: String::new(), lines: lines.iter().map(|points| points.to_vec()).collect() }],
        ..LineChart::default()
    }
}

fn polylines(svg: &str) -> Vec<Element> {
    let elements = parse(svg).into_iter();
    elements.filter(|e| e.name == "polyline").collect()
}

fn exact(points: &[(i32, i32)]) -> Vec<Point> {
    let points = points.iter();
    points.map(|(x, y)| ((*x).into(), (*y).into())).collect()
}

/// The corners of each polyline.
fn corners(svg: &str) -> Vec<Vec<Point>> {
    let pair = |pair: &str| {
        let (x, y) = pair.split_once(',').expect("x,y");
        (x.parse().unwrap(), y.parse().unwrap())
    };
    let lines = polylines(svg).into_iter();
    lines.map(|line| line.get("points").split_whitespace().map(pair).collect()).collect()
}

#[test]
fn points_are_at_the_pixels_of_their_coordinates() {
    let middle = (LEFT + RIGHT) / 2;
    for (interpolation, expected) in [
        (Interpolation::Linear, vec![(LEFT, FOOT), (middle, TOP + 130), (RIGHT, TOP)]),
        (
            Interpolation::Steps,
            vec![(LEFT, FOOT), (middle, FOOT), (middle, TOP + 130), (RIGHT, TOP + 130), (RIGHT, TOP)],
        ),
    ] {
        let linear = LineChart { interpolation, ..chart(&[&[(0.0, 0.0), (50.0, 0.5), (100.0, 1.0)]]) };
        assert_eq!(corners(&linear.to_svg()), [exact(&expected)], "{interpolation:?}");
        let logarithmic =
            LineChart { scale: Scale::Logarithmic, interpolation, ..chart(&[&[(0.01, 0.0), (0.1, 0.5), (1.0, 1.0)]]) };
        assert_eq!(corners(&logarithmic.to_svg()), [exact(&expected)], "{interpolation:?}");
    }
}

#[test]
fn the_axis_reaches_the_given_value_and_the_largest_point() {
    let points: &[(f64, f64)] = &[(1.0, 0.3), (2.0, 0.06)];
    for (largest, top) in [(None, "0.30"), (Some(1.0), "1.0"), (Some(0.1), "0.30")] {
        let svg = LineChart { largest, ..chart(&[points]) }.to_svg();
        assert!(texts(&svg).contains(&top.to_string()), "{largest:?}: {svg}");
        assert!(!texts(&svg).contains(&"1.2".to_string()), "{largest:?}");
    }
}

#[test]
fn all_panels_have_one_scale() {
    let mut two = chart(&[&[(0.0, 0.5), (10.0, 0.5)]]);
    let other = chart(&[&[(0.0, 2.0), (20.0, 2.0)]]);
    two.panels.extend(other.panels);
    let [first, second] = &corners(&two.to_svg())[..] else {
        panic!("one line per panel");
    };
    assert_eq!(first[1].0, f64::from(LEFT + RIGHT) / 2.0);
    // The first line is a quarter of the way up, the second at the top. 12 px and the numbers lie
    // between the panels.
    let next = 12 + 8 + PLOT_HEIGHT + 22;
    let expected = (f64::from(FOOT - 65), f64::from(TOP + next));
    assert_eq!((first[0].1, second[0].1), expected);
}

#[test]
fn points_that_cannot_be_drawn_interrupt_the_line() {
    let odd = [f64::NAN, f64::INFINITY, -1.0];
    for x in odd.into_iter().chain([0.0]) {
        let svg = LineChart {
            scale: Scale::Logarithmic,
            ..chart(&[&[(1.0, 1.0), (2.0, 1.0), (x, 1.0), (3.0, 1.0), (4.0, 1.0)]])
        };
        assert_eq!(corners(&svg.to_svg()).len(), 2, "x {x}");
    }
    for y in odd {
        let svg = chart(&[&[(0.0, 1.0), (2.0, 1.0), (2.5, y), (3.0, 1.0), (4.0, 1.0)]]).to_svg();
        assert_eq!(corners(&svg).len(), 2, "y {y}");
    }
}

#[test]
fn unusual_charts_have_finite_coordinates() {
    let huge: &[(f64, f64)] = &[(f64::MIN_POSITIVE, 5e-324), (f64::MAX, f64::MAX)];
    let many: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
    let cases = [
        ("nothing", LineChart::default()),
        ("no panel", LineChart { panels: vec![], ..chart(&[&[]]) }),
        ("no series", LineChart { series: vec![], ..chart(&[huge]) }),
        ("no point", chart(&[&[], &[]])),
        ("one point", chart(&[&[(3.0, 3.0)]])),
        ("all zero", chart(&[&[(0.0, 0.0), (0.0, 0.0)]])),
        ("huge", chart(&[huge, huge])),
        ("many", chart(&[&many])),
        ("a useless largest", LineChart { largest: Some(f64::NAN), ..chart(&[&[(1.0, 1.0)]]) }),
    ];
    for (name, chart) in cases {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            for interpolation in [Interpolation::Linear, Interpolation::Steps] {
                let svg = LineChart { scale, interpolation, ..chart.clone() }.to_svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
                for (x, y) in corners(&svg).concat() {
                    let inside = (0.0..=f64::from(WIDTH)).contains(&x) && (0.0..=f64::from(FOOT + 40)).contains(&y);
                    assert!(inside, "{name}: {x}, {y}");
                }
                assert_eq!(svg, LineChart { scale, interpolation, ..chart.clone() }.to_svg());
            }
        }
    }
}

#[test]
fn each_series_has_its_dashes() {
    let points: &[(f64, f64)] = &[(0.0, 1.0), (100.0, 1.0)];
    let dashes = |series: usize| {
        let lines = polylines(&chart(&vec![points; series]).to_svg());
        // Samples of the legend stand before the lines.
        let of_lines = lines.iter().rev().take(series).rev();
        of_lines.map(|line| line.get("stroke-dasharray").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(dashes(1), [""]);
    assert_eq!(dashes(3), ["", "10 4", "3 3"]);
    let mut eight = dashes(8);
    eight.sort();
    eight.dedup();
    assert_eq!(eight.len(), 8);
}

#[test]
fn lines_carry_the_values_of_their_points() {
    let values = [(1.0, 0.3), (2.0, 0.123_45), (3.0, 1.0)];
    for interpolation in [Interpolation::Linear, Interpolation::Steps] {
        let svg = LineChart { interpolation, x_label: "FCT (ms)".into(), y_label: "share".into(), ..chart(&[&values]) }
            .to_svg();
        let line = &polylines(&svg)[0];
        assert_eq!(line.get("data-points"), "1,0.3 2,0.1235 3,1");
        let elements = parse(&svg);
        let title = elements.iter().find(|e| e.name == "title").expect("a title");
        assert_eq!(title.text, "series 0");
        let panel = elements.iter().find(|e| !e.get("data-x").is_empty()).expect("a panel");
        assert_eq!((panel.get("data-x"), panel.get("data-y")), ("FCT (ms)", "share"));
    }
}

#[test]
fn points_at_one_place_are_drawn_once_and_the_last_one_stays() {
    let many: Vec<(f64, f64)> = (0..=100_000).map(|i| (f64::from(i), 1.0)).collect();
    let line = &polylines(&chart(&[&many]).to_svg())[0];
    let values: Vec<&str> = line.get("data-points").split(' ').collect();
    assert!(values.len() < 8200, "{} points", values.len());
    assert_eq!((values[0], values[values.len() - 1]), ("0,1", "100000,1"));
}

#[test]
fn each_series_has_its_sample_in_the_legend() {
    let points: &[(f64, f64)] = &[(0.0, 1.0), (100.0, 1.0)];
    let svg = chart(&[points; 8]).to_svg();
    let mut strokes = Vec::new();
    for i in 0..8 {
        let name = format!("series {i}");
        assert_eq!(texts(&svg).iter().filter(|text| **text == name).count(), 1);
        let Colour(r, g, b) = Colour::of_line(i, 8);
        strokes.push(format!("#{r:02X}{g:02X}{b:02X}"));
    }
    for stroke in &strokes {
        let lines = polylines(&svg);
        let of_series = lines.iter().filter(|line| line.get("stroke") == stroke);
        assert!(of_series.count() >= 2, "a sample and a line: {stroke}");
    }
    strokes.dedup();
    assert_eq!(strokes.len(), 8);
    let alone = chart(&[points]).to_svg();
    assert_eq!(polylines(&alone).len(), 1);
}

#[test]
fn a_single_point_is_a_dot() {
    let dots = |points: &[(f64, f64)]| {
        let Colour(r, g, b) = Colour::of_line(0, 1);
        let fill = format!("#{r:02X}{g:02X}{b:02X}");
        let elements = parse(&chart(&[points]).to_svg());
        elements.iter().filter(|e| e.get("fill") == fill).count()
    };
    assert_eq!(dots(&[(1.0, 1.0)]), 1);
    assert_eq!(dots(&[(0.0, 1.0), (f64::NAN, 1.0), (1.0, 1.0), (2.0, 0.5)]), 1);
    assert_eq!(dots(&[(0.0, 1.0), (1.0, 1.0)]), 0);
}

/// The tail of a distribution: each decade of the share takes as much room as another.
#[test]
fn a_logarithmic_y_axis_has_a_number_per_decade() {
    let tail = |y_scale| LineChart {
        y_scale,
        largest: Some(1.0),
        ..chart(&[&[(0.0, 1.0), (50.0, 0.1), (100.0, 0.001), (120.0, 0.0)]])
    };
    let svg = tail(Scale::Logarithmic).to_svg();
    let numbers = texts(&svg);
    for number in ["1", "0.1", "0.01", "0.001"] {
        assert!(numbers.contains(&number.to_string()), "{numbers:?}");
    }
    let third = f64::from(PLOT_HEIGHT) / 3.0;
    let heights: Vec<f64> = corners(&svg)[0].iter().map(|(_, y)| *y).collect();
    assert_eq!(heights.len(), 3, "a share of 0 is not drawn");
    for (height, expected) in heights.iter().zip([0.0, third, 3.0 * third]) {
        assert!((height - f64::from(TOP) - expected).abs() < 0.01, "{heights:?}");
    }
    assert!(!texts(&tail(Scale::Linear).to_svg()).contains(&"0.01".to_string()));
}
