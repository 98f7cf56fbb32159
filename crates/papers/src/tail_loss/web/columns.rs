//! The rows of figure 4.

use super::{ID, Selection, WebCell};
use crate::prelude::*;
use crate::tail_loss::cell::{MECHANISMS, Mechanism};

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
    let mut columns = columns!(columns_of_figure::<WebCell>(ID), c;
        panel, "", "the panel of the figure" => c.panel(pages);
        site, "", "the page" => c.site.clone();
        rtt_ms, "ms", "round-trip time without queueing";
        mechanism, "", "the sender's mechanism" => c.mechanism.name();
        downloads, "", "downloads of the page" => c.downloads.len();
        incomplete, "", "downloads with an object that never arrived" => c.incomplete();
        oct_all_mean_ms, "ms", "mean OCT of all objects of a download, the mean of all downloads" => {
            let octs = c.downloads.iter().filter_map(|one| one.oct_ms);
            mean(&octs.collect::<Vec<_>>())
        };
    );
    for selection in Selection::ALL {
        let (what, name) = match selection {
            Selection::Object => ("objects that sent one of their last four segments again", ""),
            Selection::ObjectByLoss => {
                ("objects that lost one of their last four segments when it was first sent", "_by_loss")
            }
            Selection::Connection => {
                ("objects on connections with such a retransmission, a mean per download", "_connection")
            }
            Selection::ConnectionByLoss => {
                ("objects on connections with such a loss, a mean per download", "_connection_by_loss")
            }
        };
        columns = columns
            .column(format!("selected{name}"), "", format!("OCTs of {what}: how many"), move |c| {
                c.octs(selection).len()
            })
            .column(format!("oct_mean{name}_ms"), "ms", format!("mean OCT of {what}"), move |c| {
                mean(&c.octs(selection))
            });
        for (quantile_name, share) in [("p10", 0.1), ("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9)] {
            let about = format!("OCT that {:.0} % of them do not exceed", share * 100.0);
            let column = format!("oct_{quantile_name}{name}_ms");
            columns = columns.column(column, "ms", about, move |c| quantile(&c.octs(selection), share));
        }
        columns =
            columns.column(format!("below_1s{name}"), "", "the share of these OCTs that are below 1 s", move |c| {
                share_below(&c.octs(selection), 1000.0)
            });
    }
    columns = columns.column(
        "averages_below_1s",
        "",
        "the share below 1 s of the averages per download of the objects that sent one of their last four segments again",
        |c| c.averages_below_1_s(Selection::Object),
    );
    columns.column("segments_sent", "segments", "data segments sent", |c| c.spurious().0).column(
        "spurious",
        "segments",
        "spurious retransmissions among them",
        |c| c.spurious().1,
    )
}

/// An object that counts.
#[derive(Clone, Debug)]
pub struct Point {
    panel: Option<char>,
    mechanism: &'static str,
    oct_ms: f64,
}

/// The objects that count, in ascending order of their OCT.
pub fn points(cells: &[WebCell]) -> Vec<Point> {
    let pages = pages(cells);
    let of_cell = |cell: &WebCell| {
        let (panel, mechanism) = (cell.panel(pages), cell.mechanism.name());
        cell.octs(Selection::Object).into_iter().map(move |oct_ms| Point { panel, mechanism, oct_ms })
    };
    cells.iter().flat_map(of_cell).collect()
}

/// A row an object that counts.
pub fn distributions() -> Columns<Point> {
    columns!(columns_of_figure::<Point>(ID), p;
        panel, "", "the panel of the figure";
        mechanism, "", "the sender's mechanism";
        oct_ms, "ms", "OCT of the object";
    )
}

/// Spurious retransmissions and data segments of a mechanism, in all cells.
pub fn spurious(cells: &[WebCell], mechanism: Mechanism) -> (u64, u64) {
    let of = cells.iter().filter(|cell| cell.mechanism == mechanism);
    of.map(WebCell::spurious).fold((0, 0), |(sent, spurious), (more, of)| (sent + more, spurious + of))
}

/// The panels, and spurious retransmissions.
pub fn text(cells: &[WebCell]) -> String {
    let (pages, object) = (pages(cells), Selection::Object);
    let percent = |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.1}", share * 100.0));
    let mut table = columns!(Columns::<WebCell>::new(), c;
        "panel" => c.panel(pages).unwrap_or('-');
        "site" => c.site.clone();
        "RTT (ms)" => c.rtt_ms;
        "mechanism" => c.mechanism.name();
        "objects" => c.octs(object).len();
        "mean OCT (ms)" => c.mean_of(object, |oct| oct);
    );
    for (name, share) in [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9)] {
        table = table.shown(name, move |c| millis(quantile(&c.octs(object), share)));
    }
    let table = table
        .shown("< 1 s (%)", move |c| percent(share_below(&c.octs(object), 1000.0)))
        .shown("by loss", |c| c.octs(Selection::ObjectByLoss).len())
        .shown("< 1 s (%)", move |c| percent(share_below(&c.octs(Selection::ObjectByLoss), 1000.0)))
        .shown("connections", |c| c.octs(Selection::Connection).len())
        .shown("< 1 s (%)", move |c| percent(share_below(&c.octs(Selection::Connection), 1000.0)))
        .to_table(cells);
    let sums = Columns::new()
        .shown("mechanism", |(mechanism, ..): &(Mechanism, u64, u64)| mechanism.name())
        .shown("data segments", |(_, sent, _)| *sent)
        .shown("spurious", |(.., spurious)| *spurious)
        .shown("share", |(_, sent, spurious)| format!("{:.1e}", *spurious as f64 / (*sent).max(1) as f64))
        .to_table(&MECHANISMS.map(|mechanism| {
            let (sent, of) = spurious(cells, mechanism);
            (mechanism, sent, of)
        }));
    let incomplete: usize = cells.iter().map(WebCell::incomplete).sum();
    format!(
        "OCT: from the request to the last byte. Objects: those that sent one of their last four segments again. By loss: those \
         that lost one when it was first sent.\nConnections: downloads with such a retransmission, and the mean OCT of all objects \
         on these connections. Incomplete downloads: {incomplete}.\n\n{table}\n\nSpurious retransmissions, all panels together:\n\n{sums}"
    )
}
