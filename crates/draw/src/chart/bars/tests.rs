use super::{
    super::tests::{parse, texts},
    *,
};

/// A group's label, and the values of the four mechanisms.
type Row<'a> = (&'a str, [f64; 4]);

fn panel(title: &str, rows: &[Row<'_>]) -> BarPanel {
    let group = |(label, values): &Row<'_>| BarGroup { label: (*label).into(), values: values.map(Some).to_vec() };
    BarPanel { title: title.into(), groups: rows.iter().map(group).collect() }
}

fn chart(panels: Vec<BarPanel>) -> BarChart {
    BarChart {
        title: "Flows of 10 segments that lose the last".into(),
        x_label: "RTT (ms)".into(),
        y_label: "Normalised FCT".into(),
        series: ["linux-3.17", "rtor", "tlp", "tlpr"].map(String::from).to_vec(),
        panels,
    }
}

fn two_panels() -> BarChart {
    chart(vec![
        panel("Delayed ACKs", &[("10", [1.0, 0.553, 0.106, 0.085])]),
        panel("Quick ACKs", &[("80", [1.0, 0.846, 1.0, 0.846])]),
    ])
}

/// The height of each bar of a series, in the order drawn, edges included and without the legend's
/// sample.
fn bars(svg: &str, series: usize, of: usize) -> Vec<i32> {
    let Colour(r, g, b) = Colour::of_series(series, of);
    let fill = format!("#{r:02X}{g:02X}{b:02X}");
    let boxes = parse(svg).into_iter().filter(|e| e.get("fill") == fill);
    boxes.skip(1).map(|e| e.number("height") + 2).collect()
}

#[test]
fn bars_are_as_high_as_their_values() {
    let svg = two_panels().to_svg();
    let expected = [[1.0, 1.0], [0.553, 0.846], [0.106, 1.0], [0.085, 0.846]];
    for (series, values) in expected.into_iter().enumerate() {
        let heights = values.map(|v| (v * 190.0_f64).round() as i32);
        assert_eq!(bars(&svg, series, 4), heights, "series {series}");
    }
}

#[test]
fn a_larger_value_extends_the_scale_of_all_panels() {
    let mut chart = two_panels();
    chart.panels[1].groups[0].values[0] = Some(1.9);
    let svg = chart.to_svg();
    // The axis runs from 0 to 2.
    assert_eq!(bars(&svg, 0, 4), [95, 181]);
    let numbers = texts(&svg);
    for tick in ["0.0", "0.5", "1.0", "1.5", "2.0"] {
        assert_eq!(numbers.iter().filter(|t| *t == tick).count(), 2, "{tick}");
    }
}

#[test]
fn values_that_cannot_be_drawn_are_dashes() {
    let mut chart = two_panels();
    let values = &mut chart.panels[0].groups[0].values;
    *values = vec![None, Some(f64::NAN), Some(-0.5), Some(f64::INFINITY)];
    chart.panels[1].groups[0].values.truncate(3);
    let svg = chart.to_svg();
    assert_eq!(texts(&svg).iter().filter(|t| *t == "–").count(), 5);
    assert_eq!(bars(&svg, 0, 4), [190]);
    assert!(bars(&svg, 3, 4).is_empty());
}

#[test]
fn unusual_charts_have_finite_coordinates() {
    let none: &[Row<'_>] = &[];
    let cases = [
        ("nothing", BarChart::default()),
        ("no panel", chart(vec![])),
        ("no group", chart(vec![panel("", none)])),
        ("all zero", chart(vec![panel("", &[("0", [0.0; 4])])])),
        ("one tiny", chart(vec![panel("", &[("0", [1e-300; 4])])])),
        ("one huge", chart(vec![panel("", &[("0", [f64::MAX; 4])])])),
        ("no series", BarChart { series: vec![], ..two_panels() }),
        ("more groups than pixels", chart(vec![panel("", &[("0", [1.0; 4]); 1000])])),
    ];
    for (name, chart) in cases {
        let svg = chart.to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
        let height = svg.split_once("height=\"").unwrap().1.split_once('"').unwrap().0;
        let height: i32 = height.trim_end_matches("px").parse().unwrap();
        for element in parse(&svg).iter().filter(|e| e.name == "rect") {
            let (y, high) = (element.number("y"), element.number("height"));
            let within = y >= 0 && high >= 0 && y + high <= height;
            assert!(within && element.number("width") >= 0, "{name}: {element:?}");
        }
    }
}

#[test]
fn text_is_escaped() {
    let mut chart = two_panels();
    let odd = "<b>&\"quoted\" 'text'\u{1}";
    chart.x_label = odd.into();
    chart.series[1] = odd.into();
    chart.panels[1].groups[0].label = odd.into();
    let found = texts(&chart.to_svg());
    let clean = odd.replace('\u{1}', "\u{fffd}");
    assert_eq!(found.iter().filter(|t| **t == clean).count(), 3, "{found:?}");
}

#[test]
fn labels_too_long_for_their_group_are_upright() {
    let upright = |label: &str, groups: usize| {
        let svg = chart(vec![panel("", &vec![(label, [1.0; 4]); groups])]).to_svg();
        let labels = parse(&svg).into_iter().filter(|e| e.text == label);
        let turned: Vec<_> = labels.map(|e| !e.get("transform").is_empty()).collect();
        (turned.len(), turned.contains(&true))
    };
    // (label, number of groups, (labels shown, upright))
    let cases = [
        ("160", 7, (7, false)),
        ("a long name", 7, (7, false)),
        ("a very long name", 7, (7, true)),
        ("160", 60, (30, true)),
        ("160", 200, (50, true)),
    ];
    for (label, groups, expected) in cases {
        assert_eq!(upright(label, groups), expected, "{groups} × {label}");
    }
}

#[test]
fn bars_carry_their_values() {
    let elements = parse(&two_panels().to_svg());
    let titles: Vec<&str> = elements.iter().filter(|e| e.name == "title").map(|e| e.text.as_str()).collect();
    assert_eq!(titles.len(), 8);
    assert_eq!(titles[1], "rtor\nRTT (ms): 10\nNormalised FCT: 0.553");
    let panels = elements.iter().filter(|e| !e.get("data-panel").is_empty());
    let panels: Vec<&str> = panels.map(|e| e.get("data-panel")).collect();
    assert_eq!(panels, ["Delayed ACKs", "Quick ACKs"]);
}
