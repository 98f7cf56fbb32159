//! §II-A: goodput, unique data packets delivered over packets sent, of ARQ and of FEC for all packets.
//!
//! Packets are all of one size and lost each by itself with probability p. FEC sends k redundant
//! packets with every n data packets: a group of N = n + k, of which L ~ Bin(N, p) are lost. The code
//! is systematic and maximum distance separable (Reed–Solomon): any n of the N give all n data
//! packets, fewer give the data packets among them.
//!
//! ```text
//! ARQ               E[X] = Σ x pˣ⁻¹ (1 − p) = 1/(1 − p)        η = 1 − p
//! FEC, the paper's  nothing ever needs to be sent again         η = n/(n + k)
//! ```
//!
//! What the paper leaves out is that a group loses more than k. A data packet is missing for good if
//! it is lost and k or more of the other N − 1 are; and once d = (L − k)⁺ missing packets more have
//! arrived, each of 1/(1 − p) transmissions, the group is whole:
//!
//! ```text
//! a group fails     P(L > k) = Σ_{j>k} C(N, j) pʲ (1 − p)ᴺ⁻ʲ
//! FEC alone         η = n/N · (1 − p · P(Bin(N − 1, p) ≥ k))
//! FEC with ARQ      η = n / (N + E[(L − k)⁺]/(1 − p))
//! ```
//!
//! ARQ is the code of n = 1, k = 0. With ARQ, arrivals are (1 − p) of what is sent and never fewer
//! than n a group, so that no code has more than ARQ's 1 − p, the capacity of the erasure channel
//! (Elias, "Coding for two noisy channels", 1955): FEC can save time, never packets.
//!
//! Each is also simulated on the lossy hop of the simulator's paths: so many groups, independent of
//! each other, and of each what was delivered and what was sent. Their ratio lies in an interval of ±4
//! standard errors (of the ratio estimator), for which 4² groups are added to those simulated, as
//! Agresti and Coull do for proportions ("Approximate is better than 'exact' for interval estimation
//! of binomial proportions", 1998): half of them whole, half just failing. Else a cell in which no
//! group happened to fail would claim to know that none can.
//!
//! Deviations: the paper does not say what becomes of a group that fails. Here ARQ sends missing data
//! packets until the group can be decoded, and no more (the most favourable to FEC: a packet in ARQ's
//! place serves the decoder as any other); feedback is free and never lost.

mod claims;
mod code;
mod trial;

pub use code::Code;
pub use trial::Goodput;

use super::NAME;
use crate::{Figure, Picture, Sheet};
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_lab::settings::SettingsError;
use recoup_table::{csv, plain_table};
use recoup_units::FlowId;
use serde::Serialize;

/// The name on the command line.
pub const ID: &str = "fec";

/// Loss rates.
pub const LOSSES: [f64; 9] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3];

/// Of these, those of the printed table; CSV and JSON have all.
const SHOWN: [f64; 6] = [0.001, 0.01, 0.02, 0.05, 0.1, 0.3];

/// ARQ, and the codes set against it.
pub const CODES: [Code; 8] = [
    Code::ARQ,
    Code { n: 1, k: 1 },
    Code { n: 2, k: 1 },
    Code { n: 4, k: 1 },
    Code { n: 8, k: 1 },
    Code { n: 16, k: 1 },
    Code { n: 10, k: 2 },
    Code { n: 20, k: 4 },
];

/// Packets of a cell's groups, retransmissions not counted.
pub const PACKETS: u32 = 200_000;

/// Goodputs simulated: two a cell.
const SIMULATED: usize = 2 * LOSSES.len() * CODES.len();

/// A code at a loss rate.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The probability that a packet is lost.
    pub p: f64,
    /// The code; n = 1, k = 0 is ARQ.
    #[serde(flatten)]
    pub code: Code,
    /// The probability that a group loses more than k.
    pub fails: f64,
    /// The goodput the paper gives it.
    pub paper: f64,
    /// The goodput when nothing is sent again.
    pub alone: Goodput,
    /// … and when what the code cannot recover is.
    pub with_arq: Goodput,
    /// What the random choices come from.
    pub seed: u64,
    /// Groups simulated.
    pub groups: u32,
}

/// Computes and simulates all goodputs, with random choices from `seed`, and checks the claims.
///
/// # Errors
/// None that the loss rates here give.
pub fn figure(seed: u64) -> Result<Figure<Cell>, SettingsError> {
    let grid = LOSSES.iter().flat_map(|p| CODES.map(|code| (*p, code)));
    let cells = (0..).zip(grid).map(|(flow, (p, code))| {
        let groups = PACKETS / code.packets();
        let [alone, with_arq] = trial::run(code, p, groups, seed, FlowId(flow))?;
        Ok(Cell {
            p,
            code,
            fails: code.fails(p),
            paper: code.paper(p),
            alone,
            with_arq,
            seed,
            groups,
        })
    });
    let cells = cells.collect::<Result<Vec<_>, SettingsError>>()?;
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: title(seed),
        claims: claims::all(&cells),
        cells,
        picture: Picture::Lines(chart()),
    })
}

