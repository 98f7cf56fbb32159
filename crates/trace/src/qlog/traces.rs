//! The traces of a file: their headers, and the connections whose events they hold.

use super::{
    clock::Clock,
    connection::Follower,
    event::{self, Record},
    header::Header,
    number::{Millis, Text},
};
use crate::{
    finding::Findings,
    read::{Counts, QlogCounts},
    timeline::Timeline,
};
use recoup_units::{Instant, visible};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::HashMap};

/// Connections of a trace that are followed at the same time. Beyond, the one that was silent for longest ends.
const MOST_OPEN: usize = 1 << 12;

/// The versions whose events are known, and the schemas of the current drafts.
const KNOWN_VERSIONS: [&str; 8] = [
    "draft-00",
    "draft-01",
    "draft-02",
    "0.3",
    "0.4",
    "urn:ietf:params:qlog:file:contained",
    "urn:ietf:params:qlog:file:sequential",
    "1.0",
];

/// Takes the events of a file, and passes on the findings about its connections.
pub(super) struct Traces<'f, F> {
    findings: &'f mut F,
    header: Header,
    clock: Clock,
    open: HashMap<String, Follower>,
    /// The number of the next connection.
    next: u64,
    counts: Counts,
    qlog: QlogCounts,
    timeline: Option<Timeline>,
}

impl<'f, F: Findings> Traces<'f, F> {
    pub fn new(findings: &'f mut F, timeline: bool) -> Self {
        Self {
            findings,
            header: Header::default(),
            clock: Clock::default(),
            open: HashMap::new(),
            next: 0,
            counts: Counts::default(),
            qlog: QlogCounts::default(),
            timeline: timeline.then(Timeline::default),
        }
    }

    /// The version that the file says it has.
    pub fn version(&mut self, value: &RawValue) {
        let version: String = serde_json::from_str(value.get()).unwrap_or_default();
        if !KNOWN_VERSIONS.contains(&version.as_str()) {
            self.qlog.unknown_version.get_or_insert_with(|| visible(&version).into_owned());
        }
    }

    /// A trace begins.
    pub fn begin_trace(&mut self) {
        self.end_trace();
        self.qlog.traces += 1;
    }

    /// Takes a field of the trace's header.
    pub fn field(&mut self, key: &str, value: &RawValue) {
        self.header.set(key, value);
        self.clock.set(&self.header.common, &self.header.configuration);
    }

    /// The trace ends: what its connections show is passed on.
    pub fn end_trace(&mut self) {
        let mut open: Vec<(String, Follower)> = self.open.drain().collect();
        open.sort_unstable_by_key(|(_, connection)| connection.id());
        for (name, connection) in open {
            self.close(&name, connection);
        }
        self.qlog.set_back += self.clock.set_back;
        self.header = Header::default();
        self.clock = Clock::default();
    }

    fn close(&mut self, name: &str, connection: Follower) {
        let name = match name {
            "" => self.header.common.connection().unwrap_or_default(),
            name => name,
        };
        let closed = connection.close(name, self.header.vantage_point);
        if let Some((connection, rows)) = closed {
            self.qlog.without_acks += u64::from(connection.quic.as_ref().is_some_and(|quic| !quic.has_acks));
            self.findings.connection(connection, &rows);
        }
    }

    /// Takes a record of a sequence: a header or an event. Returns whether it was readable.
    pub fn record(&mut self, text: &str) -> bool {
        if self.qlog.traces > 0 && self.event(text) {
            return true;
        }
        let Ok(fields) = serde_json::from_str::<HashMap<Cow<'_, str>, &RawValue>>(text) else {
            return false;
        };
        let versions = ["qlog_version", "file_schema"].map(|key| fields.get(key));
        let trace = fields.get("trace");
        if versions.iter().all(Option::is_none) && trace.is_none() {
            // A trace without a header.
            return self.qlog.traces == 0 && self.event(text);
        }
        self.begin_trace();
        versions.into_iter().flatten().for_each(|version| self.version(version));
        let fields = trace.and_then(|trace| serde_json::from_str::<HashMap<Cow<'_, str>, &RawValue>>(trace.get()).ok());
        for (key, value) in fields.into_iter().flatten() {
            self.field(&key, value);
        }
        true
    }

    /// An event or a record could not be read.
    pub fn unreadable(&mut self) {
        self.qlog.unreadable += 1;
        self.qlog.first_unreadable.get_or_insert(self.counts.frames);
    }

