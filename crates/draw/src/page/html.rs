//! The page around its parts: head, policy, scripts, and what fits.

use super::{
    Connection, MAX_BYTES, MAX_ROWS, Page, data,
    static_parts::{breakdown, connection_facts, sections},
};
use crate::html::{self, escaped, thousands};
use std::fmt::Write;

const UPLOT_LICENCE: &str = include_str!("uplot/LICENSE");

const STYLE: &str =
    concat!(include_str!("uplot/uPlot.min.css"), "\n", include_str!("../html/base.css"), include_str!("page.css"));

/// The pattern over the colours that are used a second time.
const STRIPES: &str = "<svg class=\"definitions\" aria-hidden=\"true\"><pattern id=\"stripes\" \
    width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 8L8 0\"></path></pattern></svg>\n";

/// One script, so that one hash in the policy permits it. uPlot comes first and defines `uPlot`.
const SCRIPT: &str = concat!(
    include_str!("uplot/uPlot.iife.min.js"),
    "\n(() => {\n\"use strict\";\n",
    include_str!("../html/base.js"),
    include_str!("../html/theme.js"),
    include_str!("format.js"),
    include_str!("zoom.js"),
    include_str!("charts.js"),
    include_str!("table.js"),
    include_str!("marks.js"),
    include_str!("painter.js"),
    include_str!("diagram.js"),
    include_str!("retransmissions.js"),
    include_str!("main.js"),
    "})();\n"
);

// Writing to a string cannot fail, so results are ignored.
pub(super) fn write(page: &Page) -> String {
    let mut html = String::new();
    head(&mut html, page);
    sections(&mut html, page);
    time_and_rates(&mut html, page);
    let (data, rows) = table_data(page);
    table(&mut html, page, rows);
    let end = end(page, &data);
    let room = MAX_BYTES.saturating_sub(html.len() + end.len());
    connections(&mut html, page, room);
    html.push_str(&end);
    html
}

fn head(html: &mut String, page: &Page) {
    html::open(
        html,
        &html::Head {
            title: &page.title,
            summary: &page.summary,
            style: STYLE,
            script: SCRIPT,
            skip: ("connections", "Skip to the table of connections"),
        },
    );
}

fn time_and_rates(html: &mut String, page: &Page) {
    if !page.breakdowns.is_empty() {
        html.push_str(STRIPES);
        html.push_str("<section id=\"time\" aria-labelledby=\"time-heading\">\n");
        html.push_str("<h2 id=\"time-heading\">Where time went</h2>\n<div class=\"breakdowns\">\n");
        for part in &page.breakdowns {
            breakdown(html, part);
        }
        html.push_str("</div>\n</section>\n");
    }
    if page.charts.is_empty() {
        return;
    }
    html.push_str("<section id=\"rates\" aria-labelledby=\"rates-heading\">\n");
    html.push_str("<h2 id=\"rates-heading\">Over time</h2>\n");
    for (i, chart) in page.charts.iter().enumerate() {
        let (heading, about) = (escaped(&chart.heading), escaped(&chart.about));
        write!(
            html,
            "<figure class=\"chart\"><figcaption><h3>{heading}</h3><p>{about}</p></figcaption>\n\
             <div class=\"plot\" data-chart=\"{i}\"></div></figure>\n"
        )
        .ok();
    }
    html.push_str("</section>\n");
}

/// Charts and table as JSON, and the number of rows in it. Rows of extreme length leave room for
/// everything else.
fn table_data(page: &Page) -> (String, usize) {
    let mut rows = page.table.rows.len().min(MAX_ROWS);
    loop {
        let json = data::charts_and_table(page, rows);
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

/// The connections in detail, as many as fit into `room` bytes.
fn connections(html: &mut String, page: &Page, room: usize) {
    if page.connections.is_empty() {
        return;
    }
    html.push_str("<section id=\"details\" aria-labelledby=\"details-heading\">\n");
    html.push_str("<h2 id=\"details-heading\">Connections in detail</h2>\n");
    if !page.connections_about.is_empty() {
        writeln!(html, "<p>{}</p>", escaped(&page.connections_about)).ok();
    }
    // The sentence about what did not fit comes after the connections.
    let mut room = room.saturating_sub(500);
    let mut shown = 0;
    for of in &page.connections {
        let part = connection(of);
        if part.len() > room {
            break;
        }
        room -= part.len();
        shown += 1;
        html.push_str(&part);
    }
    if shown < page.connections.len() {
        writeln!(
            html,
            "<p>The page shows {shown} of {} connections in detail, because it has at most {} MB.</p>",
            page.connections.len(),
            MAX_BYTES / 1_000_000
        )
        .ok();
    }
    html.push_str("</section>\n");
}

fn connection(connection: &Connection) -> String {
    let (json, thinning) = data::detail(connection);
    let id = escaped(&connection.id);
    let mut html = format!(
        "<details class=\"connection\" id=\"connection-{id}\">\n\
         <summary><h3>Connection {id}: {}</h3></summary>\n",
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
