//! An explanation as text for a terminal.

use super::groups::GroupRow;
use super::report::{CauseLine, Report, cause_title, costly};
use crate::text_table::aligned;
use crate::wording::{count, duration, grouped, millis, percent};
use recoup_trace::finding::Verdict;
use std::fmt::Write;

/// Where lines are broken, in columns.
const WIDTH: usize = 100;

/// Causes that get sentences of their own.
const MOST_CAUSES: usize = 6;

/// The columns before the text of a cause: its number, name and lost time.
const BEFORE_CAUSE: usize = 37;

/// How long a text may be, and what it says of what it leaves out.
#[derive(Clone, Debug)]
pub struct TextShape {
    /// The most lines; `None`: all.
    pub lines: Option<usize>,
    /// How many connections are listed.
    pub connections: usize,
    /// How many groups each table lists.
    pub groups: usize,
    /// What explains one connection, before `N`: `recoup explain server.pcap --connection`.
    pub one_connection: String,
    /// What stands before the names of options: `--` on the command line.
    pub option: &'static str,
    /// What shows all, in sentences: `--all`.
    pub all: &'static str,
}

/// Lines that belong together.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub lines: Vec<String>,
    /// Lines that always stay.
    pub least: usize,
}

impl Block {
    pub fn whole(lines: Vec<String>) -> Self {
        Self { least: lines.len(), lines }
    }
}

/// The blocks as lines. If these are more than `most`, the ends of blocks are left out, those of the last in `order` first. A
/// line says how many there are, and what shows them.
pub(super) fn fit(mut blocks: Vec<Block>, order: &[usize], shape: &TextShape) -> String {
    let most = shape.lines.unwrap_or(usize::MAX);
    let mut all: usize = blocks.iter().map(|block| block.lines.len()).sum();
    let mut left_out = vec![0; blocks.len()];
    for &number in order.iter().rev() {
        let Block { lines, least } = &mut blocks[number];
        let cut = (all.saturating_sub(most) + 1).min(lines.len().saturating_sub(*least));
        if all > most && cut > 1 {
            lines.truncate(lines.len() - cut);
            left_out[number] = cut;
            all -= cut - 1;
        }
    }
    let mut lines: Vec<String> = Vec::new();
    let mut gone = 0;
    for (block, left_out) in blocks.into_iter().zip(left_out) {
        // One line counts what is left out of neighbours.
        if gone > 0 && !block.lines.is_empty() {
            lines.push(format!("  ({gone} more lines: {})", shape.all));
            gone = 0;
        }
        lines.extend(block.lines);
        gone += left_out;
    }
    if gone > 0 {
        lines.push(format!("  ({gone} more lines: {})", shape.all));
    }
    lines.join("\n") + "\n"
}

/// An explanation.
pub fn explanation_text(report: &Report, shape: &TextShape) -> String {
    if report.no_trouble && report.groups.is_empty() {
        let mut line = format!("{}: {}", report.heading, untroubled(report));
        for reason in &report.not_known {
            _ = write!(line, " Not known: {reason}.");
        }
        return line + "\n";
    }
    let mut head = vec![report.heading.clone(), String::new()];
    head.extend(wrap(&report.finding, 0));
    let (first, others) = report.causes.split_at(report.causes.len().min(MOST_CAUSES));
    let mut causes: Vec<String> = first.iter().enumerate().flat_map(|(i, cause)| cause_lines(i + 1, cause)).collect();
    causes.extend(other_causes(others));
    let most_costly = first.first().map_or(0, |cause| cause_lines(1, cause).len());
    let advice = advice_lines(report);
    let mut time = vec![String::new()];
    time.extend(report.time.iter().flat_map(|sentence| wrap(sentence, 0)));
    let mut measured = Vec::new();
    if !report.compared.is_empty() {
        measured.push("Measured:".into());
        measured.extend(report.compared.iter().map(|compared| format!("  {}: {}", compared.what, compared.value)));
    }
    let differences: Vec<String> = report.differences.iter().flat_map(|sentence| wrap(sentence, 0)).collect();
    let blocks = vec![
        Block::whole(head),
        Block { lines: causes, least: most_costly },
        Block::whole(groups(report, shape)),
        Block { least: advice.len().min(3), lines: advice },
        Block { least: 2, lines: time },
        Block::whole(differences),
        Block { least: 0, lines: measured },
        Block::whole(connections(report, shape)),
        Block::whole(not_known(&report.not_known)),
    ];
    // The most important first.
    fit(blocks, &[1, 3, 4, 6], shape)
}

