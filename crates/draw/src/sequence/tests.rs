use super::*;
use crate::look::Theme;

fn span(a: u64, b: u64) -> Span {
    Span::new(Offset(a), Offset(b))
}

fn mark(ms: u64, kind: MarkKind) -> Mark {
    Mark::new(Instant::from_millis(ms), kind)
}

/// A segment is lost, detected by SACK and retransmitted.
fn example() -> Diagram {
    let marks = vec![
        mark(0, MarkKind::Sent(span(1, 1001))),
        mark(0, MarkKind::Sent(span(1001, 2001))),
        mark(40, MarkKind::Acked(Offset(1))),
        mark(40, MarkKind::ReceiveWindow(Offset(3001))),
        mark(80, MarkKind::Sacked(span(1001, 2001))),
        mark(80, MarkKind::DuplicateAck(Offset(1))),
        mark(80, MarkKind::Retransmitted(span(1, 1001), Some("fast"))),
        mark(81, MarkKind::Note(Offset(1001), "lost – repaired".into())),
        mark(160, MarkKind::Acked(Offset(2001))),
    ];
    Diagram { title: "an example".into(), panels: vec![Panel { title: "reno".into(), marks }], ..Diagram::default() }
}

#[test]
fn xplot_files_have_the_form_of_tcptraces() {
    let expected = "\
timeval unsigned
title
an example: reno
xlabel
time
ylabel
sequence number
yellow
line 0.040000 3000 0.160000 3000
green
line 0.040000 0 0.160000 0
line 0.160000 0 0.160000 2000
green
line 0.160000 2000 0.160000 2000
white
darrow 0.000000 0
uarrow 0.000000 1000
line 0.000000 0 0.000000 1000
white
darrow 0.000000 1000
uarrow 0.000000 2000
line 0.000000 1000 0.000000 2000
purple
line 0.080000 1000 0.080000 2000
htick 0.080000 1000
htick 0.080000 2000
green
dtick 0.080000 0
red
darrow 0.080000 0
uarrow 0.080000 1000
line 0.080000 0 0.080000 1000
atext 0.080000 1000
fast
blue
atext 0.081000 1000
lost - repaired
go
";
    assert_eq!(example().to_xplot(0).as_deref(), Some(expected));
    assert_eq!(example().to_xplot(1), None);
}

/// One segment that was retransmitted three times, explained by an analysis.
fn explained() -> Diagram {
    let explained = |ms, trigger: &str, necessity| {
        let span = span(1, 1001);
        mark(
            ms,
            MarkKind::Explained {
                span,
                trigger: trigger.into(),
                necessity,
                reason: "the receiver reported no duplicate",
            },
        )
    };
    let mut diagram = example();
    diagram.panels[0].marks = vec![
        mark(0, MarkKind::Sent(span(1, 1001))),
        explained(100, "fast", Necessity::Needed),
        explained(300, "unknown", Necessity::Unknowable),
        explained(500, "tlp|rto", Necessity::Spurious),
        mark(520, MarkKind::Acked(Offset(1001))),
    ];
    diagram
}

/// Verdicts differ in colour and in shape, so readers need not distinguish colours.
#[test]
fn each_verdict_has_its_own_colour_and_shape() {
    let svg = explained().to_svg();
    let found = texts(&svg);
    for text in [
        "needed retransmission",
        "spurious retransmission",
        "retransmission, unknown if needed",
        "fast",
        "unknown",
        "tlp|rto",
    ] {
        let times = found.iter().filter(|t| **t == text).count();
        assert_eq!(times, 1, "{text}: {found:?}");
    }
    // Each appears once in the legend and once in the picture. A needed one has two heads, a spurious one
    // the two bars of a cross, and an unknowable one a hollow diamond.
    let areas = |colour: &str| -> usize {
        let is = |line: &&str| line.starts_with("<path") && line.contains(&format!("fill=\"{colour}\""));
        let lines = svg.lines().filter(is);
        lines.map(|line| line.matches('Z').count()).sum()
    };
    assert_eq!(areas("#D55E00"), 4);
    assert_eq!(areas("#0072B2"), 4);
    assert_eq!(areas("#767676"), 2);
    assert_eq!(areas("#FFFFFF"), 2);

    let xplot = explained().to_xplot(0).unwrap();
    for part in [
        "red\ndarrow 0.100000 0\nuarrow 0.100000 1000\nline 0.100000 0 0.100000 1000\natext 0.100000 1000\nfast needed\n",
        "orange\ndarrow 0.300000 0\n",
        "\ndiamond 0.300000 500\natext 0.300000 1000\nunknown unknowable\n",
        "blue\ndarrow 0.500000 0\n",
        "\nplus 0.500000 500\natext 0.500000 1000\ntlp|rto spurious\n",
    ] {
        assert!(xplot.contains(part), "{part:?} in\n{xplot}");
    }
}

