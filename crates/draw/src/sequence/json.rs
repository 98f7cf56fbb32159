//! A diagram as JSON, for pages that draw it themselves.
//!
//! ```json
//! {"title": "…", "from": null, "to": null, "panels": [
//!   {"title": "…", "zero_windows": [[40.0, 80.0]], "marks": [
//!     {"k": "sent", "t": 10.25, "f": 4, "a": 0, "b": 1000},
//!     {"k": "again", "t": 90.5, "f": 9, "a": 0, "b": 1000,
//!      "trigger": "rto", "verdict": "needed", "why": "…"},
//!     {"k": "una", "t": 120.0, "f": 11, "a": 1000}]}]}
//! ```
//!
//! Times are in milliseconds. `f` is the frame number in the capture. Sequence space is counted from
//! the first data byte: `a` is the start or the only offset, `b` the end. Fields without a value are
//! left out.
//!
//! | `k`             | the mark                                              | further fields            |
//! |-----------------|-------------------------------------------------------|---------------------------|
//! | `sent`          | data, first transmission                              | `b`                       |
//! | `again`         | retransmission                                        | `b`, `trigger`, `verdict`, `why` |
//! | `copy`          | copy sent before any loss was detected                | `b`                       |
//! | `una`           | ACK that advances `snd_una` to `a`                    |                           |
//! | `dup`           | duplicate ACK                                         |                           |
//! | `sack`          | SACK block                                            | `b`                       |
//! | `window`        | the receive window ends at `a` from now on            |                           |
//! | `syn`, `fin`, `rst` | a segment with this flag left                     |                           |
//! | `note`          | text beside `a`                                       | `text`                    |

use super::{Control, Diagram, Mark, MarkKind, Necessity, Panel, position};
use recoup_units::{Instant, Offset};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

/// A time in milliseconds, exact to the nanosecond up to 104 days.
fn milliseconds(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e6
}

impl Serialize for Diagram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Diagram", 4)?;
        object.serialize_field("title", &self.title)?;
        object.serialize_field("from", &self.from.map(milliseconds))?;
        object.serialize_field("to", &self.to.map(milliseconds))?;
        object.serialize_field("panels", &self.panels)?;
        object.end()
    }
}

impl Serialize for Panel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let zero_windows = self.zero_windows().into_iter();
        let zero_windows: Vec<_> = zero_windows
            .map(|(from, to)| (milliseconds(from), milliseconds(to)))
            .collect();
        let mut object = serializer.serialize_struct("Panel", 3)?;
        object.serialize_field("title", &self.title)?;
        object.serialize_field("zero_windows", &zero_windows)?;
        object.serialize_field("marks", &self.marks)?;
        object.end()
    }
}

/// The offsets of a mark: one, or the start and the end of a span.
fn offsets(kind: &MarkKind) -> (Offset, Option<Offset>) {
    match kind {
        MarkKind::Sent(span)
        | MarkKind::Retransmitted(span, _)
        | MarkKind::Explained { span, .. }
        | MarkKind::ExtraCopy(span)
        | MarkKind::Sacked(span) => (span.start, Some(span.end)),
        MarkKind::Acked(one)
        | MarkKind::DuplicateAck(one)
        | MarkKind::ReceiveWindow(one)
        | MarkKind::Control(_, one)
        | MarkKind::Note(one, _) => (*one, None),
    }
}

fn name(kind: &MarkKind) -> &'static str {
    match kind {
        MarkKind::Sent(_) => "sent",
        MarkKind::Retransmitted(..) | MarkKind::Explained { .. } => "again",
        MarkKind::ExtraCopy(_) => "copy",
        MarkKind::Acked(_) => "una",
        MarkKind::DuplicateAck(_) => "dup",
        MarkKind::Sacked(_) => "sack",
        MarkKind::ReceiveWindow(_) => "window",
        MarkKind::Control(Control::Syn, _) => "syn",
        MarkKind::Control(Control::Fin, _) => "fin",
        MarkKind::Control(Control::Reset, _) => "rst",
        MarkKind::Note(..) => "note",
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        let (start, end) = offsets(&self.kind);
        object.serialize_entry("k", name(&self.kind))?;
        object.serialize_entry("t", &milliseconds(self.at))?;
        if let Some(frame) = self.frame {
            object.serialize_entry("f", &frame)?;
        }
        object.serialize_entry("a", &position(start))?;
        if let Some(end) = end {
            object.serialize_entry("b", &position(end))?;
        }
        match &self.kind {
            MarkKind::Retransmitted(_, Some(trigger)) => {
                object.serialize_entry("trigger", trigger)?;
            }
            MarkKind::Explained {
                trigger,
                necessity,
                reason,
                ..
            } => {
                object.serialize_entry("trigger", trigger)?;
                object.serialize_entry("verdict", Necessity::name(*necessity))?;
                object.serialize_entry("why", reason)?;
            }
            MarkKind::Note(_, text) => object.serialize_entry("text", text)?,
            _ => {}
        }
        object.end()
    }
}
