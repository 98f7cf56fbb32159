//! The parts of the page that are HTML and need no script.

use super::{Body, Breakdown, Connection, Overview, Page, Part, Point, Ranked, Section};
use crate::html::escaped;
use std::{collections::HashMap, fmt::Write};

/// Where a body stands: on the page itself, or in the section of a capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The level of its headings.
    pub level: u8,
    /// The number of the capture, from 0.
    capture: Option<usize>,
}

impl Place {
    /// The page itself.
    pub const WHOLE: Self = Self { level: 2, capture: None };

    /// The section of a capture, by its number.
    pub const fn capture(number: usize) -> Self {
        Self { level: 3, capture: Some(number) }
    }

    /// An id of its own for a part of this name.
    pub fn id(self, name: &str) -> String {
        match self.capture {
            Some(number) => format!("{name}-{}", number + 1),
            None => name.into(),
        }
    }

    /// Opens a section of this name.
    pub fn open_section(self, html: &mut String, name: &str, heading: &str) {
        let (id, level) = (self.id(name), self.level);
        write!(
            html,
            "<section id=\"{id}\" class=\"{name}\" aria-labelledby=\"{id}-heading\">\n\
             <h{level} id=\"{id}-heading\">{heading}</h{level}>\n"
        )
        .ok();
    }
}

// Writing to a string cannot fail, so results are ignored.
pub(super) fn sections(html: &mut String, body: &Body, place: Place) {
    let shown: HashMap<&str, u64> = body.connections.iter().map(|c| (c.id.as_str(), c.number)).collect();
    // Advice follows the problems.
    let (first, others) = body.sections.split_at(body.sections.len().min(1));
    for part in first.iter().chain(&body.advice).chain(others) {
        section(html, part, place, &shown);
    }
}

fn section(html: &mut String, part: &Section, place: Place, shown: &HashMap<&str, u64>) {
    let level = place.level;
    write!(html, "<section class=\"sentences\">\n<h{level}>{}</h{level}>\n", escaped(&part.heading)).ok();
    for paragraph in &part.paragraphs {
        writeln!(html, "<p>{}</p>", prose(paragraph)).ok();
    }
    if !part.ranked.is_empty() {
        html.push_str("<ol class=\"ranked\">\n");
        for Ranked { name, amount, text } in &part.ranked {
            writeln!(
                html,
                "<li><strong>{}</strong> <span class=\"amount\">{}</span> <span>{}</span></li>",
                escaped(name),
                escaped(amount),
                prose(text)
            )
            .ok();
        }
        html.push_str("</ol>\n");
    }
    if !part.points.is_empty() {
        html.push_str("<ul>\n");
        for entry in &part.points {
            point(html, entry, shown);
        }
        html.push_str("</ul>\n");
    }
    html.push_str("</section>\n");
}

fn point(html: &mut String, point: &Point, shown: &HashMap<&str, u64>) {
    let text = prose(&point.text);
    let link = point.connection.as_deref().and_then(|id| shown.get_key_value(id));
    match link {
        Some((id, number)) => {
            writeln!(html, "<li>{text} <a href=\"#connection-{}\">Connection {number}</a></li>", escaped(id))
        }
        None => writeln!(html, "<li>{text}</li>"),
    }
    .ok();
}

/// A sentence, with code where backticks enclose it.
fn prose(text: &str) -> String {
    let mut html = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`')
        && let Some((code, after)) = after.split_once('`')
    {
        write!(html, "{}<code>{}</code>", escaped(before), escaped(code)).ok();
        rest = after;
    }
    html + &escaped(rest)
}

/// A row for each of several captures. The first `shown` captures have sections to link to.
pub(super) fn overview(page: &Page, shown: usize) -> String {
    let linked = |i| (i < shown).then(|| Place::capture(i).id("capture"));
    let of = page.overview.as_ref();
    of.map_or_else(String::new, |of| rows(of, Place::WHOLE, "captures", linked))
}

