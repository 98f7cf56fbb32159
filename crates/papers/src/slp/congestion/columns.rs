//! The rows of the figure: a group of hosts in a setup.

use super::{CongestionCell, Copying, GROUPS, ID, Setup, difference, mean};
use crate::prelude::*;

/// A group of hosts in a setup.
#[derive(Clone, Debug)]
pub struct Row {
    setup: Setup,
    group: &'static str,
    fct_ms: Estimate,
    /// Compared with the same worlds in which nobody copies.
    more_fct_ms: Estimate,
    goodput_mbps: Estimate,
    more_goodput_mbps: Estimate,
    /// A hundred data segments have so many copies.
    copies: f64,
    timeouts: u64,
    loss: f64,
    fairness: f64,
}

/// Two rows a cell.
pub fn rows(cells: &[CongestionCell]) -> Vec<Row> {
    let grid = Grid::new(cells);
    let of_cell = |cell: &CongestionCell| {
        let nobody = grid.at(Setup { copying: Copying::None, ..cell.setup });
        [0, 1].map(|place: usize| {
            let (ours, theirs) = (&cell.groups[place], &nobody.groups[place]);
            Row {
                setup: cell.setup,
                group: GROUPS[place],
                fct_ms: mean(&ours.fct_ms),
                more_fct_ms: difference(&ours.fct_ms, &theirs.fct_ms),
                goodput_mbps: mean(&ours.goodput_mbps),
                more_goodput_mbps: difference(&ours.goodput_mbps, &theirs.goodput_mbps),
                copies: 100.0 * ours.copies as f64 / ours.segments.max(1) as f64,
                timeouts: ours.timeouts,
                loss: mean(&cell.loss).mean,
                fairness: cell.fairness(),
            }
        })
    };
    cells.iter().flat_map(of_cell).collect()
}

/// The columns.
pub fn all() -> Columns<Row> {
    columns!(columns_of_figure::<Row>(ID), r;
        profile, "", "what both groups do besides copying" => r.setup.profile;
        think, "", "mean pause between fetches of a pair" => r.setup.think;
        copying, "", "who sends copies" => r.setup.copying.name();
        group, "", "the group of hosts of this row";
        fct_ms, "ms", "mean FCT, the mean of the worlds" => r.fct_ms.mean;
        fct_half_ms, "ms", "half the width of its 95 % confidence interval" => r.fct_ms.half;
        fct_change_ms, "ms", "mean FCT less that of the same worlds in which nobody copies" => r.more_fct_ms.mean;
        fct_change_half_ms, "ms", "half the width of its 95 % confidence interval" => r.more_fct_ms.half;
        goodput_mbps, "Mbit/s", "payload that arrived at the group" => r.goodput_mbps.mean;
        goodput_change_mbps, "Mbit/s", "goodput less that of the worlds in which nobody copies" => r.more_goodput_mbps.mean;
        goodput_change_half_mbps, "Mbit/s", "half the width of its 95 % confidence interval" => r.more_goodput_mbps.half;
        copies_percent, "%", "copies sent, of the group's data segments" => r.copies;
        timeouts, "", "retransmissions of timeouts";
        loss, "", "share of packets that the bottleneck dropped on the way of the data";
        jains_index, "", "Jain's fairness index of both groups' goodput" => r.fairness;
    )
}

/// A table with a row a group and setup.
pub fn text(rows: &[Row]) -> String {
    let table = columns!(Columns::<Row>::new(), r;
        "profile" => r.setup.profile;
        "pause" => r.setup.think;
        "copying" => r.setup.copying.name();
        "group" => r.group;
        "FCT (ms)" => r.fct_ms;
        "change (ms)" => r.more_fct_ms;
        "goodput (Mbit/s)" => format!("{:.3}", r.goodput_mbps.mean);
        "change (Mbit/s)" => format!("{:.3} ± {:.3}", r.more_goodput_mbps.mean, r.more_goodput_mbps.half);
        "copies (%)" => format!("{:.1}", r.copies);
        "timeouts" => r.timeouts;
        "lost (%)" => format!("{:.2}", 100.0 * r.loss);
        "Jain" => format!("{:.4}", r.fairness);
    )
    .to_table(rows);
    format!("Change: compared with the same worlds in which nobody copies.\n\n{table}")
}