fn title(seed: u64) -> String {
    let all = SIMULATED as f64 * trial::OUTSIDE;
    format!(
        "Goodput of ARQ and FEC; simulated with {PACKETS} packets a cell, seed {seed}; intervals of {:.3} % confidence each, {:.1} % for all {SIMULATED} together",
        100.0 * (1.0 - trial::OUTSIDE),
        100.0 * (1.0 - all),
    )
}

fn chart() -> LineChart {
    const POINTS: i32 = 60;
    let (from, to) = (LOSSES[0], LOSSES[LOSSES.len() - 1]);
    let losses = (0..=POINTS).map(|i| from * (to / from).powf(f64::from(i) / f64::from(POINTS)));
    let losses: Vec<f64> = losses.collect();
    let panel = |title: &str, goodput: fn(Code, f64) -> f64| {
        let line = |code| {
            losses
                .iter()
                .map(|p| (100.0 * p, goodput(code, *p)))
                .collect()
        };
        LinePanel {
            title: title.into(),
            lines: CODES.map(line).to_vec(),
        }
    };
    LineChart {
        title: "Goodput of ARQ, and of FEC with n + k packets a group".into(),
        x_label: "packets lost (%)".into(),
        y_label: "goodput (unique packets/sent)".into(),
        scale: Scale::Logarithmic,
        largest: Some(1.0),
        interpolation: Interpolation::Linear,
        series: CODES.map(Code::name).to_vec(),
        panels: vec![
            panel("The paper: no code ever fails", Code::paper),
            panel("What the code cannot recover is lost", Code::alone),
            panel("What the code cannot recover is sent again", Code::with_arq),
        ],
    }
}

/// The goodputs as [`figure`] gives them, in all forms.
///
/// # Errors
/// As [`figure`].
pub fn sheet(seed: u64) -> Result<Sheet, SettingsError> {
    let figure = figure(seed)?;
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    Ok(figure.into_sheet(table, csv))
}

/// The cells of the loss rates shown as a table with a row each, in which cells a closed form
/// is not what was simulated, then the claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let mut table = plain_table();
    table.set_header([
        "lost (%)",
        "code (n+k)",
        "groups losing more than k (%)",
        "goodput, paper (unique/sent)",
        "nothing sent again",
        "simulated",
        "with ARQ",
        "simulated",
    ]);
    let shown = |cell: &&Cell| SHOWN.contains(&cell.p);
    for cell in figure.cells.iter().filter(shown) {
        let mut row = vec![
            claims::percent(cell.p),
            cell.code.name(),
            claims::percent(cell.fails),
        ];
        let Cell {
            alone, with_arq, ..
        } = cell;
        let goodputs = [
            cell.paper,
            alone.exact,
            alone.simulated,
            with_arq.exact,
            with_arq.simulated,
        ];
        row.extend(goodputs.map(|goodput| format!("{goodput:.5}")));
        table.add_row(row);
    }
    let outside = exceptions(&figure.cells);
    figure.with_table(&format!(
        "{table}\n\nClosed forms outside the interval of what was simulated, of all loss rates: {outside}"
    ))
}

/// The goodputs whose closed form is not in the interval of what was simulated.
fn exceptions(cells: &[Cell]) -> String {
    let mut outside = Vec::new();
    for cell in cells {
        for (name, goodput) in [("alone", cell.alone), ("with ARQ", cell.with_arq)] {
            if !goodput.agrees {
                let (p, code, exact) = (claims::percent(cell.p), cell.code.name(), goodput.exact);
                outside.push(format!("{code} {name} at {p} %: {exact:.5}, {goodput}"));
            }
        }
    }
    match outside.is_empty() {
        true => format!("none of {}", 2 * cells.len()),
        false => outside.join("; "),
    }
}

/// The cells as CSV, a line each.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let mut header = ["figure", "seed", "groups", "p", "n", "k", "fails", "paper"]
        .map(String::from)
        .to_vec();
    for name in ["alone", "with_arq"] {
        header.extend(
            ["exact", "simulated", "low", "high", "agrees"].map(|part| format!("{name}_{part}")),
        );
    }
    let row = |cell: &Cell| {
        let Code { n, k } = cell.code;
        let mut row = vec![figure.figure.into(), cell.seed.to_string()];
        row.extend([cell.groups.to_string(), cell.p.to_string()]);
        row.extend([n, k].map(|count| count.to_string()));
        row.extend([cell.fails, cell.paper].map(|number| number.to_string()));
        for goodput in [cell.alone, cell.with_arq] {
            let interval = [goodput.low, goodput.high];
            row.extend([goodput.exact, goodput.simulated].map(|number| number.to_string()));
            row.extend(interval.map(|number| number.to_string()));
            row.push(goodput.agrees.to_string());
        }
        row
    };
    csv(header, figure.cells.iter().map(row))
}

#[cfg(test)]
mod tests;
