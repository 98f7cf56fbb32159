//! §3.3, figure 4f: how the number of subdomains decides which object completion times exceed 1 s.
//!
//! The paper opens six connections per subdomain, but does not say how many subdomains its sites have. Figure 4 has
//! one. Here the newspaper's objects are spread over several, at an RTT of 160 ms. More connections share the link of
//! 10 Mbit/s then, each has its own handshake, and each carries fewer objects, so that a retransmission weighs more in the
//! mean of its connection's objects.

use super::{Selection, Testbed, WebCell, run_cell, sites};
use crate::claims::{Claim, claim, ours};
use crate::experiment::{ExperimentError, Setup};
use crate::tail_loss::NAME;
use crate::tail_loss::cell::{MECHANISMS, Mechanism};
use crate::{Figure, Picture, Sheet, columns_of_figure};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::run::cores;
use recoup_support::stats::Share;
use recoup_table::{Columns, plain_table};

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
pub fn figure(setup: &Setup) -> Result<Figure<SubdomainCell>, ExperimentError> {
    let downloads = setup.effort.of(150, 30);
    let newspaper = sites::pages().pop();
    let mut newspaper = newspaper.ok_or_else(|| "expected a page".to_string())?;
    let amount = (downloads, cores());
    let mut cells = Vec::new();
    for subdomains in SUBDOMAINS {
        for (n, object) in newspaper.objects.iter_mut().enumerate() {
            object.subdomain = match setup.is_mutated("one-subdomain") {
                true => 0,
                false => n % subdomains,
            };
        }
        for mechanism in MECHANISMS {
            let testbed = Testbed::new(setup, RTT, mechanism)?;
            let web = run_cell(setup, &testbed, (0, &newspaper), RTT, mechanism, amount)?;
            cells.push(SubdomainCell { subdomains, web });
        }
    }
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: format!("Newspaper, RTT {RTT} ms: mean OCTs below 1 s, {downloads} downloads each"),
        claims: vec![ours(subdomains_decide(&cells))],
        picture: Picture::Bars(chart(&cells)),
        cells,
    })
}

/// The experiment in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let figure = figure(setup)?;
    let text = text(&figure.cells);
    Ok(figure.into_sheet(&text, &columns()))
}

fn subdomains_decide(cells: &[SubdomainCell]) -> Claim {
    let baseline = cells.iter().filter(|cell| cell.web.mechanism == Mechanism::Baseline);
    let shares: Vec<(usize, Share)> = baseline.map(|cell| (cell.subdomains, cell.below_1_s())).collect();
    let shown = shares.iter().map(|(subdomains, share)| format!("{subdomains}: {share}"));
    let first = shares.first().is_some_and(|(_, share)| share.low > 0.7);
    let last = shares.last().is_some_and(|(_, share)| share.high < 0.7);
    claim(
        "subdomains-decide-1s",
        "3.3",
        "The number of subdomains, which the paper does not give, decides how many of the newspaper's OCTs are below 1 s",
        "baseline: the paper's share (70 %) lies between the shares with one and with ten subdomains",
        (shown.collect::<Vec<_>>().join(", "), first && last),
    )
}

fn chart(cells: &[SubdomainCell]) -> BarChart {
    let groups = cells.chunks(MECHANISMS.len()).map(|bars| BarGroup {
        label: bars[0].subdomains.to_string(),
        values: bars.iter().map(|cell| Some(cell.below_1_s().share)).collect(),
    });
    BarChart {
        title: format!("Newspaper, RTT {RTT} ms: downloads with a mean OCT below 1 s"),
        x_label: "subdomains".into(),
        y_label: "share of the downloads".into(),
        series: MECHANISMS.map(|m| m.name().to_string()).to_vec(),
        panels: vec![BarPanel { title: String::new(), groups: groups.collect() }],
    }
}

/// A row per number of subdomains and mechanism.
fn columns() -> Columns<SubdomainCell> {
    columns_of_figure::<SubdomainCell>(ID)
        .integer(("subdomains", "", "subdomains of the page"), |c| Some(c.subdomains as u64))
        .text(("mechanism", "", "the sender's mechanism"), |c| Some(c.web.mechanism.name().into()))
        .integer(("selected", "", "selected downloads"), |c| Some(c.below_1_s().trials))
        .real(("below_1_s", "", "the share of them whose mean OCT is below 1 s"), |c| Some(c.below_1_s().share))
}

/// A row per number of subdomains.
fn text(cells: &[SubdomainCell]) -> String {
    let mut table = plain_table();
    let mut header = vec!["subdomains".into()];
    header.extend(MECHANISMS.map(|m| format!("{} (% below 1 s)", m.name())));
    table.set_header(header);
    for bars in cells.chunks(MECHANISMS.len()) {
        let mut row = vec![bars[0].subdomains.to_string()];
        row.extend(bars.iter().map(|cell| format!("{:.0}", 100.0 * cell.below_1_s().share)));
        table.add_row(row);
    }
    format!("Selected downloads whose mean OCT is below 1 s. Paper: RTOR 84, TLP 74, baseline 70 %.\n\n{table}")
}