#[test]
fn a_trigger_is_labelled_again_when_the_last_label_is_far() {
    let many = |every: u64| {
        let mut diagram = explained();
        let again = |i: u64| {
            let span = span(1, 10_001);
            let kind = MarkKind::Explained { span, trigger: "rto".into(), necessity: Necessity::Needed, reason: "" };
            mark(100 + every * i, kind)
        };
        let mut marks = vec![mark(0, MarkKind::Sent(span(1, 10_001)))];
        marks.extend((0..4).map(again));
        marks.push(mark(1000, MarkKind::Sent(span(10_001, 100_001))));
        diagram.panels[0].marks = marks;
        texts(&diagram.to_svg()).iter().filter(|t| **t == "rto").count()
    };
    assert_eq!((many(1), many(200)), (1, 4));
}

#[test]
fn xplot_sequence_numbers_beyond_32_bits_are_doubles() {
    let mut diagram = example();
    let far = u64::from(u32::MAX);
    diagram.panels[0].marks.push(mark(200, MarkKind::Sent(span(far, far + 9))));
    let text = diagram.to_xplot(0).unwrap();
    assert!(text.starts_with("timeval double\n"), "{text}");
    assert!(text.contains("\nuarrow 0.200000 4294967303\n"), "{text}");
}

#[test]
fn a_window_far_above_the_data_is_not_drawn() {
    let mut diagram = example();
    diagram.panels[0].marks[3] = mark(40, MarkKind::ReceiveWindow(Offset(1 << 26)));
    assert!(!diagram.to_xplot(0).unwrap().contains("yellow"));
    assert!(!diagram.to_svg().contains("receive window"));
    diagram.panels[0].marks[3] = mark(40, MarkKind::ReceiveWindow(Offset(2001)));
    assert!(diagram.to_svg().contains("receive window"));
}

/// Each text in an SVG document.
fn texts(svg: &str) -> Vec<&str> {
    let parts = svg.split("<text ").skip(1);
    parts.filter_map(|part| part.split_once(">")?.1.split_once("</text>")).map(|(text, _)| text.trim()).collect()
}

#[test]
fn the_legend_names_the_marks_present_and_labels_name_triggers() {
    let svg = example().to_svg();
    assert_eq!(svg, example().to_svg());
    let found = texts(&svg);
    for text in [
        "an example",
        "reno",
        "data",
        "retransmission",
        "snd_una",
        "duplicate ACK",
        "SACK block",
        "time (ms)",
        "sequence (bytes)",
        "fast",
        "lost – repaired",
    ] {
        assert_eq!(found.iter().filter(|t| **t == text).count(), 1, "{text}: {found:?}");
    }
    let mut plain = example();
    plain.panels[0].marks.truncate(2);
    let svg = plain.to_svg();
    let found = texts(&svg);
    assert!(found.contains(&"data") && !found.contains(&"SACK block"), "{found:?}");
}

#[test]
fn every_diagram_can_be_drawn() {
    let empty = Diagram::default();
    let no_marks = Diagram { panels: vec![Panel::default(); 2], ..Diagram::default() };
    let mut far = example();
    far.panels[0].marks.push(Mark::new(Instant::from_nanos(u64::MAX), MarkKind::Sent(span(u64::MAX - 1, u64::MAX))));
    far.panels[0].marks.push(mark(0, MarkKind::Retransmitted(span(7, 7), None)));
    let mut outside = example();
    outside.from = Some(Instant::from_millis(1000));
    for diagram in [empty, no_marks, far, outside] {
        let svg = diagram.to_svg();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    }
}

#[test]
fn identical_shapes_are_drawn_once() {
    let many = |n: u64| {
        let sent = (0..n).map(|i| Mark::new(Instant::from_nanos(i), MarkKind::Sent(span(1, 1001))));
        let mut marks: Vec<Mark> = sent.collect();
        marks.push(mark(1000, MarkKind::Sent(span(1001, 2001))));
        Diagram { panels: vec![Panel { title: String::new(), marks }], ..Diagram::default() }
    };
    assert_eq!(many(1).to_svg(), many(1000).to_svg());
}

#[test]
fn a_time_range_begins_with_the_current_ack_and_window() {
    let mut diagram = example();
    diagram.from = Some(Instant::from_millis(80));
    diagram.to = Some(Instant::from_millis(100));
    let kept = &diagram.visible()[0];
    assert_eq!(kept[0], mark(80, MarkKind::Acked(Offset(1))));
    assert_eq!(kept[1], mark(80, MarkKind::ReceiveWindow(Offset(3001))));
    assert_eq!(kept[2..], example().panels[0].marks[4..8]);
}

