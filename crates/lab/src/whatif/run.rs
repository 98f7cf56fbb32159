//! Reads a capture twice: to find its connections, and to rerun them.

use super::alternatives::Alternative;
use super::answer::Answer;
use super::bases::Bases;
use super::candidates::{Candidate, Candidates};
use super::gather::{Gathering, sought};
use super::reruns::{Done, Plan, Task, Tried};
use crate::analysis::{self, AnalysisError, Analyzed};
use crate::reread::{kept_note, read_again, read_connections, read_once};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Counts, PacketSource, ReadError};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The mechanisms to try; if there are none, those that the senders lack.
    pub alternatives: Vec<Alternative>,
    /// Runs with drawn fates for each connection and mechanism, where the capture does not hold the fate
    /// of every packet. With fewer than 2, no interval is known.
    pub draws: u32,
    /// The seed of the draws.
    pub seed: u64,
}

/// Follows the two readings, and may end each of them.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Called in the first reading with the number of bytes read.
    pub bytes: &'a (dyn Fn(u64) -> bool + Sync),
    /// Called in the second with the number of connections done, and of all of them.
    pub reruns: &'a (dyn Fn(u64, u64) -> bool + Sync),
}

/// Reruns the connections of a capture, which the user calls `capture`. `first` is read, and then what
/// `again` opens.
///
/// # Errors
/// When the capture cannot be read, or not a second time.
pub fn what_if<S: PacketSource, T: PacketSource>(
    capture: &str,
    first: S,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    request: &Request,
    settings: &Settings,
    watch: Watch<'_>,
) -> Result<Analyzed<Answer>, AnalysisError> {
    let go_on = |source: &S| (watch.bytes)(source.taken());
    let analyzed = analysis::run(capture, first, settings, Candidates::default, go_on)?;
    let answer = rerun_candidates(&analyzed, |found| found, again, request, settings, watch)?;
    Ok(Analyzed {
        capture: analyzed.capture,
        counts: analyzed.counts,
        interrupted: analyzed.interrupted,
        findings: answer,
    })
}

/// The same of a stream, which is read once: a limited number of its packets is kept.
///
/// # Errors
/// Those of [`what_if`].
pub fn what_if_stream<S: PacketSource>(
    capture: &str,
    source: S,
    request: &Request,
    settings: &Settings,
    watch: Watch<'_>,
) -> Result<Analyzed<Answer>, AnalysisError> {
    let (mut answer, kept) = read_once(source, |first, again| {
        what_if(capture, first, again, request, settings, watch)
    })?;
    let note = kept.map(|kept| kept_note(kept, "are run again"));
    answer.findings.notes.extend(note);
    Ok(answer)
}

/// Reruns the connections that an analysis found, from a second reading of its capture. `of` takes them
/// out of its findings.
///
/// # Errors
/// When the capture cannot be opened again.
pub fn rerun_candidates<V, T: PacketSource>(
    analyzed: &Analyzed<V>,
    of: impl FnOnce(&V) -> &Candidates,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    request: &Request,
    settings: &Settings,
    watch: Watch<'_>,
) -> Result<Answer, ReadError> {
    let found = of(&analyzed.findings);
    let bases = Bases::new(&found.rows, settings.profile.as_ref());
    let alternatives = match request.alternatives.is_empty() {
        true => default_alternatives(&found.rows, &bases),
        false => request.alternatives.clone(),
    };
    let all = found.rows.len() as u64;
    let plan = Plan {
        candidates: &found.rows,
        bases,
        alternatives: Tried(&alternatives),
        draws: request.draws,
        seed: request.seed,
        threads: settings.threads + 1,
        go_on: &|count| (watch.reruns)(count, all),
    };
    let mut done = Done::default();
    if !found.rows.is_empty() {
        read_and_rerun(analyzed, &plan, again, &mut done)?;
    }
    Ok(Answer::new(found, &plan, done))
}

/// Reads the connections, and reruns them batch by batch.
fn read_and_rerun<V, T: PacketSource>(
    analyzed: &Analyzed<V>,
    plan: &Plan<'_>,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    done: &mut Done,
) -> Result<(), ReadError> {
    let count = AtomicU64::new(0);
    let sought = sought(plan.candidates);
    let go_on = |_| (plan.go_on)(count.load(Ordering::Relaxed));
    let read = |source: T, go_on: &mut dyn FnMut(&T) -> bool| {
        let rerun = |tasks: Vec<Task>| plan.batch(tasks, &count, done);
        let mut gathering = Gathering::new(rerun);
        read_connections(source, &sought, &mut gathering, go_on);
        gathering.finish()
    };
    let ((given_up, unread), _) = read_again(analyzed, again, &go_on, read)?;
    for _ in 0..given_up {
        done.refused.add(
            "too_large",
            "its packets, and those of other open connections, take up too much memory",
        );
    }
    done.interrupted += unread;
    // Without an interrupt, all connections were read.
    let reached =
        done.reruns.len() as u64 + done.apart.total() + done.refused.total() + done.interrupted;
    done.interrupted += (plan.candidates.len() as u64).saturating_sub(reached);
    Ok(())
}

/// What is tried on the most likely bases of these connections.
fn default_alternatives(candidates: &[Candidate], bases: &Bases) -> Vec<Alternative> {
    let mut likely = vec![false; bases.known().len()];
    for candidate in candidates {
        if let Some(first) = bases.order(candidate).first() {
            likely[*first] = true;
        }
    }
    let likely = bases.known().iter().zip(likely);
    let likely = likely.filter(|(_, is_likely)| *is_likely);
    let mechanisms: Vec<_> = likely.map(|(profile, _)| *profile.mechanisms()).collect();
    Alternative::defaults(mechanisms.iter())
}
