//! The page's data as JSON, which the scripts read.

use super::{
    Cell, Chart, ColumnKind, Connection, MAX_FRAMES, MAX_MARKS, Table,
    encoding::{Encoded, encode, items},
    thinning::thin,
};
use crate::{html::thousands, sequence::Panel};
use recoup_units::Instant;
use serde::Serialize;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// A direction with few marks keeps this many, however many the other one has.
const LEAST_LIMIT: usize = 500;

/// The number of closed windows of a panel that the page holds.
const MAX_ZERO_WINDOWS: usize = 2000;

/// A connection's diagrams as the page holds them.
#[derive(Debug, Serialize)]
pub(super) struct Detail {
    /// The command that prints packets of the connection, up to its filter.
    command: String,
    /// The filter for all of them.
    filter: String,
    /// From the capture's first frame to time 0 of the panels, in microseconds.
    begun: u64,
    panels: Vec<PanelData>,
}

#[derive(Debug, Serialize)]
struct PanelData {
    title: String,
    sender: String,
    /// When the receive window was closed: from and until, in microseconds.
    #[serde(rename = "zeroWindows")]
    zero_windows: Vec<(u64, u64)>,
    marks: Encoded,
}

/// A connection's diagrams as JSON, and a sentence about what they leave out, if anything.
pub(super) fn detail(connection: &Connection) -> (String, Option<String>) {
    let marks: Vec<_> = connection.directions.iter().map(|d| items(&d.panel)).collect();
    let total: usize = marks.iter().map(Vec::len).sum();
    let (mut merged, mut left_out) = (0, 0);
    let mut panels = Vec::with_capacity(marks.len());
    for (direction, items) in connection.directions.iter().zip(marks) {
        let share = items.len() as f64 / total.max(1) as f64;
        let limit = (MAX_MARKS as f64 * share) as usize;
        let thinned = thin(items, limit.max(LEAST_LIMIT));
        merged += thinned.merged;
        left_out += thinned.left_out;
        panels.push(PanelData {
            title: direction.panel.title.clone(),
            sender: direction.sender.clone(),
            zero_windows: zero_windows(&direction.panel),
            marks: encode(&thinned.items),
        });
    }
    let detail = Detail {
        command: format!("tshark -r {} -Y ", quoted(&connection.file)),
        filter: connection.filter.clone(),
        begun: u64::try_from(connection.begun.as_micros()).unwrap_or(u64::MAX),
        panels,
    };
    (to_json(&detail), thinning_note(total, merged, left_out))
}

/// The times in microseconds. Of very many, the longest.
fn zero_windows(panel: &Panel) -> Vec<(u64, u64)> {
    let mut found = panel.zero_windows();
    if found.len() > MAX_ZERO_WINDOWS {
        found.sort_by_key(|&(from, to)| Reverse(to.since(from)));
        found.truncate(MAX_ZERO_WINDOWS);
    }
    let micros = |at: Instant| at.as_nanos() / 1000;
    let all = found.into_iter().map(|(from, to)| (micros(from), micros(to)));
    all.collect()
}

/// `text` as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn thinning_note(total: usize, merged: usize, left_out: usize) -> Option<String> {
    if merged == 0 && left_out == 0 {
        return None;
    }
    let text = |count: usize| thousands(count as u64);
    let rest = match left_out {
        0 => "; every retransmission is shown on its own".into(),
        left_out => format!(", and {} are left out", text(left_out)),
    };
    Some(format!(
        "The diagrams have {} marks, and the page holds at most {} of a connection. {} are merged with \
         a neighbour of their kind{rest}.",
        text(total),
        text(MAX_MARKS),
        text(merged)
    ))
}

/// Charts as JSON.
pub(super) fn charts(charts: &[Chart]) -> String {
    to_json(&charts.iter().map(chart).collect::<Vec<_>>())
}

fn chart(chart: &Chart) -> Value {
    let series = chart.series.iter().map(|series| {
        let values: Vec<Value> = series.values.iter().map(|v| number(*v, 5)).collect();
        json!({ "name": series.name, "values": values })
    });
    let times = chart.intervals.iter().flat_map(|(from, until)| [from, until]);
    json!({
        "yLabel": chart.y_label,
        "xLabel": chart.x_label,
        "times": times.map(|s| decimals(*s, 6)).collect::<Vec<_>>(),
        "series": series.collect::<Vec<_>>(),
    })
}

/// The first `rows` rows of the table, as JSON.
pub(super) fn table(table: &Table, rows: usize) -> String {
    let columns = table.columns.iter().map(|column| {
        json!({
            "heading": column.heading,
            "about": column.about,
            "kind": column.kind,
            "importance": column.importance,
        })
    });
    let rows = table.rows.iter().take(rows).map(|row| {
        let kinds = table.columns.iter().map(|column| column.kind);
        let cells = row.cells.iter().zip(kinds).map(|(cell, kind)| match (cell, kind) {
            (Cell::Empty, _) => Value::Null,
            (Cell::Text(text), _) => Value::from(text.as_str()),
            (Cell::Number(value), ColumnKind::Moment) => decimals(*value, 3),
            (Cell::Number(value), _) => number(Some(*value), 5),
        });
        let mut entry = vec![
            Value::from(row.connection.as_str()),
            Value::from(row.filter.as_str()),
            Value::from(differences(&row.retransmissions)),
        ];
        entry.extend(cells);
        Value::from(entry)
    });
    to_json(&json!({ "columns": columns.collect::<Vec<_>>(), "rows": rows.collect::<Vec<_>>() }))
}

/// Each frame less the one before, which takes fewer digits.
fn differences(frames: &[u64]) -> Vec<u64> {
    let mut last = 0;
    let less_last = |&frame: &u64| frame.saturating_sub(std::mem::replace(&mut last, frame));
    frames.iter().take(MAX_FRAMES).map(less_last).collect()
}

/// A number with as many significant digits as readers see, since each digit is a byte of the page.
/// Whole numbers keep all digits.
fn number(value: Option<f64>, digits: i32) -> Value {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return Value::Null;
    };
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    decimals(value, digits - 1 - magnitude)
}

/// A number with at most so many decimals. Whole numbers have no point.
fn decimals(value: f64, decimals: i32) -> Value {
    let scale = 10_f64.powi(decimals.clamp(0, 300));
    let rounded = (value * scale).round() / scale;
    let rounded = if rounded.is_finite() { rounded } else { value };
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        return Value::from(rounded as i64);
    }
    Value::from(rounded)
}

/// JSON that can stand in a script element: `<` would end it in `</script>`, and begin a comment in
/// `<!--`.
fn to_json(value: &impl Serialize) -> String {
    // No map has keys other than strings, and no serializer here fails.
    let json = serde_json::to_string(value).unwrap_or_default();
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_five_digits_and_whole_numbers_all() {
        let cases = [
            (0.0, "0"),
            (12_345_678.0, "12345678"),
            (1.234_567_8, "1.2346"),
            (0.000_123_456_78, "0.00012346"),
            (123_456.78, "123457"),
            (-0.0, "0"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
        ];
        for (value, text) in cases {
            assert_eq!(number(Some(value), 5).to_string(), text, "{value}");
        }
    }

    #[test]
    fn text_cannot_end_the_script_element() {
        let json = to_json(&"</script><!--");
        assert_eq!(json, r#""\u003c/script>\u003c!--""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</script><!--");
    }
}
