//! The tables, in Markdown.
//!
//! A cell has the median of the rounds, their range, and the ratio to Linux with cubic: the median of the ratios within
//! a round.

use crate::{
    case::{Case, Table},
    measure::{Measured, Served},
    senders::Sender,
};
use comfy_table::presets::ASCII_MARKDOWN;

/// The sender that the others are compared with.
const BASE: Sender = Sender::Linux;

/// The results of one sender in one case, round by round; `Err` where it failed, with the reason.
#[derive(Debug)]
pub struct Rounds {
    pub sender: Sender,
    pub case: Case,
    pub results: Vec<Result<Measured, String>>,
}

/// A quantity of a measurement.
struct Quantity {
    heading: &'static str,
    /// The value in the unit of the heading.
    value: fn(&Measured) -> Option<f64>,
}

/// The quantities that a case is reported in.
fn quantities(case: Case) -> &'static [Quantity] {
    const RATE_GBIT: Quantity = Quantity { heading: "Gbit/s", value: |measured| Some(rate(measured)? / 1e3) };
    const RATE_MBIT: Quantity = Quantity { heading: "Mbit/s", value: rate };
    const SENDER: Quantity = Quantity {
        heading: "CPU s/GB, sender",
        value: |measured| match measured {
            Measured::Stream { sender_time, .. } => *sender_time,
            _ => None,
        },
    };
    const MACHINE: Quantity = Quantity {
        heading: "CPU s/GB, all",
        value: |measured| match measured {
            Measured::Stream { machine_time, .. } => *machine_time,
            _ => None,
        },
    };
    const COMPLETION: Quantity = Quantity {
        heading: "ms",
        value: |measured| match measured {
            Measured::Completion(time) => Some(*time),
            _ => None,
        },
    };
    const MEMORY: Quantity = Quantity {
        heading: "kB",
        value: |measured| match measured {
            Measured::Memory(memory) => Some(*memory),
            _ => None,
        },
    };
    const ANSWERS: Quantity = Quantity { heading: "per s", value: |measured| Some(served(measured)?.rate) };
    const PER_THOUSAND: Quantity =
        Quantity { heading: "CPU s per 1,000, all", value: |measured| served(measured)?.machine_time };
    const MEDIAN: Quantity = Quantity { heading: "median, µs", value: |measured| Some(served(measured)?.median) };
    const MOST: Quantity = Quantity { heading: "99 % within, µs", value: |measured| Some(served(measured)?.most) };
    match case {
        Case::Bulk { .. } => &[RATE_GBIT, SENDER, MACHINE],
        Case::Loss { .. } => &[RATE_MBIT, MACHINE],
        Case::DelayedLoss { .. } | Case::LossBothWays { delayed: true } => &[RATE_MBIT],
        Case::LossBothWays { delayed: false } => &[RATE_MBIT, MACHINE],
        Case::Connections { .. } | Case::Requests { .. } => &[ANSWERS, PER_THOUSAND, MEDIAN, MOST],
        Case::Completion(_) => &[COMPLETION],
        Case::Idle => &[MEMORY],
    }
}

fn rate(measured: &Measured) -> Option<f64> {
    match measured {
        Measured::Stream { rate, .. } => Some(*rate),
        _ => None,
    }
}

fn served(measured: &Measured) -> Option<&Served> {
    match measured {
        Measured::Served(served) => Some(served),
        _ => None,
    }
}

/// One table with a heading; `None` if it has no results.
pub fn table(table: &Table, senders: &[Sender], all: &[Rounds]) -> Option<String> {
    let find = |sender, case| all.iter().find(|rounds| rounds.sender == sender && rounds.case == case);
    let mut text = comfy_table::Table::new();
    text.load_preset(ASCII_MARKDOWN);
    let mut header = vec!["sender".to_owned()];
    for (case, name) in &table.columns {
        let headings = quantities(*case).iter().map(|quantity| quantity.heading);
        header.extend(headings.map(|heading| format!("{name} ({heading})")));
    }
    text.set_header(header);
    let mut any = false;
    for &sender in senders {
        let mut row = vec![sender.title()];
        for (case, _) in &table.columns {
            let rounds = find(sender, *case);
            any |= rounds.is_some();
            let base = find(BASE, *case);
            let cells = quantities(*case).iter();
            row.extend(cells.map(|quantity| cell(rounds, base, quantity)));
        }
        if row[1..].iter().any(|cell| cell != ABSENT) {
            text.add_row(row);
        }
    }
    any.then(|| format!("### {}\n\n{text}\n", table.title))
}

