//! A comparison as the value of an HTML page.

use super::text::{
    CLASS, CLASS_HEADS, LIMITS, about, check_in_words, class_row, facts_in_words, finding, heading, row,
};
use super::verdict::{Change, Verdict};
use super::{Comparison, LikeRequests};
use crate::wording::{capitalized, capture_name};
use recoup_draw::page::{
    Body, ChangeRow, ChangeTable, Column, ColumnKind, Importance, Overview, OverviewCell, Page, Point, Section,
};

/// The page of a comparison.
pub fn comparison_page(comparison: &Comparison) -> Page {
    let [before, after] = &comparison.captures;
    let names = [before, after].map(|facts| capture_name(&facts.capture));
    let mut sections =
        vec![Section { heading: "What changed".into(), paragraphs: vec![finding(comparison)], ..Section::default() }];
    if let Some(check) = &comparison.check {
        sections.push(Section {
            heading: "Whether the prediction came true".into(),
            paragraphs: vec![check_in_words(check)],
            ..Section::default()
        });
    }
    if !comparison.warnings.is_empty() {
        let points = comparison.warnings.iter().map(|text| Point { text: text.clone(), connection: None });
        let heading = "Why the captures may differ besides".into();
        sections.push(Section { heading, points: points.collect(), ..Section::default() });
    }
    let notes = comparison.captures.iter().flat_map(|facts| {
        let name = capture_name(&facts.capture);
        facts.notes.iter().map(move |note| format!("{name}: {note}"))
    });
    Page {
        title: format!("Recoup: {} and {}", names[0], names[1]),
        summary: format!("Before: {}. After: {}.", facts_in_words(before), facts_in_words(after)),
        body: Body {
            sections,
            changes: Verdict::ALL.into_iter().map(|verdict| changes(comparison, verdict)).collect(),
            groups: classes(&comparison.requests).into_iter().collect(),
            ..Body::default()
        },
        notes: std::iter::once(LIMITS.to_owned()).chain(notes).collect(),
        generator: format!("Recoup {}", env!("CARGO_PKG_VERSION")),
        ..Page::default()
    }
}

/// Completion times of like requests.
fn classes(requests: &[LikeRequests]) -> Option<Overview> {
    let column = |(number, heading): (usize, &&str)| Column {
        heading: (*heading).into(),
        about: match number {
            3 | 4 => "requests in this capture",
            5 | 6 => "mean completion time in this capture",
            7 => "of the change of the mean, in ms",
            _ => "",
        }
        .into(),
        kind: if (CLASS..7).contains(&number) { ColumnKind::Count } else { ColumnKind::Text },
        importance: Importance::High,
    };
    let row = |class: &LikeRequests| {
        let [before, after] = class.counts.map(|count| count as f64);
        let values = [before, after, class.mean_ms[0], class.mean_ms[1]];
        let value = |number: usize| number.checked_sub(CLASS).and_then(|at| values.get(at).copied());
        let cells = class_row(class).into_iter().enumerate();
        cells.map(|(number, text)| OverviewCell { text, value: value(number) }).collect()
    };
    (!requests.is_empty()).then(|| Overview {
        heading: "Completion times of like requests".into(),
        columns: CLASS_HEADS.iter().enumerate().map(column).collect(),
        rows: requests.iter().map(row).collect(),
    })
}

fn changes(comparison: &Comparison, verdict: Verdict) -> ChangeTable {
    ChangeTable {
        heading: heading(verdict).into(),
        about: capitalized(about(verdict)),
        rows: comparison.of_verdict(verdict).map(change_row).collect(),
    }
}

fn change_row(change: &Change) -> ChangeRow {
    let percent = |value: f64| 100.0 * value / change.before;
    let is_relative = change.before > 0.0;
    ChangeRow {
        cells: row(change),
        change: change.relative().map(|share| 100.0 * share),
        interval: change.interval.filter(|_| is_relative).map(|(low, high)| (percent(low), percent(high))),
        own: change.own_spread().filter(|_| is_relative).map(percent),
    }
}
