//! A scenario from a capture, so that `recoup run` starts from a network that was seen.
//!
//! The inference is that of the reruns: the same transmissions and fates, bottlenecks, ACK habits and
//! applications. A scenario has one value of each for all its flows, so each value is the one that is
//! typical of the connections, and its comment says how far they spread.

mod facts;
mod fit;
mod losses;
mod text;
mod traffic;

pub use text::{InferredScenario, InferredSetting};

use super::bases::Bases;
use super::candidates::{Candidates, Sample};
use super::gather::Task;
use super::gather::{Gathering, sought};
use super::reasons::Reasons;
use crate::analysis::{AnalysisError, Analyzed};
use crate::capture::{Again, Capture, Progress};
use crate::reread::read_connections;
use facts::Facts;
use recoup_support::threads::in_parallel_with;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Counts, ReadError};
use recoup_whatif::Rerunner;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// The most connections that a scenario is inferred from: a sample of more.
const MOST_CONNECTIONS: usize = 2_000;

/// Transmissions that are kept, about 100 bytes each. Connections beyond are left out.
const MOST_TRANSMISSIONS: usize = 1 << 21;

/// Why no scenario can be inferred. Each message is one line.
#[derive(Debug, Error)]
pub enum InferenceError {
    /// The capture cannot be read.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// No connection shows what a scenario needs.
    #[error("{capture}: no scenario can be inferred: {why}")]
    Nothing {
        /// The capture.
        capture: String,
        /// Why not.
        why: String,
    },
}

impl From<ReadError> for InferenceError {
    fn from(error: ReadError) -> Self {
        Self::Analysis(error.into())
    }
}

/// The scenario of a capture.
///
/// # Errors
/// When the capture cannot be read, or not a second time, or when no connection shows enough.
pub fn infer_scenario(
    capture: Capture<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<InferredScenario, InferenceError> {
    let candidates = || Candidates::new(Sample { most: MOST_CONNECTIONS, ..Sample::default() });
    let (mut analyzed, again) = capture.analyze_first(settings, candidates, progress)?;
    analyzed.findings = analyzed.findings.without_repaired(&analyzed.counts).into_owned();
    let mut scenario = from_candidates(&analyzed, &again, settings, progress)?;
    scenario.notes = analyzed.notes();
    scenario.notes.extend(again.kept_note("are used"));
    Ok(scenario)
}

fn from_candidates(
    analyzed: &Analyzed<Candidates>,
    again: &Again<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<InferredScenario, InferenceError> {
    let found = &analyzed.findings;
    let bases = Bases::new(&found.rows, settings.profile.as_ref());
    let (facts, refused) = read_facts(analyzed, &bases, again, settings, progress)?;
    let servers = facts.iter().filter(|one| one.sender == Host::Server);
    let sender = match servers.count() * 2 >= facts.len() {
        true => Host::Server,
        false => Host::Client,
    };
    let used: Vec<&Facts> = facts.iter().filter(|one| one.sender == sender).collect();
    if used.is_empty() {
        return Err(InferenceError::Nothing {
            capture: analyzed.capture.clone(),
            why: why_nothing(found.connections, &analyzed.counts, &refused),
        });
    }
    let mut scenario = fit::fit(&used, sender, bases.known());
    let capture = name_of(&analyzed.capture);
    scenario.about = format!("the typical connection of {capture}");
    scenario.about_source = sources(capture, used.len(), found.connections, sender, &refused);
    scenario.left_out = vec![
        "Not in this scenario: how connections differ from each other, delays that vary without a bottleneck, cross traffic, duplicated packets, and receive windows.".into(),
    ];
    Ok(scenario)
}

/// Reads the packets of the connections, and what they show. Also returns the connections that show too
/// little.
fn read_facts(
    analyzed: &Analyzed<Candidates>,
    bases: &Bases,
    again: &Again<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<(Vec<Facts>, Reasons), ReadError> {
    let candidates = &analyzed.findings.rows;
    let mut refused = analyzed.findings.refused.clone();
    let mut all: Vec<Facts> = Vec::new();
    if candidates.is_empty() {
        return Ok((all, refused));
    }
    let count = AtomicU64::new(0);
    let goes_on = || progress.reruns(count.load(Ordering::Relaxed), candidates.len() as u64);
    let mut kept = 0;
    let batch = |tasks: Vec<Task>| {
        let one = |rerunner: &mut Rerunner, i: usize| {
            let task: &Task = &tasks[i];
            let candidate = &candidates[task.candidate];
            let facts = goes_on().then(|| Facts::new(rerunner, candidate, bases, task));
            count.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(facts)
        };
        let Ok(facts) = in_parallel_with(tasks.len(), settings.threads + 1, Rerunner::new, one);
        for facts in facts.into_iter().flatten() {
            match facts {
                Ok(facts) if kept + facts.transmissions.len() <= MOST_TRANSMISSIONS => {
                    kept += facts.transmissions.len();
                    all.push(facts);
                }
                Ok(_) => refused.add("too_large", "the other connections take up the memory"),
                Err(why) => refused.add(why.name(), why.to_string()),
            }
        }
    };
    let ((given_up, _), _) = again.read(analyzed, &|_| goes_on(), |source, go_on| {
        let sought = sought(candidates);
        let mut gathering = Gathering::new(batch);
        read_connections(source, &sought, &mut gathering, go_on);
        gathering.finish()
    })?;
    refused.add_all("too_large", "its packets take up too much memory", given_up);
    Ok((all, refused))
}

/// The name of a capture without its folder.
fn name_of(capture: &str) -> &str {
    match capture {
        "-" => "standard input",
        path => path.rsplit(std::path::is_separator).next().unwrap_or(path),
    }
}

fn sources(capture: &str, used: usize, connections: u64, sender: Host, refused: &Reasons) -> Vec<String> {
    let mut sentences = vec![format!(
        "Inferred from {capture}: {used} of its {connections} connections, in which the {} sends more data and stands at the capture point.",
        sender.name()
    )];
    let others = refused.by_count();
    if !others.is_empty() {
        let each = others.iter().map(|reason| format!("{} ({})", reason.count, reason.about));
        sentences.push(format!("Not used: {}.", each.collect::<Vec<_>>().join("; ")));
    }
    sentences.push(
        "Each value is typical of these connections. Change what you want to study, and run it with recoup run.".into(),
    );
    sentences
}

fn why_nothing(connections: u64, counts: &Counts, refused: &Reasons) -> String {
    match refused.by_count().first() {
        None if connections == 0 => counts.why_no_connection(),
        None => "no connection was read".into(),
        Some(most) => format!("of {connections} connections, {} cannot be used because: {}", most.count, most.about),
    }
}

#[cfg(test)]
mod tests;