/// Text of a cell without a result.
const ABSENT: &str = "–";

fn cell(rounds: Option<&Rounds>, base: Option<&Rounds>, quantity: &Quantity) -> String {
    let value = |result: &Result<Measured, String>| (quantity.value)(result.as_ref().ok()?);
    let Some(rounds) = rounds else {
        return ABSENT.into();
    };
    let mut values: Vec<f64> = rounds.results.iter().filter_map(value).collect();
    let Some(middle) = median(&mut values) else {
        return ABSENT.into();
    };
    let (least, most) = (values[0], values[values.len() - 1]);
    let mut text = format!("{} ({}–{})", round(middle), round(least), round(most));
    let base = base.filter(|base| base.sender != rounds.sender);
    if let Some(base) = base {
        let pairs = rounds.results.iter().zip(&base.results);
        let ratio = |(own, base)| Some(value(own)? / value(base)?);
        let mut ratios: Vec<f64> = pairs.filter_map(ratio).filter(|r| r.is_finite()).collect();
        if let Some(ratio) = median(&mut ratios) {
            text += &format!(" ×{}", round(ratio));
        }
    }
    text
}

/// The median. Sorts the values.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

/// A number with two or three digits, or all digits before the point.
fn round(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.00995 => 3,
        size if size >= 0.000_995 => 4,
        _ => 5,
    };
    format!("{value:.digits$}")
}

/// One line for each sender and case that failed in some round.
pub fn failures(all: &[Rounds]) -> Vec<String> {
    let mut lines = Vec::new();
    for rounds in all {
        let reasons: Vec<&String> = rounds.results.iter().filter_map(|r| r.as_ref().err()).collect();
        if let Some(reason) = reasons.first() {
            lines.push(format!(
                "- {}, {}: {} of {} rounds failed: {reason}",
                rounds.sender.title(),
                rounds.case,
                reasons.len(),
                rounds.results.len()
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(sender: Sender, values: &[Option<f64>]) -> Rounds {
        let result = |value: &Option<f64>| value.map(Measured::Completion).ok_or("stuck".into());
        Rounds {
            sender,
            case: Case::Completion(crate::case::LostTail::Tenth),
            results: values.iter().map(result).collect(),
        }
    }

    #[test]
    fn a_cell_has_the_median_the_range_and_the_ratio_within_rounds() {
        let base = rounds(Sender::Linux, &[Some(100.0), Some(200.0), Some(400.0)]);
        let own = rounds(Sender::Recoup, &[Some(50.0), Some(400.0), Some(200.0)]);
        let quantity = &quantities(own.case)[0];
        assert_eq!(cell(Some(&own), Some(&base), quantity), "200 (50.0–400) ×0.500");
        assert_eq!(cell(Some(&base), Some(&base), quantity), "200 (100–400)");
    }

    #[test]
    fn rounds_that_failed_do_not_count_but_are_reported() {
        let own = rounds(Sender::Recoup, &[Some(1.0), None, Some(3.0)]);
        let quantity = &quantities(own.case)[0];
        assert_eq!(cell(Some(&own), None, quantity), "2.00 (1.00–3.00)");
        let failed = rounds(Sender::Linux, &[None]);
        assert_eq!(cell(Some(&failed), None, quantity), ABSENT);
        assert_eq!(failures(&[own]), ["- Recoup, `linux-6`, ten segments, 10th lost: 1 of 3 rounds failed: stuck"]);
    }
}
