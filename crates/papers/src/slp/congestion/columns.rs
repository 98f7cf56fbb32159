//! The rows of the figure: a group of hosts in a setup.

use super::{CongestionCell, Copying, GROUPS, ID, Setup, difference, mean};
use crate::columns_of_figure;
use recoup_support::stats::Estimate;
use recoup_table::{Columns, plain_table};

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
    let of_cell = |cell: &CongestionCell| {
        let nobody = Setup { copying: Copying::None, ..cell.setup };
        let nobody = cells.iter().find(|other| other.setup == nobody);
        let nobody = nobody.unwrap_or(cell);
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
    columns_of_figure::<Row>(ID)
        .text(("profile", "", "what both groups do besides copying"), |r| Some(r.setup.profile.into()))
        .text(("think", "", "mean pause between fetches of a pair"), |r| Some(r.setup.think.into()))
        .text(("copying", "", "who sends copies"), |r| Some(r.setup.copying.name().into()))
        .text(("group", "", "the group of hosts of this row"), |r| Some(r.group.into()))
        .real(("fct_ms", "ms", "mean FCT, the mean of the worlds"), |r| Some(r.fct_ms.mean))
        .real(("fct_half_ms", "ms", "half the width of its 95 % confidence interval"), |r| Some(r.fct_ms.half))
        .real(("fct_change_ms", "ms", "mean FCT less that of the same worlds in which nobody copies"), |r| {
            Some(r.more_fct_ms.mean)
        })
        .real(("fct_change_half_ms", "ms", "half the width of its 95 % confidence interval"), |r| {
            Some(r.more_fct_ms.half)
        })
        .real(("goodput_mbps", "Mbit/s", "payload that arrived at the group"), |r| Some(r.goodput_mbps.mean))
        .real(("goodput_change_mbps", "Mbit/s", "goodput less that of the worlds in which nobody copies"), |r| {
            Some(r.more_goodput_mbps.mean)
        })
        .real(("goodput_change_half_mbps", "Mbit/s", "half the width of its 95 % confidence interval"), |r| {
            Some(r.more_goodput_mbps.half)
        })
        .real(("copies_percent", "%", "copies sent, of the group's data segments"), |r| Some(r.copies))
        .integer(("timeouts", "", "retransmissions of timeouts"), |r| Some(r.timeouts))
        .real(("loss", "", "share of packets that the bottleneck dropped on the way of the data"), |r| Some(r.loss))
        .real(("jains_index", "", "Jain's fairness index of both groups' goodput"), |r| Some(r.fairness))
}

/// A table with a row a group and setup.
pub fn text(rows: &[Row]) -> String {
    let mut table = plain_table();
    table.set_header([
        "profile",
        "pause",
        "copying",
        "group",
        "FCT (ms)",
        "change (ms)",
        "goodput (Mbit/s)",
        "change (Mbit/s)",
        "copies (%)",
        "timeouts",
        "lost (%)",
        "Jain",
    ]);
    for row in rows {
        let percent = 100.0 * row.loss;
        table.add_row([
            row.setup.profile.into(),
            row.setup.think.into(),
            row.setup.copying.name().into(),
            row.group.into(),
            row.fct_ms.to_string(),
            row.more_fct_ms.to_string(),
            format!("{:.3}", row.goodput_mbps.mean),
            format!("{:.3} ± {:.3}", row.more_goodput_mbps.mean, row.more_goodput_mbps.half),
            format!("{:.1}", row.copies),
            row.timeouts.to_string(),
            format!("{percent:.2}"),
            format!("{:.4}", row.fairness),
        ]);
    }
    format!("Change: compared with the same worlds in which nobody copies.\n\n{table}")
}
