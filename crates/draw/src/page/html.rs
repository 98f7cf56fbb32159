//! The page around its parts: head, policy, scripts, and what fits.

use super::{
    Body, Connection, MAX_BYTES, MAX_ROWS, Page,
    changes::changes,
    data,
    static_parts::{Place, breakdown, connection_facts, overview, rows, sections},
};
use crate::html::{self, escaped, thousands};
use std::fmt::Write;

const UPLOT_LICENCE: &str = include_str!("uplot/LICENSE");

const STYLE: &str =
    concat!(include_str!("uplot/uPlot.min.css"), "\n", include_str!("../html/base.css"), include_str!("page.css"));

/// The patterns over the colours that are used more than once.
const PATTERNS: &str = "<svg class=\"definitions\" aria-hidden=\"true\">\
    <pattern id=\"stripes\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 8L8 0\"></path></pattern>\
    <pattern id=\"dots\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><circle cx=\"3\" cy=\"3\" r=\"1.4\"></circle></pattern>\
    </svg>\n";

/// What is left for sentences about what did not fit.
const SPARE: usize = 1000;

/// One script, so that one hash in the policy permits it. uPlot comes first and defines `uPlot`.
const SCRIPT: &str = concat!(
    include_str!("uplot/uPlot.iife.min.js"),
    "\n(() => {\n\"use strict\";\n",
    include_str!("../html/base.js"),
    include_str!("../html/theme.js"),
    include_str!("format.js"),
    include_str!("zoom.js"),
    include_str!("edge.js"),
    include_str!("charts.js"),
    include_str!("table.js"),
    include_str!("overview.js"),
    include_str!("marks.js"),
    include_str!("painter.js"),
    include_str!("diagram.js"),
    include_str!("retransmissions.js"),
    include_str!("main.js"),
    "})();\n"
);

// Writing to a string cannot fail, so results are ignored.
pub(super) fn write(page: &Page) -> String {
    let (data, table_rows) = table_data(page);
    let end = end(page, &data);
    let whole = Place::WHOLE;
    let mut html = String::new();
    head(&mut html, page);
    html.push_str(PATTERNS);
    introduction(&mut html, &page.body, whole);
    let mut rest = String::new();
    time_and_rates(&mut rest, &page.body, whole);
    table(&mut rest, page, table_rows);
    // The overview is longest if all captures are there to be linked to.
    let fixed = html.len() + overview(page, page.captures.len()).len() + rest.len() + end.len() + SPARE;
    let mut room = MAX_BYTES.saturating_sub(fixed);
    let captures = captures(page, &mut room);
    html.push_str(&overview(page, captures.len()));
    html.push_str(&rest);
    // Each body with connections may have as much of what is left for diagrams, and what one leaves is there for the
    // next ones.
    let shown = page.captures.iter().take(captures.len()).map(|capture| &capture.body);
    let mut sharing = shown.chain([&page.body]).filter(|body| !body.connections.is_empty()).count();
    let mut share = |html: &mut String, body: &Body, place: Place| {
        if !body.connections.is_empty() {
            room -= connections(html, body, place, room / sharing.max(1)).min(room);
            sharing = sharing.saturating_sub(1);
        }
    };
    share(&mut html, &page.body, whole);
    for (i, (capture, beginning)) in page.captures.iter().zip(&captures).enumerate() {
        html.push_str(beginning);
        share(&mut html, &capture.body, Place::capture(i));
        html.push_str("</section>\n");
    }
    if captures.len() < page.captures.len() {
        writeln!(
            html,
            "<p>The page shows {} of {} captures by themselves, because it has at most {} MB.</p>",
            thousands(captures.len() as u64),
            thousands(page.captures.len() as u64),
            MAX_BYTES / 1_000_000
        )
        .ok();
    }
    html.push_str(&end);
    html
}

/// The sections of the first captures, as many as fit into `room`, without their connections and open at the end.
fn captures(page: &Page, room: &mut usize) -> Vec<String> {
    let written = page.captures.iter().enumerate().map(|(i, capture)| {
        let place = Place::capture(i);
        let id = &place.id("capture");
        let (name, summary) = (escaped(&capture.name), escaped(&capture.summary));
        let mut html = format!(
            "<section class=\"capture\" id=\"{id}\" aria-labelledby=\"{id}-heading\">\n\
             <h2 id=\"{id}-heading\">{name}</h2>\n<p class=\"summary\">{summary}</p>\n"
        );
        introduction(&mut html, &capture.body, place);
        time_and_rates(&mut html, &capture.body, place);
        html
    });
    let fits = |html: &String| {
        let left = room.checked_sub(html.len() + SPARE);
        *room = left.unwrap_or(*room);
        left.is_some()
    };
    written.take_while(fits).collect()
}

/// The sentences before everything else.
fn introduction(html: &mut String, body: &Body, place: Place) {
    if !body.clock.is_empty() {
        writeln!(html, "<p class=\"note\">{}</p>", escaped(&body.clock)).ok();
    }
    sections(html, body, place);
    changes(html, &body.changes);
    for (i, of) in body.groups.iter().enumerate() {
        html.push_str(&rows(of, place, &format!("groups-{i}"), |_| None));
    }
}

