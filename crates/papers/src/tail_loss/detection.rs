//! §2 and §4: when duplicate ACKs reveal a loss, and when only a timeout does.
//!
//! ```text
//! fast retransmit:    three duplicate ACKs
//! early retransmit:   fewer, while fewer than four segments are outstanding
//! limited transmit:   new data on the first two duplicate ACKs, so that more follow
//! ```
//! The figure: flows of ten segments lose one, and the number of segments sent after it decides. The RTT is 80 ms, and
//! the receiver acknowledges every segment.
//!
//! Deviations from the paper: its §2 and §4 state these rules and measure nothing; the flows are ours. Linux 3.17
//! detects losses by FACK, which asks for three segments SACKed above the lost one, as do three duplicate ACKs.

mod claims;

use super::NAME;
use crate::flow::run;
use crate::prelude::*;

/// The experiment's name.
pub const ID: &str = "detection";

/// The settings that the flows set themselves.
pub const OWN_SETTINGS: [&str; 9] =
    ["rtt", "rate", "drop", "ack", "segments", "writes", "reorder", "receive_buffer", "initial_window"];

/// The senders compared: name and profile.
const SENDERS: [(&str, &str); 3] = [
    ("fast retransmit alone", "linux-3.17+noer"),
    ("with early retransmit", "linux-3.17"),
    ("with probes, too", "linux-3.17+tlp"),
];

/// The numbers of segments sent after the lost one.
const AFTER: [u64; 6] = [0, 1, 2, 3, 4, 5];

/// A flow that lost one segment.
#[derive(Clone, Debug)]
pub struct DetectionCell {
    /// The segments sent after the lost one.
    pub after: u64,
    /// The sender.
    pub sender: &'static str,
    /// The flow completion time from establishment, in ms.
    pub fct_ms: Option<f64>,
    /// The trigger of the first retransmission.
    pub trigger: Option<Trigger>,
    /// Duplicate ACKs before it.
    pub duplicate_acks: u64,
}

/// Runs all flows and checks the claims.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(setup: &Setup) -> Result<Figure<DetectionCell>> {
    let mut cells = vec![];
    for after in AFTER {
        for (sender, profile) in SENDERS {
            let drop = format!("data:{}", 10 - after);
            let trace = run(setup, profile, &format!("drop={drop} ack=quick"))?;
            let first = trace.first_repair();
            cells.push(DetectionCell {
                after,
                sender,
                fct_ms: trace.fct_ms(),
                trigger: first.and_then(|first| first.trigger),
                duplicate_acks: first.map_or(0, |first| first.duplicate_acks as u64),
            });
        }
    }
    let title = "FCT of ten segments by the number of segments sent after the lost one";
    Ok(Figure::new(NAME, ID, title, claims::all(setup, &cells)?, chart(&cells), cells))
}

/// The experiment in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    Ok(figure(setup)?.sheet(text, &columns()))
}

fn chart(cells: &[DetectionCell]) -> BarChart {
    let bars = cells.chunks(SENDERS.len());
    BarChart::new(
        "One of ten segments lost, RTT 80 ms, quick ACKs",
        "segments sent after the lost one",
        "FCT (ms)",
        SENDERS.map(|(name, _)| name),
    )
    .panel("", bars.map(|bars| (bars[0].after.to_string(), bars.iter().map(|cell| cell.fct_ms))))
}

/// A row per flow.
fn columns() -> Columns<DetectionCell> {
    columns!(columns_of_figure::<DetectionCell>(ID), c;
        after, "segments", "segments sent after the lost one";
        sender, "", "the sender";
        fct_ms, "ms", "flow completion time from establishment";
        trigger, "", "the trigger of the first retransmission" => c.trigger.map(|trigger| trigger.name());
        duplicate_acks, "ACKs", "duplicate ACKs before it";
    )
}

/// A row per number of segments after the lost one.
fn text(cells: &[DetectionCell]) -> String {
    let table = pivot(
        cells,
        &[("segments after", &|c| c.after.to_string())],
        &SENDERS.map(|(name, _)| name),
        &[(": FCT (ms), trigger", &|c| format!("{}, {}", millis(c.fct_ms), c.trigger.map_or("-", Trigger::name)))],
    );
    format!("Ten segments, of which one is lost.\n\n{table}")
}

/// Whether every retransmission of a flow has this trigger, and there are any.
fn all_by(trace: &Log, trigger: Trigger) -> bool {
    let repairs = trace.repairs();
    !repairs.is_empty() && repairs.iter().all(|one| one.trigger == Some(trigger))
}
