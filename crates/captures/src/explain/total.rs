//! Several captures together.

use super::facts::Facts;
use super::groups::{Group, GroupBy};
use super::order::SortBy;
use crate::analysis::{Analyzed, Collector};
use crate::wording::{capture_name, count, grouped};
use std::collections::BTreeMap;
use std::time::Duration;

/// Notes on single captures that are kept.
const MOST_NOTES: usize = 10;

/// What several captures show together. None of their connections is followed from one to the other.
#[derive(Debug)]
pub struct Total {
    /// How many captures.
    pub captures: u64,
    /// The sum of their durations.
    pub length: Duration,
    /// Their sums.
    pub facts: Facts,
    /// Copies that `recoup guard` sent, and those in its log that no capture holds; `None`: its log is not known.
    pub copies: Option<[u64; 2]>,
    /// The captures of each note: how many, and the first.
    noted: BTreeMap<String, (u64, String)>,
}

impl Total {
    /// Without captures yet. Keeps the first `most` connections by this order, and groups connections by these properties, and
    /// by capture.
    pub fn new(order: SortBy, most: usize, by: &[GroupBy]) -> Self {
        let facts = Facts::new(order, most).with_groups(&[GroupBy::Capture]).with_groups(by);
        Self { captures: 0, length: Duration::ZERO, facts, copies: None, noted: BTreeMap::new() }
    }

    /// Adds a capture.
    pub fn add(&mut self, analyzed: &Analyzed<Facts>) {
        self.captures += 1;
        self.length += analyzed.findings.duration();
        if let Some(found) = &analyzed.counts.copies {
            // Each capture is looked through for all copies of the log.
            let captured = self.copies.map_or(0, |[captured, _]| captured) + found.captured;
            self.copies = Some([captured, found.logged.saturating_sub(captured)]);
        }
        let name = capture_name(&analyzed.capture).to_owned();
        for note in analyzed.notes() {
            self.noted.entry(note).or_insert_with(|| (0, name.clone())).0 += 1;
        }
        let mut facts = analyzed.findings.clone();
        let all = Group::of(&facts);
        facts.worst.name_capture(&name);
        facts.forget_stalls();
        self.facts.merge(facts);
        self.facts.groups.add_capture(&name, &all);
    }

    /// What limits the figures, and of how many captures.
    pub fn notes(&self) -> Vec<String> {
        let mut noted: Vec<_> = self.noted.iter().collect();
        noted.sort_by_key(|(note, (captures, _))| (std::cmp::Reverse(*captures), *note));
        let left_out = noted.len().saturating_sub(MOST_NOTES);
        let said = |(note, (captures, first)): (&String, &(u64, String))| match captures {
            1 => format!("{first}: {note}"),
            n => format!("{note} (in {} of {})", grouped(*n), count(self.captures, "capture")),
        };
        let mut notes: Vec<String> = noted.into_iter().take(MOST_NOTES).map(said).collect();
        if left_out > 0 {
            notes.push(format!("{}: each capture by itself (`--each`) has them", count(left_out as u64, "more note")));
        }
        notes
    }
}
