//! §II-A: the goodput of ARQ and of FEC for all packets. Goodput is unique data packets delivered divided
//! by packets sent.
//!
//! All packets have the same size. Each is lost independently with probability p. FEC sends k redundant
//! packets with every n data packets. Of the N = n + k packets of a group, L ~ Bin(N, p) are lost. The
//! code is systematic and maximum distance separable (Reed–Solomon): from any n of the N packets the
//! receiver recovers all n data packets, from fewer only the data packets among them.
//!
//! ```text
//! ARQ               E[X] = Σ x pˣ⁻¹ (1 − p) = 1/(1 − p)        η = 1 − p
//! FEC, the paper's  no retransmission is ever needed           η = n/(n + k)
//! ```
//!
//! The paper neglects groups that lose more than k packets. Without retransmissions, a data packet is
//! missing if it is lost and at least k of the other N − 1 packets are lost. With ARQ, a group needs
//! d = (L − k)⁺ further packets to arrive, each after 1/(1 − p) transmissions on average.
//!
//! ```text
//! a group fails     P(L > k) = Σ_{j>k} C(N, j) pʲ (1 − p)ᴺ⁻ʲ
//! FEC alone         η = n/N · (1 − p · P(Bin(N − 1, p) ≥ k))
//! FEC with ARQ      η = n / (N + E[(L − k)⁺]/(1 − p))
//! ```
//!
//! ARQ is the code with n = 1, k = 0. With ARQ, a share 1 − p of the packets sent arrives, and at least n
//! packets per group. So no code exceeds ARQ's goodput of 1 − p, the capacity of the erasure channel
//! (Elias, "Coding for two noisy channels", 1955): FEC can save time, but not packets.
//!
//! We also simulate each code on the lossy hop of the simulator's paths, with independent groups. The
//! goodput is a ratio of sums over the groups. Its interval is ±4 standard errors of the ratio estimator.
//! We add 4² groups for the interval, as Agresti and Coull do for proportions ("Approximate is better
//! than 'exact' for interval estimation of binomial proportions", 1998): half of them complete, half of
//! them just failing. Otherwise a cell without a failed group would have an interval of width 0.
//!
//! Deviations: the paper does not say what happens after a group fails. Here ARQ retransmits missing data
//! packets only until the receiver can decode the group. This favours FEC most, because for the decoder a
//! retransmitted packet is as good as any other. Feedback is free and never lost.

mod claims;
mod code;
mod trial;

use crate::prelude::*;
pub use code::Code;
pub use trial::Goodput;

use super::NAME;

/// The name on the command line.
pub const ID: &str = "fec";

/// Loss rates.
pub const LOSSES: [f64; 9] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3];

/// The loss rates of the table for people; CSV and JSON have all.
const PRINTED: [f64; 6] = [0.001, 0.01, 0.02, 0.05, 0.1, 0.3];

/// ARQ, and the FEC codes.
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

/// Packets per cell, without retransmissions, by effort.
pub const PACKETS: [u32; 2] = [200_000, 50_000];

/// The number of simulated goodputs: two per cell.
const SIMULATED: usize = 2 * LOSSES.len() * CODES.len();

/// A code at a loss rate.
#[derive(Clone, Debug)]
pub struct CodeCell {
    /// The probability that a packet is lost.
    pub p: f64,
    /// The code; n = 1, k = 0 is ARQ.
    pub code: Code,
    /// The probability that a group loses more than k packets.
    pub fails: f64,
    /// The goodput by the paper's formula.
    pub paper: f64,
    /// The goodput without retransmissions.
    pub alone: Goodput,
    /// The goodput with retransmissions of what the code cannot recover.
    pub with_arq: Goodput,
    /// The seed of the simulation.
    pub seed: u64,
    /// Groups simulated.
    pub groups: u32,
}

/// Computes all goodputs, simulates them, and checks the claims.
///
/// # Errors
/// Never with the loss rates of the figure.
pub fn figure(setup: &Setup) -> Result<Figure<CodeCell>> {
    let seed = setup.seed();
    let [full, quick] = PACKETS;
    let packets = setup.effort.of(full, quick);
    // The loss rate of the hop.
    let loses = |p: f64| {
        if setup.is_mutated("lossier") { 4.0 / 3.0 * p } else { p }
    };
    let grid = LOSSES.iter().flat_map(|p| CODES.map(|code| (*p, code)));
    let cells = (0..).zip(grid).map(|(flow, (p, code))| {
        let groups = packets / code.packets();
        let [alone, with_arq] = trial::run(code, [p, loses(p)], groups, seed, FlowId(flow))?;
        Ok(CodeCell { p, code, fails: code.fails(p), paper: code.paper(p), alone, with_arq, seed, groups })
    });
    let cells = cells.collect::<Result<Vec<_>>>()?;
    let arq = LOSSES
        .map(|p| trial::transmissions(loses(p), packets, seed).map(|counts| (p, counts)))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    Ok(Figure::new(NAME, ID, title(seed, packets), claims::all(&cells, &arq), chart(), cells))
}