#[test]
fn a_diagram_without_visible_data_is_blank() {
    let blank = |marks: Vec<Mark>, from: Option<u64>, to: Option<u64>| {
        let panel = Panel { title: String::new(), marks };
        let diagram = Diagram {
            panels: vec![Panel::default(), panel],
            from: from.map(Instant::from_millis),
            to: to.map(Instant::from_millis),
            ..Diagram::default()
        };
        assert_eq!(diagram.is_blank(), diagram.extent().is_none());
        diagram.is_blank()
    };
    let example = || example().panels[0].marks.clone();
    for (from, to, is_blank) in [
        (None, None, false),
        (Some(160), None, false),
        (Some(161), None, true),
        (Some(1), Some(79), true),
        (None, Some(0), false),
    ] {
        assert_eq!(blank(example(), from, to), is_blank, "{from:?} to {to:?}");
    }
    let handshake = vec![
        mark(0, MarkKind::Sent(span(0, 1))),
        mark(40, MarkKind::Acked(Offset(1))),
        mark(40, MarkKind::ReceiveWindow(Offset(3001))),
    ];
    assert!(blank(handshake, None, None));
    assert!(blank(vec![], None, None));
}

/// With a thousand segments per row of pixels, a retransmission is visible above all other marks.
#[test]
fn a_retransmission_is_visible_among_any_number_of_segments() {
    let mut diagram = Diagram::default();
    let mut marks: Vec<Mark> =
        (0..100_000).map(|i| mark(i / 100, MarkKind::Sent(span(1 + 1000 * i, 1001 + 1000 * i)))).collect();
    let lost = span(50_000_001, 50_001_001);
    marks.push(mark(900, MarkKind::Retransmitted(lost, None)));
    marks.push(mark(900, MarkKind::Sacked(span(50_001_001, 60_000_001))));
    diagram.panels.push(Panel { title: String::new(), marks });
    let svg = diagram.to_svg();
    // The line and the heads, in the legend and in the picture, drawn after all other marks.
    let shapes: Vec<&str> = svg.lines().filter(|line| line.starts_with("<path")).collect();
    let is_red = |i: &usize| shapes[*i].contains("#D55E00");
    let reds: Vec<usize> = (0..shapes.len()).filter(is_red).collect();
    let last = shapes.len() - 1;
    assert_eq!(reds.len(), 4, "{reds:?}");
    assert_eq!(reds[2..], [last - 1, last], "{}", shapes[last]);
    let line = shapes[reds[2]];
    let (_, ends) = line.split_once(" d=\"M").unwrap();
    let (ends, _) = ends.split_once('"').unwrap();
    let (from, to) = ends.split_once('V').unwrap();
    let [from, to] = [from.split_once(' ').unwrap().1, to].map(|y| y.parse::<f64>().unwrap());
    assert!(to - from >= 10.0, "{line}");
}

/// A mark lies where its time is, not on the nearest pixel.
#[test]
fn coordinates_are_finer_than_pixels() {
    let sent = |ms: u64| mark(ms, MarkKind::Sent(span(1, 1001)));
    let diagram = |ms: &[u64]| Diagram {
        panels: vec![Panel { title: String::new(), marks: ms.iter().map(|ms| sent(*ms)).collect() }],
        ..Diagram::default()
    };
    // 790 px for 7900 ms: 0.1 px each ms.
    let svg = diagram(&[0, 1, 3, 7900]).to_svg();
    for x in ["M82 ", "M82.1 ", "M82.3 ", "M872 "] {
        assert!(svg.contains(x), "{x}: {svg}");
    }
}

