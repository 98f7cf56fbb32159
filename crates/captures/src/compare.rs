//! What changed between two captures, and what is no more than their own spread.
//!
//! ```text
//! BEFORE ─► analysis ─► Collected ─► the capture, once more: requests ─► Cells (sums by time, client, connection)
//! AFTER  ─► …                                                             │
//!                         Quantity (a function of sums) ─► Pair ─► Uncertainty (parts left out) ─► Verdict
//!                                                                         │
//!                         whatif's prediction ─────────────► Check        ▼
//!                                                              └──► Comparison ─► text, page, JSON
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `collect`, `exchanges`, `read` | connections and their requests, from two readings of a capture |
//! | `sums`, `cells` | sums over connections, and over parts of a capture |
//! | `quantity` | what is compared |
//! | `interval`, `verdict` | how far chance moves a change, and whether there is one |
//! | `alike` | whether captures can be compared |
//! | `prediction` | whether what `whatif` predicted came true |
//! | `classes` | like requests, class by class |
//! | `text`, `page`, `document` | the forms of a comparison |

mod alike;
mod cells;
mod classes;
mod collect;
mod document;
mod exchanges;
mod interval;
mod page;
mod prediction;
mod quantity;
mod read;
mod sums;
mod text;
mod verdict;

pub use classes::LikeRequests;
pub use document::write_comparison;
pub use interval::Parts;
pub use page::comparison_page;
pub use prediction::{Check, Expectation, Outcome, Predicted};
pub use quantity::{Quantity, Unit};
pub use read::compare;
pub use text::comparison_text;
pub use verdict::{Change, Verdict};

use crate::analysis::Analyzed;
use crate::explain::CapturedAt;
use collect::Collected;
use interval::Divided;
use recoup_units::Instant;
use std::time::Duration;
use sums::Timed;

/// Two captures beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The captures before and after.
    pub captures: [CaptureFacts; 2],
    /// Why the comparison may show something else than the change: a sentence each.
    pub warnings: Vec<String>,
    /// What changed for sure, the most important first, what may have changed, and what did not.
    pub changes: Vec<Change>,
    /// Like requests, the most frequent first.
    pub requests: Vec<LikeRequests>,
    /// The prediction beside the measurement, if there is one.
    pub check: Option<Check>,
}

/// What a capture is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaptureFacts {
    /// The user's name for it.
    pub capture: String,
    /// When its first packet was captured.
    pub begun: Option<Instant>,
    /// From the first packet to the last.
    pub duration: Duration,
    /// Connections.
    pub connections: u64,
    /// Payload bytes of both ends, retransmissions included.
    pub bytes: u64,
    /// Requests whose time is known.
    pub requests: u64,
    /// Where most connections were captured.
    pub captured_at: Option<CapturedAt>,
    /// Groups of clients, at most 64.
    pub client_groups: u64,
    /// Notes on the capture, and on what was read of it.
    pub notes: Vec<String>,
}

impl Comparison {
    fn new(collected: [Analyzed<Collected>; 2], predicted: Option<Predicted>) -> Self {
        let [before, after] = collected.each_ref().map(|one| &one.findings.population);
        let mut warnings = alike::warnings(before, after);
        let [(before, one), (after, other)] = collected.map(facts_and_parts);
        warnings.extend(predicted.as_ref().and_then(|predicted| other_capture(predicted, &before.capture)));
        Self {
            changes: verdict::changes(&one, &other),
            requests: classes::like_requests(&one, &other),
            check: predicted.map(|predicted| Check::new(predicted, &one, &other)),
            captures: [before, after],
            warnings,
        }
    }

    /// The changes with this verdict, in order.
    pub fn of_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.verdict == verdict)
    }
}

fn facts_and_parts(analyzed: Analyzed<Collected>) -> (CaptureFacts, Divided) {
    let mut notes = analyzed.notes();
    let collected = analyzed.findings;
    notes.extend(collected.notes);
    let total = &collected.cells.total;
    let facts = CaptureFacts {
        capture: analyzed.capture,
        begun: collected.span.map(|(begun, _)| begun),
        duration: collected.span.map_or(Duration::ZERO, |(begun, ended)| ended.since(begun)),
        connections: collected.connections,
        bytes: total.bytes,
        requests: total.timed(|timed| timed == Timed::Request),
        captured_at: collected.population.captured(),
        client_groups: collected.cells.addresses.len() as u64,
        notes,
    };
    (facts, Divided::new(collected.cells))
}

/// A warning if the prediction is for another capture.
fn other_capture(predicted: &Predicted, before: &str) -> Option<String> {
    (predicted.capture != before)
        .then(|| format!("The prediction was made for {}, and BEFORE is {before}.", predicted.capture))
}
