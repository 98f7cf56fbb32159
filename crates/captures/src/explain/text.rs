//! An explanation as text for a terminal: 80 lines at most.

use super::report::{CauseLine, Report};
use crate::wording::duration;
use std::fmt::Write;

/// The longest explanation, in lines.
pub const MOST_LINES: usize = 80;

/// Where lines are broken, in columns.
const WIDTH: usize = 100;

/// Causes that get sentences of their own.
const MOST_CAUSES: usize = 6;

/// The columns before the text of a cause: its number, name and lost time.
const BEFORE_CAUSE: usize = 37;

/// An explanation. `command` explains one connection if its number is put behind.
pub fn explanation_text(report: &Report, command: &str) -> String {
    if report.no_trouble {
        let mut line = format!("{}: {}", report.heading, untroubled(report));
        for reason in &report.not_known {
            _ = write!(line, " Not known: {reason}.");
        }
        return line + "\n";
    }
    let mut lines = vec![report.heading.clone(), String::new()];
    lines.extend(wrap(&report.finding, 0));
    let (first, others) = report.causes.split_at(report.causes.len().min(MOST_CAUSES));
    for (i, cause) in first.iter().enumerate() {
        lines.extend(cause_lines(i + 1, cause));
    }
    lines.extend(other_causes(others));
    lines.extend(advice_lines(report));
    lines.push(String::new());
    for sentence in &report.time {
        lines.extend(wrap(sentence, 0));
    }
    if !report.compared.is_empty() {
        lines.push("Measured, and usual on Google's servers in 2011:".into());
        lines.extend(report.compared.iter().map(|compared| format!("  {compared}")));
    }
    if !report.connections.is_empty() {
        lines.push(format!("Lost most (`{command} --connection N` explains one):"));
        for connection in &report.connections {
            let text = format!("  {:>6}  {}", connection.number, connection.text);
            lines.extend(wrap(&text, 10));
        }
    }
    if !report.not_known.is_empty() {
        lines.push("Not known:".into());
        for reason in &report.not_known {
            lines.extend(wrap(&format!("  - {reason}"), 4));
        }
    }
    let mut text = most_lines(lines, MOST_LINES).join("\n");
    text.push('\n');
    text
}

/// The advice, with each gain.
fn advice_lines(report: &Report) -> Vec<String> {
    let Some(advice) = &report.advice else {
        return Vec::new();
    };
    let mut lines = vec![String::new(), "What would have helped:".into()];
    lines.extend(wrap(&format!("  {}", advice.basis), 2));
    if !advice.nothing.is_empty() {
        lines.extend(wrap(&format!("  {}", advice.nothing), 2));
    }
    for (i, line) in advice.ranked.iter().enumerate() {
        let is_first_of_stacks =
            line.command.is_none() && advice.ranked[..i].iter().all(|before| before.command.is_some());
        if is_first_of_stacks {
            lines.push("  Only another TCP has:".into());
        }
        let head = format!("  {}. {:<22}{:>8}  ", i + 1, line.mechanism, line.amount());
        lines.extend(wrap(&format!("{head}{}", line.text), BEFORE_CAUSE));
    }
    lines
}

/// The text of a capture without trouble, after its heading.
fn untroubled(report: &Report) -> String {
    let mut text = report.finding.clone();
    for sentence in &report.time {
        _ = write!(text, " {sentence}");
    }
    text
}

/// The other causes, with the time of each.
fn other_causes(causes: &[CauseLine]) -> Vec<String> {
    if causes.is_empty() {
        return Vec::new();
    }
    let named: Vec<String> = causes.iter().map(|cause| format!("{} {}", cause.name, duration(cause.lost))).collect();
    wrap(&format!("     Also: {}.", named.join("; ")), 11)
}

fn cause_lines(number: usize, cause: &CauseLine) -> Vec<String> {
    let head = format!("  {number}. {:<22}{:>8}  ", cause.name, duration(cause.lost));
    wrap(&format!("{head}{}", cause.text), BEFORE_CAUSE)
}

/// The first lines, and how many more there are.
pub fn most_lines(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        let more = lines.len() - (most - 1);
        lines.truncate(most - 1);
        lines.push(format!("({more} more lines: --format json has everything)"));
    }
    lines
}

/// Units, which stay on the line of their number.
const UNITS: [&str; 8] = ["%", "ms", "s", "min", "h", "kB", "MB", "GB"];

/// Breaks a text at spaces. All lines but the first begin with `indent` spaces.
pub(super) fn wrap(text: &str, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut has_word = false;
    for word in words(text) {
        let width = line.chars().count() + 1 + word.chars().count();
        if has_word && !word.is_empty() && width > WIDTH && line.trim().chars().count() > 0 {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            line.push_str(&word);
            continue;
        }
        if has_word {
            line.push(' ');
        }
        line.push_str(&word);
        has_word = true;
    }
    lines.push(line);
    lines
}

/// The parts of a text that a line keeps together.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|last: char| last.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_at_spaces_and_indented() {
        let text = format!("  1. Lost SYNs  {} end.", "word ".repeat(30).trim_end());
        let lines = wrap(&text, 16);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("  1. Lost SYNs  word"));
        assert!(lines[1].starts_with("                word"), "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        // A number and its unit stay together.
        let text = format!("{} 11 %, and more", "x".repeat(WIDTH - 4));
        assert!(wrap(&text, 2)[1].starts_with("  11 %, and"), "{:?}", wrap(&text, 2));
        assert_eq!(wrap("short", 4), ["short"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let lines: Vec<String> = (0..50).map(|i| i.to_string()).collect();
        let kept = most_lines(lines, 40);
        assert_eq!(kept.len(), 40);
        assert!(kept[39].starts_with("(11 more lines"));
    }
}
