//! What came of a script, for reading.

use super::expect::in_script_time;
use super::host::Crossed;
use crate::packet::Packet;
use crate::script::Note;
use crate::wire::Clock;
use recoup_recovery::Profile;
use recoup_units::Instant;
use std::fmt::Write;

/// What came of running a script.
#[derive(Clone, Debug)]
pub struct Report {
    /// The profile it ran under.
    pub profile: Profile,
    /// Where it failed, if it did.
    pub failure: Option<Failure>,
    /// Every packet that crossed the wire, a line each: time in seconds, direction, packet.
    pub trace: Vec<String>,
    /// What code of the script printed, with the line it stands on.
    pub printed: Vec<(usize, String)>,
    /// What of the script had no effect.
    pub notes: Vec<Note>,
}

impl Report {
    /// Whether everything was as the script says.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }
}

/// Where and how a run departs from its script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The script's line.
    pub line: usize,
    /// What is wrong, in one line.
    pub message: String,
    /// The script's line, expected and actual packet, the last packets before: several lines, each
    /// ended.
    pub details: String,
}

/// Time in seconds, as scripts write it.
pub(crate) fn seconds(at: Instant) -> String {
    let micros = micros(at);
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Whole microseconds since the start: the finest time there is in scripts.
pub(crate) fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1000
}

pub(crate) fn trace_line(crossed: &Crossed, clock: &Clock) -> String {
    let sign = if crossed.outward { '>' } else { '<' };
    let packet = if crossed.outward {
        shown(&crossed.packet, clock)
    } else {
        crossed.packet.clone()
    };
    format!("{} {sign} {packet}", seconds(crossed.at))
}

/// A packet out, its timestamp as the script's clock has it.
pub(crate) fn shown(packet: &Packet, clock: &Clock) -> Packet {
    let options = packet.options.as_ref();
    Packet {
        options: options.map(|options| in_script_time(options, clock)),
        ..packet.clone()
    }
}

/// The details of a failure.
pub(crate) struct Details<'a> {
    pub line: usize,
    pub quoted: &'a str,
    /// Expected and actual, side by side.
    pub compared: Option<(String, String)>,
    pub before: Vec<String>,
}

/// Packets shown before a failure.
const BEFORE: usize = 6;

impl Details<'_> {
    pub fn text(&self) -> String {
        let mut out = format!("{:>6} | {}\n", self.line, self.quoted);
        if let Some((expected, actual)) = &self.compared {
            let _ = writeln!(out, "expected {expected}\n  actual {actual}");
        }
        if !self.before.is_empty() {
            out += "  before:\n";
            let skip = self.before.len().saturating_sub(BEFORE);
            for line in &self.before[skip..] {
                let _ = writeln!(out, "         {line}");
            }
        }
        out
    }
}
