//! The columns of a system's results, and of the points of a figure.

use super::NAME;
use super::micro::{self, Measured};
use crate::prelude::*;
use recoup_captures::study::SenderReport;

/// A quantity of an experiment that the study does not give.
pub fn measured(quantity: impl Into<String>, case: impl Into<String>, engine: f64) -> Measured {
    Measured { quantity: quantity.into(), case: case.into(), study: None, engine: Some(engine) }
}

/// A quantity of each system.
pub fn of_systems(quantity: &str, engine: [f64; 4]) -> impl Iterator<Item = Measured> {
    System::ALL.iter().zip(engine).map(move |(system, engine)| measured(quantity, system.name, engine))
}

/// The figure of measured quantities in every format; its table has these columns.
pub fn sheet_of_measured(
    id: &'static str,
    title: &str,
    claims: Vec<Claim>,
    picture: impl Into<Picture>,
    cells: Vec<Measured>,
    shown: &[&str],
) -> Sheet {
    let columns = micro::columns(id);
    Figure::new(NAME, id, title, claims, picture, cells).sheet(|cells| columns.to_text(cells, shown), &columns)
}

/// A row per system. The JSON documents also have the whole report as `study`.
pub fn senders(figure: &'static str) -> Columns<SenderReport> {
    columns!(columns_of_figure::<SenderReport>(figure), s;
        sender, "", "the profile of the servers" => s.sender.clone();
        senders, "senders", "servers that retransmitted something";
        retransmissions, "segments", "retransmissions by RTO and FR/R whose verdict is known" => s.retransmissions_percent.retransmissions;
        rto_needed_percent, "%", "needed retransmissions by RTO" => s.retransmissions_percent.rto_needed;
        rto_spurious_percent, "%", "spurious retransmissions by RTO" => s.retransmissions_percent.rto_spurious;
        fast_needed_percent, "%", "needed retransmissions by FR/R" => s.retransmissions_percent.fast_retransmit_needed;
        fast_spurious_percent, "%", "spurious retransmissions by FR/R" => s.retransmissions_percent.fast_retransmit_spurious;
        fast_detection_p50, "RTTs", "median detection time by FR/R" => s.detection.fast_retransmit.p50;
        rto_detection_p50, "RTTs", "median detection time by RTO" => s.detection.rto.p50;
        rto_detection_p90, "RTTs", "90th percentile of the detection time by RTO" => s.detection.rto.p90;
        reduction_p50, "%", "median best-case reduction of the connection's duration" => s.reduction.percent.p50;
        reduction_p90, "%", "90th percentile of the best-case reduction" => s.reduction.percent.p90;
    )
}

/// A point of a line.
pub struct Point {
    system: String,
    panel: String,
    value: f64,
    share: f64,
}

/// The points of a line chart; none of other pictures.
pub fn points_of(picture: &Picture) -> Vec<Point> {
    let Picture::Lines(chart) = picture else {
        return vec![];
    };
    let mut points = vec![];
    for panel in &chart.panels {
        for (system, line) in chart.series.iter().zip(&panel.lines) {
            points.extend(line.iter().map(|(value, share)| Point {
                system: system.clone(),
                panel: panel.title.clone(),
                value: *value,
                share: *share,
            }));
        }
    }
    points
}

/// A row per point.
pub fn points(figure: &'static str) -> Columns<Point> {
    columns!(columns_of_figure::<Point>(figure), p;
        system, "", "the system of the servers" => p.system.clone();
        panel, "", "the panel; empty if the figure has one" => p.panel.clone();
        value, "", "on the x axis: bytes, RTTs or %";
        share, "", "on the y axis: the share of the values up to this one";
    )
}
