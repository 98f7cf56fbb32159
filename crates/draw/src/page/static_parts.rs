//! The parts of the page that are HTML and need no script.

use super::{Breakdown, Connection, Page, Part, Point, Ranked, Section};
use crate::html::escaped;
use std::{collections::HashSet, fmt::Write};

// Writing to a string cannot fail, so results are ignored.
pub(super) fn sections(html: &mut String, page: &Page) {
    let shown: HashSet<&str> = page.connections.iter().map(|c| c.id.as_str()).collect();
    // Advice follows the problems.
    let (first, others) = page.sections.split_at(page.sections.len().min(1));
    for part in first.iter().chain(&page.advice).chain(others) {
        section(html, part, &shown);
    }
}

fn section(html: &mut String, part: &Section, shown: &HashSet<&str>) {
    write!(html, "<section class=\"sentences\">\n<h2>{}</h2>\n", escaped(&part.heading)).ok();
    for paragraph in &part.paragraphs {
        writeln!(html, "<p>{}</p>", escaped(paragraph)).ok();
    }
    if !part.ranked.is_empty() {
        html.push_str("<ol class=\"ranked\">\n");
        for Ranked { name, amount, text } in &part.ranked {
            writeln!(
                html,
                "<li><strong>{}</strong> <span class=\"amount\">{}</span> <span>{}</span></li>",
                escaped(name),
                escaped(amount),
                escaped(text)
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

fn point(html: &mut String, point: &Point, shown: &HashSet<&str>) {
    let text = escaped(&point.text);
    let link = point.connection.as_deref().filter(|id| shown.contains(id));
    match link.map(escaped) {
        Some(id) => writeln!(html, "<li>{text} <a href=\"#connection-{id}\">Connection {id}</a></li>"),
        None => writeln!(html, "<li>{text}</li>"),
    }
    .ok();
}

/// The width of a bar in its own units.
const BAR: f64 = 1000.0;

/// A bar with a table of its parts.
pub(super) fn breakdown(html: &mut String, of: &Breakdown) {
    let parts: Vec<&Part> = of.parts.iter().filter(|part| part.amount.is_finite() && part.amount > 0.0).collect();
    let whole: f64 = parts.iter().map(|part| part.amount).sum();
    write!(
        html,
        "<figure class=\"breakdown\"><figcaption><h3>{}</h3><p>{}</p></figcaption>\n\
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
    if colour != Part::GREY && colour >= Part::COLOURS {
        write!(html, "<rect class=\"stripes\" {size}></rect>").ok();
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
