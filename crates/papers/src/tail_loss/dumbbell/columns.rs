//! The rows of figure 3.

use super::{DumbbellCell, Foreground, ID, LOSS, PANELS, Tail, cells_of};
use crate::prelude::*;
use recoup_lab::world::Calibration;

/// A row a cell.
pub fn cells() -> Columns<DumbbellCell> {
    let ms = |fcts: Vec<f64>, share: f64| quantile(&fcts, share);
    let mut columns = columns!(columns_of_figure::<DumbbellCell>(ID), c;
        panel, "", "the panel of the paper's figure; unknown without one" => c.foreground.panel();
        segments, "segments", "the flow's length" => c.foreground.size;
        owd_ms, "ms", "one-way delay without queueing" => c.foreground.owd_ms;
        ack, "", "the receiver's `ack` setting" => c.foreground.acks.name();
        mechanism, "", "the sender's mechanism" => c.mechanism.name();
        worlds, "", "worlds run";
        flows, "flows", "flows that ended" => c.flows.len();
        selected, "flows", "flows that lost one of their last four segments when it was first sent" => c.selected().count();
        selected_by_retransmission, "flows", "flows that sent one of their last four segments again" => c.selected_by_retransmission().count();
        fct_mean_ms, "ms", "mean FCT of the selected flows, from establishment" => c.mean().mean;
        fct_mean_half_ms, "ms", "half the width of its 95 % confidence interval" => c.mean().half;
    );
    for (name, share) in [("p10", 0.1), ("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9)] {
        let about = format!("FCT that {:.0} % of the selected flows do not exceed", share * 100.0);
        columns = columns.column(format!("fct_{name}_ms"), "ms", about, move |c| ms(c.fcts(), share));
    }
    for (name, tail, about) in [
        ("last", &[Tail::One][..], "lost only their last segment"),
        ("two_or_three", &[Tail::Two, Tail::Three], "lost only their last two or three segments"),
    ] {
        columns = columns
            .column(format!("{name}_flows"), "flows", format!("flows that {about}"), move |c| c.fcts_of(tail).len())
            .column(format!("{name}_p50_ms"), "ms", format!("median FCT of the flows that {about}"), move |c| {
                ms(c.fcts_of(tail), 0.5)
            });
    }
    columns
        .column("episodes", "", "runs of consecutive segments lost", |c| c.episodes().episodes)
        .column("episodes_at_tail", "", "those that include the flow's last segment", |c| c.episodes().at_tail)
        .column("lost", "segments", "segments lost in them", |c| c.episodes().lost)
        .column("segments_sent", "segments", "data segments sent", |c| c.spurious(u64::MAX).0)
        .column("spurious", "segments", "spurious retransmissions among them", |c| c.spurious(u64::MAX).1)
        .column("bottleneck_packets", "packets", "packets that reached the bottleneck", |c| c.bottleneck.record.packets)
        .column("bottleneck_dropped", "packets", "packets that its queue dropped", |c| {
            c.bottleneck.record.dropped_by_queue
        })
}

/// A selected flow of a panel.
#[derive(Clone, Debug)]
pub struct Point {
    foreground: Foreground,
    mechanism: &'static str,
    fct_ms: f64,
}

/// The selected flows of all panels, in ascending order of their FCT.
pub fn points(cells: &[DumbbellCell]) -> Vec<Point> {
    let in_panels = PANELS.iter().flat_map(|(_, flows)| cells_of(cells, *flows));
    let of_cell = |cell: &DumbbellCell| {
        let (foreground, mechanism) = (cell.foreground, cell.mechanism.name());
        let point = move |fct_ms| Point { foreground, mechanism, fct_ms };
        cell.fcts().into_iter().map(point)
    };
    in_panels.flat_map(of_cell).collect()
}

/// A row a selected flow.
pub fn distributions() -> Columns<Point> {
    columns!(columns_of_figure::<Point>(ID), p;
        panel, "", "the panel of the paper's figure" => p.foreground.panel();
        mechanism, "", "the sender's mechanism";
        fct_ms, "ms", "FCT from establishment";
    )
}

/// The load that was found, the panels, and spurious retransmissions.
pub fn text(cells: &[DumbbellCell], load: &Calibration) -> String {
    let mut panels = columns!(Columns::<DumbbellCell>::new(), c;
        "panel" => c.foreground.panel().unwrap_or('-');
        "segments" => c.foreground.size;
        "owd (ms)" => c.foreground.owd_ms;
        "ack" => c.foreground.acks.name();
        "mechanism" => c.mechanism.name();
        "flows" => c.flows.len();
        "selected" => c.fcts().len();
        "mean FCT (ms)" => c.mean();
    );
    for (name, share) in [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9)] {
        panels = panels.shown(name, move |c| millis(quantile(&c.fcts(), share)));
    }
    let panels = panels
        .shown("last lost: p50", |c| millis(quantile(&c.fcts_of(&[Tail::One]), 0.5)))
        .shown("2-3 lost: p50", |c| millis(quantile(&c.fcts_of(&[Tail::Two, Tail::Three]), 0.5)))
        .to_table(PANELS.iter().flat_map(|(_, flows)| cells_of(cells, *flows)));
    format!(
        "Background: start times scaled by {:.4} in {} tries, so that the bottleneck loses {:.2} % of its packets; \
         expected {:.1} ± {:.1} %.\nFCT: from establishment. Selected: one of the last four segments was lost when first sent.\n\n{panels}",
        load.scale,
        load.tries,
        load.loss * 100.0,
        LOSS.0 * 100.0,
        LOSS.1 * 100.0,
    )
}
