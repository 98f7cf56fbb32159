//! Results as tables for reading, a column a profile.

use super::recovery::{Percentiles, Recovery, percent};
use super::{Entry, Report, SUMMARY, stages};
use crate::stage::Stage;
use comfy_table::{Cell, CellAlignment, Table};
use recoup_recovery::undo::Proof;
use recoup_recovery::{State, Trigger};
use recoup_table::{millis, plain_table};
use serde_json::{Map, Value};

/// Which figures a table shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Flow completion times, what was sent, what was wasted.
    #[default]
    Cost,
    /// Retransmissions by kind, and what became of them (Tables 2, 3, 8 and 10 of the 2011 paper).
    Retransmissions,
    /// Windows and time in fast recovery (its Tables 5, 6 and 7, figure 5).
    Recovery,
}

/// A table being filled, with a column for each of these.
struct Rows<R> {
    columns: Vec<R>,
    table: Table,
}

/// What the views of what senders went through show.
struct Sender<'a> {
    retransmissions: &'a Map<String, Value>,
    recovery: &'a Recovery,
}

impl<'a> Sender<'a> {
    /// Nothing is known of the kernel's.
    fn of(entry: &'a Entry) -> Option<Self> {
        Some(Self {
            retransmissions: &entry.retransmissions,
            recovery: entry.recovery.as_ref()?,
        })
    }
}

/// The comparison of the stages if there are several, then a table a stage.
pub fn tables(report: &Report, view: View) -> String {
    let mut text = String::new();
    let stages = Stage::ALL.map(|stage| {
        let of_stage = report.results.iter().filter(|entry| entry.stage == stage);
        (stage, of_stage.collect::<Vec<_>>())
    });
    let several = stages
        .iter()
        .filter(|(_, entries)| !entries.is_empty())
        .count()
        > 1;
    if several {
        text += &stages::comparison(report);
    }
    for (stage, entries) in stages.iter().filter(|(_, entries)| !entries.is_empty()) {
        if several {
            text += &format!("\n{}\n\n", stage.name());
        }
        text += &table(entries, view);
        text += &stages::footnotes(entries);
    }
    text
}

/// A table with a column a profile.
fn table(entries: &[&Entry], view: View) -> String {
    let known = |entry: &&Entry| view == View::Cost || entry.recovery.is_some();
    let entries: Vec<&Entry> = entries.iter().copied().filter(known).collect();
    let mut table = plain_table();
    let mut header = vec![String::new()];
    header.extend(entries.iter().map(|r| r.profile.clone()));
    table.set_header(header);
    let senders = || {
        entries
            .iter()
            .filter_map(|entry| Sender::of(entry))
            .collect()
    };
    let table = match view {
        View::Cost => cost(Rows {
            columns: entries,
            table,
        }),
        View::Retransmissions => retransmissions(Rows {
            columns: senders(),
            table,
        }),
        View::Recovery => recovery(Rows {
            columns: senders(),
            table,
        }),
    };
    format!("{table}\n")
}

impl<R> Rows<R> {
    fn add(&mut self, name: &str, value: impl Fn(&R) -> String) {
        let mut cells = vec![Cell::new(name)];
        let values = self.columns.iter().map(|r| Cell::new(value(r)));
        cells.extend(values.map(|c| c.set_alignment(CellAlignment::Right)));
        self.table.add_row(cells);
    }

    /// A number and its share of another, in percent.
    fn add_share(&mut self, name: &str, of: impl Fn(&R) -> (u64, u64)) {
        self.add(name, |r| {
            let (part, whole) = of(r);
            match percent(part, whole) {
                Some(share) => format!("{part} ({share:.1} %)"),
                None => part.to_string(),
            }
        });
    }

    fn add_decimal(&mut self, name: &str, value: impl Fn(&R) -> Option<f64>) {
        self.add(name, |r| {
            value(r).map_or("-".into(), |value| format!("{value:.2}"))
        });
    }

    fn add_integer(&mut self, name: &str, value: impl Fn(&R) -> Option<i64>) {
        self.add(name, |r| value(r).map_or("-".into(), |n| n.to_string()));
    }
}

