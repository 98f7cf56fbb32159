//! Explains captures: `recoup explain` without its arguments and its printing.

use crate::commands::analyze::call::{AnalyzeError, Captures, Progress, analyze, analyze_all, analyze_joined};
use crate::commands::plot::call::open_joined;
use recoup_captures::analysis::{Analyzed, OneConnection};
use recoup_captures::diagram::source::Reading;
use recoup_captures::explain::{Facts, PageRequest, advise, page_of, page_of_stream};
use recoup_draw::page::Page;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{PacketSource, Reader};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A small capture of a lossy web workload, taken at the server, compressed by zstd. It was made by
///
/// ```sh
/// recoup run fetch --profile linux-6 --flows 60 --pcap demo \
///   --set rtt=60ms --set writes=34kB@0,12kB@400ms --set close=true \
///   --set drop=bernoulli:0.03,up:bernoulli:0.03 --set reorder=down:1%:40ms
/// ```
const DEMO: &[u8] = include_bytes!("call/demo.pcap.zst");

/// The name of the [`DEMO`] in explanations.
const DEMO_NAME: &str = "demo";

/// Why a capture is not explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// It cannot be read or analyzed.
    #[error(transparent)]
    Analyze(#[from] AnalyzeError),
    /// It has no connection of this number.
    #[error("{capture}: no connection {number}: {existing}")]
    NoConnection {
        /// The capture.
        capture: String,
        /// The number asked for, from 0.
        number: u64,
        /// Which connections there are.
        existing: String,
    },
}

/// What is explained.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The built-in capture.
    Demo,
    /// Captures, each by itself; `-` is standard input.
    Each(&'a [PathBuf]),
    /// Captures that are one.
    Joined(&'a [PathBuf]),
}

/// Explains captures. `view` makes what collects their facts. If it collects candidates for an advice
/// ([`Facts::with_advice`]), files are read twice. A stream, which is read once, gets no advice.
pub fn explain(
    input: Input<'_>,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> Facts,
) -> Captures<Facts> {
    let mut all = match input {
        Input::Each(captures) => analyze_all(captures, settings, progress, view),
        Input::Joined(captures) => analyze_joined(captures, settings, progress, view),
        Input::Demo => {
            let explained = demo().and_then(|demo| analyze(DEMO_NAME, demo, settings, progress, view));
            let (analyzed, failures) = match explained {
                Ok(analyzed) => (vec![analyzed], vec![]),
                Err(error) => (vec![], vec![error]),
            };
            Captures { analyzed, failures, begun: 1, rotation: None }
        }
    };
    for analyzed in &mut all.analyzed {
        let goes_on = || !progress.is_stopped();
        // Without a second reading there is no advice.
        _ = match input {
            Input::Demo => advise(analyzed, |_| Reader::new(DEMO_NAME, DEMO), settings, &goes_on),
            Input::Joined(captures) => advise(analyzed, |_| open_joined(captures), settings, &goes_on),
            Input::Each(_) => {
                let path = PathBuf::from(&analyzed.capture);
                match path.metadata() {
                    Ok(about) if about.is_file() => advise(analyzed, |_| Reader::open(&path), settings, &goes_on),
                    _ => Ok(()),
                }
            }
        };
    }
    all
}

fn demo() -> Result<Reader<'static>, AnalyzeError> {
    Ok(Reader::new(DEMO_NAME, DEMO)?)
}

/// Explains one connection, counted from 0, of the first of the captures.
///
/// # Errors
/// A capture that cannot be read, or a connection that it does not have.
pub fn explain_connection(
    input: Input<'_>,
    number: u64,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<OneConnection>, ExplainError> {
    let view = || OneConnection::of(Some(number));
    let analyzed = match input {
        Input::Demo => analyze(DEMO_NAME, demo()?, settings, progress, view)?,
        Input::Joined(captures) => {
            let joined = open_joined(captures).map_err(AnalyzeError::from)?;
            let name = joined.name().to_owned();
            analyze(&name, joined, settings, progress, view)?
        }
        Input::Each(captures) => {
            let path = captures.first().map_or(Path::new("-"), PathBuf::as_path);
            let reader = Reader::open(path).map_err(AnalyzeError::from)?;
            analyze(&path.display().to_string(), reader, settings, progress, view)?
        }
    };
    match analyzed.findings.row() {
        Some(_) => Ok(analyzed),
        None => Err(ExplainError::NoConnection {
            capture: analyzed.capture.clone(),
            number,
            existing: analyzed.findings.existing(&analyzed.counts),
        }),
    }
}

/// The page of the first of the captures. A capture in a file is read twice. Of a stream, which is read
/// once, a limited number of packets is drawn.
///
/// # Errors
/// A capture that cannot be read.
pub fn explain_as_page(
    input: Input<'_>,
    request: PageRequest,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Page, ExplainError> {
    let go_on = |bytes| {
        progress.bytes_read(bytes);
        !progress.is_stopped()
    };
    let reading = Reading { settings, go_on: &go_on };
    let page = match input {
        Input::Demo => page_of(DEMO_NAME, demo()?, |_| Reader::new(DEMO_NAME, DEMO), request, &reading),
        Input::Joined(captures) => {
            let joined = open_joined(captures).map_err(AnalyzeError::from)?;
            let name = joined.name().to_owned();
            progress.capture_begins(&name, joined.size());
            page_of(&name, joined, |_| open_joined(captures), request, &reading)
        }
        Input::Each(captures) => {
            let path = captures.first().map_or(Path::new("-"), PathBuf::as_path);
            let name = path.display().to_string();
            let reader = Reader::open(path).map_err(AnalyzeError::from)?;
            progress.capture_begins(&name, reader.size());
            match path.metadata() {
                Ok(about) if about.is_file() => page_of(&name, reader, |_| Reader::open(path), request, &reading),
                _ => page_of_stream(&name, reader, request, &reading),
            }
        }
    };
    progress.capture_ends();
    Ok(page.map_err(AnalyzeError::from)?)
}
