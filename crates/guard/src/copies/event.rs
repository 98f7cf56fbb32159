//! What the guard says and counts.

use crate::copies::connection::Exchange;
use crate::copies::decision::{Decision, Kind, Outcome, Veto};
use crate::copies::packet::Odd;
use recoup_units::Span;
use recoup_wire::{Endpoints, SeqNumber};
use std::collections::BTreeMap;
use std::time::Duration;

/// A segment of a connection, as reports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    pub connection: Endpoints,
    pub seq: SeqNumber,
    pub len: u32,
}

impl Named {
    pub fn of(connection: &Endpoints, isn: SeqNumber, span: Span) -> Self {
        Self { connection: *connection, seq: isn.at(span.start), len: span.len() as u32 }
    }
}

/// What the guard says.
#[derive(Clone, Debug)]
pub enum Event {
    /// A decision was made.
    Decided { what: Named, decision: Decision, bytes: usize },
    /// What became of one.
    Settled { what: Named, decision: Decision, outcome: Outcome, saved: Duration, is_control: bool },
    /// A transfer has ended.
    Exchanged { exchange: Exchange, is_control: bool },
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub connections: u64,
    pub control: u64,
    pub left_alone: BTreeMap<Odd, u64>,
    pub vetoes: BTreeMap<(Kind, Veto), u64>,
    /// Connections beyond the most that are followed.
    pub beyond: u64,
    pub sent: u64,
    pub sent_bytes: u64,
}
