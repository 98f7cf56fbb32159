//! Groups as rows of a table.

use super::super::facts::Facts;
use super::super::order::SortBy;
use super::super::report::{cause_title, costly};
use super::{Group, GroupTable};
use crate::analysis::ms;
use recoup_table::Columns;
use recoup_trace::finding::{Cause, SenderState, Verdict};

/// A group in a table.
#[derive(Clone, Debug)]
pub struct GroupRow {
    /// What the connections are grouped by: `server`, `prefix:24`.
    pub by: String,
    /// What they have in common: `192.0.2.1`, `198.51.100.0/24`.
    pub key: String,
    /// The expression of `--filter` that keeps them.
    pub filter: Option<String>,
    /// Their sums.
    pub group: Group,
}

/// The groups that the user asked for, the first of each table first.
pub fn group_rows(facts: &Facts) -> Vec<GroupRow> {
    let order = facts.worst.order();
    facts.groups.asked_for().flat_map(|table| rows(table, order)).collect()
}

fn rows(table: &GroupTable, order: SortBy) -> Vec<GroupRow> {
    let row = |(key, group): (&super::GroupKey, &Group)| GroupRow {
        by: table.by.to_string(),
        key: key.to_string(),
        filter: key.filter(),
        group: group.clone(),
    };
    table.ranked(order).into_iter().map(row).collect()
}

/// The columns of a group.
pub fn group_columns() -> Columns<GroupRow> {
    let percent = |part: f64, whole: f64| (whole > 0.0).then(|| 100.0 * part / whole);
    let mut columns = Columns::<GroupRow>::new()
        .column("by", "", "what connections are grouped by: server, client, prefix, port, path or capture", |r| {
            r.by.clone()
        })
        .column("group", "", "what the connections of the group have in common", |r| r.key.clone())
        .column("filter", "", "the expression of --filter that keeps these connections; empty if there is none", |r| {
            r.filter.clone()
        })
        .column("connections", "", "connections", |r| r.group.connections)
        .column("connections_that_lost_time", "", "connections that lost time", |r| r.group.losers)
        .column("connection_time_ms", "ms", "the sum of the connections' durations", |r| ms(r.group.connection_time))
        .column("lost_ms", "ms", "time lost, of both directions", |r| ms(r.group.lost.total()))
        .column("lost_percent", "%", "lost_ms as a share of connection_time_ms", |r| {
            (!r.group.connection_time.is_zero()).then(|| 100.0 * r.group.share_lost())
        })
        .column("main_cause", "", "the cause that cost most of lost_ms; empty if no time was lost", |r| {
            costly(&r.group.lost).first().map(|cause| cause.name())
        })
        .column("bytes", "bytes", "payload of both directions, retransmissions included", |r| r.group.bytes)
        .column("segments", "segments", "segments with payload, SYN or FIN, retransmissions included", |r| {
            r.group.segments
        })
        .column("retransmissions", "segments", "retransmissions of both directions", |r| {
            r.group.retransmissions.total()
        })
        .column("retransmitted_percent", "%", "retransmissions as a share of segments", move |r| {
            percent(r.group.retransmissions.total() as f64, r.group.segments as f64)
        })
        .column("spurious", "segments", "retransmissions that were not needed", |r| {
            r.group.retransmissions.of_verdict(Verdict::Spurious)
        })
        .column("rtt_p50_ms", "ms", "median over the connections' main senders of their median round-trip time", |r| {
            Some(r.group.rtt.summary()?.p50)
        });
    for state in SenderState::ALL {
        let about = format!("time of the main senders in the state {}", state.name());
        columns = columns.column(format!("{}_ms", state.name()), "ms", about, move |r| ms(r.group.time.of(state)));
    }
    for cause in Cause::ALL {
        let about = format!("time lost to this cause: {}", cause_title(cause));
        columns = columns.column(format!("lost_{}_ms", cause.name()), "ms", about, move |r| ms(r.group.lost.of(cause)));
    }
    columns
}