/// A table in a section of this name. `linked` gives the part of the page that a row's first cell leads to.
pub(super) fn rows(of: &Overview, place: Place, name: &str, linked: impl Fn(usize) -> Option<String>) -> String {
    let Overview { heading, columns, rows } = of;
    let mut html = String::new();
    place.open_section(&mut html, name, &escaped(heading));
    write!(
        html,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table class=\"overview\">\n<thead><tr>",
        escaped(heading)
    )
    .ok();
    let class = |number: usize| match columns.get(number).is_some_and(|column| column.kind.is_number()) {
        true => " class=\"number\"",
        false => "",
    };
    for (i, column) in columns.iter().enumerate() {
        let (class, about) = (class(i), escaped(&column.about));
        write!(html, "<th scope=\"col\"{class} title=\"{about}\">{}</th>", escaped(&column.heading)).ok();
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (i, row) in rows.iter().enumerate() {
        html.push_str("<tr>");
        for (j, cell) in row.iter().enumerate() {
            let text = escaped(&cell.text);
            let value = cell.value.map_or(String::new(), |value| format!(" data-value=\"{value}\""));
            match (j, linked(i)) {
                (0, Some(id)) => write!(html, "<th scope=\"row\"><a href=\"#{id}\">{text}</a></th>"),
                (0, None) => write!(html, "<th scope=\"row\">{text}</th>"),
                _ => write!(html, "<td{}{value}>{text}</td>", class(j)),
            }
            .ok();
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n</section>\n");
    html
}

/// The width of a bar in its own units.
const BAR: f64 = 1000.0;

/// A bar with a table of its parts.
pub(super) fn breakdown(html: &mut String, of: &Breakdown, place: Place) {
    let heading = place.level + 1;
    let parts: Vec<&Part> = of.parts.iter().filter(|part| part.amount.is_finite() && part.amount > 0.0).collect();
    let whole: f64 = parts.iter().map(|part| part.amount).sum();
    write!(
        html,
        "<figure class=\"breakdown\"><figcaption><h{heading}>{}</h{heading}><p>{}</p></figcaption>\n\
         <svg class=\"bar\" viewBox=\"0 0 {BAR} 28\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\n",
        escaped(&of.heading),
        escaped(&of.about)
    )
    .ok();
    let mut left = 0.0;
    for part in &parts {
        let width = part.amount / whole * BAR;
        swatch(html, part.colour, (left, width, 28.0), &label(part, whole));
        left += width;
    }
    html.push_str("</svg>\n<table>\n");
    for part in parts {
        html.push_str("<tr><td><svg class=\"swatch\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">");
        swatch(html, part.colour, (0.0, 12.0, 12.0), "");
        writeln!(
            html,
            "</svg></td><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"about\">{}</td></tr>",
            escaped(&part.name),
            escaped(&part.text),
            escaped(&share(part, whole)),
            escaped(&part.about)
        )
        .ok();
    }
    html.push_str("</table></figure>\n");
}

fn label(part: &Part, whole: f64) -> String {
    format!("{}: {} ({})", part.name, part.text, share(part, whole))
}

fn share(part: &Part, whole: f64) -> String {
    let percent = 100.0 * part.amount / whole;
    match percent {
        percent if percent < 0.1 => "< 0.1 %".into(),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A rectangle from `left`, with `width` and `height`, in a colour by its number.
fn swatch(html: &mut String, colour: usize, (left, width, height): (f64, f64, f64), title: &str) {
    let class = match colour {
        Part::GREY => "grey".to_string(),
        colour => format!("c{}", colour % Part::COLOURS),
    };
    let size = format!("x=\"{left:.2}\" width=\"{width:.2}\" height=\"{height}\"");
    write!(html, "<rect class=\"{class}\" {size}>").ok();
    if !title.is_empty() {
        write!(html, "<title>{}</title>", escaped(title)).ok();
    }
    html.push_str("</rect>");
    if colour == Part::GREY {
        return;
    }
    let pattern = colour / Part::COLOURS;
    for (bit, name) in [(1, "stripes"), (2, "dots")] {
        if pattern & bit != 0 {
            write!(html, "<rect class=\"{name}\" {size}></rect>").ok();
        }
    }
}

/// Facts about a connection, before its diagrams.
pub(super) fn connection_facts(html: &mut String, of: &Connection, thinning: Option<&str>) {
    html.push_str("<dl>\n");
    for (name, value) in &of.facts {
        writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value)).ok();
    }
    html.push_str("</dl>\n");
    for note in of.notes.iter().map(String::as_str).chain(thinning) {
        writeln!(html, "<p class=\"note\">{}</p>", escaped(note)).ok();
    }
}
