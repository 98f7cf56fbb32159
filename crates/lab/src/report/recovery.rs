//! The senders' recoveries: the columns of Tables 2, 3, 5 to 8 and 10 of Dukkipati et al. 2011.
//!
//! Only Recoup's own senders report these values. The kernel does not.

use super::Entry;
use super::columns::summary;
use crate::run::Cost;
use recoup_recovery::undo::Proof;
use recoup_recovery::{Counters, State, Trigger};
use recoup_support::stats::Integers;
use recoup_table::Columns;
use std::time::Duration;

/// One profile's recoveries.
pub(super) fn recovery() -> Columns<Entry> {
    let columns = Columns::<Entry>::new()
        .column("recoveries", "", "fast recoveries entered", |e| counters(e).recoveries)
        .heading("Fast recoveries")
        .group("ended", ended(), |e| Some(e))
        .group("timeouts", timeouts(), |e| Some(e));
    let columns = counted(columns).group("undone", undone(), |e| Some(e)).all_of(more_counted(), |e| Some(e));
    columns
        .group("ratios", ratios(), |e| Some(&e.result.cost))
        .group("pipe_minus_ssthresh", at_entry(), |e| Some(&e.result.cost.recoveries.pipe_above_ssthresh))
        .group(
            "cwnd_minus_ssthresh",
            percentiles("cwnd - ssthresh before exit", "window − ssthresh just before recoveries end"),
            |e| Some(&e.result.cost.recoveries.cwnd_above_ssthresh),
        )
        .group("cwnd_after", percentiles("cwnd after recovery", "the window after recoveries"), |e| {
            Some(&e.result.cost.recoveries.cwnd_after)
        })
        .group("time_ms", summary("Time in recovery", "time in the state Recovery, which a timeout ends"), |e| {
            e.recovery_time.as_ref()
        })
        .group(
            "time_until_open_ms",
            summary(
                "Recovery time until Open",
                "from the beginning of a recovery until the sender is Open again, timeout recovery included",
            ),
            |e| e.recovery_time_until_open.as_ref(),
        )
}

fn counters(entry: &Entry) -> &Counters {
    &entry.result.cost.counters
}

/// Recoveries by how they ended.
fn ended() -> Columns<Entry> {
    let all = |e: &Entry| e.result.cost.recoveries.count();
    Columns::<Entry>::new()
        .column("complete", "", "recoveries whose recovery point was acknowledged", |e| {
            e.result.cost.recoveries.complete
        })
        .heading("Recoveries ended complete")
        .share_of(all)
        .column("undone", "", "recoveries found spurious and undone", |e| e.result.cost.recoveries.undone)
        .heading("Recoveries ended undone")
        .share_of(all)
        .column("timeout", "", "recoveries that ended in a retransmission timeout", |e| {
            e.result.cost.recoveries.timed_out
        })
        .heading("Recoveries ended by a timeout")
        .share_of(all)
}

/// Retransmission timeouts by the sender's state before them.
fn timeouts() -> Columns<Entry> {
    let mut columns = Columns::new();
    for state in State::ALL {
        let name = state.name();
        let (about, heading) = match state {
            State::Loss => ("timeouts after exponential back-off".into(), "  by rto after back-off".into()),
            _ => (format!("timeouts in the state {name}"), format!("  by rto in state {name}")),
        };
        columns = columns
            .column(name, "segments", about, move |e: &Entry| counters(e).timeouts_in(state))
            .heading(heading)
            .share_of(|e| counters(e).retransmissions.total());
    }
    columns
}

