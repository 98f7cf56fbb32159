//! Explains captures: `recoup explain` without its arguments and its printing.

use crate::analyze::{AnalyzeError, Captures, Progress, analyze, analyze_all, analyze_joined};
use recoup_lab::analysis::{Analyzed, OneConnection, View};
use recoup_lab::explain::Facts;
use recoup_trace::analyze::Settings;
use recoup_trace::read::Reader;
use std::path::PathBuf;

/// A small capture of a lossy web workload, taken at the server, compressed by zstd. It was made by
///
/// ```sh
/// recoup run fetch --profile linux-6 --flows 60 --pcap demo --set rtt=60ms --set close=true \
///   --set writes=34kB@0,12kB@400ms --set drop=down:gilbert-elliott:0.01,0.3,up:bernoulli:0.02
/// ```
const DEMO: &[u8] = include_bytes!("explain/demo.pcap.zst");

/// The name of the [`DEMO`] in explanations.
const DEMO_NAME: &str = "demo";

/// Explains captures: each by itself, or joined as one. `view` makes what collects the facts. No captures
/// stand for the demo.
pub fn explain(
    captures: &[PathBuf],
    joined: bool,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> Facts,
) -> Captures<Facts> {
    match joined {
        true => analyze_joined(captures, settings, progress, view),
        false => analyze_all(captures, settings, progress, view),
    }
}

/// Explains the built-in capture.
pub fn explain_demo(
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> Facts,
) -> Captures<Facts> {
    let opened = Reader::new(DEMO_NAME, DEMO).map_err(AnalyzeError::from);
    let analyzed = opened.and_then(|reader| analyze(DEMO_NAME, reader, settings, progress, view));
    let (analyzed, failures) = match analyzed {
        Ok(analyzed) => (vec![analyzed], Vec::new()),
        Err(error) => (Vec::new(), vec![error]),
    };
    Captures {
        analyzed,
        failures,
        begun: 1,
        rotation: None,
    }
}

/// Explains one connection, counted from 0, of captures that are one stream, or of the demo if there are
/// no captures.
///
/// # Errors
/// A capture that cannot be read, or a connection that it does not have.
pub fn explain_connection(
    captures: &[PathBuf],
    number: u64,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<OneConnection>, AnalyzeError> {
    let view = || OneConnection::of(number);
    let mut all = match captures {
        [] => {
            let reader = Reader::new(DEMO_NAME, DEMO)?;
            let analyzed = analyze(DEMO_NAME, reader, settings, progress, view)?;
            return found(analyzed, number);
        }
        [_] => analyze_all(captures, settings, progress, view),
        _ => analyze_joined(captures, settings, progress, view),
    };
    match (all.analyzed.pop(), all.failures.pop()) {
        (Some(analyzed), _) => found(analyzed, number),
        (None, Some(error)) => Err(error),
        (None, None) => Err(AnalyzeError::NoConnection {
            capture: String::new(),
            number,
            connections: 0,
        }),
    }
}

/// Checks that the capture has the connection.
fn found(
    analyzed: Analyzed<OneConnection>,
    number: u64,
) -> Result<Analyzed<OneConnection>, AnalyzeError> {
    match analyzed.findings.row {
        Some(_) => Ok(analyzed),
        None => Err(AnalyzeError::NoConnection {
            capture: analyzed.capture.clone(),
            number,
            connections: analyzed.findings.connections(),
        }),
    }
}
