//! The columns of flows.

use super::FlowRow;
use recoup_recovery::Trigger;
use recoup_table::{Columns, Schema};
use std::time::Duration;

/// The schema of flows as JSON lines.
pub const SCHEMA: Schema = Schema { name: "recoup.flows", version: 1 };

/// The columns of a flow. Names that `recoup run` has for all flows together are the same here. `swept` are the keys of a
/// sweep; each has a column.
pub fn columns<'a>(swept: impl IntoIterator<Item = &'a str>) -> Columns<FlowRow> {
    let mut columns = Columns::<FlowRow>::new();
    let swept: Vec<&str> = swept.into_iter().collect();
    if !swept.is_empty() {
        columns = columns.column("cell", "", "the cell of the sweep, from 0", |row: &FlowRow| {
            row.group.cell.as_ref().map(|cell| cell.number)
        });
    }
    columns = columns
        .column("profile", "", "the sender's profile", |row| row.group.profile.clone())
        .column("workload", "", "the workload of a world", |row| row.group.workload.clone())
        .column("run", "", "the run of a world, from 0", |row| row.group.run)
        .column("seed", "", "the seed of the run: with the number of the flow it repeats the flow", |row| row.group.seed)
        .column("flow", "", "the number of the flow, from 0; in a world among those of its workload", |row| row.flow.0)
        .column("begin_ms", "ms", "when the flow began in simulated time; 0 on a path of its own", |row| {
            row.begin.as_millis_f64()
        })
        .column(
            "outcome",
            "",
            "completed: the last byte of data arrived; timed_out: a sender's user timeout passed; incomplete: open at the end",
            |row| row.outcome.name(),
        )
        .column("client_bytes", "bytes", "payload that the client wrote", |row| row.written[0])
        .column("server_bytes", "bytes", "payload that the server wrote", |row| row.written[1])
        .column("delivered_bytes", "bytes", "payload that arrived in order, both directions", |row| row.delivered)
        .column(
            "fct_ms",
            "ms",
            "flow completion time: from the client's first SYN to arrival of the last data byte",
            |row| row.record.fct.map(millis),
        )
        .column("fct_established_ms", "ms", "flow completion time from establishment", |row| {
            row.record.fct_established.map(millis)
        })
        .column(
            "last_ack_to_retransmission_ms",
            "ms",
            "from the last ACK to the first retransmission of data",
            |row| row.record.last_ack_to_retransmission.map(millis),
        )
        .column("segments_sent", "segments", "data segments sent, including retransmissions, probes and copies", |row| {
            row.record.segments_sent
        })
        .column("bytes_sent", "bytes", "IP bytes sent in both directions, including SYNs and ACKs", |row| {
            row.record.bytes_sent
        })
        .column("packets_dropped", "packets", "packets the path dropped", |row| row.record.packets_dropped)
        .group("retransmissions", retransmissions(), |row| Some(row));
    let columns = recovery(columns);
    swept.into_iter().fold(columns, |columns, key| {
        let key = key.to_owned();
        columns.column(format!("set_{key}"), "", "the value of a swept setting", move |row: &FlowRow| {
            let values = &row.group.cell.as_ref()?.values;
            values.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone())
        })
    })
}

/// Retransmissions: all, then by trigger.
fn retransmissions() -> Columns<FlowRow> {
    let columns = Columns::<FlowRow>::new()
        .column("total", "segments", "retransmissions", |row: &FlowRow| row.counters().retransmissions.total());
    Trigger::ALL.into_iter().fold(columns, |columns, trigger| {
        let name = trigger.name();
        columns.column(name, "segments", format!("retransmissions with the trigger {name}"), move |row: &FlowRow| {
            row.counters().retransmissions.of(trigger)
        })
    })
}

/// What loss recovery did, of both hosts' senders together.
fn recovery(columns: Columns<FlowRow>) -> Columns<FlowRow> {
    columns
        .column("timeouts", "", "retransmission timeouts, exponential back-off included", |row: &FlowRow| {
            row.counters().timeouts.iter().sum::<u64>()
        })
        .column("recoveries", "", "fast recoveries entered", |row| row.counters().recoveries)
        .column("lost_retransmissions", "segments", "retransmissions found lost", |row| {
            row.counters().lost_retransmissions
        })
        .column("undone", "", "window reductions undone", |row| row.counters().undone.iter().sum::<u64>())
        .column("dsacks", "segments", "duplicate segments reported, without those of extra copies", |row| {
            row.counters().dsacks
        })
        .column("probes", "segments", "tail loss probes, including those with new data", |row| row.counters().probes)
        .column("duplicates", "segments", "extra copies sent before any loss", |row| row.counters().copies)
        .column("spurious", "segments", "retransmissions of which an earlier copy delivered every byte", |row| {
            row.record.spurious
        })
        .column("spurious_data", "segments", "spurious retransmissions with payload", |row| row.record.spurious_data)
        .column("unnecessary_bytes", "bytes", "payload bytes that arrived more than once", |row| {
            row.record.unnecessary_bytes
        })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