fn counted(columns: Columns<Entry>) -> Columns<Entry> {
    columns
        .column(
            "failed_retransmissions",
            "segments",
            "retransmissions still unacknowledged when their connection was given up",
            |e| counters(e).failed_retransmissions,
        )
        .heading("Retransmissions never acknowledged")
        .share_of(|e| counters(e).retransmissions.total())
        .column("lost_retransmissions", "segments", "retransmissions that were lost, as the sender found", |e| {
            counters(e).lost_retransmissions
        })
        .heading("Lost retransmissions")
        .column(
            "detected_lost_retransmissions",
            "segments",
            "those of them that ACKs showed lost; a timeout marked the others",
            |e| counters(e).detected_lost_retransmissions,
        )
        .heading("Lost retransmissions that ACKs showed")
        .column("retransmitted_bytes", "bytes", "sequence space retransmitted", |e| counters(e).retransmitted_bytes)
        .column("dsacks", "segments", "duplicate segments reported by DSACKs", |e| counters(e).dsacks)
        .heading("DSACKs")
        .column("recoveries_with_dsack", "", "recoveries during which a DSACK arrived", |e| {
            counters(e).recoveries_with_dsack
        })
        .heading("Recoveries with a DSACK")
        .share_of(|e| counters(e).recoveries)
}

/// Window reductions undone, by proof.
fn undone() -> Columns<Entry> {
    let mut columns = Columns::new();
    for proof in Proof::ALL {
        let name = proof.name();
        columns = columns
            .column(name, "", format!("window reductions undone by {name}"), move |e: &Entry| {
                counters(e).undone_by(proof)
            })
            .heading(format!("Window reductions undone by {name}"));
    }
    columns
}

fn more_counted() -> Columns<Entry> {
    Columns::<Entry>::new()
        .column("slow_starts", "", "recoveries that ended with a window below ssthresh", |e| {
            counters(e).slow_starts_after_recovery
        })
        .column("segments_sent", "segments", "segments sent in recovery", |e| counters(e).sent_in_recovery)
        .column("delivered", "segments", "segments delivered, in recovery and outside of it", |e| counters(e).delivered)
        .column("reordering_seen", "", "times the sender detected reordering", |e| counters(e).reordering_seen)
        .column("impossible_acks", "", "ACKs of data never sent, which the sender ignored", |e| {
            counters(e).impossible_acks
        })
        .column("impossible_blocks", "", "invalid SACK blocks, which the sender ignored", |e| {
            counters(e).impossible_blocks
        })
        .column("reneged", "", "times the receiver discarded data that it had SACKed", |e| counters(e).reneged)
        .column("transmit_time_ms", "ms", "time with unacknowledged data, summed over all flows", |e| {
            ms(counters(e).busy)
        })
        .column("in_recovery_ms", "ms", "time in fast recovery, summed over all flows", |e| ms(counters(e).in_recovery))
        .column("in_loss_ms", "ms", "time in timeout recovery, summed over all flows", |e| ms(counters(e).in_loss))
}

