use super::*;
use crate::sequence::{Mark, MarkKind};
use recoup_units::{Instant, Offset, Span};

fn page_of(body: Body) -> Page {
    Page { body, ..Page::default() }
}

/// Data segments of 1000 bytes every 10 µs.
fn panel(segments: u64) -> Panel {
    let mark = |n: u64| {
        let span = Span::at(Offset(1 + 1000 * n), 1000);
        Mark { frame: Some(n + 1), ..Mark::new(Instant::from_nanos(n * 10_000), MarkKind::Sent(span)) }
    };
    Panel { title: "data".into(), marks: (0..segments).map(mark).collect() }
}

fn connection(id: &str, segments: u64) -> Connection {
    Connection {
        id: id.into(),
        number: id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap(),
        title: format!("client of {id}"),
        file: "it's here.pcap".into(),
        filter: format!("tcp.stream == {id}"),
        directions: vec![Direction { sender: "client".into(), panel: panel(segments) }],
        ..Connection::default()
    }
}

#[test]
fn an_empty_page_has_no_sections() {
    let html = Page::default().to_html();
    assert!(!html.contains("<section"), "{html}");
    assert!(html.contains("<h1></h1>"));
}

#[test]
fn what_would_help_is_a_section_once_it_is_known() {
    let mut page = Page::default();
    assert!(!page.to_html().contains("What would help"));
    page.body.advice =
        Some(Section { heading: "What would help".into(), paragraphs: vec!["Nothing.".into()], ..Section::default() });
    assert!(page.to_html().contains("<h2>What would help</h2>\n<p>Nothing.</p>"));
}

#[test]
fn the_page_loads_nothing() {
    let page = page_of(Body { connections: vec![connection("1", 10)], ..Body::default() });
    let html = page.to_html();
    let policy = "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-";
    assert!(html.contains(policy));
    for reference in ["<link", "<img", "<iframe", " src=", "href=\"http", "@import", "fetch("] {
        assert!(!html.contains(reference), "{reference}");
    }
}

#[test]
fn points_link_to_connections_that_the_page_shows() {
    let point = |id: &str| Point { text: format!("about {id}."), connection: Some(id.into()) };
    let page = page_of(Body {
        sections: vec![Section { points: vec![point("1"), point("2")], ..Section::default() }],
        connections: vec![connection("1", 1)],
        ..Body::default()
    });
    let html = page.to_html();
    assert!(html.contains("<li>about 1. <a href=\"#connection-1\">Connection 1</a></li>"));
    assert!(html.contains("<li>about 2.</li>"));
}

#[test]
fn backticks_enclose_code() {
    let paragraphs = ["Run `a <b>` or `c`.", "A lone ` stays."].map(String::from).to_vec();
    let page = page_of(Body { sections: vec![Section { paragraphs, ..Section::default() }], ..Body::default() });
    let html = page.to_html();
    assert!(html.contains("<p>Run <code>a &lt;b&gt;</code> or <code>c</code>.</p>\n<p>A lone ` stays.</p>"));
}

fn capture(name: &str, connections: Vec<Connection>) -> Capture {
    let clock = format!("The clock of {name}.");
    Capture { name: name.into(), summary: String::new(), body: Body { clock, connections, ..Body::default() } }
}

fn overview(captures: &[Capture]) -> Overview {
    let column = |heading: &str, kind| Column { heading: heading.into(), kind, ..Column::default() };
    let row = |capture: &Capture| {
        let lost = OverviewCell { text: "1.50 s".into(), value: Some(1.5) };
        vec![OverviewCell { text: capture.name.clone(), value: None }, lost]
    };
    Overview {
        heading: "Captures".into(),
        columns: vec![column("Capture", ColumnKind::Text), column("Lost", ColumnKind::Seconds)],
        rows: captures.iter().map(row).collect(),
    }
}

