use super::*;
use crate::chart::tests::parse;

fn chart(boxes: Vec<(&str, Option<Quantiles>)>) -> BoxChart {
    BoxChart {
        title: "FCT".into(),
        x_label: "profile".into(),
        y_label: "FCT (ms)".into(),
        scale: Scale::Linear,
        panels: vec![BoxPanel {
            title: "sim".into(),
            boxes: boxes.into_iter().map(|(label, quantiles)| (label.into(), quantiles)).collect(),
        }],
    }
}

const QUANTILES: Quantiles = Quantiles { p5: 10.0, p25: 20.0, p50: 30.0, p75: 60.0, p95: 100.0, mean: 40.0 };

#[test]
fn a_box_stands_between_its_quartiles() {
    let elements = parse(&chart(vec![("a", Some(QUANTILES)), ("b", None)]).to_svg());
    // The y axis reaches from 0 to 100 in steps of 20: its numbers tell the pixels.
    let tick = |text: &str| {
        let mut found = elements.iter().filter(|e| e.name == "text" && e.text == text);
        // A number stands 0.36 of its size below its grid line.
        f64::from(found.next().expect("a number").number("y")) - 0.36 * 12.0
    };
    let pixel = |value: f64| tick("0") + (tick("100") - tick("0")) * value / 100.0;
    let heights = elements.iter().filter(|e| e.name == "rect").map(|e| (e.number("y"), e.number("height")));
    let expected = (pixel(60.0), pixel(20.0) - pixel(60.0));
    let is_near = |a: i32, b: f64| (f64::from(a) - b).abs() <= 1.5;
    let has_box = heights.clone().any(|(y, height)| is_near(y, expected.0) && is_near(height, expected.1));
    assert!(has_box, "{expected:?} {:?}", heights.collect::<Vec<_>>());
    let texts: Vec<&str> = elements.iter().map(|e| e.text.as_str()).collect();
    for text in ["a", "b", "–", "profile", "FCT (ms)"] {
        assert!(texts.contains(&text), "{text}: {texts:?}");
    }
}

#[test]
fn what_the_scale_does_not_show_is_a_dash() {
    let mut wrong = chart(vec![("a", Some(QUANTILES))]);
    assert!(!wrong.to_svg().contains('–'));
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        wrong.panels[0].boxes[0].1 = Some(Quantiles { p5: value, ..QUANTILES });
        assert!(wrong.to_svg().contains('–'), "{value}");
    }
    wrong.panels[0].boxes[0].1 = Some(Quantiles { p5: 0.0, ..QUANTILES });
    wrong.scale = Scale::Logarithmic;
    assert!(wrong.to_svg().contains('–'));
}