fn count(counts: &Map<String, Value>, name: &str) -> u64 {
    counts.get(name).and_then(Value::as_u64).unwrap_or_default()
}

fn cost(mut rows: Rows<&Entry>) -> Table {
    rows.add("flows completed", |r| {
        format!("{} of {}", r.completed, r.flows)
    });
    for (name, part) in SUMMARY {
        rows.add(&format!("FCT {name} (ms)"), |r| {
            millis(r.fct_ms.as_ref().map(part))
        });
    }
    rows.add("FCT mean / first profile's", |r| {
        r.fct_normalised.map_or("-".into(), |n| format!("{n:.3}"))
    });
    rows.add("last ACK to retransmission p50 (ms)", |r| {
        millis(r.last_ack_to_retransmission_ms.map(|s| s.p50))
    });
    rows.add("data segments sent", |r| r.segments_sent.to_string());
    rows.add("bytes sent", |r| r.bytes_sent.to_string());
    rows.add("packets dropped", |r| r.packets_dropped.to_string());
    let again = |r: &&Entry, name| count(&r.retransmissions, name).to_string();
    rows.add("retransmissions", |r| again(r, "total"));
    for trigger in Trigger::ALL.map(Trigger::name) {
        rows.add(&format!("  {trigger}"), |r| again(r, trigger));
    }
    rows.add("probes, new data included", |r| r.probes.to_string());
    rows.add("extra copies (duplicates)", |r| r.duplicates.to_string());
    rows.add("  reported as duplicates by DSACK", |r| {
        r.duplicates_reported.to_string()
    });
    rows.add("  withheld: no room, or one is out", |r| {
        r.duplicates_withheld.to_string()
    });
    rows.add("spurious", |r| r.spurious.to_string());
    rows.add("unnecessary bytes", |r| r.unnecessary_bytes.to_string());
    if rows.columns.iter().any(|r| r.live.is_some()) {
        let late = |r: &&Entry| Some(r.live.as_ref()?.delivery_error_ms?.p999);
        rows.add("delivery error p99.9 (ms)", |r| millis(late(r)));
        let blurred = |r: &&Entry| Some(r.live.as_ref()?.blurred_flows);
        rows.add("flows blurred by it", |r| {
            blurred(r).map_or("-".into(), |n| n.to_string())
        });
    }
    rows.table
}

fn retransmissions(mut rows: Rows<Sender<'_>>) -> Table {
    let all = |r: &Sender<'_>| count(r.retransmissions, "total");
    let of =
        |trigger: Trigger| move |r: &Sender<'_>| (count(r.retransmissions, trigger.name()), all(r));
    rows.add("retransmissions (segments, % of all)", |r| {
        all(r).to_string()
    });
    rows.add_share("  fast", of(Trigger::Fast));
    rows.add_share("  early", of(Trigger::Early));
    rows.add_share("  timeout", of(Trigger::Rto));
    for state in State::ALL {
        let name = match state {
            State::Loss => "exponential back-off",
            state => state.name(),
        };
        let name = format!("    timeouts in {name}").replace("in exp", "by exp");
        rows.add_share(&name, |r| {
            (count(&r.recovery.timeouts, state.name()), all(r))
        });
    }
    rows.add_share("  slow start", of(Trigger::SlowStart));
    rows.add_share("  tail loss probe", of(Trigger::Tlp));
    rows.add_share("  SYN", of(Trigger::Syn));
    rows.add_share("  SYN-ACK", of(Trigger::SynAck));
    rows.add_share("  of all these, failed", |r| {
        (r.recovery.failed_retransmissions, all(r))
    });
    rows.add("recoveries", |r| r.recovery.recoveries.to_string());
    rows.add_decimal("fast retransmits per recovery", |r| {
        r.recovery.ratios.fast_retransmits_per_recovery
    });
    rows.add("DSACKs", |r| r.recovery.dsacks.to_string());
    rows.add_share("recoveries with a DSACK (%)", |r| {
        (r.recovery.recoveries_with_dsack, r.recovery.recoveries)
    });
    rows.add_decimal("DSACKs per fast retransmit (%)", |r| {
        r.recovery.ratios.dsacks_per_fast_retransmit_percent
    });
    rows.add_decimal("DSACKs per retransmission (%)", |r| {
        r.recovery.ratios.dsacks_per_retransmission_percent
    });
    rows.add("lost retransmissions", |r| {
        r.recovery.lost_retransmissions.to_string()
    });
    rows.add_decimal("lost retransmissions per recovery (%)", |r| {
        r.recovery.ratios.lost_retransmissions_per_recovery_percent
    });
    rows.add_decimal("lost retransmissions per fast retransmit (%)", |r| {
        r.recovery
            .ratios
            .lost_retransmissions_per_fast_retransmit_percent
    });
    for proof in Proof::ALL.map(Proof::name) {
        rows.add(&format!("undone by {proof}"), |r| {
            count(&r.recovery.undone, proof).to_string()
        });
    }
    rows.add_decimal("retransmission rate (% of data segments)", |r| {
        r.recovery.ratios.retransmission_rate_percent
    });
    rows.add("network transmit time per flow (ms)", |r| {
        millis(Some(r.recovery.ratios.transmit_time_per_flow_ms))
    });
    rows.add_decimal("  of it in loss recovery (%)", |r| {
        r.recovery.ratios.time_in_loss_recovery_percent
    });
    rows.add_decimal("data segments sent in recovery (%)", |r| {
        r.recovery.ratios.segments_sent_in_recovery_percent
    });
    rows.add_decimal("slow start after recovery (% of recoveries)", |r| {
        r.recovery.ratios.slow_start_after_recovery_percent
    });
    rows.table
}