/// The tables of groups.
fn groups(report: &Report, shape: &TextShape) -> Vec<String> {
    let mut lines = Vec::new();
    for rows in report.groups.chunk_by(|row, next| row.by == next.by) {
        let by = &rows[0].by;
        let listed = rows.len().min(shape.groups);
        lines.push(String::new());
        lines.push(match rows.len() - listed {
            0 => format!("By {by}:"),
            more => format!("By {by} ({more} of {} left out: {}):", grouped(rows.len() as u64), shape.all),
        });
        let header = ["", "lost", "of their time", "mostly to", "connections", "retransmitted", "spurious", "RTT"];
        let texts = rows.iter().take(listed).map(group_texts);
        let table = aligned(&header, &[1, 2, 4, 5, 6, 7], texts).unwrap_or_default();
        lines.extend(table.lines().map(|line| format!("  {line}")));
        if let Some(filter) = rows.first().and_then(|row| row.filter.as_ref()) {
            lines.push(format!("  (`{}filter '{filter}'` explains the first alone)", shape.option));
        }
    }
    lines
}

/// The cells of a group.
fn group_texts(row: &GroupRow) -> Vec<String> {
    let group = &row.group;
    let again = group.retransmissions.total();
    let of_verdict = |verdict| group.retransmissions.of_verdict(verdict) as f64;
    vec![
        row.key.clone(),
        duration(group.lost.total()),
        percent(group.share_lost(), 1.0),
        costly(&group.lost).first().map_or("-".into(), |cause| cause_title(*cause).into()),
        grouped(group.connections),
        percent(again as f64, group.segments as f64),
        if again == 0 { "-".into() } else { percent(of_verdict(Verdict::Spurious), again as f64) },
        group.rtt.summary().map_or("-".into(), |rtt| millis(rtt.p50)),
    ]
}

/// The connections that come first.
fn connections(report: &Report, shape: &TextShape) -> Vec<String> {
    let listed: Vec<_> = report.connections.iter().take(shape.connections).collect();
    if listed.is_empty() {
        return Vec::new();
    }
    let left_out = report.losers.saturating_sub(listed.len() as u64);
    let more = match left_out {
        0 => String::new(),
        more => format!("; {}top lists {} more", shape.option, grouped(more)),
    };
    let mut lines = wrap(&format!("Lost most (`{} N` explains one{more}):", shape.one_connection), 2);
    for connection in listed {
        let capture = connection.capture.as_ref().map_or(String::new(), |capture| format!("{capture} "));
        let text = format!("  {:>6}  {}", format!("{capture}{}", connection.number), connection.text);
        lines.extend(wrap(&text, 10));
    }
    lines
}

/// What the capture does not show.
pub(super) fn not_known(reasons: &[String]) -> Vec<String> {
    let heading = (!reasons.is_empty()).then(|| "Not known:".to_owned());
    let reasons = reasons.iter().flat_map(|reason| wrap(&format!("  - {reason}"), 4));
    heading.into_iter().chain(reasons).collect()
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
    if advice.left_out > 0 {
        let more = count(advice.left_out as u64, "more change");
        lines.push(format!("  {more} would have helped: `recoup whatif` shows all."));
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

/// Units, which stay on the line of their number.
const UNITS: [&str; 9] = ["%", "µs", "ms", "s", "min", "h", "kB", "MB", "GB"];

/// Breaks a text at spaces. All lines but the first begin with `indent` spaces.
pub(crate) fn wrap(text: &str, indent: usize) -> Vec<String> {
    wrap_to(text, indent, WIDTH)
}

/// Breaks a text at spaces into lines of at most `most` columns, as far as words are short enough. All lines but the first begin
/// with `indent` spaces.
pub fn wrap_to(text: &str, indent: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut has_word = false;
    for word in words(text) {
        let width = line.chars().count() + 1 + word.chars().count();
        if has_word && !word.is_empty() && width > most && line.trim().chars().count() > 0 {
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
        assert_eq!(wrap_to("one two three", 2, 8), ["one two", "  three"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn what_matters_least_is_left_out_first_and_counted() {
        let block = |name: &str, n: usize| (0..n).map(|i| format!("{name}{i}")).collect::<Vec<_>>();
        let shape = |lines| TextShape {
            lines,
            connections: 3,
            groups: 9,
            one_connection: String::new(),
            option: "--",
            all: "--all shows them",
        };
        let blocks = || {
            vec![
                Block { lines: block("a", 10), least: 2 },
                Block { lines: block("b", 10), least: 1 },
                Block::whole(block("c", 5)),
            ]
        };
        let text = |lines| fit(blocks(), &[0, 1], &shape(lines));
        assert_eq!(text(None).lines().count(), 25);
        assert_eq!(text(Some(25)), text(None));
        let cut = text(Some(20));
        assert_eq!(cut.lines().count(), 20);
        assert!(cut.contains("b3\n  (6 more lines: --all shows them)\nc0\n"), "{cut}");
        let cut = text(Some(12));
        assert!(cut.contains("a3\n  (6 more lines: --all shows them)\nb0\n  (9 more lines:"), "{cut}");
        // What always stays may be longer.
        let least = text(Some(1));
        assert!(least.ends_with("c4\n") && least.starts_with("a0\na1\n  (8 more"), "{least}");
    }
}
