//! The forms of a trace: one JSON text with all events (`contained`), a JSON text sequence (RFC 7464), or a JSON text a line.
//!
//! Events are passed on one by one, so that memory does not grow with the file. A file may end anywhere: what is there is read.
//!
//! Deviation from RFC 7464: a record that is no JSON text is counted and left out, and reading goes on with the next one, as
//! §2.3 permits; the last one may be cut.

use super::traces::Traces;
use crate::{
    finding::Findings,
    read::{Ending, Window},
};
use recoup_units::visible;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::{
    fmt,
    io::{self, BufReader, Read},
};

/// The separator that begins each record of a sequence (RFC 7464 §2.2).
const RECORD_SEPARATOR: u8 = 0x1e;

/// The longest record of a sequence, in bytes.
const LONGEST_RECORD: usize = 1 << 24;

/// The first line is looked at up to this many bytes.
const FIRST_LINE: usize = 1 << 16;

/// The form of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Contained,
    Sequence,
    Lines,
}

impl Form {
    fn of(window: &mut Window<'_>) -> Self {
        window.fill(FIRST_LINE);
        let bytes = window.bytes().trim_ascii_start();
        if bytes.first() == Some(&RECORD_SEPARATOR) {
            return Self::Sequence;
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line) {
            Ok(first) if !first.contains_key("traces") => Self::Lines,
            _ => Self::Contained,
        }
    }
}

/// Reads all events. `goes_on` is asked after each of them. Returns how the trace ended, and whether it was read to there.
pub(super) fn read<F: Findings>(
    window: &mut Window<'_>,
    traces: &mut Traces<'_, F>,
    goes_on: &mut dyn FnMut() -> bool,
) -> (Ending, bool) {
    match Form::of(window) {
        Form::Contained => contained(window, traces, goes_on),
        Form::Sequence => sequence(window, RECORD_SEPARATOR, traces, goes_on),
        Form::Lines => sequence(window, b'\n', traces, goes_on),
    }
}

/// Reads records that a byte separates.
fn sequence<F: Findings>(
    window: &mut Window<'_>,
    separator: u8,
    traces: &mut Traces<'_, F>,
    goes_on: &mut dyn FnMut() -> bool,
) -> (Ending, bool) {
    loop {
        let offset = window.offset();
        let Some((length, is_last)) = next_record(window, separator) else {
            traces.end_trace();
            let what = format!("a record of more than {LONGEST_RECORD} bytes");
            return (Ending::Damaged { offset, what }, true);
        };
        let record = window.bytes().get(..length).unwrap_or_default().trim_ascii();
        let is_read = record.is_empty() || str::from_utf8(record).is_ok_and(|text| traces.record(text));
        if is_last {
            traces.end_trace();
            return match is_read {
                // Nothing is left of a record that was read.
                true => (window.ending(offset + length as u64), true),
                false => (Ending::Cut { offset }, true),
            };
        }
        if !is_read {
            traces.unreadable();
        }
        window.consume(length + 1);
        if !goes_on() {
            traces.end_trace();
            return (Ending::Whole, false);
        }
    }
}

/// The length of the next record, and whether it is the last one; `None` if it is too long.
fn next_record(window: &mut Window<'_>, separator: u8) -> Option<(usize, bool)> {
    let mut searched = 0;
    loop {
        let bytes = window.bytes();
        if let Some(at) = bytes.get(searched..)?.iter().position(|byte| *byte == separator) {
            return Some((searched + at, false));
        }
        searched = bytes.len();
        if searched > LONGEST_RECORD {
            return None;
        }
        if !window.fill(searched + 1) {
            return Some((searched, true));
        }
    }
}

/// Reads one JSON text with all events.
fn contained<F: Findings>(
    window: &mut Window<'_>,
    traces: &mut Traces<'_, F>,
    goes_on: &mut dyn FnMut() -> bool,
) -> (Ending, bool) {
    if window.bytes().starts_with(b"\xef\xbb\xbf") {
        window.consume(3);
    }
    let mut stopped = false;
    let mut goes_on = || {
        stopped = stopped || !goes_on();
        !stopped
    };
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(Bytes(window)));
    let result = File { traces, goes_on: &mut goes_on }.deserialize(&mut json);
    drop(json);
    traces.end_trace();
    let offset = window.offset();
    let ending = match result {
        _ if stopped => Ending::Whole,
        Ok(()) => Ending::Whole,
        Err(why) if why.is_eof() || why.is_io() => match window.ending(offset) {
            Ending::Whole => Ending::Cut { offset },
            other => other,
        },
        Err(why) => Ending::Damaged { offset, what: visible(&why.to_string()).into_owned() },
    };
    (ending, !stopped)
}

/// The window as a reader.
struct Bytes<'w, 'a>(&'w mut Window<'a>);

impl Read for Bytes<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.fill(1);
        let there = self.0.bytes();
        let count = there.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(there) {
            *to = *from;
        }
        self.0.consume(count);
        Ok(count)
    }
}

/// Reads a file.
struct File<'t, 'f, F> {
    traces: &'t mut Traces<'f, F>,
    goes_on: &'t mut dyn FnMut() -> bool,
}

/// Reads the list of traces.
struct TraceList<'t, 'f, F>(File<'t, 'f, F>);

/// Reads a trace.
struct OneTrace<'t, 'f, F>(File<'t, 'f, F>);

/// Reads the events of a trace.
struct EventList<'t, 'f, F>(File<'t, 'f, F>);

/// The same for another part of the file.
macro_rules! part {
    ($file:expr) => {
        File { traces: &mut *$file.traces, goes_on: &mut *$file.goes_on }
    };
}

impl<'de, F: Findings> DeserializeSeed<'de> for File<'_, '_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: Findings> Visitor<'de> for File<'_, '_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a qlog file")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traces" => map.next_value_seed(TraceList(part!(self)))?,
                "qlog_version" | "file_schema" => {
                    let value = map.next_value::<Box<RawValue>>()?;
                    self.traces.version(&value);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de, F: Findings> DeserializeSeed<'de> for TraceList<'_, '_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, F: Findings> Visitor<'de> for TraceList<'_, '_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of traces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(OneTrace(part!(self.0)))?.is_some() {}
        Ok(())
    }
}

impl<'de, F: Findings> DeserializeSeed<'de> for OneTrace<'_, '_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: Findings> Visitor<'de> for OneTrace<'_, '_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.traces.begin_trace();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "events" => map.next_value_seed(EventList(part!(self.0)))?,
                key => {
                    let value = map.next_value::<Box<RawValue>>()?;
                    self.0.traces.field(key, &value);
                }
            }
        }
        self.0.traces.end_trace();
        Ok(())
    }
}

impl<'de, F: Findings> DeserializeSeed<'de> for EventList<'_, '_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, F: Findings> Visitor<'de> for EventList<'_, '_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(event) = list.next_element::<Box<RawValue>>()? {
            if !self.0.traces.event(event.get()) {
                self.0.traces.unreadable();
            }
            if !(self.0.goes_on)() {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
