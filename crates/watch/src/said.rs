//! What was said of open connections, so that only what is new is said.

use crate::event::{Event, Judgement};
use recoup_trace::finding::{Connection, ConnectionKey, EpisodeCost, Evidence, Retransmission, Revision, Verdict};
use std::collections::HashMap;
use std::iter::Peekable;

/// What was said of open connections.
#[derive(Debug, Default)]
pub struct Said {
    open: HashMap<ConnectionKey, Vec<SaidRow>>,
}

/// What was said of a retransmission.
#[derive(Clone, Debug)]
struct SaidRow {
    row: Retransmission,
    judgement: Judgement,
    episode: Option<EpisodeCost>,
}

impl Said {
    /// A connection as it is now, with its retransmissions in the order of frames. Passes what is new to `say`.
    pub fn hear(
        &mut self,
        connection: &Connection,
        rows: &[Retransmission],
        has_ended: bool,
        mut say: impl FnMut(Event),
    ) {
        let key = connection.key();
        let before = self.open.remove(&key).unwrap_or_default();
        let mut known = before.into_iter().peekable();
        let mut said = Vec::with_capacity(rows.len());
        for row in rows {
            let known = matching(&mut known, row, &mut say);
            said.push(hear_one(row, known, has_ended, &mut say));
        }
        known.for_each(|gone| say(withdrawn(gone)));
        if !has_ended && !said.is_empty() {
            self.open.insert(key, said);
        }
    }

    /// A verdict on a retransmission of a connection that has ended changes.
    pub fn revise(revision: &Revision) -> Event {
        let row = revision.retransmission;
        let (verdict, evidence) = revision.before;
        let was = Judgement { triggers: row.triggers, verdict, evidence, decided: true };
        Event::Verdict { row, decided: true, was }
    }

    /// Connections of which something was said and that are open.
    #[cfg(test)]
    pub fn open(&self) -> usize {
        self.open.len()
    }
}

/// Takes what was said of `row`. Known ones before it are no retransmissions any more.
fn matching(
    known: &mut Peekable<std::vec::IntoIter<SaidRow>>,
    row: &Retransmission,
    say: &mut impl FnMut(Event),
) -> Option<SaidRow> {
    let place = |row: &Retransmission| (row.frame, row.seq.0);
    while let Some(gone) = known.next_if(|known| known.row.frame < row.frame) {
        say(withdrawn(gone));
    }
    known.next_if(|known| place(&known.row) == place(row))
}

fn withdrawn(gone: SaidRow) -> Event {
    Event::Withdrawn { was: Box::new(gone.row), judged: gone.judgement }
}

/// Says what is new of a retransmission. Returns what was said of it by now.
fn hear_one(row: &Retransmission, known: Option<SaidRow>, has_ended: bool, say: &mut impl FnMut(Event)) -> SaidRow {
    let now = Judgement::of(row, is_decided(row, has_ended));
    match &known {
        None => say(Event::Retransmission { row: *row, decided: now.decided }),
        Some(known) if known.judgement != now => {
            say(Event::Verdict { row: *row, decided: now.decided, was: known.judgement });
        }
        Some(_) => {}
    }
    let said = known.and_then(|known| known.episode);
    // While an episode lasts, its cost grows with each look.
    let cost = row.cost.filter(|_| has_ended || row.recovery.is_some());
    if let Some(cost) = cost
        && said.is_none_or(|said| differs(&said, &cost))
    {
        say(Event::Episode { row: *row, cost, was: said });
    }
    SaidRow { row: *row, judgement: now, episode: cost.or(said) }
}

/// Whether what is known will decide no more: an ACK has come, or the connection has ended.
fn is_decided(row: &Retransmission, has_ended: bool) -> bool {
    has_ended || row.verdict != Verdict::Unknowable || row.evidence != Evidence::NotAcknowledged
}

fn differs(said: &EpisodeCost, now: &EpisodeCost) -> bool {
    (said.cause, said.lost, said.segments) != (now.cause, now.lost, now.segments)
}

#[cfg(test)]
mod tests;
