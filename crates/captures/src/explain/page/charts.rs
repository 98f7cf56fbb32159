//! The charts over time.
//!
//! A share of few segments says little: one retransmission among two is 50 %. So intervals with few segments or samples
//! are merged with their neighbours.

use crate::wording::duration;
use recoup_draw::page::{Chart, Series};
use recoup_trace::timeline::{Bin, Timeline};
use recoup_units::Instant;
use std::time::Duration;

/// Intervals of a chart: about one for each four pixels.
const MOST_INTERVALS: usize = 200;

/// An interval with fewer segments is merged with a neighbour.
const FEWEST_SEGMENTS: u64 = 30;

/// An interval with fewer round-trip times is merged with a neighbour.
const FEWEST_RTTS: u64 = 10;

/// An interval at an end of the capture that is shorter than this share of the others is merged with its neighbour.
const SHORTEST: f64 = 0.5;

/// The sides of a connection, named by where their data goes.
const TO: [&str; 2] = ["to servers", "to clients"];

/// Some bins in one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    /// Seconds since the capture's first frame.
    from: f64,
    until: f64,
    counts: Bin,
}

/// The charts of a capture whose first frame was captured at `first_frame`, and its connections in `span`.
pub(super) fn charts(timeline: &Timeline, span: (Instant, Instant), first_frame: Instant) -> Vec<Chart> {
    let timeline = timeline.in_bins(MOST_INTERVALS);
    let bins = bins(&timeline, span, first_frame);
    let width = timeline.width();
    let shortest = SHORTEST * width.as_secs_f64();
    let rtts = |counts: &Bin| counts.rtt_samples(0) + counts.rtt_samples(1);
    let rate = merged(&bins, |of| of.counts.segments == 0, |of| of.counts.segments >= FEWEST_SEGMENTS);
    let rtt = merged(&bins, |of| rtts(&of.counts) == 0, |of| rtts(&of.counts) >= FEWEST_RTTS);
    let goodput = merged(&bins, |_| false, |of| of.until - of.from >= shortest);
    let of_side =
        |side: usize| (TO[side], move |of: &Interval| of.counts.mean_rtt_of(side).map(|rtt| rtt.as_secs_f64() * 1e3));
    let (to_servers, to_clients) = (of_side(0), of_side(1));
    let charts = [
        chart(
            "Retransmission rate",
            format!(
                "Retransmissions as a share of all segments with data, SYN or FIN. {}",
                steps(width, &format!("{FEWEST_SEGMENTS} segments"))
            ),
            "retransmissions (%)",
            &rate,
            &[("retransmissions (%)", &|of| {
                let Bin { segments, retransmissions, .. } = of.counts;
                (segments > 0).then(|| 100.0 * retransmissions as f64 / segments as f64)
            })],
        ),
        chart(
            "Round-trip time",
            format!(
                "Mean time from a segment of data to its ACK, as the capture point sees it. To clients: data of servers; \
                 to servers: data of clients. Data captured at its receiver and SYNs do not count. {}",
                steps(width, &format!("{FEWEST_RTTS} such ACKs"))
            ),
            "round-trip time (ms)",
            &rtt,
            &[(to_clients.0, &to_clients.1), (to_servers.0, &to_servers.1)],
        ),
        chart(
            "Goodput",
            format!(
                "Data acknowledged for the first time, of all connections. A step is an interval of {}.",
                duration(width)
            ),
            "goodput (Mbit/s)",
            &goodput,
            &[("goodput (Mbit/s)", &|of| {
                let lasts = of.until - of.from;
                (lasts > 0.0).then(|| of.counts.acknowledged as f64 * 8e-6 / lasts)
            })],
        ),
    ];
    charts.into_iter().flatten().collect()
}

/// How wide steps are.
fn steps(width: Duration, fewest: &str) -> String {
    format!("A step is an interval of {}, or more: those with fewer than {fewest} are merged.", duration(width))
}

type ValueOf<'a> = &'a dyn Fn(&Interval) -> Option<f64>;

/// A chart with the lines that have values; `None` if none has.
fn chart(
    heading: &str,
    about: String,
    y_label: &str,
    intervals: &[Interval],
    lines: &[(&str, ValueOf<'_>)],
) -> Option<Chart> {
    let series = lines
        .iter()
        .map(|(name, value)| Series { name: (*name).into(), values: intervals.iter().map(value).collect() });
    let series: Vec<Series> = series.filter(|line| line.values.iter().any(Option::is_some)).collect();
    (!series.is_empty()).then(|| Chart {
        heading: heading.into(),
        about,
        y_label: y_label.into(),
        x_label: "seconds since the capture's first frame".into(),
        intervals: intervals.iter().map(|of| (of.from, of.until)).collect(),
        series,
    })
}

/// The bins. The first and the last one end where the connections do.
fn bins(timeline: &Timeline, (begun, ended): (Instant, Instant), first_frame: Instant) -> Vec<Interval> {
    let seconds = |at: Instant| at.since(first_frame).as_secs_f64();
    let width = u64::try_from(timeline.width().as_nanos()).unwrap_or(u64::MAX);
    let bins = timeline.bins().map(|(at, counts)| Interval {
        from: seconds(at.max(begun)),
        until: seconds(at.plus_nanos(width).min(ended)),
        counts: *counts,
    });
    bins.filter(|of| of.from <= of.until).collect()
}

/// The bins, merged with their neighbours until each is enough. Empty ones are gaps, if nothing before them waits to be
/// merged.
fn merged(
    bins: &[Interval],
    is_empty: impl Fn(&Interval) -> bool,
    is_enough: impl Fn(&Interval) -> bool,
) -> Vec<Interval> {
    let mut all: Vec<Interval> = Vec::new();
    let mut open: Option<Interval> = None;
    for bin in bins {
        if is_empty(bin) {
            // What is open joins the interval right before it rather than reach over a gap.
            match (all.last_mut(), open) {
                (Some(last), Some(few)) if last.until == few.from => {
                    last.absorb(&few);
                    open = None;
                }
                (_, Some(few)) => open = Some(Interval { until: bin.until, ..few }),
                (_, None) => {}
            }
            continue;
        }
        let mut joined = open.take().unwrap_or(Interval { counts: Bin::default(), until: bin.from, ..*bin });
        joined.absorb(bin);
        match is_enough(&joined) {
            true => all.push(joined),
            false => open = Some(joined),
        }
    }
    match (all.last_mut(), open) {
        (Some(last), Some(few)) => last.absorb(&few),
        (None, Some(few)) => all.push(few),
        (_, None) => {}
    }
    all
}

impl Interval {
    /// Lasts until the end of `later`, with all that was counted.
    fn absorb(&mut self, later: &Self) {
        self.until = later.until;
        self.counts.merge(&later.counts);
    }
}

#[cfg(test)]
mod tests;
