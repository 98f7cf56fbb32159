//! Recoup's analyzer judges the same flows from the packets alone, as a capture at the server shows them.

use super::{
    case,
    truth::{Retransmission, Truth, by_number},
};
use crate::bench::{Cause, Log};
use recoup_recovery::Trigger;
use recoup_tcp::flow::Host;
use recoup_trace::{
    analyze::{Kept, Settings, analyze},
    finding::{self, Triggers, Verdict},
    read::Reader,
};
use recoup_units::Direction;
use std::time::Duration;

/// How often the analyzer agrees with the truth.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Retransmissions of data by the server.
    pub retransmissions: u64,
    /// Of them, those that the analyzer found.
    pub found: u64,
    /// Packets that it called retransmissions and that are none.
    pub invented: u64,
    /// Right triggers, of those found.
    pub triggers: u64,
    /// Right verdicts, of those found.
    pub verdicts: u64,
    /// Verdicts that it does not give.
    pub unknowable: u64,
    /// What it has wrong.
    pub misses: Vec<Miss>,
}

/// A retransmission about which the analyzer is wrong.
#[derive(Clone, Debug)]
pub struct Miss {
    /// Its frame in the capture at the server.
    pub frame: u64,
    pub truth: Option<Retransmission>,
    pub found: Option<(Triggers, Verdict)>,
}

impl Agreement {
    /// Of one flow.
    ///
    /// # Errors
    /// When the capture cannot be read, which would be a defect of ours.
    pub fn of(log: &Log, flow: usize, truth: &Truth) -> Result<Self, String> {
        let in_words = |error: &dyn std::error::Error| format!("the bench's capture: {error}");
        let capture = log.write_capture(Host::Server, Some(flow), Vec::new()).map_err(|error| in_words(&error))?;
        let reader = Reader::new("the bench's capture", &capture[..]).map_err(|error| in_words(&error))?;
        let settings = Settings { threads: 0, ..Settings::default() };
        let analysis = analyze(reader, &settings, Kept::default, |_| true).map_err(|error| in_words(&error))?;
        let numbers: Vec<_> = log.captured(Host::Server, Some(flow)).iter().map(|(_, number, _)| *number).collect();
        let mut expected = by_number(truth);
        let mut agreement = Self { retransmissions: expected.len() as u64, ..Self::default() };
        for kept in analysis.findings {
            for row in kept.retransmissions.iter().filter(|row| row.len > 0) {
                let number = numbers.get(row.frame as usize - 1).copied();
                let Some(number) = number.filter(|number| log.packets[*number].direction == Direction::Down) else {
                    continue;
                };
                agreement.take(row, expected.remove(&number));
            }
        }
        for (number, truth) in expected {
            let frame = numbers.iter().position(|at| *at == number).map_or(0, |at| at as u64 + 1);
            agreement.misses.push(Miss { frame, truth: Some(truth), found: None });
        }
        agreement.misses.sort_by_key(|miss| miss.frame);
        Ok(agreement)
    }

    fn take(&mut self, row: &finding::Retransmission, truth: Option<Retransmission>) {
        let Some(expected) = truth else {
            self.invented += 1;
            return self.miss(row, truth);
        };
        self.found += 1;
        let trigger = agrees(row.triggers, &expected);
        let verdict = match row.verdict {
            Verdict::Needed => !expected.spurious,
            Verdict::Spurious => expected.spurious,
            Verdict::Unknowable => false,
        };
        self.unknowable += u64::from(row.verdict == Verdict::Unknowable);
        self.triggers += u64::from(trigger);
        self.verdicts += u64::from(verdict);
        if !(trigger && verdict) {
            self.miss(row, truth);
        }
    }

    fn miss(&mut self, row: &finding::Retransmission, truth: Option<Retransmission>) {
        self.misses.push(Miss { frame: row.frame, truth, found: Some((row.triggers, row.verdict)) });
    }

    /// Adds another flow's.
    pub fn add(&mut self, other: Self) {
        self.retransmissions += other.retransmissions;
        self.found += other.found;
        self.invented += other.invented;
        self.triggers += other.triggers;
        self.verdicts += other.verdicts;
        self.unknowable += other.unknowable;
        self.misses.extend(other.misses);
    }
}

/// How long after an ACK the reordering timer of RACK may wait at most (RFC 8985 §6.2: the smoothed round-trip time): less than
/// any other timer that sends data again.
const REORDERING_TIMER: Duration = case::RTT;

/// Whether a trigger is right: a timer's, if a timer made the stack send it; otherwise an ACK's. What follows a timeout may
/// leave at once or as ACKs let it. A reordering timer does what an ACK would do a little later.
fn agrees(found: Triggers, truth: &Retransmission) -> bool {
    let Some(trigger) = found.first() else { return false };
    let by_timer = truth.cause == Cause::Timer;
    let by_reordering_timer = by_timer && truth.since_arrival.is_some_and(|since| since <= REORDERING_TIMER);
    match trigger {
        Trigger::Rto | Trigger::Tlp => by_timer,
        Trigger::SlowStart => truth.after_timeout,
        _ => !by_timer || by_reordering_timer,
    }
}