fn recovery(mut rows: Rows<Sender<'_>>) -> Table {
    rows.add("recoveries", |r| r.recovery.recoveries.to_string());
    let ended = |r: &Sender<'_>| {
        let ended = &r.recovery.ended;
        ended.complete + ended.undone + ended.timeout
    };
    rows.add_share("  ended complete", |r| {
        (r.recovery.ended.complete, ended(r))
    });
    rows.add_share("  ended undone", |r| (r.recovery.ended.undone, ended(r)));
    rows.add_share("  ended in a timeout", |r| {
        (r.recovery.ended.timeout, ended(r))
    });
    rows.add_share("began with pipe < ssthresh", |r| {
        (r.recovery.pipe_minus_ssthresh.below, ended(r))
    });
    rows.add_share("began with pipe = ssthresh", |r| {
        (r.recovery.pipe_minus_ssthresh.equal, ended(r))
    });
    rows.add_share("began with pipe > ssthresh", |r| {
        (r.recovery.pipe_minus_ssthresh.above, ended(r))
    });
    rows.add_integer("pipe - ssthresh on entry, min (segments)", |r| {
        r.recovery.pipe_minus_ssthresh.min
    });
    rows.add_integer("  p1", |r| r.recovery.pipe_minus_ssthresh.p1);
    rows.add_integer("  p50", |r| r.recovery.pipe_minus_ssthresh.p50);
    rows.add_integer("  p99", |r| r.recovery.pipe_minus_ssthresh.p99);
    rows.add_integer("  max", |r| r.recovery.pipe_minus_ssthresh.max);
    add_percentiles(&mut rows, "cwnd - ssthresh before exit", |r| {
        &r.recovery.cwnd_minus_ssthresh
    });
    add_percentiles(&mut rows, "cwnd after recovery", |r| &r.recovery.cwnd_after);
    for (name, part) in SUMMARY {
        rows.add(&format!("time in recovery {name} (ms)"), |r| {
            millis(r.recovery.time_ms.as_ref().map(part))
        });
    }
    rows.table
}

fn add_percentiles(
    rows: &mut Rows<Sender<'_>>,
    name: &str,
    of: for<'a> fn(&'a Sender<'_>) -> &'a Percentiles,
) {
    rows.add_integer(&format!("{name}, p5 (segments)"), |r| of(r).p5);
    rows.add_integer("  p10", |r| of(r).p10);
    rows.add_integer("  p25", |r| of(r).p25);
    rows.add_integer("  p50", |r| of(r).p50);
    rows.add_integer("  p75", |r| of(r).p75);
    rows.add_integer("  p90", |r| of(r).p90);
    rows.add_integer("  p95", |r| of(r).p95);
    rows.add_integer("  p99", |r| of(r).p99);
}
