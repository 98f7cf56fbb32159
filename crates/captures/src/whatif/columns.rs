//! The columns of an answer: a row for each mechanism, or for each connection and mechanism.

use super::answer::{MechanismResult, PredictionRow};
use super::changes::Changes;
use crate::analysis::ends;
use crate::levers::LeverValue;
use recoup_table::Columns;

/// A row for each mechanism.
pub fn results() -> Columns<MechanismResult> {
    Columns::new()
        .column(
            "mechanism",
            "",
            "the lever or profile tried, or the mechanisms added to the profile of each sender",
            |r: &MechanismResult| r.mechanism.clone(),
        )
        .all_of(changes(), |r| Some(&r.all))
        .column(
            "unfinished",
            "connections",
            "connections that do not complete under the mechanism; no other column counts them",
            |r| r.unfinished,
        )
        .prefixed("lossy", changes(), |r| Some(&r.lossy))
        .column("lever", "", "whether an operator can switch it on", |r| r.lever.is_some())
        .column("command", "", "the command that switches it on, if it is a lever", |r| {
            r.lever.as_ref().map(LeverValue::command)
        })
}

/// Changes by a mechanism in a set of connections.
fn changes() -> Columns<Changes> {
    let columns = Columns::new()
        .column("connections", "", "connections rerun", |c: &Changes| c.connections)
        .column("mean_change_ms", "ms", "mean change of the flow completion time; negative is faster", |c| {
            c.mean_change_ms
        })
        .interval("mean_change", "ms", "mean change that these connections would show if they ran once more", |c| {
            c.interval_ms
        })
        .interval("mean_paired_change", "ms", "mean change, each connection compared with itself", |c| {
            c.paired_interval_ms
        })
        .column("mean_fct_ms", "ms", "mean flow completion time without the mechanism", |c| c.mean_fct_ms)
        .column(
            "mean_fct_established_ms",
            "ms",
            "mean flow completion time from establishment without the mechanism",
            |c| c.mean_fct_established_ms,
        )
        .column("sum_change_ms", "ms", "sum of all changes", |c| c.sum_change_ms);
    let columns = quantiles(columns)
        .column("better", "connections", "connections that end sooner by more than 1 % of their completion time", |c| {
            c.better
        })
        .column("worse", "connections", "connections that end later by more than 1 % of their completion time", |c| {
            c.worse
        });
    costs(columns)
        .column("drawn_connections", "connections", "connections whose change rests on drawn fates", |c| {
            c.drawn_connections
        })
        .column("share_drawn", "", "part of all changes (as amounts) that rests on drawn fates, 0 to 1", |c| {
            c.share_drawn
        })
}

fn quantiles(columns: Columns<Changes>) -> Columns<Changes> {
    let quantiles = [
        ("change_p05_ms", "5th percentile of the change"),
        ("change_p25_ms", "25th percentile of the change"),
        ("change_p50_ms", "median change"),
        ("change_p75_ms", "75th percentile of the change"),
        ("change_p95_ms", "95th percentile of the change"),
    ];
    let numbered = quantiles.into_iter().enumerate();
    numbered.fold(columns, |columns, (i, (name, about))| {
        columns.column(name, "ms", about, move |c| Some(c.quantiles_ms?[i]))
    })
}

/// The traffic of the mechanism beyond that of the base runs.
fn costs(columns: Columns<Changes>) -> Columns<Changes> {
    columns
        .column("bytes", "bytes", "IP bytes that both ends send without the mechanism", |c| c.bytes)
        .column("extra_bytes", "bytes", "IP bytes that both ends send with the mechanism beyond that", |c| {
            c.extra_bytes
        })
        .column(
            "extra_bytes_percent",
            "%",
            "extra bytes in percent of the bytes without the mechanism",
            Changes::extra_bytes_percent,
        )
        .column(
            "retransmissions",
            "segments",
            "retransmissions without the mechanism, probes and extra copies included",
            |c| c.retransmissions,
        )
        .column("extra_retransmissions", "segments", "retransmissions with the mechanism beyond that", |c| {
            c.extra_retransmissions
        })
        .column("spurious", "segments", "spurious retransmissions without the mechanism", |c| c.spurious)
        .column("extra_spurious", "segments", "spurious retransmissions with the mechanism beyond that", |c| {
            c.extra_spurious
        })
}

/// A row for each connection and mechanism.
pub fn predictions() -> Columns<PredictionRow> {
    let columns = Columns::new()
        .column("connection", "", "the connection's number, from 0", |p: &PredictionRow| p.connection)
        .column("capture_point", "", "the capture point in a merged file, from 0", |p| p.capture_point)
        .column("src", "", "the end that opened the connection", |p| p.endpoints.src.to_string())
        .column("dst", "", "the other end", |p| p.endpoints.dst.to_string())
        .column("sender", "", "client or server: the end whose loss recovery is replaced", |p| p.sender)
        .column("mechanism", "", "the profile tried, or the mechanisms added to the base", |p| p.mechanism.clone())
        .column("base", "", "the profile that reproduces the connection", |p| p.base.clone())
        .column("cause", "", "what cost the connection most time, if anything", |p| p.cause.map(|cause| cause.name()))
        .column("lossy", "", "whether the network lost one of its packets", |p| p.rerun.is_lossy);
    prediction_values(columns).all_of(ends(), |p| Some(&p.endpoints))
}

fn prediction_values(columns: Columns<PredictionRow>) -> Columns<PredictionRow> {
    columns
        .column("recorded_ms", "ms", "from its first packet in the capture to the ACK of the last data", |p| {
            p.rerun.recorded_ms
        })
        .column("error_ms", "ms", "how much later its base run ends", |p| p.rerun.error_ms)
        .column("base_fct_ms", "ms", "the flow completion time of its base run", |p| p.rerun.base_fct_ms)
        .column("base_fct_established_ms", "ms", "the flow completion time of its base run from establishment", |p| {
            p.rerun.base_fct_established_ms
        })
        .column(
            "change_ms",
            "ms",
            "the predicted change, negative is faster; unknown if the connection does not complete",
            |p| p.prediction.map(|of| of.change_ms),
        )
        .column("deviation_ms", "ms", "standard deviation of the draws; unknown if nothing was drawn", |p| {
            (p.known().draws > 1).then(|| p.known().variance.sqrt())
        })
        .column("draws", "", "draws; 0 if the capture holds the fate of every packet", |p| p.known().draws)
        .column("packets_drawn", "packets", "packets whose fate was drawn, mean of the draws", |p| {
            p.known().packets_drawn
        })
        .column("extra_bytes", "bytes", "IP bytes of both ends beyond those of the base run", |p| p.known().extra_bytes)
        .column("extra_retransmissions", "segments", "retransmissions beyond those of the base run", |p| {
            p.known().extra_retransmissions
        })
        .column("extra_spurious", "segments", "spurious retransmissions beyond those of the base run", |p| {
            p.known().extra_spurious
        })
}
