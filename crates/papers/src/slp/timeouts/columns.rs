//! The figures as tables for reading and as columns.

use super::{Studied, TABLE};
use crate::columns_of_figure;
use comfy_table::Table;
use recoup_captures::study::slp::{FlagCategory, Percentile, Report, Shares};
use recoup_table::{Columns, plain_table};

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
    columns_of_figure::<PositionCell>(figure)
        .text(("sender", "", "who sent the packets"), |c| Some(c.sender.into()))
        .text(("half", "", "front: from the first packet; back: from the last"), |c| Some(c.half.into()))
        .integer(("position", "", "position of the lost packet, from 1"), |c| Some(c.position.into()))
        .all_of(shares(), |c| Some(&c.shares))
}

/// The columns of Figures 3 and 4.
pub fn flags(figure: &'static str) -> Columns<FlagCell> {
    columns_of_figure::<FlagCell>(figure)
        .text(("sender", "", "who sent the packets"), |c| Some(c.sender.into()))
        .text(("flags", "", "flags of the lost packet"), |c| Some(c.category.flags.clone().into()))
        .integer(("packets", "packets", "packets with these flags"), |c| Some(c.category.packets))
        .real(("packets_percent", "%", "their share of all packets"), |c| c.category.packets_percent)
        .flag(("shown", "", "whether the share is large enough for the figure"), |c| c.category.is_shown)
        .all_of(shares(), |c| Some(&c.category.shares))
}

fn shares() -> Columns<Shares> {
    Columns::new()
        .integer(("retransmissions", "packets", "retransmissions"), |s: &Shares| Some(s.retransmissions))
        .real(("timeouts_percent", "%", "timeouts among them, by k-means"), |s| s.timeouts_percent)
        .integer(("with_trigger", "packets", "retransmissions with a known trigger"), |s| Some(s.with_trigger))
        .real(("timeouts_by_trigger_percent", "%", "timeouts among these, by our triggers"), |s| {
            s.timeouts_by_trigger_percent
        })
}

/// The columns of Table I.
pub fn table() -> Columns<ColumnCell> {
    columns_of_figure::<ColumnCell>(TABLE)
        .integer(("percentile", "", "percentile"), |c| Some(c.computed.percentile.into()))
        .real(("without_slp_s", "s", "completion time without SLP"), |c| Some(c.computed.without_slp_s))
        .real(("with_slp_s", "s", "completion time with SLP, as the paper computes it"), |c| {
            Some(c.computed.with_slp_s)
        })
        .real(("reduction_percent", "%", "its reduction"), |c| c.computed.reduction_percent)
        .real(("rerun_s", "s", "completion time of the flows run again with duplicated SYNs"), |c| c.rerun_s)
        .real(("less_mean_wait_s", "s", "completion time less the mean wait"), |c| Some(c.computed.less_mean_wait_s))
        .real(("paper_without_slp_s", "s", "the paper's value"), |c| Some(c.computed.paper_without_slp_s))
        .real(("paper_with_slp_s", "s", "the paper's value"), |c| Some(c.computed.paper_with_slp_s))
        .real(("paper_reduction_percent", "%", "the paper's value"), |c| Some(c.computed.paper_reduction_percent))
}

/// The cells of Table I.
pub fn table_cells(studied: &Studied) -> Vec<ColumnCell> {
    let reruns = studied.reruns.iter().filter_map(|flow| flow.rerun_s);
    let mut reruns: Vec<f64> = reruns.collect();
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
    let mut text = classifiers_text(report);
    text += "\n\nTimeouts by position (% by k-means / % by our triggers / retransmissions); CSV and JSON have all positions\n\n";
    let mut table = plain_table();
    let mut header = vec!["position".to_owned()];
    let panels = report.positions.iter();
    header.extend(panels.map(|panel| format!("{} {}", panel.sender, panel.half.name())));
    table.set_header(header);
    for position in 1..=SHOWN {
        let mut row = vec![position.to_string()];
        row.extend(report.positions.iter().map(|panel| {
            let mut places = panel.positions.iter();
            let place = places.find(|place| place.position == position);
            place.map_or("-".into(), |place| share(&place.shares))
        }));
        table.add_row(row);
    }
    text + &table.to_string()
}

fn classifiers_text(report: &Report) -> String {
    let mut table = plain_table();
    table.set_header([
        "classifier",
        "threshold (s)",
        "timeouts (%)",
        "differs from\nour triggers (%)",
        "differs from\nWireshark's rule (%)",
    ]);
    for one in &report.classifications {
        table.add_row([
            one.classifier.title().into(),
            one.threshold_s.map_or("-".into(), |t| format!("{t:.3}")),
            decimal(one.timeouts_percent),
            decimal(one.against_triggers.different_percent),
            decimal(one.against_wireshark.different_percent),
        ]);
    }
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
pub fn flags_text(report: &Report) -> String {
    let mut table = plain_table();
    table.set_header([
        "sender",
        "flags",
        "packets (%)",
        "retransmissions",
        "timeouts by k-means (%)",
        "by our triggers (%)",
    ]);
    for panel in &report.flags {
        for row in panel.categories.iter().filter(|row| row.is_shown) {
            table.add_row([
                panel.sender.into(),
                row.flags.clone(),
                decimal(row.packets_percent),
                row.shares.retransmissions.to_string(),
                decimal(row.shares.timeouts_percent),
                decimal(row.shares.timeouts_by_trigger_percent),
            ]);
        }
    }
    format!("Combinations with at least 1 % of the packets; CSV and JSON have all.\n\n{table}")
}

/// Table I with the paper's.
pub fn table_text(studied: &Studied) -> String {
    let losses = &studied.report.syn_losses;
    let mut table: Table = plain_table();
    table.set_header([
        "percentile",
        "without SLP (s)",
        "with SLP, computed (s)",
        "reduction (%)",
        "SYNs duplicated, rerun (s)",
        "the paper: without (s)",
        "with (s)",
        "reduction (%)",
    ]);
    for cell in table_cells(studied) {
        let row = &cell.computed;
        table.add_row([
            row.percentile.to_string(),
            format!("{:.3}", row.without_slp_s),
            format!("{:.3}", row.with_slp_s),
            decimal(row.reduction_percent),
            cell.rerun_s.map_or("-".into(), |s| format!("{s:.3}")),
            row.paper_without_slp_s.to_string(),
            row.paper_with_slp_s.to_string(),
            row.paper_reduction_percent.to_string(),
        ]);
    }
    format!(
        "{} of {} flows sent their SYN more than once ({} %; the paper: 2.6 %). Mean time from first to last SYN: {} s\n\n{table}",
        losses.with_syn_loss,
        losses.flows,
        decimal(losses.with_syn_loss_percent),
        losses.mean_wait_s.map_or("-".into(), |s| format!("{s:.3}")),
    )
}

fn decimal(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}
