//! The metrics of the proxy. docs/proxy.md lists them. All label values of a kind are there from the start, so that the first
//! increase of each is seen.

use super::record::End;
use super::shared::Shared;
use recoup_exposition::{Format, Kind, Metric, Page};
use recoup_recovery::{Counters, Trigger};
use std::collections::BTreeMap;
use std::sync::Arc;

const PROXY: Metric = Metric { name: "recoup_proxy_info", kind: Kind::Info, help: "The version of Recoup." };
const OPEN: Metric = Metric::gauge("recoup_proxy_connections_open", "Open connections of clients.");
const ENDED: Metric =
    Metric::counter("recoup_proxy_connections_ended_total", "Connections of clients that ended, by how they ended.");
const REFUSED: Metric =
    Metric::counter("recoup_proxy_connections_refused_total", "Connections reset because of a limit of their client.");
const BYTES: Metric =
    Metric::counter("recoup_proxy_bytes_total", "Bytes handed on in connections that ended, by direction.");
const RETRANSMISSIONS: Metric =
    Metric::counter("recoup_proxy_retransmissions_total", "Segments retransmitted to clients, by profile and trigger.");
const NEEDLESS: Metric = Metric::counter(
    "recoup_proxy_needless_retransmissions_total",
    "Segments that clients reported to have had already.",
);
const UNDONE: Metric =
    Metric::counter("recoup_proxy_reductions_undone_total", "Window reductions taken back, because nothing was lost.");
const TIMEOUTS: Metric = Metric::counter("recoup_proxy_timeouts_total", "Retransmission timeouts towards clients.");
const SEGMENTS: Metric = Metric::counter("recoup_proxy_segments_total", "Segments of data sent to clients.");
const LOST: Metric = Metric::counter(
    "recoup_proxy_recovering_seconds_total",
    "Time of connections in fast recovery and after timeouts.",
);
const BUSY: Metric =
    Metric::counter("recoup_proxy_busy_seconds_total", "Time of connections with data on its way to the client.");
const WAITED: Metric = Metric::counter(
    "recoup_proxy_waited_seconds_total",
    "Time in which data waited for room towards the client, and the client for its server, in connections that ended.",
);
const RESPONSES: Metric =
    Metric::counter("recoup_proxy_responses_total", "Responses of connections that ended, by profile.");
const COMPLETION: Metric =
    Metric::counter("recoup_proxy_completion_seconds_total", "The sum of their completion times.");
const RTT: Metric = Metric::counter(
    "recoup_proxy_rtt_seconds_total",
    "The sum of the smoothed RTT of connections that ended with one, by profile.",
);
const RTTS: Metric = Metric::counter("recoup_proxy_rtts_total", "The number of these connections.");
const PACKETS: Metric = Metric::counter("recoup_proxy_packets_total", "IP packets of the stacks, by direction.");
const MEMORY: Metric = Metric::gauge("recoup_proxy_memory_bytes", "Memory of connections to clients.");
const DROPPED: Metric = Metric::counter("recoup_proxy_syns_dropped_total", "SYNs dropped for want of room or memory.");
const COOKIES: Metric = Metric::counter("recoup_proxy_syn_cookies_sent_total", "SYNs answered by a cookie.");

/// What is counted of the connections of a profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileTotals {
    pub counters: Counters,
    pub responses: u64,
    pub completion_ms: f64,
    pub rtt_ms: f64,
    pub rtts: u64,
    pub waited_for_client_ms: f64,
    pub waited_for_server_ms: f64,
}

/// Counts of connections that ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub ended: [u64; End::ALL.len()],
    pub refused: u64,
    pub up: u64,
    pub down: u64,
    pub profiles: BTreeMap<Arc<str>, ProfileTotals>,
}

/// All metrics as they are now.
pub(crate) fn page(shared: &Shared, format: Format) -> String {
    let mut page = Page::new(format);
    page.describe(&PROXY);
    page.sample(&PROXY, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let (totals, open) = shared.totals_with_open();
    page.describe(&OPEN);
    page.sample(&OPEN, &[], open as u64);
    page.describe(&ENDED);
    for end in End::ALL {
        page.sample(&ENDED, &[("end", end.name())], totals.ended[end as usize]);
    }
    page.describe(&REFUSED);
    page.sample(&REFUSED, &[], totals.refused);
    page.describe(&BYTES);
    page.sample(&BYTES, &[("direction", "from_client")], totals.up);
    page.sample(&BYTES, &[("direction", "to_client")], totals.down);
    page.describe(&RETRANSMISSIONS);
    for (profile, of) in &totals.profiles {
        for trigger in Trigger::ALL {
            let labels = [("profile", &**profile), ("trigger", trigger.name())];
            page.sample(&RETRANSMISSIONS, &labels, of.counters.retransmissions.of(trigger));
        }
    }
    let mut each = |metric: Metric, value: fn(&ProfileTotals) -> f64| {
        page.describe(&metric);
        for (profile, of) in &totals.profiles {
            page.sample(&metric, &[("profile", profile)], value(of));
        }
    };
    each(NEEDLESS, |of| of.counters.dsacks as f64);
    each(UNDONE, |of| of.counters.undone.iter().sum::<u64>() as f64);
    each(TIMEOUTS, |of| of.counters.timeouts.iter().sum::<u64>() as f64);
    each(SEGMENTS, |of| of.counters.segments_sent as f64);
    each(LOST, |of| (of.counters.in_recovery + of.counters.in_loss).as_secs_f64());
    each(BUSY, |of| of.counters.busy.as_secs_f64());
    each(RESPONSES, |of| of.responses as f64);
    each(COMPLETION, |of| of.completion_ms / 1e3);
    each(RTTS, |of| of.rtts as f64);
    each(RTT, |of| of.rtt_ms / 1e3);
    page.describe(&WAITED);
    for (profile, of) in &totals.profiles {
        for (what, waited) in [("client", of.waited_for_client_ms), ("server", of.waited_for_server_ms)] {
            page.sample(&WAITED, &[("profile", profile), ("for", what)], waited / 1e3);
        }
    }
    let stats = shared.stack_stats();
    page.describe(&PACKETS);
    page.sample(&PACKETS, &[("direction", "in")], stats.packets_in);
    page.sample(&PACKETS, &[("direction", "out")], stats.packets_out);
    for (metric, value) in [(MEMORY, stats.memory), (DROPPED, stats.syns_dropped), (COOKIES, stats.cookies_sent)] {
        page.describe(&metric);
        page.sample(&metric, &[], value);
    }
    page.finish()
}
