use super::*;
use crate::sequence::{Diagram, Mark, MarkKind, Panel};
use recoup_units::{Instant, Offset, Span};

fn diagram() -> Diagram {
    let span = Span::new(Offset(1), Offset(1001));
    Diagram {
        title: "A title – µs".into(),
        panels: vec![Panel { title: String::new(), marks: vec![Mark::new(Instant::ZERO, MarkKind::Sent(span))] }],
        ..Diagram::default()
    }
}

/// Width and height of a PNG (RFC 2083 §4.1.1).
fn size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn a_png_has_the_dots_of_its_width() {
    for (width, dots) in [("900px", 900), ("400", 400), ("84mm", 992)] {
        let look = Look { width: width.parse().unwrap(), ..Look::default() };
        let svg = diagram().to_svg_as(&look);
        let png = to_png(&svg, &look).unwrap();
        let (across, down) = size(&png);
        assert!(across.abs_diff(dots) <= 2 && down > dots / 4, "{width}: {across} by {down}");
        assert_eq!(to_png(&svg, &look).unwrap(), png, "drawn again");
    }
}

#[test]
fn text_is_set_in_the_fonts_of_this_crate() {
    let svg = diagram().to_svg();
    let text = svg.lines().filter(|line| !line.starts_with("<text"));
    let without: String = text.collect::<Vec<_>>().join("\n");
    let look = Look::default();
    assert_ne!(to_png(&svg, &look).unwrap(), to_png(&without, &look).unwrap());
    // The PDF embeds them.
    let [with, without] = [&svg, &without].map(|svg| to_pdf(svg).unwrap());
    assert!(with.starts_with(b"%PDF-"));
    let has_font = |pdf: &[u8]| pdf.windows(9).any(|word| word == b"/FontFile");
    assert_eq!((has_font(&with), has_font(&without)), (true, false));
}

/// A chart of each kind, and a diagram.
fn pictures() -> [(&'static str, String); 5] {
    use crate::chart::{
        BarChart, BarGroup, BarPanel, BoxChart, BoxPanel, LineChart, LinePanel, PointChart, PointPanel, Quantiles,
        RangePoint,
    };
    let bars = BarChart {
        series: vec!["linux-6".into()],
        panels: vec![BarPanel {
            title: String::new(),
            groups: vec![BarGroup { label: "80".into(), values: vec![Some(0.5)] }],
        }],
        ..BarChart::default()
    };
    let boxes = BoxChart {
        panels: vec![BoxPanel {
            title: String::new(),
            boxes: vec![("linux-6".into(), Some(Quantiles { p95: 9.0, ..Quantiles::default() }))],
        }],
        ..BoxChart::default()
    };
    let lines = LineChart {
        series: vec!["linux-6".into(), "reno".into()],
        panels: vec![LinePanel { title: String::new(), lines: vec![vec![(1.0, 2.0), (3.0, 4.0)]; 2] }],
        ..LineChart::default()
    };
    let points = PointChart {
        panels: vec![PointPanel { title: String::new(), points: vec![RangePoint { x: 1.0, ..RangePoint::default() }] }],
        ..PointChart::default()
    };
    [
        ("bars", bars.to_svg()),
        ("boxes", boxes.to_svg()),
        ("lines", lines.to_svg()),
        ("points", points.to_svg()),
        ("diagram", diagram().to_svg()),
    ]
}

#[test]
fn pictures_for_print_are_sharp() {
    for (name, svg) in pictures() {
        let png = to_print_png(&svg).unwrap();
        let (across, _) = size(&png);
        assert!(across.abs_diff(900 * 300 / 96) <= 1, "{name}: {across}");
        // Each chunk has its length, its name, its content and a checksum.
        let (mut at, mut chunks) = (8, Vec::new());
        while at < png.len() {
            let length = u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
            chunks.push(&png[at + 4..at + 8]);
            at += length as usize + 12;
        }
        assert_eq!(chunks[..3], [b"IHDR", b"pHYs", b"IDAT"], "{name}");
        // The PDF has fonts and shapes, and no raster picture.
        let pdf = to_pdf(&svg).unwrap();
        let has = |word: &[u8]| pdf.windows(word.len()).any(|part| part == word);
        assert!(has(b"/FontFile"), "{name}");
        assert!(!has(b"/Subtype /Image"), "{name}");
    }
}

#[test]
fn a_picture_with_too_many_dots_is_refused() {
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="90000" height="90000"/>"#;
    let error = to_png(svg, &Look::default()).unwrap_err();
    let text = "90000 by 90000 dots: a PNG has at most 100 million";
    assert_eq!(error.to_string(), text);
}
