//! The columns of a system's results, and of the points of a figure.

use crate::{Picture, columns_of_figure};
use recoup_captures::study::SenderReport;
use recoup_table::Columns;

/// A row per system. The JSON documents also have the whole report as `study`.
pub fn senders(figure: &'static str) -> Columns<SenderReport> {
    columns_of_figure::<SenderReport>(figure)
        .text(("sender", "", "the profile of the servers"), |s| Some(s.sender.clone().into()))
        .integer(("senders", "senders", "servers that retransmitted something"), |s| Some(s.senders))
        .integer(("retransmissions", "segments", "retransmissions by RTO and FR/R whose verdict is known"), |s| {
            Some(s.retransmissions_percent.retransmissions)
        })
        .real(("rto_needed_percent", "%", "needed retransmissions by RTO"), |s| s.retransmissions_percent.rto_needed)
        .real(("rto_spurious_percent", "%", "spurious retransmissions by RTO"), |s| {
            s.retransmissions_percent.rto_spurious
        })
        .real(("fast_needed_percent", "%", "needed retransmissions by FR/R"), |s| {
            s.retransmissions_percent.fast_retransmit_needed
        })
        .real(("fast_spurious_percent", "%", "spurious retransmissions by FR/R"), |s| {
            s.retransmissions_percent.fast_retransmit_spurious
        })
        .real(("fast_detection_p50", "RTTs", "median detection time by FR/R"), |s| s.detection.fast_retransmit.p50)
        .real(("rto_detection_p50", "RTTs", "median detection time by RTO"), |s| s.detection.rto.p50)
        .real(("rto_detection_p90", "RTTs", "90th percentile of the detection time by RTO"), |s| s.detection.rto.p90)
        .real(("reduction_p50", "%", "median best-case reduction of the connection's duration"), |s| {
            s.reduction.percent.p50
        })
        .real(("reduction_p90", "%", "90th percentile of the best-case reduction"), |s| s.reduction.percent.p90)
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
    let mut points = Vec::new();
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
    columns_of_figure::<Point>(figure)
        .text(("system", "", "the system of the servers"), |p| Some(p.system.clone().into()))
        .text(("panel", "", "the panel; empty if the figure has one"), |p| Some(p.panel.clone().into()))
        .real(("value", "", "on the x axis: bytes, RTTs or %"), |p| Some(p.value))
        .real(("share", "", "on the y axis: the share of the values up to this one"), |p| Some(p.share))
}
