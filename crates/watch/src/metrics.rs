//! The metrics of a status. docs/watch.md lists them. All label values are there from the start, so that the first
//! increase of each is seen.

use crate::kernel_reasons::Agreement;
use crate::shared::Status;
use crate::totals::place;
use recoup_exposition::{Format, Kind, Metric, Page};
use recoup_kernel::Reason;
use recoup_recovery::Trigger;
use recoup_trace::finding::{Cause, Closing, SenderState, Verdict};

const WATCH: Metric =
    Metric { name: "recoup_watch_info", kind: Kind::Info, help: "The version of Recoup, and what it watches." };
const RETRANSMISSIONS: Metric =
    Metric::counter("recoup_retransmissions_total", "Retransmissions, by the trigger reported first.");
const VERDICTS: Metric = Metric::counter(
    "recoup_retransmission_verdicts_total",
    "Verdicts on retransmissions. A verdict that changes later counts again.",
);
const REVISIONS: Metric =
    Metric::counter("recoup_retransmission_verdict_revisions_total", "Verdicts that changed later.");
const WITHDRAWN: Metric =
    Metric::counter("recoup_retransmissions_withdrawn_total", "Packets reported as retransmissions that were none.");
const LOST: Metric = Metric::counter("recoup_lost_seconds_total", "Time that connections lost, by cause.");
const ENDED: Metric = Metric::counter("recoup_connections_ended_total", "Connections that ended, by how they ended.");
const OPEN: Metric = Metric::gauge("recoup_connections_open", "Open connections.");
const LIMITED: Metric = Metric::gauge(
    "recoup_connections_limited",
    "Open connections of the last minute, by the state that their main sender spent most time in.",
);
const MEMORY: Metric = Metric::gauge("recoup_connections_memory_bytes", "Memory of open connections.");
const KERNEL_REASONS: Metric = Metric::counter(
    "recoup_kernel_reasons_total",
    "Retransmissions, by the trigger reported first and the kernel's own reason. none: the kernel did not report it.",
);
const KERNEL_MISSED: Metric = Metric::counter(
    "recoup_kernel_retransmissions_missed_total",
    "Retransmissions that the kernel reported and Recoup did not find, though it captured the sender from the start.",
);
const KERNEL_UNREPORTED: Metric = Metric::counter(
    "recoup_kernel_retransmissions_unreported_total",
    "Retransmissions that the kernel could not report, because too many waited to be read.",
);
const FRAMES: Metric = Metric::counter("recoup_frames_total", "Frames read.");
const BYTES: Metric =
    Metric::counter("recoup_frame_bytes_total", "Bytes of the frames read, as long as they were on the wire.");
const DROPPED: Metric =
    Metric::counter("recoup_frames_dropped_total", "Frames that the kernel dropped before they were read.");
const SEGMENTS: Metric = Metric::counter("recoup_tcp_segments_total", "TCP segments read.");
const SETTLED: Metric = Metric::gauge(
    "recoup_analyzed_timestamp_seconds",
    "All packets captured before this time are analyzed. Seconds since 1970.",
);

/// All metrics of this status.
pub fn page(status: &Status, format: Format) -> String {
    let mut page = Page::new(format);
    page.describe(&WATCH);
    let about = [("source", status.name.as_str()), ("version", env!("CARGO_PKG_VERSION"))];
    page.sample(&WATCH, &about, 1);
    retransmissions(status, &mut page);
    connections(status, &mut page);
    if let Some(agreement) = &status.kernel {
        kernel_reasons(agreement, &mut page);
    }
    let single = [
        (FRAMES, status.counts.frames),
        (BYTES, status.bytes),
        (DROPPED, status.dropped),
        (SEGMENTS, status.counts.packets),
    ];
    for (metric, value) in single {
        page.describe(&metric);
        page.sample(&metric, &[], value);
    }
    page.describe(&SETTLED);
    page.sample(&SETTLED, &[], status.settled.as_nanos() as f64 / 1e9);
    page.finish()
}

fn retransmissions(status: &Status, page: &mut Page) {
    let totals = &status.totals;
    page.describe(&RETRANSMISSIONS);
    for trigger in triggers() {
        page.sample(&RETRANSMISSIONS, &[("trigger", name(trigger))], totals.retransmissions[place(trigger)]);
    }
    page.describe(&VERDICTS);
    for trigger in triggers() {
        for verdict in Verdict::ALL {
            let labels = [("trigger", name(trigger)), ("verdict", verdict.name())];
            page.sample(&VERDICTS, &labels, totals.verdicts[place(trigger)][verdict as usize]);
        }
    }
    page.describe(&REVISIONS);
    for from in Verdict::ALL {
        for to in Verdict::ALL.into_iter().filter(|to| *to != from) {
            let labels = [("from", from.name()), ("to", to.name())];
            page.sample(&REVISIONS, &labels, totals.revisions[from as usize][to as usize]);
        }
    }
    page.describe(&WITHDRAWN);
    page.sample(&WITHDRAWN, &[], totals.withdrawn);
    page.describe(&LOST);
    for cause in Cause::ALL {
        page.sample(&LOST, &[("cause", cause.name())], totals.lost[cause as usize].as_secs_f64());
    }
}

fn connections(status: &Status, page: &mut Page) {
    page.describe(&ENDED);
    for closing in Closing::ALL {
        page.sample(&ENDED, &[("closing", closing.name())], status.totals.ended[closing as usize]);
    }
    page.describe(&OPEN);
    page.sample(&OPEN, &[], status.open);
    page.describe(&LIMITED);
    for state in SenderState::ALL {
        let limits = status.survey.as_ref().map_or(0, |survey| survey.limits[state as usize]);
        page.sample(&LIMITED, &[("by", state.name())], limits);
    }
    page.describe(&MEMORY);
    page.sample(&MEMORY, &[], status.memory);
}

fn kernel_reasons(agreement: &Agreement, page: &mut Page) {
    page.describe(&KERNEL_REASONS);
    for trigger in triggers() {
        let mut sample = |kernel, n| page.sample(&KERNEL_REASONS, &[("trigger", name(trigger)), ("kernel", kernel)], n);
        for reason in Reason::ALL {
            sample(reason.name(), agreement.first[place(trigger)][reason as usize]);
        }
        sample("none", agreement.without[place(trigger)]);
    }
    page.describe(&KERNEL_MISSED);
    for reason in Reason::ALL {
        page.sample(&KERNEL_MISSED, &[("kernel", reason.name())], agreement.missed[reason as usize]);
    }
    page.describe(&KERNEL_UNREPORTED);
    page.sample(&KERNEL_UNREPORTED, &[], agreement.unreported);
}

/// All triggers, and the unknown one.
fn triggers() -> impl Iterator<Item = Option<Trigger>> {
    Trigger::ALL.into_iter().map(Some).chain([None])
}

/// As findings name it.
fn name(trigger: Option<Trigger>) -> &'static str {
    trigger.map_or("unknown", Trigger::name)
}

#[cfg(test)]
mod tests;
