//! Analyzes one capture after another, and notices that one continues another, as rotated captures do.

use super::findings::{Analyzed, Collector, View};
use super::summary::Vantages;
use crate::capture::{Captures, Input, Progress};
use crate::study::Merge as _;
use recoup_trace::analyze::{Findings, Settings};
use recoup_trace::finding::{Closing, Connection, Opening, Retransmission, Revision};
use recoup_trace::timeline::Timeline;
use recoup_units::Instant;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;
use twox_hash::XxHash3_64;

/// Connections in a sample.
const MOST_SAMPLED: usize = 1024;

/// A capture that begins this long after the end of another one, or later, does not continue it.
const LONGEST_GAP: Duration = Duration::from_secs(10);

/// Captures that begin up to this long before the end of another one may still continue it.
const LONGEST_OVERLAP: Duration = Duration::from_secs(1);

/// When a capture begins and ends, and some of the connections that go on before and after it.
#[derive(Clone, Debug, Default)]
struct CaptureEnds {
    span: Option<(Instant, Instant)>,
    /// Connections that began before the capture.
    begun_before: Sample,
    /// Connections that are open at its end.
    open_at_end: Sample,
}

/// Digests of connections: of all that were added, the smallest ones. So samples of two captures have
/// connections in common if the captures do.
#[derive(Clone, Debug, Default)]
struct Sample(BTreeSet<u64>);

impl Sample {
    fn add(&mut self, digest: u64) {
        self.0.insert(digest);
        if self.0.len() > MOST_SAMPLED {
            self.0.pop_last();
        }
    }
}

impl CaptureEnds {
    fn add(&mut self, connection: &Connection) {
        self.span.merge(&Some((connection.begun, connection.ended)));
        if connection.opening == Opening::MidConnection {
            self.begun_before.add(digest(connection));
        }
        if connection.closing == Closing::CaptureEnd {
            self.open_at_end.add(digest(connection));
        }
    }

    fn merge(&mut self, other: Self) {
        self.span.merge(&other.span);
        let samples = [(&mut self.begun_before, other.begun_before), (&mut self.open_at_end, other.open_at_end)];
        for (sample, more) in samples {
            more.0.into_iter().for_each(|digest| sample.add(digest));
        }
    }

    /// Connections of this capture, of those sampled, that go on in `next`. 0 if `next` does not begin
    /// where this capture ends.
    fn going_on_in(&self, next: &Self) -> usize {
        let (Some((_, end)), Some((begin, _))) = (self.span, next.span) else {
            return 0;
        };
        let follows = begin.since(end) < LONGEST_GAP && end.since(begin) <= LONGEST_OVERLAP;
        let common = self.open_at_end.0.intersection(&next.begun_before.0);
        if follows { common.count() } else { 0 }
    }
}

/// A digest of the ends, equal for both directions.
fn digest(connection: &Connection) -> u64 {
    let (src, dst) = (connection.endpoints.src, connection.endpoints.dst);
    let mut bytes = Vec::with_capacity(36);
    for end in [src.min(dst), src.max(dst)] {
        match end {
            SocketAddr::V4(end) => bytes.extend(end.ip().octets()),
            SocketAddr::V6(end) => bytes.extend(end.ip().octets()),
        }
        bytes.extend(end.port().to_be_bytes());
    }
    XxHash3_64::oneshot(&bytes)
}

/// A note if captures continue each other. Each comes with its name.
fn rotation_note(captures: &[(&str, &CaptureEnds)]) -> Option<String> {
    let mut ordered = captures.to_vec();
    ordered.sort_by_key(|(_, ends)| ends.span);
    let pairs = ordered.windows(2);
    let mut pairs = pairs.filter_map(|pair| {
        let count = pair[0].1.going_on_in(pair[1].1);
        (count > 0).then_some((pair[0].0, pair[1].0, count))
    });
    let (before, after, count) = pairs.next()?;
    let connections = match count {
        1 => "1 connection goes".into(),
        MOST_SAMPLED => format!("at least {count} connections go"),
        count => format!("{count} connections go"),
    };
    let more = match pairs.count() {
        0 => String::new(),
        1 => "; so does another capture".into(),
        more => format!("; so do {more} more captures"),
    };
    Some(format!(
        "{after} continues {before}: {connections} on from one to the other{more}; --join analyzes the files of one capture as one"
    ))
}

/// Analyzes captures. `view` makes what collects the findings.
pub fn analyze_all<V: Collector>(
    input: Input<'_>,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> V,
) -> Captures<V> {
    analyze_each(input, settings, progress, view, |analyzed| analyzed)
}

/// Analyzes captures, and keeps of each what `keep` makes of its findings.
pub fn analyze_each<V: Collector, W>(
    input: Input<'_>,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> V,
    mut keep: impl FnMut(Analyzed<V>) -> Analyzed<W>,
) -> Captures<W> {
    let with_ends = || WithEnds { view: view(), ends: CaptureEnds::default() };
    let mut all_ends = Vec::new();
    let all = input.each(progress, |capture| {
        let analyzed = capture.analyze(settings, with_ends, progress)?;
        all_ends.push((analyzed.capture.clone(), analyzed.findings.ends.clone()));
        Ok(keep(analyzed.map(|found| found.view)))
    });
    let ends: Vec<_> = all_ends.iter().map(|(capture, ends)| (&**capture, ends)).collect();
    Captures { rotation: rotation_note(&ends), ..all }
}

/// Collects findings, and where the capture begins and ends.
#[derive(Debug, Default)]
struct WithEnds<V> {
    view: V,
    ends: CaptureEnds,
}

impl<V: Findings> Findings for WithEnds<V> {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.ends.add(&connection);
        self.view.connection(connection, retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        self.view.revision(revision);
    }

    fn timeline(&mut self, timeline: Timeline) {
        self.view.timeline(timeline);
    }
}

impl<V: View> View for WithEnds<V> {
    fn connections(&self) -> u64 {
        self.view.connections()
    }

    fn vantages(&self) -> &Vantages {
        self.view.vantages()
    }
}

impl<V: Collector> Collector for WithEnds<V> {
    const READS_QLOG: bool = V::READS_QLOG;

    fn merge(&mut self, other: Self) {
        self.ends.merge(other.ends);
        self.view.merge(other.view);
    }

    fn order(&mut self) {
        self.view.order();
    }
}

#[cfg(test)]
mod tests;
