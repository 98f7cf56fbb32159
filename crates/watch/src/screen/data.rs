//! Copies of what the watcher shares. Its locks are held for as long as copying takes, and no longer.

use crate::event::Event;
use crate::outlet::sentence;
use crate::recent::{Listed, Survey};
use crate::shared::Shared;
use recoup_captures::explain::Report;
use recoup_trace::finding::{Connection, Retransmission};
use recoup_units::Instant;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Findings that are kept for the screen, and retransmissions of them.
const MOST_FINDINGS: usize = 1_000;

/// Rates are means over this much time.
const RATE_TIME: Duration = Duration::from_secs(5);

/// What is known.
#[derive(Debug, Default)]
pub struct Data {
    /// The time of the last update.
    pub now: Instant,
    pub name: String,
    pub open: u64,
    pub dropped: u64,
    /// Why watching has ended.
    pub ended: Option<String>,
    /// The last survey, and what it says.
    pub survey: Option<(Arc<Survey>, Report)>,
    /// How long ago the survey was made, by the clock of the packets.
    pub survey_age: Duration,
    /// Findings in sentences, the newest last.
    pub findings: VecDeque<Finding>,
    /// The retransmissions of findings, as they were last said.
    rows: VecDeque<Retransmission>,
    /// Events that were taken so far.
    taken: u64,
    samples: VecDeque<Sample>,
}

/// A finding in a sentence.
#[derive(Clone, Debug)]
pub struct Finding {
    pub at: Instant,
    /// The number of its connection.
    pub connection: Option<u64>,
    pub text: String,
}

/// Counts at a time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    packets: u64,
    bytes: u64,
    retransmissions: u64,
    dropped: u64,
}

/// What came in a second of the last few.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    pub packets: f64,
    pub bytes: f64,
    pub retransmissions: f64,
    /// Whether the kernel dropped frames lately.
    pub is_dropping: bool,
}

impl Data {
    /// Takes what is new.
    pub fn update(&mut self, shared: &Shared, now: Instant) {
        self.now = now;
        let (sample, new_survey) = {
            let status = shared.status();
            if self.name != status.name {
                self.name.clone_from(&status.name);
            }
            (self.open, self.dropped) = (status.open, status.dropped);
            self.ended.clone_from(&status.ended);
            let sample = Sample {
                at: now,
                packets: status.counts.packets,
                bytes: status.bytes,
                retransmissions: status.totals.retransmissions.iter().sum(),
                dropped: status.dropped,
            };
            let is_new = |survey: &&Arc<Survey>| self.survey.as_ref().is_none_or(|(old, _)| !Arc::ptr_eq(old, survey));
            let new = status.survey.as_ref().filter(is_new).map(|survey| (Arc::clone(survey), status.counts.clone()));
            if let Some(survey) = &status.survey {
                self.survey_age = status.settled.since(survey.at.min(status.settled));
            }
            (sample, new)
        };
        if let Some((survey, counts)) = new_survey {
            let report = Report::new(&Survey::clone(&survey).into_analyzed(&self.name, counts));
            self.survey = Some((survey, report));
        }
        self.sample(sample);
        let (taken, events) = shared.events_after(self.taken);
        self.taken = taken;
        events.into_iter().for_each(|(at, event)| self.hear(at, &event));
    }

    fn sample(&mut self, sample: Sample) {
        // The first one within the time stays.
        while self.samples.get(1).is_some_and(|second| sample.at.since(second.at.min(sample.at)) >= RATE_TIME) {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    fn hear(&mut self, at: Instant, event: &Event) {
        let key = |row: &Retransmission| (row.connection, row.capture_point, row.frame, row.seq.0);
        let connection = match event {
            Event::Retransmission { row, .. } | Event::Verdict { row, .. } | Event::Episode { row, .. } => {
                self.rows.retain(|known| key(known) != key(row));
                self.rows.push_back(*row);
                Some(row.connection)
            }
            Event::Withdrawn { was, .. } => {
                self.rows.retain(|known| key(known) != key(was));
                Some(was.connection)
            }
            Event::KernelReason { row, .. } => Some(row.connection),
            Event::KernelOnly { connection, .. } => Some(*connection),
            Event::Ended { connection } => Some(connection.id),
            Event::Note { .. } => None,
        };
        self.findings.extend(sentence(event).map(|text| Finding { at, connection, text }));
        self.findings.drain(..self.findings.len().saturating_sub(MOST_FINDINGS));
        self.rows.drain(..self.rows.len().saturating_sub(MOST_FINDINGS));
    }

    /// The rates of the last seconds.
    pub fn rates(&self) -> Rates {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return Rates::default();
        };
        let seconds = last.at.since(first.at.min(last.at)).as_secs_f64();
        if seconds <= 0.0 {
            return Rates::default();
        }
        let per_second = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        Rates {
            packets: per_second(last.packets, first.packets),
            bytes: per_second(last.bytes, first.bytes),
            retransmissions: per_second(last.retransmissions, first.retransmissions),
            is_dropping: last.dropped > first.dropped,
        }
    }

    /// The connection of this number in the last survey.
    pub fn listed(&self, id: u64) -> Option<&Listed> {
        self.survey.as_ref()?.0.listed.iter().find(|one| one.id == id)
    }

    /// What the connection of this number did in the last minute, if it is among those that lost most.
    pub fn ranked(&self, id: u64) -> Option<&Connection> {
        let ranked = self.survey.as_ref()?.0.facts.worst.connections().iter();
        ranked.map(|ranked| &ranked.connection).find(|connection| connection.id == id)
    }

    /// The retransmissions of a connection, as far as they are known, in the order of frames.
    pub fn rows(&self, id: u64) -> Vec<Retransmission> {
        let surveyed = self.survey.as_ref().into_iter().flat_map(|(survey, _)| survey.facts.worst.connections());
        let surveyed = surveyed.filter(|ranked| ranked.connection.id == id).flat_map(|one| &one.retransmissions);
        let all = surveyed.chain(self.rows.iter().filter(|row| row.connection == id));
        // Findings may be newer than the survey: of two, the last one stays.
        let by_place: std::collections::BTreeMap<_, _> = all.map(|row| ((row.frame, row.seq.0), *row)).collect();
        by_place.into_values().collect()
    }
}
