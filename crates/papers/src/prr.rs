//! "Proportional Rate Reduction for TCP" (Dukkipati, Mathis, Cheng, Ghobadi; ACM IMC 2011): the
//! examples of §4.1 and §4.3.
//!
//! The setting is the scenario `prr`: RTT 100 ms, 1.2 Mbit/s, 1000-byte segments, Reno, cwnd 20 when
//! the server writes 20 kB; 10 kB more at 500 ms. FACK tells losses in all three schemes, which are
//! Linux 2.6 with its rate control exchanged. Time 0 is the first write.
//!
//! | figure | lost            | second write | shows                                               |
//! |--------|-----------------|--------------|-----------------------------------------------------|
//! | 2      | 1 to 4          | 500 ms       | PRR, Linux's rate halving, RFC 3517                  |
//! | 3      | 1 to 4, 11 to 16| 500 ms       | PRR                                                 |
//! | 4      | 1               | 170 ms       | PRR: what the application let pass is sent at once  |
//!
//! What the paper leaves open is chosen so: losses happen before the bottleneck; the figures' receiver
//! delays ACKs by 200 ms at most, where nothing is missing (each figure's data have an ACK a segment
//! beside it); figure 4 loses the first segment and has its second write at 170 ms, when as many
//! segments are banked as the text says (its claims tell what other times release).

mod cell;
mod claims;
pub mod properties;

pub use cell::{Acks, Cell, Exit, Scheme, Sent, Step};

use super::{Figure, Picture, Sheet};
use recoup_draw::sequence::{Diagram, Panel};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_table::{csv, millis, plain_table};
use recoup_units::Instant;

/// The paper's name on the command line.
pub const NAME: &str = "prr";

/// The settings each cell sets for itself.
pub const OWN_SETTINGS: [&str; 3] = ["drop", "writes", "ack"];

/// The second write of figures 2 and 3, in ms.
const SECOND_WRITE: f64 = 500.0;

/// What is shown after the last mark that matters, in ms of the first write.
const SHOWN_UNTIL: u64 = 1000;

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// Segments 1 to 4 lost.
    Fig2,
    /// Segments 1 to 4 and 11 to 16 lost.
    Fig3,
    /// One lost, more to send in the middle of recovery.
    Fig4,
}

impl Id {
    /// The second write of figure 4, in ms.
    const FIG4_WRITE_MS: f64 = 170.0;

    /// Every figure regenerated.
    pub const ALL: [Self; 3] = [Self::Fig2, Self::Fig3, Self::Fig4];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fig2 => "fig2",
            Self::Fig3 => "fig3",
            Self::Fig4 => "fig4",
        }
    }

    /// What it shows.
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

    /// The schemes drawn.
    const fn drawn(self) -> &'static [Scheme] {
        match self {
            Self::Fig2 => &Scheme::ALL,
            Self::Fig3 | Self::Fig4 => &[Scheme::Prr],
        }
    }
}

/// Regenerates a figure; `base` is the scenario each cell varies.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(id: Id, base: &Scenario) -> Result<Figure<Cell>, SettingsError> {
    let (mut cells, mut panels) = (Vec::new(), Vec::new());
    for scheme in Scheme::ALL {
        for acks in Acks::ALL {
            let own = [("drop", id.drop()), ("writes", id.writes())];
            let (cell, panel) = cell::run_cell(base, scheme, acks, &own)?;
            cells.push(cell);
            if acks == Acks::Delayed && id.drawn().contains(&scheme) {
                panels.push(panel);
            }
        }
    }
    let claims = match id {
        Id::Fig2 => claims::fig2(&cells, base)?,
        Id::Fig3 => claims::fig3(&cells),
        Id::Fig4 => claims::fig4(&cells, base)?,
    };
    Ok(Figure {
        paper: NAME,
        figure: id.name(),
        title: id.title().into(),
        cells,
        claims,
        picture: Picture::Sequence(diagram(id, panels)),
    })
}

fn diagram(id: Id, panels: Vec<Panel>) -> Diagram {
    let last = panels.iter().filter_map(|panel| panel.marks.last());
    let last = last.map(|mark| mark.at).max().unwrap_or_default();
    Diagram {
        title: id.title().into(),
        panels,
        from: Some(Instant::ZERO),
        to: (last > Instant::from_millis(SHOWN_UNTIL)).then_some(Instant::from_millis(SHOWN_UNTIL)),
    }
}

/// A figure as [`figure`] regenerates it, in all its forms.
///
/// # Errors
/// As [`figure`].
pub fn sheet(id: Id, base: &Scenario) -> Result<Sheet, SettingsError> {
    let figure = figure(id, base)?;
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    Ok(figure.into_sheet(table, csv))
}

/// A figure's numbers as a table with a row a cell, then its claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let mut table = plain_table();
    table.set_header([
        "scheme",
        "ack",
        "recovery from (ms after the first write)",
        "to (ms after the first write)",
        "ssthresh (segments)",
        "pipe before (segments)",
        "cwnd after (segments)",
        "sent again at (ms after the first write)",
        "most at once (segments)",
        "second write by RTT (segments)",
        "acknowledged after (ms after the second write)",
    ]);
    for cell in &figure.cells {
        let exit =
            |f: fn(&Exit) -> u32| cell.exit.as_ref().map_or("–".into(), |e| f(e).to_string());
        let again: Vec<String> = cell.again().map(|sent| millis(Some(sent.at_ms))).collect();
        table.add_row([
            cell.scheme.name().into(),
            cell.ack.into(),
            millis(cell.entered_ms),
            millis(cell.exit.as_ref().map(|e| e.at_ms)),
            exit(|e| e.ssthresh),
            exit(|e| e.pipe_before),
            exit(|e| e.cwnd),
            again.join(" "),
            cell.largest_burst().to_string(),
            cell.rounds(),
            millis(cell.second_write_ms),
        ]);
    }
    figure.with_table(&table)
}

/// A figure's segments as CSV, a line each: what was sent when.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let header = [
        "figure", "scheme", "profile", "ack", "at_ms", "segment", "again", "trigger", "pipe",
        "cwnd",
    ];
    let row = |cell: &Cell, sent: &Sent| {
        [
            figure.figure.into(),
            cell.scheme.name().into(),
            cell.profile.into(),
            cell.ack.into(),
            sent.at_ms.to_string(),
            sent.segment.to_string(),
            sent.trigger.is_some().to_string(),
            sent.trigger.unwrap_or_default().into(),
            sent.pipe.to_string(),
            sent.cwnd.to_string(),
        ]
    };
    let mut rows = Vec::new();
    for cell in &figure.cells {
        rows.extend(cell.sent.iter().map(|sent| row(cell, sent)));
    }
    csv(header, rows)
}

#[cfg(test)]
mod tests;
