//! The last minute, in the sentences and the ranking of `recoup explain`.

use super::data::Data;
use super::look::Look;
use crate::recent::Survey;
use ratatui::text::Line;
use recoup_captures::explain::{CauseLine, Report, state_title, wrap_to};
use recoup_captures::wording::{count, duration, list};
use recoup_trace::finding::SenderState;

/// From this width on, the texts of causes stand in a column of their own.
const WIDE: u16 = 100;

/// Connections that are named.
const MOST_NAMED: usize = 5;

/// All lines.
pub fn lines(data: &Data, look: Look, width: u16) -> Vec<Line<'static>> {
    let Some((survey, report)) = &data.survey else {
        return vec![Line::from("No survey yet. The first one comes after 2 s.")];
    };
    let columns = usize::from(width);
    let mut lines = Vec::new();
    let title = format!("The last minute, surveyed {} ago", duration(data.survey_age));
    lines.push(Line::styled(title, look.strong()));
    if survey.facts.connections == 0 {
        lines.push(Line::from("No connection sent anything in the last minute."));
        return lines;
    }
    text(&mut lines, &report.heading, 2, columns);
    text(&mut lines, &report.finding, 0, columns);
    for (i, cause) in report.causes.iter().enumerate() {
        lines.extend(cause_lines(i + 1, cause, width).into_iter().map(Line::from));
    }
    lines.push(Line::default());
    if survey.active > 0 {
        text(&mut lines, &limits(survey), 2, columns);
    }
    report.time.iter().for_each(|sentence| text(&mut lines, sentence, 2, columns));
    report.differences.iter().for_each(|sentence| text(&mut lines, sentence, 2, columns));
    measured(&mut lines, report, look, columns);
    named(&mut lines, report, look, columns);
    if !report.not_known.is_empty() {
        lines.push(Line::styled("Not known:", look.strong()));
        report.not_known.iter().for_each(|reason| text(&mut lines, &format!("  - {reason}"), 4, columns));
    }
    lines
}

fn text(to: &mut Vec<Line<'static>>, text: &str, indent: usize, columns: usize) {
    to.extend(wrap_to(text, indent, columns).into_iter().map(Line::from));
}

fn cause_lines(number: usize, cause: &CauseLine, width: u16) -> Vec<String> {
    let lost = duration(cause.lost);
    let (head, indent) = match width >= WIDE {
        true => (format!("  {number}. {:<22}{lost:>8}  ", cause.name), 37),
        false => (format!("  {number}. {}, {lost}. ", cause.name), 5),
    };
    wrap_to(&format!("{head}{}", cause.text), indent, width.into())
}

/// What limits open connections now.
fn limits(survey: &Survey) -> String {
    let of = |state: SenderState| survey.limits[state as usize];
    let mut states: Vec<SenderState> = SenderState::ALL.into_iter().filter(|state| of(*state) > 0).collect();
    states.sort_by_key(|state| std::cmp::Reverse(of(*state)));
    let states: Vec<String> = states.into_iter().map(|state| format!("{} {}", state_title(state), of(state))).collect();
    let by = if states.is_empty() { String::new() } else { format!(", limited by: {}", list(&states)) };
    format!("{} active in the last minute{by}.", count(survey.active, "open connection"))
}

fn measured(to: &mut Vec<Line<'static>>, report: &Report, look: Look, columns: usize) {
    if !report.compared.is_empty() {
        to.push(Line::styled("Measured:", look.strong()));
    }
    for compared in &report.compared {
        text(to, &format!("  {}: {}", compared.what, compared.value), 4, columns);
    }
}

fn named(to: &mut Vec<Line<'static>>, report: &Report, look: Look, columns: usize) {
    if !report.connections.is_empty() {
        to.push(Line::styled("Lost most:", look.strong()));
    }
    for connection in report.connections.iter().take(MOST_NAMED) {
        text(to, &format!("  #{} {}", connection.number, connection.text), 4, columns);
    }
}
