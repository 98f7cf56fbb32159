//! Reads a capture twice: to explain it, and to draw the connections that come first.

use super::facts::Facts;
use super::order::{DRAWN, SortBy};
use super::page::{Drawn, explanation_page};
use crate::analysis::{self, AnalysisError, Analyzed, ConnectionRow};
use crate::diagram::source::{Directions, Reading, Source};
use crate::diagram::{self, draw_again};
use crate::reread::{kept_note, read_once};
use recoup_draw::page::{Direction, Page};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Counts, PacketSource, ReadError};

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
    let settings = Settings {
        timeline: true,
        ..reading.settings.clone()
    };
    let collector = || Facts::new(request.order, request.most).with_first(request.first);
    let go_on = |source: &S| (reading.go_on)(source.taken());
    let analyzed = analysis::run(capture, first, &settings, collector, go_on)?;
    let rows = rows(&analyzed);
    let (drawn, interrupted) = match rows.is_empty() {
        true => (Vec::new(), None),
        false => draw_again(
            &analyzed,
            again,
            &rows,
            Directions::All,
            MOST_PACKETS,
            reading,
        )?,
    };
    let drawn = drawn.into_iter().map(Drawn::from).collect();
    let mut page = explanation_page(&analyzed, drawn, request.order);
    page.notes.extend(interrupted);
    Ok(page)
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
    let (mut page, kept) = read_once(source, |first, again| {
        page_of(capture, first, again, request, reading)
    })?;
    let note = kept.map(|kept| kept_note(kept, diagram::DRAWN));
    page.notes.extend(note);
    Ok(page)
}

/// The connections that are drawn.
fn rows(analyzed: &Analyzed<Facts>) -> Vec<ConnectionRow> {
    let ranked = analyzed.findings.worst.connections().iter().take(DRAWN);
    ranked
        .map(|ranked| (ranked.connection.clone(), ranked.retransmissions.clone()))
        .collect()
}

impl From<Source> for Drawn {
    fn from(source: Source) -> Self {
        let directions = source.senders.iter().zip(source.panels);
        Self {
            directions: directions
                .map(|(sender, panel)| Direction {
                    sender: sender.to_string(),
                    panel,
                })
                .collect(),
            notes: source.notes,
        }
    }
}
