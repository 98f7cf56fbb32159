//! The rows of figure 4.

use super::{ID, Selection, WebCell};
use crate::columns_of_figure;
use crate::distribution::quantile;
use crate::tail_loss::cell::{MECHANISMS, Mechanism};
use recoup_support::stats::Estimate;
use recoup_table::{Columns, millis, plain_table};

/// The share of the values below this; `None` without values.
pub fn share_below(values: &[f64], limit: f64) -> Option<f64> {
    let below = values.iter().filter(|value| **value < limit).count();
    (!values.is_empty()).then(|| below as f64 / values.len() as f64)
}

/// The mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| Estimate::of(values.iter().copied()).mean)
}

/// The number of pages among the cells.
fn pages(cells: &[WebCell]) -> usize {
    cells.iter().map(|cell| cell.page + 1).max().unwrap_or_default()
}

/// A row a cell.
pub fn cells(all: &[WebCell]) -> Columns<WebCell> {
    let pages = pages(all);
    let mut columns = columns_of_figure::<WebCell>(ID)
        .text(("panel", "", "the panel of the figure"), move |c| c.panel(pages).map(|letter| letter.to_string().into()))
        .text(("site", "", "the page"), |c| Some(c.site.clone().into()))
        .integer(("rtt_ms", "ms", "round-trip time without queueing"), |c| Some(c.rtt_ms))
        .text(("mechanism", "", "the sender's mechanism"), |c| Some(c.mechanism.name().into()))
        .integer(("downloads", "", "downloads of the page"), |c| Some(c.downloads.len() as u64))
        .integer(("incomplete", "", "downloads with an object that never arrived"), |c| Some(c.incomplete() as u64))
        .real(("oct_all_mean_ms", "ms", "mean OCT of all objects of a download, the mean of all downloads"), |c| {
            let octs = c.downloads.iter().filter_map(|one| one.oct_ms);
            mean(&octs.collect::<Vec<_>>())
        });
    for (selection, name, about) in [
        (Selection::Retransmission, "", "downloads with a retransmission in an object's last four segments"),
        (
            Selection::Loss,
            "_by_loss",
            "downloads that lost one of an object's last four segments when it was first sent",
        ),
    ] {
        columns = columns
            .integer((format!("selected{name}"), "", about.to_string()), move |c| Some(c.octs(selection).len() as u64))
            .real((format!("oct_mean{name}_ms"), "ms", format!("mean OCT of {about}")), move |c| {
                mean(&c.octs(selection))
            });
        for (quantile_name, share) in [("p10", 0.1), ("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9)] {
            let about = format!("mean OCT that {:.0} % of them do not exceed", share * 100.0);
            let column = format!("oct_{quantile_name}{name}_ms");
            columns = columns.real((column, "ms", about), move |c| quantile(&c.octs(selection), share));
        }
        columns = columns
            .real((format!("below_1s{name}"), "", "the share of them whose mean OCT is below 1 s"), move |c| {
                share_below(&c.octs(selection), 1000.0)
            });
    }
    columns
        .integer(("segments_sent", "segments", "data segments sent"), |c| Some(c.spurious().0))
        .integer(("spurious", "segments", "spurious retransmissions among them"), |c| Some(c.spurious().1))
}

/// A selected download.
#[derive(Clone, Debug)]
pub struct Point {
    panel: Option<char>,
    mechanism: &'static str,
    oct_ms: f64,
}

/// The selected downloads, in ascending order of their mean OCT.
pub fn points(cells: &[WebCell]) -> Vec<Point> {
    let pages = pages(cells);
    let of_cell = |cell: &WebCell| {
        let (panel, mechanism) = (cell.panel(pages), cell.mechanism.name());
        let octs = cell.octs(Selection::Retransmission).into_iter();
        octs.map(move |oct_ms| Point { panel, mechanism, oct_ms })
    };
    cells.iter().flat_map(of_cell).collect()
}

/// A row a selected download.
pub fn distributions() -> Columns<Point> {
    columns_of_figure::<Point>(ID)
        .text(("panel", "", "the panel of the figure"), |p| p.panel.map(|letter| letter.to_string().into()))
        .text(("mechanism", "", "the sender's mechanism"), |p| Some(p.mechanism.into()))
        .real(("oct_ms", "ms", "mean OCT of the download's selected objects"), |p| Some(p.oct_ms))
}

/// Spurious retransmissions and data segments of a mechanism, in all cells.
pub fn spurious(cells: &[WebCell], mechanism: Mechanism) -> (u64, u64) {
    let of = cells.iter().filter(|cell| cell.mechanism == mechanism);
    of.map(WebCell::spurious).fold((0, 0), |(sent, spurious), (more, of)| (sent + more, spurious + of))
}

/// The panels, and spurious retransmissions.
pub fn text(cells: &[WebCell]) -> String {
    let mut table = plain_table();
    table.set_header([
        "panel",
        "site",
        "RTT (ms)",
        "mechanism",
        "selected",
        "mean OCT (ms)",
        "p25",
        "p50",
        "p75",
        "p90",
        "< 1 s (%)",
        "by loss",
        "mean OCT (ms)",
    ]);
    let pages = pages(cells);
    for cell in cells {
        let octs = cell.octs(Selection::Retransmission);
        let by_loss = cell.octs(Selection::Loss);
        let at = |share| millis(quantile(&octs, share));
        let below = share_below(&octs, 1000.0).map(|share| format!("{:.1}", share * 100.0));
        table.add_row([
            cell.panel(pages).map_or("-".into(), |c| c.to_string()),
            cell.site.clone(),
            cell.rtt_ms.to_string(),
            cell.mechanism.name().into(),
            octs.len().to_string(),
            Estimate::of(octs.iter().copied()).to_string(),
            at(0.25),
            at(0.5),
            at(0.75),
            at(0.9),
            below.unwrap_or_else(|| "-".into()),
            by_loss.len().to_string(),
            Estimate::of(by_loss.iter().copied()).to_string(),
        ]);
    }
    let mut sums = plain_table();
    sums.set_header(["mechanism", "data segments", "spurious", "share"]);
    for mechanism in MECHANISMS {
        let (sent, of) = spurious(cells, mechanism);
        let share = of as f64 / sent.max(1) as f64;
        sums.add_row([mechanism.name().to_string(), sent.to_string(), of.to_string(), format!("{share:.1e}")]);
    }
    let incomplete: usize = cells.iter().map(WebCell::incomplete).sum();
    format!(
        "OCT: from the request to the last byte. Selected: downloads with a retransmission in one of the last four segments of \
         an object.\nBy loss: those that lost one of these segments when it was first sent. Incomplete downloads: {incomplete}.\n\n\
         {table}\n\nSpurious retransmissions, all panels together:\n\n{sums}"
    )
}
