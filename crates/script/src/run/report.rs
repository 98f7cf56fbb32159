//! The report of a run.

use super::{expect::in_script_time, host::Crossed};
use crate::{
    packet::Packet,
    script::{Claim, Note},
    wire::Clock,
};
use recoup_guest::About;
use recoup_recovery::Profile;
use recoup_units::Instant;
use std::fmt::Write;

/// The result of running a script.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the script was run against.
    pub subject: Subject,
    /// What the script checks, if it says so.
    pub claim: Option<Claim>,
    /// The failure, if the script failed.
    pub failure: Option<Failure>,
    /// Why the script says nothing about the guest, if it does not apply to it.
    pub not_applicable: Option<NotApplicable>,
    /// Every packet that crossed the wire, one per line: time in seconds, direction, packet.
    pub trace: Vec<String>,
    /// The output of the script's code, with line numbers.
    pub printed: Vec<(usize, String)>,
    /// Notes on parts of the script without effect.
    pub notes: Vec<Note>,
}

impl Report {
    /// Whether the run matched the script.
    pub fn passed(&self) -> bool {
        self.failure.is_none() && self.not_applicable.is_none()
    }
}

/// What a script was run against.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Our endpoint, with this profile.
    Engine(Box<Profile>),
    /// The stack of another; unknown if it never began.
    Guest(Option<About>),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Engine(profile) => profile.fmt(f),
            Self::Guest(Some(about)) => write!(f, "{} {}", about.name, about.version),
            Self::Guest(None) => f.write_str("not begun"),
        }
    }
}

/// Why a script says nothing about a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotApplicable {
    /// The script's line.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

/// The first difference between a run and its script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The script's line.
    pub line: usize,
    /// The problem, in one line.
    pub message: String,
    /// The script's line, the expected and the actual packet, and the packets before. Several lines, each
    /// with its line end.
    pub details: String,
}

/// A time in seconds, as in scripts.
pub(crate) fn seconds(at: Instant) -> String {
    let micros = micros(at);
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Whole microseconds since the start, the resolution of scripts.
pub(crate) fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1000
}

pub(crate) fn trace_line(crossed: &Crossed, clock: &Clock) -> String {
    let sign = if crossed.outward { '>' } else { '<' };
    let packet = if crossed.outward { shown(&crossed.packet, clock) } else { crossed.packet.clone() };
    format!("{} {sign} {packet}", seconds(crossed.at))
}

/// An outgoing packet with its timestamp on the script's clock.
pub(crate) fn shown(packet: &Packet, clock: &Clock) -> Packet {
    let options = packet.options.as_ref();
    Packet { options: options.map(|options| in_script_time(options, clock)), ..packet.clone() }
}

/// The details of a failure.
pub(crate) struct Details<'a> {
    pub line: usize,
    pub quoted: &'a str,
    /// The expected and the actual packet.
    pub compared: Option<(String, String)>,
    pub before: Vec<String>,
}

/// The number of packets shown before a failure.
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
