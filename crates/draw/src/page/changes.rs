//! Tables of quantities before and after a change, with a dot and an interval for each.

use super::{ChangeRow, ChangeTable};
use crate::html::escaped;
use std::fmt::Write;

/// The headings of the cells.
const HEADS: [&str; 6] = ["Quantity", "Before", "After", "Change", "95 % interval", "Halves differ by"];

/// The size of a drawing in its own units.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 20.0;

/// Scales end at one of these changes in per cent.
const ENDS: [f64; 8] = [10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 300.0, 400.0];

// Writing to a string cannot fail, so results are ignored.
pub(super) fn changes(html: &mut String, tables: &[ChangeTable]) {
    if tables.is_empty() {
        return;
    }
    let end = scale_end(tables);
    html.push_str("<div id=\"changes\">\n");
    for table in tables.iter().filter(|table| !table.rows.is_empty()) {
        write!(
            html,
            "<section class=\"changes\">\n<h2>{}</h2>\n<p>{}</p>\n<div class=\"scroll\"><table>\n<thead><tr>",
            escaped(&table.heading),
            escaped(&table.about)
        )
        .ok();
        for head in HEADS {
            write!(html, "<th scope=\"col\">{head}</th>").ok();
        }
        writeln!(
            html,
            "<th scope=\"col\" class=\"range\">Change, in % of the value before\
             <span class=\"scale\"><span>−{end}</span><span>0</span><span>+{end}</span></span></th></tr></thead>\n<tbody>"
        )
        .ok();
        table.rows.iter().for_each(|of| row(html, of, end));
        html.push_str("</tbody></table></div>\n</section>\n");
    }
    html.push_str("</div>\n");
}

/// The smallest end that shows nine in ten intervals whole.
fn scale_end(tables: &[ChangeTable]) -> f64 {
    let rows = tables.iter().flat_map(|table| &table.rows);
    let reach = rows.filter_map(|row| {
        let ends = row.interval.map(|(low, high)| low.abs().max(high.abs()));
        ends.or(row.change.map(f64::abs)).filter(|reach| reach.is_finite())
    });
    let mut reach: Vec<f64> = reach.collect();
    reach.sort_by(f64::total_cmp);
    let most = reach.get(reach.len() * 9 / 10).or(reach.last()).copied().unwrap_or_default();
    ENDS.into_iter().find(|end| *end >= most).unwrap_or(ENDS[ENDS.len() - 1])
}

fn row(html: &mut String, row: &ChangeRow, end: f64) {
    html.push_str("<tr>");
    for (i, cell) in row.cells.iter().enumerate() {
        let cell = escaped(cell);
        match i {
            0 => write!(html, "<th scope=\"row\">{cell}</th>"),
            _ => write!(html, "<td>{cell}</td>"),
        }
        .ok();
    }
    html.push_str("<td class=\"range\">");
    if let Some(change) = row.change.filter(|change| change.is_finite()) {
        drawing(html, row, change, end);
    }
    html.push_str("</td></tr>\n");
}

fn drawing(html: &mut String, row: &ChangeRow, change: f64, end: f64) {
    // The margin holds a dot at the end of the scale.
    let margin = HEIGHT / 2.0;
    let x = |percent: f64| WIDTH / 2.0 + percent.clamp(-end, end) / end * (WIDTH / 2.0 - margin);
    let middle = HEIGHT / 2.0;
    // The cells before say the same in words.
    write!(html, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-hidden=\"true\">").ok();
    if let Some(own) = row.own.filter(|own| own.is_finite()) {
        let (left, right) = (x(-own), x(own));
        write!(html, "<rect class=\"own\" x=\"{left:.1}\" width=\"{:.1}\" y=\"3\" height=\"14\"/>", right - left).ok();
    }
    let zero = x(0.0);
    write!(html, "<line class=\"zero\" x1=\"{zero}\" x2=\"{zero}\" y1=\"0\" y2=\"{HEIGHT}\"/>").ok();
    if let Some((low, high)) = row.interval.filter(|(low, high)| low.is_finite() && high.is_finite()) {
        write!(
            html,
            "<line class=\"interval\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>",
            x(low),
            x(high)
        )
        .ok();
        if low < -end {
            html.push_str("<path class=\"beyond\" d=\"M0 10L10 5V15Z\"/>");
        }
        if high > end {
            write!(html, "<path class=\"beyond\" d=\"M{WIDTH} 10L{0} 5V15Z\"/>", WIDTH - 10.0).ok();
        }
    }
    if change.abs() <= end {
        write!(html, "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{middle}\" r=\"5\"/>", x(change)).ok();
    }
    html.push_str("</svg>");
}
