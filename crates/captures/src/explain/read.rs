//! Reads captures to explain them. For advice and for diagrams, some connections are read for a second time.

use super::advice::{self, Advice};
use super::facts::Facts;
use super::groups::GroupBy;
use super::order::{DRAWN, SortBy};
use super::page::{Drawn, PageOf};
use super::total::Total;
use crate::analysis::{AnalysisError, Analyzed, ConnectionRow, OneConnection, analyze_all, analyze_each};
use crate::capture::{Again, Capture, Captures, Input, Progress};
use crate::diagram::source::{Directions, Source};
use crate::diagram::{self, draw_again};
use crate::reread::Also;
use crate::whatif::{rerun_along, rerun_candidates};
use recoup_draw::page::{Direction, Page};
use recoup_trace::analyze::Settings;
use recoup_trace::read::ReadError;
use recoup_units::visible;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::sync::atomic::AtomicU64;
use thiserror::Error;

/// Connections that a document or a page has, if the user does not say how many.
pub const MOST_CONNECTIONS: usize = 2_000;

/// Packets that are drawn of each connection.
const MOST_PACKETS: usize = 200_000;

/// Why a capture is not explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// It cannot be read or analyzed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
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

/// Explains captures together: adds them to `total`. They get no advice.
pub fn explain_all(
    input: Input<'_>,
    settings: &Settings,
    progress: &dyn Progress,
    total: &mut Total,
    view: impl Fn() -> Facts,
) -> Captures<()> {
    analyze_each(input, settings, progress, view, |analyzed| {
        total.add(&analyzed);
        analyzed.map(|_| ())
    })
}

/// Explains captures. `view` makes what collects their facts. If it collects candidates for an advice
/// ([`Facts::with_advice`]), files are read twice. A stream, which is read once, gets no advice.
pub fn explain(
    input: Input<'_>,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> Facts,
) -> Captures<Facts> {
    let mut all = analyze_all(input, settings, progress, view);
    for analyzed in &mut all.analyzed {
        analyzed.findings.group_by_capture(&analyzed.capture);
        if let Some(again) = input.again(&analyzed.capture, settings) {
            // Without a second reading there is no advice.
            _ = advise(analyzed, &again, settings, progress);
        }
    }
    all
}

/// Runs connections again, and notes what would have helped. Facts [without candidates](Facts::with_advice) stay as
/// they are.
fn advise(
    analyzed: &mut Analyzed<Facts>,
    again: &Again<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<(), ReadError> {
    let Some(candidates) = analyzed.findings.candidates().filter(|_| analyzed.counts.qlog.is_none()) else {
        return Ok(());
    };
    let goes_on = |_, _| !progress.is_stopped();
    let answer = rerun_candidates(analyzed, candidates, again, &advice::request(), settings, &goes_on)?;
    analyzed.findings.advice = Advice::new(&answer);
    Ok(())
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
    let analyzed = input.first(progress, |capture| capture.analyze(settings, view, progress))?;
    match analyzed.findings.row() {
        Some(_) => Ok(analyzed),
        None => Err(ExplainError::NoConnection {
            number,
            existing: analyzed.findings.existing(&analyzed.counts),
            capture: analyzed.capture,
        }),
    }
}

/// Arguments of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'a> {
    /// Which connections come first.
    pub order: SortBy,
    /// How many connections the table has.
    pub most: usize,
    /// The number of a connection that comes before all others.
    pub first: Option<u64>,
    /// Whether it says what would have helped.
    pub advice: bool,
    /// What connections are grouped by.
    pub by: &'a [GroupBy],
}

impl Default for PageRequest<'_> {
    /// What a page has if the user does not ask for anything else.
    fn default() -> Self {
        Self { order: SortBy::TimeLost, most: MOST_CONNECTIONS, first: None, advice: true, by: &[] }
    }
}

/// A page, and the captures that it lacks.
#[derive(Debug)]
pub struct ExplainedPage {
    /// The page; `None` if no capture could be read.
    pub page: Option<Page>,
    /// Why captures could not be read, in order.
    pub failures: Vec<AnalysisError>,
}

