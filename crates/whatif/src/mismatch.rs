//! How a rerun under the sender's own profile differs from the capture.

use crate::{network::RunLog, recorded::Recorded, rerun::Outcome};
use recoup_units::{Instant, Offset};
use std::{fmt, time::Duration};

/// A rerun that takes longer or shorter by more than this is not as the capture, in percent.
const MOST_APART: u32 = 5;

/// A rerun in which a larger share of the retransmissions differs is not as the capture, in percent of those captured.
/// Fewer than ten must be the same. Where a shallow queue loses hundreds of segments, one that is sent a little earlier
/// or later changes a few of them.
const MOST_DIFFERENT: u32 = 10;

/// Durations that differ by less count as equal: hosts round their timers.
const SAME: Duration = Duration::from_millis(5);

/// How the rerun of a connection differs from the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// No profile was given.
    NoProfile,
    /// Its data is not delivered.
    Incomplete,
    /// It retransmits other data.
    Retransmissions {
        /// Retransmissions of the capture that the rerun lacks.
        missing: u32,
        /// Retransmissions of the rerun that the capture lacks.
        added: u32,
    },
    /// It takes longer or shorter.
    Duration {
        /// Its duration in the capture.
        captured: Duration,
        /// Its duration in the rerun.
        rerun: Duration,
    },
}

impl Mismatch {
    /// The names of all kinds, in the order of reports.
    pub const NAMES: [&str; 4] = ["no_profile", "incomplete", "retransmissions", "duration"];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoProfile => Self::NAMES[0],
            Self::Incomplete => Self::NAMES[1],
            Self::Retransmissions { .. } => Self::NAMES[2],
            Self::Duration { .. } => Self::NAMES[3],
        }
    }

    /// Whether timers that are rounded in another way may be the reason: little differs.
    pub(crate) fn may_be_timers(&self) -> bool {
        match self {
            Self::NoProfile | Self::Incomplete => false,
            Self::Retransmissions { missing, added } => missing + added <= 2,
            Self::Duration { captured, rerun } => captured.abs_diff(*rerun) * 4 <= *captured,
        }
    }

    /// Compares a rerun with the capture. Returns how many retransmissions differ.
    pub(crate) fn check(recorded: &Recorded, rerun: &Outcome, log: &RunLog) -> Result<u32, Self> {
        if rerun.fct.is_none() {
            return Err(Self::Incomplete);
        }
        let again = recorded.transmissions.iter().filter(|sent| sent.copy > 1);
        let mut captured: Vec<Offset> = again.map(|sent| sent.span.start).collect();
        let mut repeated: Vec<Offset> = log.retransmissions.iter().map(|(start, _)| *start).collect();
        captured.sort_unstable();
        repeated.sort_unstable();
        let missing = count_without(&captured, &repeated);
        let added = count_without(&repeated, &captured);
        let different = missing + added;
        if different as usize * 100 > captured.len() * MOST_DIFFERENT as usize {
            return Err(Self::Retransmissions { missing, added });
        }
        let captured = recorded.duration();
        let rerun = log.last_echo.since(Instant::ZERO);
        let apart = captured.abs_diff(rerun);
        if apart > SAME && apart * 100 > captured * MOST_APART {
            Err(Self::Duration { captured, rerun })
        } else {
            Ok(different)
        }
    }
}

/// How many of `all` are not in `others`. Both are sorted.
fn count_without(all: &[Offset], others: &[Offset]) -> u32 {
    let mut others = others.iter().peekable();
    let mut without = 0;
    for one in all {
        while others.next_if(|other| *other < one).is_some() {}
        without += u32::from(others.next_if_eq(&one).is_none());
    }
    without
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProfile => f.write_str("the sender's profile is unknown"),
            Self::Incomplete => f.write_str("the rerun does not deliver all data"),
            Self::Retransmissions { missing, added } => {
                write!(f, "the rerun lacks {missing} retransmissions of the capture and has {added} others")
            }
            Self::Duration { captured, rerun } => {
                write!(f, "the rerun takes {} ms, the capture {} ms", rerun.as_millis(), captured.as_millis())
            }
        }
    }
}