#[test]
fn flags_and_zero_windows_are_drawn_and_named() {
    let marks = vec![
        mark(0, MarkKind::Control(Control::Syn, Offset(0))),
        mark(0, MarkKind::Sent(span(0, 1))),
        mark(10, MarkKind::Acked(Offset(1))),
        mark(10, MarkKind::ReceiveWindow(Offset(1001))),
        mark(10, MarkKind::Sent(span(1, 1001))),
        mark(20, MarkKind::Acked(Offset(1001))),
        mark(60, MarkKind::ReceiveWindow(Offset(2001))),
        mark(60, MarkKind::Control(Control::Fin, Offset(2001))),
        mark(60, MarkKind::Sent(span(1001, 2002))),
        mark(100, MarkKind::Control(Control::Reset, Offset(2002))),
    ];
    let diagram = Diagram { panels: vec![Panel { title: String::new(), marks }], ..Diagram::default() };
    let svg = diagram.to_svg();
    let found = texts(&svg);
    for name in ["SYN", "FIN", "RST"] {
        let times = found.iter().filter(|text| **text == name).count();
        assert_eq!(times, 2, "in the legend and beside the mark: {name}");
    }
    assert!(found.contains(&"zero window"));
    // The band and its sample, below the grid.
    let bands = svg.lines().filter(|line| line.contains("#FBE7BF"));
    assert_eq!(bands.count(), 2);
    let place = |colour: &str| svg.rfind(colour).unwrap();
    assert!(place("#FBE7BF") < svg.find("#DDDDDD").unwrap());
    let xplot = diagram.to_xplot(0).unwrap();
    for name in ["\nSYN\n", "\nFIN\n", "\nRST\n"] {
        assert!(xplot.contains(name), "{xplot}");
    }
}

#[test]
fn the_look_sets_width_and_colours() {
    let look = |width: &str, theme| Look { width: width.parse().unwrap(), theme };
    let narrow = example().to_svg_as(&look("84mm", Theme::Dark));
    assert!(narrow.starts_with("<svg "), "{narrow}");
    assert!(narrow.contains(r#" width="84mm" "#), "{narrow}");
    assert!(narrow.contains(r##"fill="#15181C""##) && !narrow.contains("#FFFFFF"));
    // Text keeps its size, and fewer numbers fit.
    let wide = example().to_svg_as(&look("900px", Theme::Light));
    assert_eq!(wide, example().to_svg());
    let numbers = |svg: &str| svg.matches(r#"font-size="12""#).count();
    assert!(numbers(&narrow) < numbers(&wide) && numbers(&narrow) > 4);
}

/// Each direction has its own scale of sequence numbers.
#[test]
fn panels_share_the_scale_or_have_their_own() {
    let with = |scale| {
        let panel = |end| Panel { title: String::new(), marks: vec![mark(0, MarkKind::Sent(span(1, end)))] };
        Diagram { panels: vec![panel(10_000_001), panel(1001)], scale, ..Diagram::default() }.to_svg()
    };
    let own = with(SequenceScale::OnePerPanel);
    let found = texts(&own);
    assert!(found.contains(&"sequence (MB)") && found.contains(&"sequence (bytes)"));
    assert!(!texts(&with(SequenceScale::Shared)).contains(&"sequence (bytes)"));
}

#[test]
fn a_panel_can_start_at_its_first_data() {
    let panel = Panel {
        title: "late".into(),
        marks: vec![
            mark(50, MarkKind::Sent(span(0, 1))),
            mark(150, MarkKind::Acked(Offset(1))),
            mark(150, MarkKind::Sent(span(1, 1001))),
            mark(250, MarkKind::Acked(Offset(1001))),
        ],
    };
    let first = panel.first_data();
    assert_eq!(first, Some(Instant::from_millis(150)));
    let shifted = panel.since(first.unwrap());
    let times: Vec<u64> = shifted.marks.iter().map(|m| m.at.as_nanos()).collect();
    assert_eq!(times, [0, 0, 100_000_000]);
    assert_eq!(Panel::default().first_data(), None);
}

#[test]
fn a_window_is_zero_from_the_ack_that_fills_it_until_it_opens() {
    let panel = |marks: Vec<Mark>| Panel { title: String::new(), marks };
    let instants = |pairs: &[(u64, u64)]| -> Vec<(Instant, Instant)> {
        let instant = |pair: &(u64, u64)| (Instant::from_millis(pair.0), Instant::from_millis(pair.1));
        pairs.iter().map(instant).collect()
    };
    let (acked, window) = (
        |ms, offset| mark(ms, MarkKind::Acked(Offset(offset))),
        |ms, offset| mark(ms, MarkKind::ReceiveWindow(Offset(offset))),
    );
    let open = vec![acked(10, 1), window(10, 1001)];
    assert_eq!(panel(open.clone()).zero_windows(), []);
    // The ACK at 20 ms advances `snd_una` to the window's end, which does not move until 50 ms.
    let mut filled = open.clone();
    filled.extend([acked(20, 1001), window(50, 3001), acked(60, 2001)]);
    assert_eq!(panel(filled.clone()).zero_windows(), instants(&[(20, 50)]));
    // An ACK that moves both leaves the window open. At 70 ms the window shrinks to nothing.
    filled.extend([acked(65, 3001), window(65, 4001), window(70, 3001)]);
    filled.push(mark(90, MarkKind::Sent(span(3001, 3002))));
    assert_eq!(panel(filled).zero_windows(), instants(&[(20, 50), (70, 90)]));
}
