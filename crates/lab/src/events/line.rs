//! Writes a JSON object on one line, without a JSON library: floats would lose digits of times, and
//! the only text that needs escaping is escaped by the caller.

use recoup_tcp::flow::Host;
use recoup_units::{FlowId, Instant, Offset, Segments, Span};
use recoup_wire::Flags;
use std::fmt::{self, Write};
use std::time::Duration;

/// A line being written.
pub(super) struct Line<'a>(&'a mut String);

// Writing to a string cannot fail, so results are ignored.
impl<'a> Line<'a> {
    /// Begins a line with the fields of all events. `profile` is a JSON string.
    pub fn begin(
        text: &'a mut String,
        now: Instant,
        profile: &str,
        flow: FlowId,
        host: Option<Host>,
        event: &'static str,
    ) -> Self {
        let time = Millis(now.since(Instant::ZERO));
        write!(text, "{{\"time_ms\":{time},\"profile\":{profile}").ok();
        let mut line = Self(text);
        line.number("flow", Some(flow.0));
        line.name("host", host.map(Host::name));
        line.name("event", Some(event));
        line
    }

    pub fn end(self) {
        self.0.push_str("}\n");
    }

    fn key(&mut self, key: &'static str) {
        write!(self.0, ",\"{key}\":").ok();
    }

    fn value(&mut self, key: &'static str, value: Option<impl fmt::Display>) {
        self.key(key);
        match value {
            Some(value) => write!(self.0, "{value}").ok(),
            None => write!(self.0, "null").ok(),
        };
    }

    pub fn number(&mut self, key: &'static str, value: Option<u64>) {
        self.value(key, value);
    }

    pub fn span(&mut self, span: Option<Span>) {
        self.number("start", span.map(|span| span.start.0));
        self.number("end", span.map(|span| span.end.0));
    }

    pub fn segments(&mut self, key: &'static str, value: Segments) {
        self.value(key, Some(value.0));
    }

    pub fn truth(&mut self, key: &'static str, value: bool) {
        self.value(key, Some(value));
    }

    pub fn millis(&mut self, key: &'static str, value: Option<Duration>) {
        self.value(key, value.map(Millis));
    }

    /// A name of the engine's vocabulary; none needs escaping.
    pub fn name(&mut self, key: &'static str, value: Option<&'static str>) {
        self.value(key, value.map(Quoted));
    }

    pub fn flags(&mut self, key: &'static str, flags: Flags) {
        let text = flags.to_string();
        self.value(key, Some(Quoted(text.trim_matches(['[', ']']))));
    }

    pub fn range(&mut self, key: &'static str, range: Option<(Offset, Offset)>) {
        self.value(key, range.map(Range));
    }

    pub fn ranges(&mut self, key: &'static str, ranges: impl Iterator<Item = (Offset, Offset)>) {
        self.key(key);
        self.0.push('[');
        for (i, range) in ranges.enumerate() {
            let separator = if i > 0 { "," } else { "" };
            write!(self.0, "{separator}{}", Range(range)).ok();
        }
        self.0.push(']');
    }
}

/// Milliseconds with six decimals.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:06}", nanos / 1_000_000, nanos % 1_000_000)
    }
}

/// Text in which nothing needs escaping.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

struct Range((Offset, Offset));

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = self.0;
        write!(f, "[{start},{end}]")
    }
}
