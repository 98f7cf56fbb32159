//! Reads a capture twice: to explain it, and to draw the connections that come first.

use super::advice::{self, Advice};
use super::facts::Facts;
use super::order::{DRAWN, SortBy};
use super::page::{Drawn, explanation_page};
use crate::analysis::{self, AnalysisError, Analyzed, ConnectionRow};
use crate::diagram::source::{Directions, Reading, Source};
use crate::diagram::{self, draw_again};
use crate::reread::{Also, kept_note, read_once};
use crate::whatif::rerun_along;
use recoup_draw::page::{Direction, Page};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Counts, PacketSource, ReadError};
use std::sync::atomic::AtomicU64;

/// Packets that are drawn of each connection.
const MOST_PACKETS: usize = 200_000;

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest {
    /// Which connections come first.
    pub order: SortBy,
    /// How many connections the table has.
    pub most: usize,
    /// The number of a connection that comes before all others.
    pub first: Option<u64>,
    /// Whether it says what would have helped.
    pub advice: bool,
}

/// The page of a capture, which the user calls `capture`. `first` is read, and then what `again` opens.
///
/// # Errors
/// When the capture cannot be read, or not a second time.
pub fn page_of<S: PacketSource, T: PacketSource>(
    capture: &str,
    first: S,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    request: PageRequest,
    reading: &Reading<'_>,
) -> Result<Page, AnalysisError> {
    let settings = Settings { timeline: true, ..reading.settings.clone() };
    let collector = || {
        let facts = Facts::new(request.order, request.most).with_first(request.first);
        match request.advice {
            true => facts.with_advice(),
            false => facts,
        }
    };
    let go_on = |source: &S| (reading.go_on)(source.taken());
    let mut analyzed = analysis::run(capture, first, &settings, collector, go_on)?;
    let second = draw_and_rerun(&analyzed, again, reading)?;
    analyzed.findings.advice = second.advice;
    let drawn = second.drawn.into_iter().map(Drawn::from).collect();
    let mut page = explanation_page(&analyzed, drawn, request.order);
    page.notes.extend(second.note);
    Ok(page)
}

/// What comes of the second reading.
struct SecondReading {
    drawn: Vec<Source>,
    /// That the user interrupted it.
    note: Option<String>,
    advice: Option<Advice>,
}

/// Draws the connections that come first, and reruns those that the advice rests on, from one reading.
fn draw_and_rerun<T: PacketSource>(
    analyzed: &Analyzed<Facts>,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    reading: &Reading<'_>,
) -> Result<SecondReading, ReadError> {
    let rows = rows(analyzed);
    let draw = |also: Option<Also<'_>>| {
        let (most, all) = (MOST_PACKETS, Directions::All);
        match rows.is_empty() && also.as_ref().is_none_or(|also| also.sought.is_empty()) {
            true => Ok((Vec::new(), None)),
            false => draw_again(analyzed, again, &rows, all, most, reading, also),
        }
    };
    let Some(candidates) = analyzed.findings.candidates() else {
        let (drawn, note) = draw(None)?;
        return Ok(SecondReading { drawn, note, advice: None });
    };
    // An interrupt ends the reading, and what was read is rerun.
    let (answer, (drawn, note)) =
        rerun_along(candidates, &advice::request(), reading.settings, (&AtomicU64::new(0), &|_| true), |also| {
            draw(Some(also))
        })?;
    Ok(SecondReading { drawn, note, advice: Advice::new(&answer) })
}

/// The same of a stream, which is read once: a limited number of its packets is kept.
///
/// # Errors
/// Those of [`page_of`].
pub fn page_of_stream<S: PacketSource>(
    capture: &str,
    source: S,
    request: PageRequest,
    reading: &Reading<'_>,
) -> Result<Page, AnalysisError> {
    let (mut page, kept) = read_once(source, |first, again| page_of(capture, first, again, request, reading))?;
    let note = kept.map(|kept| kept_note(kept, diagram::DRAWN));
    page.notes.extend(note);
    Ok(page)
}

/// The connections that are drawn.
fn rows(analyzed: &Analyzed<Facts>) -> Vec<ConnectionRow> {
    let ranked = analyzed.findings.worst.connections().iter().take(DRAWN);
    ranked.map(|ranked| (ranked.connection.clone(), ranked.retransmissions.clone())).collect()
}

impl From<Source> for Drawn {
    fn from(source: Source) -> Self {
        let directions = source.senders.iter().zip(source.panels);
        Self {
            directions: directions.map(|(sender, panel)| Direction { sender: sender.to_string(), panel }).collect(),
            notes: source.notes,
        }
    }
}