#[test]
fn each_capture_has_a_row_and_a_section() {
    let captures = vec![capture("a.pcap", vec![connection("1-7", 1)]), capture("<b>.pcap", Vec::new())];
    let page = Page { overview: Some(overview(&captures)), captures, ..Page::default() };
    let html = page.to_html();
    for part in [
        "<tr><th scope=\"row\"><a href=\"#capture-1\">a.pcap</a></th><td class=\"number\" data-value=\"1.5\">1.50 s</td></tr>",
        "<section class=\"capture\" id=\"capture-1\" aria-labelledby=\"capture-1-heading\">\n<h2 id=\"capture-1-heading\">a.pcap</h2>",
        "<h2 id=\"capture-2-heading\">&lt;b&gt;.pcap</h2>",
        "<details class=\"connection\" id=\"connection-1-7\">\n<summary><h4>Connection 7: client of 1-7</h4>",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let distinct: std::collections::HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
}

#[test]
fn captures_beyond_the_limit_keep_their_rows_and_say_so() {
    let large = |i: usize| {
        let mut of = capture(&format!("{i}.pcap"), vec![connection(&format!("{i}-0"), 100)]);
        of.body.sections = vec![Section { paragraphs: vec!["x".repeat(40_000)], ..Section::default() }];
        of
    };
    let captures: Vec<Capture> = (0..200).map(large).collect();
    let page = Page { overview: Some(overview(&captures)), captures, ..Page::default() };
    let html = page.to_html();
    assert!(html.len() < MAX_BYTES, "{}", html.len());
    assert_eq!(html.matches("<tr><th scope=\"row\">").count(), 200);
    let shown = html.matches("<section class=\"capture\"").count();
    assert!((100..200).contains(&shown), "{shown}");
    assert_eq!(html.matches("<a href=\"#capture-").count(), shown, "only what is there is linked to");
    assert!(html.contains(&format!("The page shows {shown} of 200 captures by themselves")));
}

#[test]
fn diagrams_share_what_room_there_is() {
    let busy = |i: usize| capture("busy", (0..9).map(|n| connection(&format!("{i}-{n}"), 30_000)).collect());
    let mut captures: Vec<Capture> = (0..10).map(busy).collect();
    // Lengths that no prediction saves: about 10 bytes a mark.
    for of in captures.iter_mut().flat_map(|capture| &mut capture.body.connections) {
        for (n, mark) in of.directions[0].panel.marks.iter_mut().enumerate() {
            let start = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            mark.kind = MarkKind::Retransmitted(Span::at(Offset(start), start % 60_000), Some("rto"));
        }
    }
    let page = Page { captures, ..Page::default() };
    let html = page.to_html();
    assert!(html.len() < MAX_BYTES, "{}", html.len());
    for i in 0..10 {
        assert!(html.contains(&format!("id=\"connection-{i}-0\"")), "capture {i} has a diagram");
    }
}

#[test]
fn parts_of_a_whole_have_shares_and_parts_of_0_are_left_out() {
    let part =
        |name: &str, amount: f64| Part { name: name.into(), amount, text: format!("{amount} s"), ..Part::default() };
    let parts = [("a", 3.0), ("b", 0.0), ("c", 1.0), ("d", f64::NAN), ("e", 0.001)];
    let page = page_of(Body {
        breakdowns: vec![Breakdown {
            parts: parts.map(|(name, amount)| part(name, amount)).to_vec(),
            ..Breakdown::default()
        }],
        ..Body::default()
    });
    let html = page.to_html();
    assert!(html.contains("<th scope=\"row\">a</th><td>3 s</td><td>75 %</td>"));
    assert!(html.contains("<th scope=\"row\">e</th><td>0.001 s</td><td>&lt; 0.1 %</td>"));
    for absent in ["b", "d"] {
        assert!(!html.contains(&format!("<th scope=\"row\">{absent}</th>")), "{absent}");
    }
}

#[test]
fn the_file_is_quoted_for_the_shell() {
    let page = page_of(Body { connections: vec![connection("1", 1)], ..Body::default() });
    let command = r#""command":"tshark -r 'it'\\''s here.pcap' -Y ""#;
    assert!(page.to_html().contains(command));
}

#[test]
fn a_page_beyond_the_limit_leaves_out_the_last_connections_and_says_so() {
    // Lengths that no prediction saves: about 10 bytes a mark.
    let mut large = connection("1", 20_000);
    for (n, mark) in large.directions[0].panel.marks.iter_mut().enumerate() {
        let n = n as u64;
        let start = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        mark.kind = MarkKind::Retransmitted(Span::at(Offset(start), start % 60_000), Some("rto"));
        mark.frame = Some(1 + n * 5000 % 777_777);
    }
    let page = page_of(Body { connections: vec![large; 40], ..Body::default() });
    let html = page.to_html();
    assert!(html.len() < MAX_BYTES, "{}", html.len());
    assert!(html.len() > MAX_BYTES * 9 / 10, "{}", html.len());
    let shown = html.matches("<details class=\"connection\"").count();
    let said = format!("The page shows {shown} of 40 connections in detail, because it has at most 5 MB.");
    assert!(html.contains(&said));
}

#[test]
fn rows_beyond_the_limit_are_left_out() {
    let row = Row { cells: vec![Cell::Number(1.0)], ..Row::default() };
    let mut page = Page {
        table: Table {
            columns: vec![Column::default()],
            rows: vec![row; MAX_ROWS + 1],
            total: 5000,
            order: "that lost most time".into(),
        },
        ..Page::default()
    };
    let says = "<p>The table has 2,000 of 5,000 connections: those that lost most time.</p>";
    assert!(page.to_html().contains(says));
    page.table.rows.truncate(7);
    page.table.total = 7;
    assert!(!page.to_html().contains("The table has"));
    // Rows that are far too long for the page.
    page.table.rows = vec![Row { cells: vec![Cell::Text("x".repeat(10_000))], ..Row::default() }; MAX_ROWS];
    let html = page.to_html();
    assert!(html.len() < MAX_BYTES);
    assert!(html.contains("<p>The table has 125 of 2,000 connections: those that lost most time.</p>"));
}

#[test]
fn merged_marks_are_reported() {
    let mut busy = connection("1", MAX_MARKS as u64 * 3);
    busy.directions.push(Direction { sender: "server".into(), panel: panel(10) });
    let page = page_of(Body { connections: vec![busy], ..Body::default() });
    let html = page.to_html();
    assert!(html.contains("The diagrams have 60,010 marks, and the page holds at most 20,000 of a connection."));
    assert!(html.contains("are merged with a neighbour of their kind; every"));
    assert!(html.contains("\"count\":10,"), "the direction with few marks keeps them");
}

#[test]
fn changes_have_dots_and_intervals_on_one_scale() {
    let row = |change, interval| ChangeRow {
        cells: ["<rate>", "4.0", "2.0", "−2.0"].map(String::from).to_vec(),
        change,
        interval,
        own: Some(5.0),
    };
    let table = |rows| ChangeTable { heading: "Changed".into(), about: "For sure.".into(), rows };
    let mut rows = vec![row(Some(-50.0), Some((-80.0, -20.0))); 18];
    rows.extend([row(Some(500.0), Some((-900.0, 900.0))), row(None, None), row(Some(f64::NAN), None)]);
    let body = Body { changes: vec![table(rows), table(Vec::new())], ..Body::default() };
    let page = Page { body, ..Page::default() };
    let html = page.to_html();
    assert_eq!(html.matches("<section class=\"changes\">").count(), 1, "a table without rows is left out");
    assert!(html.contains("<th scope=\"row\">&lt;rate&gt;</th><td>4.0</td>"));
    assert!(html.contains("<span>−100</span>"), "nine in ten intervals fit");
    assert_eq!(html.matches("<svg viewBox=\"0 0 320 20\"").count(), 19);
    assert_eq!(html.matches("class=\"dot\"").count(), 18, "a change beyond the scale has no dot");
    assert_eq!(html.matches("class=\"beyond\"").count(), 2);
    // The middle is at 160, and the ends are 10 from the edges.
    assert!(html.contains("<circle class=\"dot\" cx=\"85.0\""), "{html}");
    assert!(html.contains("href=\"#changes\""));
}
