//! The columns of an answer: a row for each mechanism, or for each connection and mechanism.

use super::answer::{MechanismResult, PredictionRow};
use super::changes::Changes;
use recoup_table::Columns;

/// A row for each mechanism.
pub fn results() -> Columns<MechanismResult> {
    Columns::new()
        .text(
            ("mechanism", "", "the profile tried, or the mechanisms added to the profile of each sender"),
            |r: &MechanismResult| Some(r.mechanism.clone().into()),
        )
        .all_of(changes(), |r| Some(&r.all))
        .integer(
            (
                "unfinished",
                "connections",
                "connections that do not complete under the mechanism; no other column counts them",
            ),
            |r| Some(r.unfinished),
        )
        .prefixed("lossy", changes(), |r| Some(&r.lossy))
}

/// What a mechanism changes in a set of connections.
fn changes() -> Columns<Changes> {
    let columns = Columns::new()
        .integer(("connections", "", "connections rerun"), |c: &Changes| Some(c.connections))
        .real(("mean_change_ms", "ms", "mean change of the flow completion time; negative is faster"), |c| {
            c.mean_change_ms
        })
        .real(("mean_change_ci95_low_ms", "ms", "lower end of the 95 % interval of the mean change"), |c| {
            c.interval_ms.map(|(low, _)| low)
        })
        .real(("mean_change_ci95_high_ms", "ms", "upper end of the 95 % interval of the mean change"), |c| {
            c.interval_ms.map(|(_, high)| high)
        })
        .real(("mean_fct_ms", "ms", "mean flow completion time without the mechanism"), |c| c.mean_fct_ms)
        .real(
            ("mean_fct_established_ms", "ms", "mean flow completion time from establishment without the mechanism"),
            |c| c.mean_fct_established_ms,
        )
        .real(("sum_change_ms", "ms", "sum of all changes"), |c| Some(c.sum_change_ms));
    let columns = quantiles(columns)
        .integer(
            ("better", "connections", "connections that end sooner by more than 1 % of their completion time"),
            |c| Some(c.better),
        )
        .integer(
            ("worse", "connections", "connections that end later by more than 1 % of their completion time"),
            |c| Some(c.worse),
        );
    costs(columns)
        .integer(("drawn_connections", "connections", "connections whose change rests on drawn fates"), |c| {
            Some(c.drawn_connections)
        })
        .real(("share_drawn", "", "part of all changes (as amounts) that rests on drawn fates, 0 to 1"), |c| {
            Some(c.share_drawn)
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
        columns.real((name, "ms", about), move |c| Some(c.quantiles_ms?[i]))
    })
}

/// What the mechanism sends besides.
fn costs(columns: Columns<Changes>) -> Columns<Changes> {
    columns
        .integer(("bytes", "bytes", "IP bytes that both ends send without the mechanism"), |c| Some(c.bytes))
        .real(("extra_bytes", "bytes", "IP bytes that both ends send with the mechanism beyond that"), |c| {
            Some(c.extra_bytes)
        })
        .real(
            ("extra_bytes_percent", "%", "extra bytes in percent of the bytes without the mechanism"),
            Changes::extra_bytes_percent,
        )
        .integer(
            ("retransmissions", "segments", "retransmissions without the mechanism, probes and extra copies included"),
            |c| Some(c.retransmissions),
        )
        .real(("extra_retransmissions", "segments", "retransmissions with the mechanism beyond that"), |c| {
            Some(c.extra_retransmissions)
        })
        .integer(("spurious", "segments", "spurious retransmissions without the mechanism"), |c| Some(c.spurious))
        .real(("extra_spurious", "segments", "spurious retransmissions with the mechanism beyond that"), |c| {
            Some(c.extra_spurious)
        })
}

/// A row for each connection and mechanism.
pub fn predictions() -> Columns<PredictionRow> {
    let columns = Columns::new()
        .integer(("connection", "", "the connection's number, from 0"), |p: &PredictionRow| Some(p.connection))
        .integer(("capture_point", "", "the capture point in a merged file, from 0"), |p| Some(p.capture_point.into()))
        .text(("src", "", "the end that opened the connection"), |p| Some(p.endpoints.src.to_string().into()))
        .text(("dst", "", "the other end"), |p| Some(p.endpoints.dst.to_string().into()))
        .text(("sender", "", "client or server: the end whose loss recovery is replaced"), |p| Some(p.sender.into()))
        .text(("mechanism", "", "the profile tried, or the mechanisms added to the base"), |p| {
            Some(p.mechanism.clone().into())
        })
        .text(("base", "", "the profile that reproduces the connection"), |p| Some(p.base.clone().into()))
        .text(("cause", "", "what cost the connection most time, if anything"), |p| {
            p.cause.map(|cause| cause.name().into())
        })
        .flag(("lossy", "", "whether the network lost one of its packets"), |p| p.is_lossy);
    prediction_values(columns)
}

fn prediction_values(columns: Columns<PredictionRow>) -> Columns<PredictionRow> {
    columns
        .real(("recorded_ms", "ms", "from its first packet in the capture to the ACK of the last data"), |p| {
            Some(p.recorded_ms)
        })
        .real(("error_ms", "ms", "how much later its base run ends"), |p| Some(p.error_ms))
        .real(("base_fct_ms", "ms", "the flow completion time of its base run"), |p| Some(p.base_fct_ms))
        .real(("base_fct_established_ms", "ms", "the flow completion time of its base run from establishment"), |p| {
            Some(p.base_fct_established_ms)
        })
        .real(
            (
                "change_ms",
                "ms",
                "the predicted change, negative is faster; unknown if the connection does not complete",
            ),
            |p| p.change_ms,
        )
        .real(("deviation_ms", "ms", "standard deviation of the draws; unknown if nothing was drawn"), |p| {
            p.deviation_ms
        })
        .integer(("draws", "", "draws; 0 if the capture holds the fate of every packet"), |p| Some(p.draws.into()))
        .real(("packets_drawn", "packets", "packets whose fate was drawn, mean of the draws"), |p| {
            Some(p.packets_drawn)
        })
        .real(("extra_bytes", "bytes", "IP bytes of both ends beyond those of the base run"), |p| Some(p.extra_bytes))
        .real(("extra_retransmissions", "segments", "retransmissions beyond those of the base run"), |p| {
            Some(p.extra_retransmissions)
        })
        .real(("extra_spurious", "segments", "spurious retransmissions beyond those of the base run"), |p| {
            Some(p.extra_spurious)
        })
}
