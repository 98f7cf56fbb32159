use super::*;
use crate::sequence::{Mark, MarkKind};
use recoup_units::{Instant, Offset, Span};

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
    page.advice =
        Some(Section { heading: "What would help".into(), paragraphs: vec!["Nothing.".into()], ..Section::default() });
    assert!(page.to_html().contains("<h2>What would help</h2>\n<p>Nothing.</p>"));
}

#[test]
fn the_page_loads_nothing() {
    let page = Page { connections: vec![connection("1", 10)], ..Page::default() };
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
    let page = Page {
        sections: vec![Section { points: vec![point("1"), point("2")], ..Section::default() }],
        connections: vec![connection("1", 1)],
        ..Page::default()
    };
    let html = page.to_html();
    assert!(html.contains("<li>about 1. <a href=\"#connection-1\">Connection 1</a></li>"));
    assert!(html.contains("<li>about 2.</li>"));
}

#[test]
fn parts_of_a_whole_have_shares_and_parts_of_0_are_left_out() {
    let part =
        |name: &str, amount: f64| Part { name: name.into(), amount, text: format!("{amount} s"), ..Part::default() };
    let parts = [("a", 3.0), ("b", 0.0), ("c", 1.0), ("d", f64::NAN), ("e", 0.001)];
    let page = Page {
        breakdowns: vec![Breakdown {
            parts: parts.map(|(name, amount)| part(name, amount)).to_vec(),
            ..Breakdown::default()
        }],
        ..Page::default()
    };
    let html = page.to_html();
    assert!(html.contains("<th scope=\"row\">a</th><td>3 s</td><td>75 %</td>"));
    assert!(html.contains("<th scope=\"row\">e</th><td>0.001 s</td><td>&lt; 0.1 %</td>"));
    for absent in ["b", "d"] {
        assert!(!html.contains(&format!("<th scope=\"row\">{absent}</th>")), "{absent}");
    }
}

#[test]
fn the_file_is_quoted_for_the_shell() {
    let page = Page { connections: vec![connection("1", 1)], ..Page::default() };
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
    let page = Page { connections: vec![large; 40], ..Page::default() };
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
    let page = Page { connections: vec![busy], ..Page::default() };
    let html = page.to_html();
    assert!(html.contains("The diagrams have 60,010 marks, and the page holds at most 20,000 of a connection."));
    assert!(html.contains("are merged with a neighbour of their kind; every"));
    assert!(html.contains("\"count\":10,"), "the direction with few marks keeps them");
}