fn title(seed: u64, packets: u32) -> String {
    let all = SIMULATED as f64 * trial::OUTSIDE;
    format!(
        "Goodput of ARQ and FEC; simulated with {packets} packets per cell, seed {seed}; intervals of {:.3} % \
         confidence each, {:.1} % for all {SIMULATED} together",
        100.0 * (1.0 - trial::OUTSIDE),
        100.0 * (1.0 - all),
    )
}

/// A quantity of a code at a loss rate.
type Formula = fn(Code, f64) -> f64;

fn chart() -> LineChart {
    const POINTS: i32 = 60;
    let (from, to) = (LOSSES[0], LOSSES[LOSSES.len() - 1]);
    let losses = (0..=POINTS).map(|i| from * (to / from).powf(f64::from(i) / f64::from(POINTS)));
    let panels: [(&str, Formula); 3] = [
        ("The paper: no code ever fails", Code::paper),
        ("What the code cannot recover is lost", Code::alone),
        ("What the code cannot recover is sent again", Code::with_arq),
    ];
    let chart = LineChart::new(
        "Goodput of ARQ, and of FEC with n + k packets a group",
        "packets lost (%)",
        "goodput (unique packets/sent)",
        CODES.map(Code::name),
    );
    panels.into_iter().fold(chart.logarithmic().up_to(1.0), |chart, (title, goodput)| {
        chart.panel(title, CODES.map(|code| losses.clone().map(move |p| (100.0 * p, goodput(code, p)))))
    })
}

/// The goodputs as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    Ok(figure(setup)?.sheet(text, &columns()))
}

/// A row per code and loss rate.
fn columns() -> Columns<CodeCell> {
    columns!(columns_of_figure::<CodeCell>(ID), c;
        seed, "", "seed of the simulation";
        groups, "groups", "groups simulated";
        p, "", "probability that a packet is lost";
        n, "packets", "data packets per group" => c.code.n;
        k, "packets", "redundant packets per group; 0 for ARQ" => c.code.k;
        fails, "", "probability that a group loses more than k packets";
        paper, "unique packets/sent", "goodput by the paper's formula";
    )
    .group("alone", trial::columns("without retransmissions"), |c| Some(&c.alone))
    .group("with_arq", trial::columns("with retransmissions of what the code cannot recover"), |c| Some(&c.with_arq))
}

/// A table with a row per cell, for some of the loss rates. Then the goodputs of all cells whose closed
/// form lies outside the simulated interval.
fn text(cells: &[CodeCell]) -> String {
    let printed: Vec<CodeCell> = cells.iter().filter(|cell| PRINTED.contains(&cell.p)).cloned().collect();
    let table = columns!(Columns::<CodeCell>::new(), c;
        "lost (%)" => claims::percent(c.p);
        "code (n+k)" => c.code.name();
        "groups losing more than k (%)" => claims::percent(c.fails);
    );
    let goodputs: [(&str, Number<CodeCell>); 5] = [
        ("goodput, paper (unique/sent)", |c| c.paper),
        ("FEC alone", |c| c.alone.exact),
        ("simulated", |c| c.alone.simulated),
        ("with ARQ", |c| c.with_arq.exact),
        ("simulated", |c| c.with_arq.simulated),
    ];
    let table =
        goodputs.into_iter().fold(table, |table, (heading, of)| table.shown(heading, move |c| format!("{:.5}", of(c))));
    let outside = exceptions(cells);
    let table = table.to_table(&printed);
    format!("{table}\n\nClosed forms outside the simulated interval, at all loss rates: {outside}")
}

/// The goodputs whose closed form lies outside the simulated interval.
fn exceptions(cells: &[CodeCell]) -> String {
    let mut outside = vec![];
    for cell in cells {
        for (name, goodput) in [("alone", cell.alone), ("with ARQ", cell.with_arq)] {
            if !goodput.agrees {
                let (p, code, exact) = (claims::percent(cell.p), cell.code.name(), goodput.exact);
                outside.push(format!("{code} {name} at {p} %: {exact:.5}, {goodput}"));
            }
        }
    }
    if outside.is_empty() { format!("none of {}", 2 * cells.len()) } else { outside.join("; ") }
}

#[cfg(test)]
mod tests;
