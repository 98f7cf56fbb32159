//! "Proportional Rate Reduction for TCP" (Dukkipati, Mathis, Cheng, Ghobadi; ACM IMC 2011): the
//! examples of §4.1 and §4.3. The modules below have the other sections:
//!
//! - [`linux`] (§3.2), [`losses`] (§3.1, §4.3), [`acks`] (§4, §4.3), [`er`] (§6): single flows;
//! - [`lengths`] (§2.1), [`pipe`] (§4.3), [`properties`] (§4.2, §4.3): thousands of flows;
//! - [`servers`] (§1, §5, §6): data centers.
//!
//! The setting is the scenario `prr`: RTT 100 ms, 1.2 Mbit/s, 1000-byte segments and Reno. The server
//! writes 20 kB with a cwnd of 20, and 10 kB more later. All three schemes are Linux 2.6 with FACK; only
//! the rate control differs. Time 0 is the first write.
//!
//! | figure | lost             | second write | shows                               |
//! |--------|------------------|--------------|-------------------------------------|
//! | 2      | 1 to 4           | 500 ms       | PRR, Linux's rate halving, RFC 3517 |
//! | 3      | 1 to 4, 11 to 16 | 500 ms       | PRR                                 |
//! | 4      | 1                | 170 ms       | PRR after the application stalls    |
//!
//! Our choices where the paper gives no value:
//!
//! - Losses happen before the bottleneck.
//! - The receiver delays ACKs by at most 200 ms while nothing is missing. The data also have a receiver
//!   that acknowledges every segment; it is not drawn.
//! - Figure 4 loses the first segment. Its second write is drawn at 170 ms, the last time at which pipe is above ssthresh. Its
//!   claims are checked with a write at every millisecond of recovery (`bank`).

pub mod acks;
mod bank;
mod cell;
mod claims;
mod columns;
pub mod er;
mod experiments;
mod finding;
pub mod lengths;
pub mod linux;
pub mod losses;
pub mod pipe;
pub mod properties;
pub mod servers;
mod trace;

pub use cell::{Acks, Exit, Flow, Scheme, SchemeCell};

use super::{Figure, Sheet};
use crate::prelude::*;
use recoup_draw::sequence::{Diagram, Panel};

pub use experiments::RUNS;

/// The paper's name on the command line.
pub const NAME: &str = "prr";

/// Its populations that are fitted to a baseline.
pub const FITS: &[Fitted] = servers::fits::FITS;

/// The settings that each cell sets itself.
pub const OWN_SETTINGS: [&str; 3] = ["drop", "writes", "ack"];

/// The second write of figures 2 and 3, in ms.
const SECOND_WRITE: f64 = 500.0;

/// The latest time drawn, in ms after the first write.
const SHOWN_UNTIL: u64 = 1000;

choices! {
    /// A figure of the paper.
    pub enum Id {
        /// Segments 1 to 4 lost.
        Fig2 = "fig2",
        /// Segments 1 to 4 and 11 to 16 lost.
        Fig3 = "fig3",
        /// Segment 1 lost; the second write comes during recovery.
        Fig4 = "fig4",
    }
}

impl Id {
    /// A line that describes the figure.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fig2 => "Segments 1 to 4 of 20 lost; 10 more written at 500 ms",
            Self::Fig3 => "Segments 1 to 4 and 11 to 16 of 20 lost; 10 more written at 500 ms",
            Self::Fig4 => "Segment 1 of 20 lost; 10 more written at 170 ms, in recovery",
        }
    }

    const fn drop(self) -> &'static str {
        match self {
            Self::Fig2 => "data:1-4",
            Self::Fig3 => "data:1-4,data:11-16",
            Self::Fig4 => "data:1",
        }
    }

    const fn writes(self) -> &'static str {
        match self {
            Self::Fig2 | Self::Fig3 => "20kB@0,10kB@500ms",
            Self::Fig4 => "20kB@0,10kB@170ms",
        }
    }

    /// The schemes that the figure draws.
    const fn drawn(self) -> &'static [Scheme] {
        match self {
            Self::Fig2 => &Scheme::ALL,
            Self::Fig3 | Self::Fig4 => &[Scheme::Prr],
        }
    }
}

/// Regenerates a figure.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(id: Id, setup: &Setup) -> Result<Figure<SchemeCell>> {
    let (mut cells, mut panels) = (vec![], vec![]);
    for scheme in Scheme::ALL {
        for acks in Acks::ALL {
            let (cell, panel) =
                cell::run_cell(setup, scheme, acks, &format!("drop={} writes={}", id.drop(), id.writes()))?;
            cells.push(cell);
            if acks == Acks::Delayed && id.drawn().contains(&scheme) {
                panels.push(panel);
            }
        }
    }
    let claims = match id {
        Id::Fig2 => claims::fig2(&cells, setup)?,
        Id::Fig3 => claims::fig3(&cells),
        Id::Fig4 => bank::claims(setup)?,
    };
    Ok(Figure::new(NAME, id.name(), id.title(), claims, diagram(id, panels), cells))
}

fn diagram(id: Id, panels: Vec<Panel>) -> Diagram {
    let last = panels.iter().filter_map(|panel| panel.marks.last()).map(|mark| mark.at).max().unwrap_or_default();
    Diagram {
        title: id.title().into(),
        panels,
        from: Some(Instant::ZERO),
        to: (last > Instant::from_millis(SHOWN_UNTIL)).then_some(Instant::from_millis(SHOWN_UNTIL)),
        ..Diagram::default()
    }
}

/// A figure as [`figure`] regenerates it, in every format. CSV has a line per segment sent.
///
/// # Errors
/// As [`figure`].
pub fn sheet(id: Id, setup: &Setup) -> Result<Sheet> {
    Ok(to_sheet(figure(id, setup)?))
}

fn to_sheet(figure: Figure<SchemeCell>) -> Sheet {
    let name = figure.figure;
    let (segments, steps) = (parts(&figure.cells, |cell| &cell.sent), parts(&figure.cells, |cell| &cell.steps));
    let columns = columns::cells(name);
    figure
        .sheet(|cells| columns.to_text(cells, &columns::TEXT), &columns)
        .with_csv_rows("segments", &columns::segments(name), &segments)
        .with_rows("steps", &columns::steps(name), &steps)
}

/// Every part of every cell, with its cell's flow.
fn parts<T: Clone>(cells: &[SchemeCell], of: fn(&SchemeCell) -> &Vec<T>) -> Vec<(Flow, T)> {
    let parts = |cell| of(cell).iter().map(|part| (cell.flow, part.clone()));
    cells.iter().flat_map(parts).collect()
}

#[cfg(test)]
mod tests;
