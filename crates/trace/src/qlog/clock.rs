//! The times of a trace, as nanoseconds since 1970 where it says when it began, and since its beginning otherwise.
//!
//! Source: draft-ietf-quic-qlog-main-schema (§7.1), and draft-02 of it (`absolute`, `relative`, `delta`).
//!
//! Deviations: times never go back, because findings are intervals: an event that is earlier than the one before counts as
//! simultaneous with it. Times without a format are relative to the reference time, unless they are later than it.

use super::header::{CommonFields, Configuration};
use recoup_units::Instant;

/// Converts the times of a trace.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    format: Option<Format>,
    /// When times relative to it are 0, in ms since 1970.
    reference: f64,
    /// Milliseconds of a unit.
    unit: f64,
    /// The latest time, in ns since 1970.
    latest: Option<i64>,
    /// Events that were earlier than the one before.
    pub set_back: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Absolute,
    Relative,
    /// Since the event before; the first one, since the reference time.
    Delta,
}

impl Format {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "absolute" | "time" => Self::Absolute,
            "relative" | "relative_to_epoch" | "relative_time" => Self::Relative,
            "delta" | "relative_to_previous_event" | "delta_time" => Self::Delta,
            _ => return None,
        })
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self { format: None, reference: 0.0, unit: 1.0, latest: None, set_back: 0 }
    }
}

impl Clock {
    /// The clock that a trace describes.
    pub fn set(&mut self, common: &CommonFields, configuration: &Configuration) {
        if let Some(format) = common.time_format.as_deref() {
            self.format = Format::named(format);
        }
        if let Some(reference) = common.reference_ms() {
            self.reference = reference;
        }
        let units = configuration.time_units.as_deref().or(common.time_units.as_deref());
        match units {
            Some("us") => self.unit = 1e-3,
            Some("ms") => self.unit = 1.0,
            _ => {}
        }
    }

    /// When an event took place. `format`: its own, if it has one.
    pub fn at(&mut self, time: f64, format: Option<&str>) -> Instant {
        let ms = time * self.unit;
        let format = format.and_then(Format::named).or(self.format);
        let from = match format {
            Some(Format::Absolute) => 0,
            Some(Format::Relative) => nanos(self.reference),
            Some(Format::Delta) => self.latest.unwrap_or(nanos(self.reference)),
            None if ms >= self.reference => 0,
            None => nanos(self.reference),
        };
        let at = from.saturating_add(nanos(ms)).max(0);
        let latest = self.latest.unwrap_or(at);
        self.set_back += u64::from(at < latest);
        let at = latest.max(at);
        self.latest = Some(at);
        Instant::from_nanos(at.unsigned_abs())
    }
}

/// Milliseconds in whole nanoseconds. Those since 1970 have more digits than a float as nanoseconds.
fn nanos(ms: f64) -> i64 {
    // A cast of a float saturates.
    (ms.trunc() as i64).saturating_mul(1_000_000).saturating_add((ms.fract() * 1e6).round() as i64)
}