/// One page about the captures: about one by itself, or about all of several, and then about each.
pub fn explain_as_page(
    input: Input<'_>,
    request: PageRequest<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> ExplainedPage {
    let captures = match input {
        Input::Each(paths) => paths.len().max(1),
        Input::Demo | Input::Joined(_) | Input::Source(_) => 1,
    };
    let settings = Settings { timeline: true, ..settings.clone() };
    let limits = DrawLimits::of(captures);
    let names = names(input);
    let mut page = PageOf::new(captures > 1, request.order, request.most);
    let mut total = Total::new(request.order, 0, request.by);
    let all = input.each(progress, |capture| {
        let name = names.get(capture.name()).cloned().unwrap_or_else(|| capture.name().to_owned());
        let analyzed = add_to_page(&mut page, capture, &name, request, limits, &settings, progress)?;
        total.add(&analyzed);
        Ok(analyzed.map(|_| ()))
    });
    ExplainedPage { page: (!all.analyzed.is_empty()).then(|| page.finish(&total)), failures: all.failures }
}

/// Short names of several captures by their names: those of the files without their folders, if that tells them apart.
fn names(input: Input<'_>) -> BTreeMap<String, String> {
    let Input::Each(paths @ [_, _, ..]) = input else {
        return BTreeMap::new();
    };
    let text = |name: &OsStr| visible(&name.to_string_lossy()).into_owned();
    let named = paths.iter().map(|path| (text(path.as_os_str()), text(path.file_name().unwrap_or(path.as_os_str()))));
    let named: BTreeMap<String, String> = named.collect();
    let distinct = named.values().collect::<BTreeSet<_>>().len();
    match distinct == named.len() {
        true => named,
        false => BTreeMap::new(),
    }
}

/// Limits of what is drawn of a capture.
#[derive(Clone, Copy, Debug)]
struct DrawLimits {
    connections: usize,
    /// Packets of a connection.
    packets: usize,
}

impl DrawLimits {
    /// So much that the diagrams of all captures take about as much memory as those of one.
    fn of(captures: usize) -> Self {
        let packets = (MOST_PACKETS * DRAWN / captures).min(MOST_PACKETS);
        Self { connections: (DRAWN / captures).max(1), packets }
    }
}

fn add_to_page(
    page: &mut PageOf,
    capture: Capture<'_>,
    name: &str,
    request: PageRequest<'_>,
    limits: DrawLimits,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<Facts>, AnalysisError> {
    let collector = || {
        let facts = Facts::new(request.order, request.most).with_first(request.first).with_groups(request.by);
        match request.advice {
            true => facts.with_advice(),
            false => facts,
        }
    };
    let (mut analyzed, again) = capture.analyze_first(settings, collector, progress)?;
    let second = draw_and_rerun(&analyzed, &again, limits, settings, progress)?;
    analyzed.findings.advice = second.advice;
    let drawn = second.drawn.into_iter().map(Drawn::from).collect();
    page.add(name, &analyzed, drawn);
    let notes = second.note.into_iter().chain(again.kept_note(diagram::DRAWN));
    notes.for_each(|note| page.note(name, &note));
    Ok(analyzed)
}

/// Results of the second reading.
struct SecondReading {
    drawn: Vec<Source>,
    /// That the user interrupted it.
    note: Option<String>,
    advice: Option<Advice>,
}

/// Draws the connections that come first, and reruns those that the advice rests on, from one reading.
fn draw_and_rerun(
    analyzed: &Analyzed<Facts>,
    again: &Again<'_>,
    limits: DrawLimits,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<SecondReading, ReadError> {
    if analyzed.counts.qlog.is_some() {
        // A trace has no packets to draw or to run again.
        return Ok(SecondReading { drawn: Vec::new(), note: None, advice: None });
    }
    let rows = rows(analyzed, limits.connections);
    let draw = |also: Option<Also<'_>>| {
        let (most, all) = (limits.packets, Directions::All);
        match rows.is_empty() && also.as_ref().is_none_or(|also| also.sought.is_empty()) {
            true => Ok((Vec::new(), None)),
            false => draw_again(analyzed, again, &rows, all, most, progress, also),
        }
    };
    let Some(candidates) = analyzed.findings.candidates() else {
        let (drawn, note) = draw(None)?;
        return Ok(SecondReading { drawn, note, advice: None });
    };
    let candidates = &*candidates.without_repaired(&analyzed.counts);
    // An interrupt ends the reading, and what was read is rerun.
    let goes_on = |done| {
        progress.rerun(done, candidates.count());
        true
    };
    let (answer, (drawn, note)) =
        rerun_along(candidates, &advice::request(), settings, (&AtomicU64::new(0), &goes_on), |also| draw(Some(also)))?;
    Ok(SecondReading { drawn, note, advice: Advice::new(&answer) })
}

/// The connections that are drawn.
fn rows(analyzed: &Analyzed<Facts>, most: usize) -> Vec<ConnectionRow> {
    let ranked = analyzed.findings.worst.connections().iter().take(most);
    ranked.map(|ranked| (ranked.connection.clone(), ranked.retransmissions.clone())).collect()
}

impl From<Source> for Drawn {
    fn from(source: Source) -> Self {
        let directions = source.senders.iter().zip(source.panels);
        Self {
            directions: directions.map(|(sender, panel)| Direction { sender: sender.to_string(), panel }).collect(),
            notes: source.notes,
        }
    }
}
