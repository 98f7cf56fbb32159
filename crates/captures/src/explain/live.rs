//! Explains a capture while it is written.

use super::facts::Facts;
use crate::analysis::{AnalysisError, Analyzed, assemble};
use crate::capture::{Capture, Progress};
use recoup_trace::analyze::{Analyzer, Settings};
use recoup_trace::read::PacketSource;
use std::time::{Duration, Instant};

/// At most this part of the time is spent on explanations in between.
const SHARE: u32 = 10;

/// Explains a capture. In between, `interim` gets what it shows so far: after `every` at the earliest, when the next packet comes,
/// and so seldom that this takes a tenth of the time. It has no advice, because a stream is read once.
///
/// # Errors
/// If no frame is readable.
pub fn explain_live(
    capture: Capture<'_>,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> Facts,
    every: Duration,
    mut interim: impl FnMut(&Analyzed<Facts>),
) -> Result<Analyzed<Facts>, AnalysisError> {
    if capture.is_qlog() {
        // Its findings come when its connections end.
        return capture.analyze(settings, view, progress);
    }
    let name = capture.name().to_owned();
    let mut packets = capture.into_packets_by(settings);
    let mut analyzer = Analyzer::new(settings, &view);
    let mut next = Instant::now() + every;
    let mut stopped = false;
    loop {
        let goes_on = analyzer.read_part(&mut packets, |source| {
            stopped = !progress.reads(source.taken());
            !stopped && Instant::now() < next
        });
        if !goes_on || stopped {
            break;
        }
        let begun = Instant::now();
        // Where nothing is readable yet, or capture points cannot be told apart, later packets may help.
        let so_far = analyzer.so_far(settings, packets.counts().clone());
        let so_far = so_far.map(|analysis| assemble(&name, analysis.counts, false, analysis.findings, &view));
        if let Ok(Ok(analyzed)) = so_far {
            interim(&analyzed);
        }
        next = Instant::now() + every.max(begun.elapsed() * SHARE);
    }
    analyzer.end_capture(packets)?;
    let analysis = analyzer.finish()?;
    assemble(&name, analysis.counts, stopped, analysis.findings, view)
}
