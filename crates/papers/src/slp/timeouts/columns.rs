//! The figures as tables for reading and as columns.

use super::{Studied, TABLE};
use crate::prelude::*;
use recoup_captures::study::slp::{Classification, FlagCategory, Percentile, Report, Shares};

/// A position of Figure 1.
#[derive(Clone, Debug)]
pub struct PositionCell {
    pub sender: &'static str,
    pub half: &'static str,
    pub position: u32,
    pub shares: Shares,
}

/// A bar of Figure 3.
#[derive(Clone, Debug)]
pub struct FlagCell {
    pub sender: &'static str,
    pub category: FlagCategory,
}

/// A column of Table I, with the rerun.
#[derive(Clone, Debug)]
pub struct ColumnCell {
    pub computed: Percentile,
    /// The percentile of the flows run again, in seconds.
    pub rerun_s: Option<f64>,
}

/// The columns of Figures 1 and 2.
pub fn positions(figure: &'static str) -> Columns<PositionCell> {
    columns!(columns_of_figure::<PositionCell>(figure), c;
        sender, "", "who sent the packets";
        half, "", "front: from the first packet; back: from the last";
        position, "", "position of the lost packet, from 1";
    )
    .all_of(shares(), |c| Some(&c.shares))
}

/// The columns of Figures 3 and 4.
pub fn flags(figure: &'static str) -> Columns<FlagCell> {
    columns!(columns_of_figure::<FlagCell>(figure), c;
        sender, "", "who sent the packets";
        flags, "", "flags of the lost packet" => c.category.flags.clone();
        packets, "packets", "packets with these flags" => c.category.packets;
        packets_percent, "%", "their share of all packets" => c.category.packets_percent;
        shown, "", "whether the share is large enough for the figure" => c.category.is_shown;
    )
    .all_of(shares(), |c| Some(&c.category.shares))
}

fn shares() -> Columns<Shares> {
    columns!(Columns::<Shares>::new(), s;
        retransmissions, "packets", "retransmissions";
        timeouts_percent, "%", "timeouts among them, by k-means";
        with_trigger, "packets", "retransmissions with a known trigger";
        timeouts_by_trigger_percent, "%", "timeouts among these, by our triggers";
    )
}

/// The columns of Table I.
pub fn table() -> Columns<ColumnCell> {
    columns!(columns_of_figure::<ColumnCell>(TABLE), c;
        percentile, "", "percentile" => c.computed.percentile;
        without_slp_s, "s", "completion time without SLP" => c.computed.without_slp_s;
        with_slp_s, "s", "completion time with SLP, as the paper computes it" => c.computed.with_slp_s;
        reduction_percent, "%", "its reduction" => c.computed.reduction_percent;
        rerun_s, "s", "completion time of the flows run again with duplicated SYNs";
        less_mean_wait_s, "s", "completion time less the mean wait" => c.computed.less_mean_wait_s;
        paper_without_slp_s, "s", "the paper's value" => c.computed.paper_without_slp_s;
        paper_with_slp_s, "s", "the paper's value" => c.computed.paper_with_slp_s;
        paper_reduction_percent, "%", "the paper's value" => c.computed.paper_reduction_percent;
    )
}

/// The cells of Table I.
pub fn table_cells(studied: &Studied) -> Vec<ColumnCell> {
    let mut reruns: Vec<f64> = studied.reruns.iter().filter_map(|flow| flow.rerun_s).collect();
    reruns.sort_unstable_by(f64::total_cmp);
    let columns = studied.report.syn_losses.percentiles.iter();
    let cell = |computed: &Percentile| {
        let rank = (reruns.len() as u64 * u64::from(computed.percentile)).div_ceil(100);
        ColumnCell { computed: *computed, rerun_s: reruns.get((rank as usize).saturating_sub(1)).copied() }
    };
    columns.map(cell).collect()
}

/// The classifiers, and the first positions of each panel.
pub fn positions_text(report: &Report) -> String {
    const SHOWN: u32 = 8;
    let positions = Columns::new().shown("position", |position: &u32| *position);
    let positions = report.positions.iter().cloned().fold(positions, |columns, panel| {
        columns.shown(format!("{} {}", panel.sender, panel.half.name()), move |position| {
            let place = panel.positions.iter().find(|place| place.position == *position);
            place.map_or("-".into(), |place| share(&place.shares))
        })
    });
    format!(
        "{}\n\nTimeouts by position (% by k-means / % by our triggers / retransmissions); CSV and JSON have all positions\n\n{}",
        classifiers_text(report),
        positions.to_table(&Vec::from_iter(1..=SHOWN))
    )
}

fn classifiers_text(report: &Report) -> String {
    let table = columns!(Columns::<Classification>::new(), one;
        "classifier" => one.classifier.title();
        "threshold (s)" => seconds(one.threshold_s);
        "timeouts (%)" => decimal(one.timeouts_percent);
        "differs from\nour triggers (%)" => decimal(one.against_triggers.different_percent);
        "differs from\nWireshark's rule (%)" => decimal(one.against_wireshark.different_percent);
    )
    .to_table(&report.classifications);
    format!("{} retransmissions\n\n{table}", report.retransmissions)
}

fn share(shares: &Shares) -> String {
    format!(
        "{} / {} / {}",
        decimal(shares.timeouts_percent),
        decimal(shares.timeouts_by_trigger_percent),
        shares.retransmissions
    )
}

/// The categories with at least 1 % of the packets.
pub fn flags_text(cells: &[FlagCell]) -> String {
    let shown: Vec<FlagCell> = cells.iter().filter(|cell| cell.category.is_shown).cloned().collect();
    let table = columns!(Columns::<FlagCell>::new(), c;
        "sender" => c.sender;
        "flags" => c.category.flags.clone();
        "packets (%)" => decimal(c.category.packets_percent);
        "retransmissions" => c.category.shares.retransmissions;
        "timeouts by k-means (%)" => decimal(c.category.shares.timeouts_percent);
        "by our triggers (%)" => decimal(c.category.shares.timeouts_by_trigger_percent);
    )
    .to_table(&shown);
    format!("Combinations with at least 1 % of the packets; CSV and JSON have all.\n\n{table}")
}

/// Table I with the paper's.
pub fn table_text(studied: &Studied, cells: &[ColumnCell]) -> String {
    let losses = &studied.report.syn_losses;
    let table = columns!(Columns::<ColumnCell>::new(), c;
        "percentile" => c.computed.percentile;
        "without SLP (s)" => format!("{:.3}", c.computed.without_slp_s);
        "with SLP, computed (s)" => format!("{:.3}", c.computed.with_slp_s);
        "reduction (%)" => decimal(c.computed.reduction_percent);
        "SYNs duplicated, rerun (s)" => seconds(c.rerun_s);
        "the paper: without (s)" => c.computed.paper_without_slp_s;
        "with (s)" => c.computed.paper_with_slp_s;
        "reduction (%)" => c.computed.paper_reduction_percent;
    )
    .to_table(cells);
    format!(
        "{} of {} flows sent their SYN more than once ({} %; the paper: 2.6 %). Mean time from first to last SYN: {} s\n\n{table}",
        losses.with_syn_loss,
        losses.flows,
        decimal(losses.with_syn_loss_percent),
        seconds(losses.mean_wait_s),
    )
}

fn seconds(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.3}"))
}

fn decimal(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}
