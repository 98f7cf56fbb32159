//! A packet with bytes below the highest sent: what was known of it when it came, and what it turns out
//! to be.

use crate::finding::{Evidence, Triggers, Vantage, Verdict};
use crate::identify::MOST_CANDIDATES;
use crate::replay::Explained;
use crate::verdict::Copy;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::SeqNumber;
use std::time::Duration;

/// Why a packet is looked at: what was known of its bytes when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// They had been seen.
    Repeated,
    /// They had not, but higher ones; it was sent after those: `Some(true)`, before them:
    /// `Some(false)`, nobody knows: `None`.
    Filled(Option<bool>),
    /// They had been seen in a copy that was sent later.
    Late,
    /// It is in the capture twice.
    Doubled,
}

/// What the direction knows of the bytes sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Their first transmission, where it was captured.
    pub original: Option<Copy>,
    /// Some of them had not been seen before.
    pub lacking: bool,
    /// How often they had been sent again before, while they were outstanding.
    pub copies: Option<u16>,
    /// The least timestamp seen above them, where they fill a gap.
    pub revealed_ts: Option<u32>,
    /// The moving average of the round-trip time.
    pub rtt: Option<Duration>,
    /// Packets outstanding.
    pub flight: u32,
    /// The highest byte sent before.
    pub nxt: Offset,
}

/// A packet with bytes below the highest sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub frame: u64,
    pub captured_at: Instant,
    /// The same, but never before what came before it in the connection.
    pub at: Instant,
    pub span: Span,
    pub seq: SeqNumber,
    pub len: u32,
    pub syn: bool,
    pub fin: bool,
    pub cause: Cause,
    pub copy: u16,
    pub ts: Option<u32>,
    pub detection: Option<Duration>,
    pub recovery: Option<Duration>,
    pub recovered_by: Offset,
    pub rtt: Option<Duration>,
    pub flight: u32,
    pub triggers: Triggers,
    /// By candidate.
    pub explained: [Explained; MOST_CANDIDATES],
    pub verdict: (Verdict, Evidence),
    /// At the receiver: `None`, an original that was overtaken.
    pub arrival: Option<(Verdict, Evidence)>,
}

impl Row {
    /// The verdict, as the vantage lets it be known; `None` for what is no retransmission.
    pub fn judged(&self, vantage: Vantage) -> Option<(Verdict, Evidence)> {
        match self.cause {
            // Originals are sent in order, retransmissions after all that was seen before them.
            Cause::Filled(Some(false)) => None,
            Cause::Doubled => None,
            _ if vantage == Vantage::Receiver => self.arrival,
            Cause::Late => None,
            // No earlier copy has all of it.
            _ if vantage == Vantage::Sender && self.span.end > self.recovered_by => {
                Some((Verdict::Needed, Evidence::NoCopySeen))
            }
            Cause::Repeated | Cause::Filled(Some(true)) => Some(self.verdict),
            Cause::Filled(None) if vantage == Vantage::Sender => Some(self.verdict),
            Cause::Filled(None) => Some((Verdict::Unknowable, Evidence::LooksFirst)),
        }
    }
}

/// Adds up stretches of time that overlap.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    pub episodes: u32,
    episode_end: Option<Instant>,
    pub time: Duration,
    until: Option<Instant>,
}

impl Stretches {
    /// A retransmission: from the original to the ACK that ends the recovery.
    pub fn add(&mut self, row: &Row) {
        let end = row.at + row.recovery.unwrap_or_default();
        if self.episode_end.is_none_or(|last| row.at > last) {
            self.episodes += 1;
        }
        self.episode_end = self.episode_end.max(Some(end));
        let began = row.at - row.detection.unwrap_or_default();
        let from = self.until.map_or(began, |until| until.max(began));
        if end > from {
            self.time += end.since(from);
        }
        self.until = self.until.max(Some(end));
    }
}
