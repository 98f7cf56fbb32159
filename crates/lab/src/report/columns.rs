//! The columns of a run's results.

use super::Entry;
use super::latency::responses;
use super::recovery::recovery;
use crate::stage::{KernelFacts, Lateness, Live};
use recoup_recovery::Trigger;
use recoup_support::stats::Summary;
use recoup_table::Columns;

/// A statistic of a distribution and its name.
type Part<T> = (&'static str, fn(&T) -> f64);

/// The results of one profile's flows on one stage.
pub fn columns() -> Columns<Entry> {
    let columns = Columns::<Entry>::new()
        .column("profile", "", "the sender's profile, or the name and version of the kernel that sent the data", |e| e.result.profile.clone())
        .column("stage", "", "where the flows ran: sim, net or kernel", |e| e.stage().name())
        .column("flows", "", "flows run", |e| e.result.cost.flows)
        .column("completed", "", "flows whose last byte arrived", |e| e.result.cost.completed)
        .heading("Flows completed")
        .share_of(|e| e.result.cost.flows)
        .group(
            "fct_ms",
            summary(
                "FCT",
                "flow completion time: from the client's first SYN to arrival of the last data byte",
            ),
            |e| e.fct.as_ref(),
        )
        .column("fct_normalised", "", "mean flow completion time divided by that of the first profile on the same stage", |e| e.fct_normalised)
        .heading("FCT mean / first profile's")
        .group(
            "fct_established_ms",
            summary(
                "FCT from establishment",
                "flow completion time from establishment: from the SYN-ACK's arrival if the client has data to send, or else from the arrival of its ACK",
            ),
            |e| e.fct_established.as_ref(),
        )
        .column("fct_established_normalised", "", "mean flow completion time from establishment divided by that of the first profile on the same stage", |e| e.fct_established_normalised)
        .heading("FCT from establishment mean / first profile's");
    let columns = sent(columns).group(
        "last_ack_to_retransmission_ms",
        summary("Last ACK to retransmission", "from the last ACK to the first retransmission of data"),
        |e| e.last_ack_to_retransmission.as_ref(),
    );
    columns
        .all_of(super::intervals::columns(), |e| Some(e))
        .group("recovery", recovery(), |e| e.senders_known().then_some(e))
        .group("responses", responses(), |e| e.responses.as_ref())
        .group("live", live(), |e| e.result.live.as_ref())
}

/// [`columns()`] and the columns of tables for reading.
pub(crate) fn table_columns() -> Columns<Entry> {
    columns().all_of(super::intervals::texts(), |e| Some(e))
}

/// Data sent, and the unnecessary part of it.
fn sent(columns: Columns<Entry>) -> Columns<Entry> {
    columns
        .column("segments_sent", "segments", "data segments sent, including retransmissions, probes and copies", |e| {
            e.result.cost.segments_sent
        })
        .heading("Data sent")
        .column("bytes_sent", "bytes", "IP bytes sent in both directions, including SYNs and ACKs", |e| {
            e.result.cost.bytes_sent
        })
        .heading("IP traffic, both directions")
        .column("packets_dropped", "packets", "packets the path dropped", |e| e.result.cost.packets_dropped)
        .heading("Losses on the path")
        .group("retransmissions", retransmissions(), |e| Some(e))
        .column("probes", "segments", "tail loss probes, including those with new data", |e| {
            e.result.cost.counters.probes
        })
        .heading("Tail loss probes")
        .column("duplicates", "segments", "extra copies sent before any loss", |e| e.result.cost.counters.copies)
        .heading("Extra copies")
        .column(
            "duplicates_withheld",
            "segments",
            "extra copies not sent, because the window was full or an earlier copy was unacknowledged",
            |e| e.result.cost.counters.copies_withheld,
        )
        .heading("Extra copies withheld")
        .column(
            "duplicates_reported",
            "segments",
            "extra copies reported by DSACKs: the original had arrived, too",
            |e| e.result.cost.counters.copies_reported,
        )
        .heading("Extra copies reported by DSACK")
        .column("spurious", "segments", "retransmissions of which an earlier copy delivered every byte", |e| {
            e.result.cost.spurious
        })
        .heading("Spurious retransmissions")
        .column(
            "spurious_data",
            "segments",
            "spurious retransmissions of data, without SYNs, SYN-ACKs and FINs without payload",
            |e| e.result.cost.spurious_data,
        )
        .heading("Spurious retransmissions of data")
        .column("unnecessary_bytes", "bytes", "payload bytes that arrived more than once", |e| {
            e.result.cost.unnecessary_bytes
        })
        .heading("Payload received more than once")
}

/// Retransmissions: all, then by trigger.
fn retransmissions() -> Columns<Entry> {
    let all = |e: &Entry| e.result.cost.counters.retransmissions.total();
    let mut columns =
        Columns::<Entry>::new().column("total", "segments", "retransmissions", all).heading("Retransmissions");
    for trigger in Trigger::ALL {
        let name = trigger.name();
        let about = format!("retransmissions with the trigger {name}");
        columns = columns
            .column(name, "segments", about, move |e| e.result.cost.counters.retransmissions.of(trigger))
            .heading(format!("Retransmissions by {name}"))
            .share_of(all);
    }
    columns
}

/// Quantiles of a distribution in ms, which `heading` and `about` name.
pub(super) fn summary(heading: &'static str, about: &'static str) -> Columns<Summary> {
    const PARTS: [Part<Summary>; 11] = [
        ("min", |s| s.min),
        ("p5", |s| s.p5),
        ("p10", |s| s.p10),
        ("p25", |s| s.p25),
        ("p50", |s| s.p50),
        ("p75", |s| s.p75),
        ("p90", |s| s.p90),
        ("p95", |s| s.p95),
        ("p99", |s| s.p99),
        ("max", |s| s.max),
        ("mean", |s| s.mean),
    ];
    let mut columns = Columns::new();
    for (name, part) in PARTS {
        columns = columns.column(name, "ms", format!("{about}: {name}"), part).heading(format!("{heading} {name}"));
    }
    columns
}

/// Facts about a run on real packets.
fn live() -> Columns<Live> {
    Columns::<Live>::new()
        .column("client", "", "the client's TCP", |l| l.client.clone())
        .column("server", "", "the server's TCP", |l| l.server.clone())
        .group("kernel", kernel(), |l| l.kernel.as_ref())
        .column(
            "acks_held_ms",
            "ms",
            "how long the emulator held an odd ACK of the kernel, if it thinned the ACKs",
            |l| l.acks_held_ms,
        )
        .group("delivery_error_ms", lateness(), |l| l.delivery_error_ms.as_ref())
        .column(
            "blurred_flows",
            "flows",
            "flows whose times the emulator's delivery error distorts by more than 1 %",
            |l| l.blurred_flows,
        )
        .heading("Inaccurate flows")
        .column("missed_packets", "packets", "packets lost outside the path", |l| l.missed_packets)
        .heading("Packets lost outside the path")
}

fn kernel() -> Columns<KernelFacts> {
    Columns::<KernelFacts>::new()
        .column("version", "", "the kernel's version", |k| k.version.clone())
        .column("release", "", "the kernel's full release", |k| k.release.clone())
        .column("hz", "Hz", "timer ticks per second; 0 if unknown", |k| k.hz)
        .column("congestion_control", "", "the congestion control of its sockets", |k| k.congestion_control.clone())
        .column("tlp", "", "tail loss probes are on", |k| k.tlp)
        .column("rack", "", "RACK is on", |k| k.rack)
        .column("sack", "", "selective acknowledgments are on", |k| k.sack)
        .column("dsack", "", "reports of duplicates are on", |k| k.dsack)
        .column("timestamps", "", "timestamps are on", |k| k.timestamps)
        .column("frto", "", "F-RTO is on", |k| k.frto)
}

fn lateness() -> Columns<Lateness> {
    const PARTS: [Part<Lateness>; 4] =
        [("p50", |l| l.p50), ("p99", |l| l.p99), ("p999", |l| l.p999), ("max", |l| l.max)];
    let mut columns = Columns::new();
    for (name, part) in PARTS {
        let about = format!("delay of packets beyond that of the ideal path: {name}");
        let heading = match name {
            "p999" => "Delivery error p99.9".into(),
            name => format!("Delivery error {name}"),
        };
        columns = columns.column(name, "ms", about, part).heading(heading);
    }
    columns
}