    /// Takes an event. Returns whether it was readable.
    pub fn event(&mut self, text: &str) -> bool {
        let is_list = text.trim_ascii_start().starts_with('[');
        let read = if is_list { self.listed(text) } else { self.object(text) };
        self.counts.frames += u64::from(read.is_none_or(|is_readable| is_readable));
        read.unwrap_or(true)
    }

    /// Takes an event that is an object. `None`: it is none that is read.
    fn object(&mut self, text: &str) -> Option<bool> {
        let Ok(record) = serde_json::from_str::<Record<'_>>(text) else {
            return Some(false);
        };
        let Some(Millis(time)) = record.time.filter(|_| !record.name.as_str().is_empty()) else {
            return Some(false);
        };
        let at = self.clock.at(time, record.time_format.as_ref().map(Text::as_str));
        let group = record.group_id.or(record.odcid).unwrap_or_default();
        self.take(at, record.name.as_str(), record.data, group.as_str())
    }

    /// Takes an event that is a list of the fields that its trace names (draft-00 and draft-01).
    fn listed(&mut self, text: &str) -> Option<bool> {
        let Ok(values) = serde_json::from_str::<Vec<&RawValue>>(text) else {
            return Some(false);
        };
        let place = |names: &[&str]| {
            let mut fields = self.header.event_fields.iter();
            fields.position(|field| names.iter().any(|name| field.eq_ignore_ascii_case(name)))
        };
        let value = |names: &[&str]| place(names).and_then(|at| values.get(at)).copied();
        let text = |names: &[&str]| value(names).and_then(|value| serde_json::from_str::<Text<'_>>(value.get()).ok());
        let times = ["time", "relative_time", "delta_time"];
        let time = value(&times).and_then(|time| serde_json::from_str::<Millis>(time.get()).ok());
        let format = times.into_iter().find(|name| place(&[name]).is_some());
        let (category, name) = (text(&["category"]), text(&["event", "event_type", "type"]));
        let (Some(Millis(time)), Some(name)) = (time, name) else {
            return Some(false);
        };
        let group = text(&["group_id", "odcid"]).unwrap_or_default();
        let data = value(&["data"]);
        let name = match category {
            Some(category) => format!("{}:{}", category.as_str(), name.as_str()),
            None => name.as_str().to_owned(),
        };
        let at = self.clock.at(time, format);
        self.take(at, &name, data, group.as_str())
    }

    fn take(&mut self, at: Instant, name: &str, data: Option<&RawValue>, group: &str) -> Option<bool> {
        let event = match event::read(name, data) {
            Ok(event) => event?,
            Err(_) => return Some(false),
        };
        self.counts.first_frame_at.get_or_insert(at);
        self.counts.packets += u64::from(event.is_packet());
        let number = self.counts.frames + 1;
        if !self.open.contains_key(group) {
            let connection = self.continued(at).unwrap_or_else(|| {
                self.make_room();
                let id = self.next;
                self.next += 1;
                Follower::new(id, number, at)
            });
            self.open.insert(group.to_owned(), connection);
        }
        if let Some(connection) = self.open.get_mut(group) {
            connection.take(number, at, event, self.timeline.as_mut());
        }
        Some(true)
    }

    /// The connection that goes on under another name: quinn's clients take the connection ID that the server chose once they have
    /// received it, between two events of the same time.
    fn continued(&mut self, at: Instant) -> Option<Follower> {
        let answered = self.open.iter().filter(|(_, connection)| connection.is_answered_at(at));
        let name = answered.min_by_key(|(_, connection)| connection.id()).map(|(name, _)| name.clone())?;
        self.open.remove(&name)
    }

    /// Closes the connection that was silent for longest, if there are too many.
    fn make_room(&mut self) {
        if self.open.len() < MOST_OPEN {
            return;
        }
        let oldest = self.open.iter().min_by_key(|(_, connection)| (connection.last(), connection.id()));
        if let Some(name) = oldest.map(|(name, _)| name.clone())
            && let Some(connection) = self.open.remove(&name)
        {
            self.close(&name, connection);
        }
    }

    /// All was read.
    pub fn finish(mut self) -> Counts {
        self.end_trace();
        if let Some(timeline) = self.timeline.take() {
            self.findings.timeline(timeline);
        }
        self.counts.qlog = Some(self.qlog);
        self.counts
    }
}
