//! §3.3, figure 4f: how the number of subdomains decides which object completion times exceed 1 s.
//!
//! The paper opens six connections per subdomain, but does not say how many subdomains its sites have. Figure 4 has
//! one. Here the newspaper's objects are spread over several, at an RTT of 160 ms. More connections share the link of
//! 10 Mbit/s then, each has its own handshake, and each carries fewer objects, so that a retransmission weighs more in the
//! mean of its connection's objects.

use super::{Selection, Testbed, WebCell, run_cell, sites};
use crate::prelude::*;
use crate::tail_loss::NAME;
use crate::tail_loss::cell::{MECHANISMS, Mechanism};

/// The experiment's name.
pub const ID: &str = "subdomains";

/// The numbers of subdomains.
const SUBDOMAINS: [usize; 5] = [1, 4, 8, 9, 10];

/// The round-trip time, in ms.
const RTT: u64 = 160;

/// The downloads with one mechanism and one number of subdomains.
#[derive(Clone, Debug)]
pub struct SubdomainCell {
    subdomains: usize,
    web: WebCell,
}

impl SubdomainCell {
    /// The share of the selected downloads whose mean OCT is below 1 s.
    fn below_1_s(&self) -> Share {
        let octs = self.web.octs(Selection::Retransmission);
        let below = octs.iter().filter(|oct| **oct < 1000.0).count();
        Share::of(below as u64, octs.len() as u64)
    }
}

/// Runs all cells and checks the claim.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(setup: &Setup) -> Result<Figure<SubdomainCell>> {
    let downloads = setup.effort.of(150, 30);
    let mut newspaper = sites::pages().pop().ok_or_else(|| "expected a page".to_string())?;
    let amount = (downloads, cores());
    let mut cells = vec![];
    for subdomains in SUBDOMAINS {
        for (n, object) in newspaper.objects.iter_mut().enumerate() {
            object.subdomain = if setup.is_mutated("one-subdomain") { 0 } else { n % subdomains };
        }
        for mechanism in MECHANISMS {
            let testbed = Testbed::new(setup, RTT, mechanism)?;
            let web = run_cell(setup, &testbed, (0, &newspaper), RTT, mechanism, amount)?;
            cells.push(SubdomainCell { subdomains, web });
        }
    }
    let title = format!("Newspaper, RTT {RTT} ms: mean OCTs below 1 s, {downloads} downloads each");
    Ok(Figure::new(NAME, ID, title, vec![subdomains_decide(&cells)], chart(&cells), cells))
}

/// The experiment in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    Ok(figure(setup)?.sheet(text, &columns()))
}

fn subdomains_decide(cells: &[SubdomainCell]) -> Claim {
    let shares: Vec<(usize, Share)> = cells
        .iter()
        .filter(|cell| cell.web.mechanism == Mechanism::Baseline)
        .map(|cell| (cell.subdomains, cell.below_1_s()))
        .collect();
    let shown = shares.iter().map(|(subdomains, share)| format!("{subdomains}: {share}"));
    let first = shares.first().is_some_and(|(_, share)| share.low > 0.7);
    let last = shares.last().is_some_and(|(_, share)| share.high < 0.7);
    claim("subdomains-decide-1s").shows(shown.joined(", ")).holds(first && last)
}

fn chart(cells: &[SubdomainCell]) -> BarChart {
    let share = |cell: &SubdomainCell| Some(cell.below_1_s().share);
    let bars = cells.chunks(MECHANISMS.len());
    BarChart::new(
        format!("Newspaper, RTT {RTT} ms: downloads with a mean OCT below 1 s"),
        "subdomains",
        "share of the downloads",
        MECHANISMS.map(Mechanism::name),
    )
    .panel("", bars.map(|bars| (bars[0].subdomains.to_string(), bars.iter().map(share))))
}

/// A row per number of subdomains and mechanism.
fn columns() -> Columns<SubdomainCell> {
    columns!(columns_of_figure::<SubdomainCell>(ID), c;
        subdomains, "", "subdomains of the page";
        mechanism, "", "the sender's mechanism" => c.web.mechanism.name();
        selected, "", "selected downloads" => c.below_1_s().trials;
        below_1_s, "", "the share of them whose mean OCT is below 1 s" => c.below_1_s().share;
    )
}

/// A row per number of subdomains.
fn text(cells: &[SubdomainCell]) -> String {
    let table = pivot(
        cells,
        &[("subdomains", &|c| c.subdomains.to_string())],
        &MECHANISMS.map(Mechanism::name),
        &[(" (% below 1 s)", &|c| format!("{:.0}", 100.0 * c.below_1_s().share))],
    );
    format!("Selected downloads whose mean OCT is below 1 s. Paper: RTOR 84, TLP 74, baseline 70 %.\n\n{table}")
}
