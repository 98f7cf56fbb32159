//! Reads traces of QUIC (qlog), and explains their losses as those of captures are explained.
//!
//! ```text
//! window ─► records: one JSON text, a sequence, lines ─► traces ─► event ─► connection ─► sent, recovery, division
//!                                                                              └─► close ─► finding
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `records` | the forms of a file, event by event |
//! | `traces`, `header`, `clock` | the traces of a file, what each says of itself, and their times |
//! | `event`, `number` | events by the names and types of every version |
//! | `connection` | follows one connection: packets, ACKs, losses, probes, flow control |
//! | `sent`, `recovery` | what is in flight; loss declarations and probes, and when the lost data was acknowledged |
//! | `credit` | flow control: how far data may go |
//! | `division` | the states of the sender over time |
//! | `close` | verdicts, costs and causes |
//! | `counts` | what was read, and its limits |
//!
//! Sources: draft-ietf-quic-qlog-main-schema and draft-ietf-quic-qlog-quic-events (the current drafts, and their revisions 00 to
//! 02 with `qlog_version` 0.3), RFC 7464 for sequences, RFC 9000 and RFC 9002 for what events mean.
//!
//! No engine is replayed: a trace states what its sender decided. What ACKs show is judged from them.

mod clock;
mod close;
mod connection;
mod counts;
mod credit;
mod division;
mod event;
mod header;
mod number;
mod records;
mod recovery;
mod sent;
mod traces;

pub use counts::QlogCounts;

use crate::{
    finding::Findings,
    read::{CapturedPacket, Counts, Ending, OpenedInput, PacketSource, ReadError},
};
use traces::Traces;

/// A trace that is open.
///
/// As a source of packets it has none, and [`stop`](PacketSource::stop) says why: what reads captures alone does not take it for
/// an empty one.
#[derive(Debug)]
pub struct QlogTrace<'a> {
    opened: OpenedInput<'a>,
    none: Counts,
}

impl<'a> QlogTrace<'a> {
    pub(crate) fn new(opened: OpenedInput<'a>) -> Self {
        Self { opened, none: Counts::default() }
    }

    /// The error of what reads captures alone.
    pub fn refused(&self) -> ReadError {
        ReadError::qlog(self.opened.name())
    }

    /// Reads it, and passes on what its connections show. `timeline`: also over time. `goes_on` gets the number of bytes read
    /// after each event, and ends the reading by returning `false`. Also returns whether all was read.
    pub fn read<F: Findings>(
        mut self,
        findings: &mut F,
        timeline: bool,
        mut goes_on: impl FnMut(u64) -> bool,
    ) -> (Counts, bool) {
        let mut traces = Traces::new(findings, timeline);
        let taken = self.opened.taken_counter();
        let (ending, is_whole) = records::read(self.opened.window(), &mut traces, &mut || goes_on(taken()));
        let mut counts = traces.finish();
        counts.ending = if is_whole { ending } else { Ending::Whole };
        (counts, is_whole)
    }
}

impl PacketSource for QlogTrace<'_> {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        None
    }

    fn counts(&self) -> &Counts {
        &self.none
    }

    fn taken(&self) -> u64 {
        self.opened.taken()
    }

    fn size(&self) -> Option<u64> {
        self.opened.size()
    }

    fn name(&self) -> &str {
        self.opened.name()
    }

    fn stop(self) -> Result<Counts, ReadError> {
        Err(self.refused())
    }
}