/// Ratios; unknown if the divisor is 0. Fast retransmits are all retransmissions of fast recovery,
/// including early ones.
fn ratios() -> Columns<Cost> {
    type Percent = (&'static str, &'static str, &'static str, fn(&Cost) -> (u64, u64));
    const PERCENTS: [Percent; 8] = [
        ("recoveries_with_dsack_percent", "Recoveries with a DSACK", "recoveries with a DSACK / recoveries", |c| {
            (c.counters.recoveries_with_dsack, c.counters.recoveries)
        }),
        ("dsacks_per_fast_retransmit_percent", "DSACKs per fast retransmit", "DSACKs / fast retransmits", |c| {
            (c.counters.dsacks, fast(c))
        }),
        ("dsacks_per_retransmission_percent", "DSACKs per retransmission", "DSACKs / retransmissions of data", |c| {
            (c.counters.dsacks, data(c))
        }),
        (
            "lost_retransmissions_per_recovery_percent",
            "Lost retransmissions per recovery",
            "lost retransmissions / recoveries",
            |c| (c.counters.lost_retransmissions, c.counters.recoveries),
        ),
        (
            "lost_retransmissions_per_fast_retransmit_percent",
            "Lost retransmissions per fast retransmit",
            "lost retransmissions / fast retransmits",
            |c| (c.counters.lost_retransmissions, fast(c)),
        ),
        (
            "retransmission_rate_percent",
            "Retransmissions per data segment",
            "retransmissions of data / data segments sent",
            |c| (data(c), c.segments_sent),
        ),
        (
            "segments_sent_in_recovery_percent",
            "Data segments sent in recovery",
            "segments sent in recovery / data segments sent",
            |c| (c.counters.sent_in_recovery, c.segments_sent),
        ),
        (
            "slow_start_after_recovery_percent",
            "Recoveries followed by slow start",
            "recoveries that ended with a window below ssthresh / recoveries",
            |c| (c.counters.slow_starts_after_recovery, c.counters.recoveries),
        ),
    ];
    let mut columns = Columns::<Cost>::new()
        .column("fast_retransmits_per_recovery", "", "fast retransmits / recoveries", |c| {
            ratio(fast(c), c.counters.recoveries)
        })
        .heading("Fast retransmits per recovery")
        .digits(2);
    for (name, heading, about, of) in PERCENTS {
        let percent = move |cost: &Cost| {
            let (part, whole) = of(cost);
            ratio(part, whole).map(|share| 100.0 * share)
        };
        columns = columns.column(name, "%", about, percent).heading(heading).digits(2);
    }
    let times = Columns::<Cost>::new()
        .column("transmit_time_per_flow_ms", "ms", "time with unacknowledged data / flows", |c| {
            ms(c.counters.busy) / c.flows.max(1) as f64
        })
        .heading("Network transmit time per flow")
        .column(
            "time_in_loss_recovery_percent",
            "%",
            "time in fast or timeout recovery / time with unacknowledged data",
            |c| {
                let busy = ms(c.counters.busy);
                let recovering = ms(c.counters.in_recovery + c.counters.in_loss);
                (busy > 0.0).then_some(100.0 * recovering / busy)
            },
        )
        .heading("  in loss recovery")
        .digits(2);
    return columns.behind("retransmission_rate_percent", times);

    fn fast(cost: &Cost) -> u64 {
        let retransmissions = &cost.counters.retransmissions;
        retransmissions.of(Trigger::Fast) + retransmissions.of(Trigger::Early)
    }

    fn data(cost: &Cost) -> u64 {
        let all = &cost.counters.retransmissions;
        all.total() - all.of(Trigger::Syn) - all.of(Trigger::SynAck)
    }
}

/// Table 5: pipe − ssthresh when recoveries begin.
fn at_entry() -> Columns<Integers> {
    type Sign = (&'static str, &'static str, fn(&Integers) -> u64);
    const SIGNS: [Sign; 3] = [
        ("below", "Recoveries begun with pipe < ssthresh", |i| i.signs().below),
        ("equal", "Recoveries begun with pipe = ssthresh", |i| i.signs().zero),
        ("above", "Recoveries begun with pipe > ssthresh", |i| i.signs().above),
    ];
    let mut columns = Columns::<Integers>::new();
    for (name, heading, of) in SIGNS {
        let about = format!("recoveries that began with pipe {name} ssthresh");
        columns = columns.column(name, "", about, of).heading(heading).share_of(Integers::count);
    }
    type Value = (&'static str, fn(&Integers) -> Option<i64>);
    const VALUES: [Value; 5] = [
        ("min", Integers::min),
        ("p1", |i| i.percentile(1)),
        ("p50", |i| i.percentile(50)),
        ("p99", |i| i.percentile(99)),
        ("max", Integers::max),
    ];
    for (name, of) in VALUES {
        let about = format!("pipe − ssthresh when recoveries begin: {name}");
        columns = columns.column(name, "segments", about, of).heading(format!("pipe - ssthresh at entry {name}"));
    }
    columns
}

/// The percentiles of Tables 6 and 7.
fn percentiles(heading: &'static str, about: &'static str) -> Columns<Integers> {
    let mut columns = Columns::new();
    for percent in [5, 10, 25, 50, 75, 90, 95, 99] {
        let name = format!("p{percent}");
        columns = columns
            .column(name.clone(), "segments", format!("{about}: {name}"), move |i: &Integers| i.percentile(percent))
            .heading(format!("{heading} {name}"));
    }
    columns
}

fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