fn head(html: &mut String, page: &Page) {
    html::open(
        html,
        &html::Head {
            title: &page.title,
            summary: &page.summary,
            style: STYLE,
            script: SCRIPT,
            skip: match page.body.changes.is_empty() {
                true => ("connections", "Skip to the table of connections"),
                false => ("changes", "Skip to the tables of changes"),
            },
        },
    );
}

fn time_and_rates(html: &mut String, body: &Body, place: Place) {
    if !body.breakdowns.is_empty() {
        place.open_section(html, "time", "Where time went");
        html.push_str("<div class=\"breakdowns\">\n");
        for part in &body.breakdowns {
            breakdown(html, part, place);
        }
        html.push_str("</div>\n</section>\n");
    }
    if body.charts.is_empty() {
        return;
    }
    place.open_section(html, "rates", "Over time");
    let heading = place.level + 1;
    for chart in &body.charts {
        let (title, about) = (escaped(&chart.heading), escaped(&chart.about));
        write!(
            html,
            "<figure class=\"chart\"><figcaption><h{heading}>{title}</h{heading}><p>{about}</p></figcaption>\n\
             <div class=\"plot\"></div></figure>\n"
        )
        .ok();
    }
    let data = data::charts(&body.charts);
    write!(html, "<script type=\"application/json\" class=\"charts\">{data}</script>\n</section>\n").ok();
}

/// The table as JSON, and the number of rows in it. Rows of extreme length leave room for
/// everything else.
fn table_data(page: &Page) -> (String, usize) {
    let mut rows = page.table.rows.len().min(MAX_ROWS);
    loop {
        let json = data::table(&page.table, rows);
        if json.len() < MAX_BYTES / 2 || rows == 0 {
            return (json, rows);
        }
        rows /= 2;
    }
}

fn table(html: &mut String, page: &Page, rows: usize) {
    if page.table.columns.is_empty() {
        return;
    }
    let total = page.table.total.max(page.table.rows.len() as u64);
    let what = if (rows as u64) < total {
        format!(
            "The table has {} of {} connections: those {}.",
            thousands(rows as u64),
            thousands(total),
            escaped(&page.table.order)
        )
    } else {
        String::new()
    };
    write!(
        html,
        "<section id=\"connections\" aria-labelledby=\"connections-heading\">\n\
         <h2 id=\"connections-heading\">Connections</h2>\n<p>{what}</p>\n\
         <div id=\"table\"></div>\n\
         <noscript><p>The table and all diagrams need JavaScript.</p></noscript>\n</section>\n"
    )
    .ok();
}

/// The connections in detail, as many as fit into `room` bytes. Returns how many bytes they took.
fn connections(html: &mut String, body: &Body, place: Place, room: usize) -> usize {
    let before = html.len();
    place.open_section(html, "details", "Connections in detail");
    if !body.connections_about.is_empty() {
        writeln!(html, "<p>{}</p>", escaped(&body.connections_about)).ok();
    }
    // The sentence about what did not fit comes after the connections.
    let room = room.saturating_sub(SPARE);
    let mut shown = 0;
    for of in &body.connections {
        let part = connection(of, place);
        if html.len() - before + part.len() > room {
            break;
        }
        shown += 1;
        html.push_str(&part);
    }
    if shown < body.connections.len() {
        writeln!(
            html,
            "<p>The page shows {shown} of {} connections in detail, because it has at most {} MB.</p>",
            body.connections.len(),
            MAX_BYTES / 1_000_000
        )
        .ok();
    }
    html.push_str("</section>\n");
    html.len() - before
}

fn connection(connection: &Connection, place: Place) -> String {
    let (json, thinning) = data::detail(connection);
    let heading = place.level + 1;
    let mut html = format!(
        "<details class=\"connection\" id=\"connection-{}\">\n\
         <summary><h{heading}>Connection {}: {}</h{heading}></summary>\n",
        escaped(&connection.id),
        connection.number,
        escaped(&connection.title)
    );
    connection_facts(&mut html, connection, thinning.as_deref());
    write!(
        html,
        "<div class=\"diagrams\"></div>\n<div class=\"retransmissions\"></div>\n\
         <script type=\"application/json\">{json}</script>\n</details>\n"
    )
    .ok();
    html
}

/// Everything after the connections.
fn end(page: &Page, data: &str) -> String {
    let mut html = String::from("</main>\n<footer>\n");
    for note in &page.notes {
        writeln!(html, "<p>{}</p>", escaped(note)).ok();
    }
    write!(
        html,
        "<p>{}</p>\n<details><summary>Licence of uPlot, which draws charts and axes</summary>\
         <pre>{}</pre></details>\n</footer>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(&page.generator),
        escaped(UPLOT_LICENCE)
    )
    .ok();
    html
}
