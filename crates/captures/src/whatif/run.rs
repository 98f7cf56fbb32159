//! Reads a capture twice: to find its connections, and to rerun them.

use super::alternatives::Alternative;
use super::answer::Answer;
use super::bases::Bases;
use super::candidates::{Candidate, Candidates};
use super::gather::{Gathering, TOO_LARGE, Task, sought};
use super::reruns::{Done, Plan, Tried};
use crate::analysis::{self, AnalysisError, Analyzed};
use crate::reread::{Also, kept_note, read_again, read_connections, read_once};
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
    let answer = rerun_candidates(&analyzed, &analyzed.findings, again, request, settings, watch.reruns)?;
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
    let (mut answer, kept) =
        read_once(source, |first, again| what_if(capture, first, again, request, settings, watch))?;
    let note = kept.map(|kept| kept_note(kept, "are run again"));
    answer.findings.notes.extend(note);
    Ok(answer)
}

/// Reruns the connections `found` in the analysis of a capture, from a second reading of it. `reruns` is as in [`Watch`].
///
/// # Errors
/// When the capture cannot be opened again.
pub fn rerun_candidates<V, T: PacketSource>(
    analyzed: &Analyzed<V>,
    found: &Candidates,
    again: impl FnOnce(Counts) -> Result<T, ReadError>,
    request: &Request,
    settings: &Settings,
    reruns: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Answer, ReadError> {
    let (count, all) = (AtomicU64::new(0), found.rows.len() as u64);
    let go_on = |count| reruns(count, all);
    let goes_on = |_| go_on(count.load(Ordering::Relaxed));
    let read = |also: Also<'_>| {
        if also.sought.is_empty() {
            return Ok(());
        }
        let read = |source: T, go_on: &mut dyn FnMut(&T) -> bool| {
            read_connections(source, &also.sought, also.takes, go_on);
        };
        read_again(analyzed, again, &goes_on, read).map(|_| ())
    };
    let (answer, ()) = rerun_along(found, request, settings, (&count, &go_on), read)?;
    Ok(answer)
}

/// Reruns connections that `read` reads. The number of connections done is counted, and passed to a
/// function that ends the reruns by returning `false`.
///
/// # Errors
/// Those of `read`.
pub(crate) fn rerun_along<R, E>(
    found: &Candidates,
    request: &Request,
    settings: &Settings,
    (count, go_on): (&AtomicU64, &(dyn Fn(u64) -> bool + Sync)),
    read: impl FnOnce(Also<'_>) -> Result<R, E>,
) -> Result<(Answer, R), E> {
    let bases = Bases::new(&found.rows, settings.profile.as_ref());
    let alternatives = match request.alternatives.is_empty() {
        true => default_alternatives(&found.rows, &bases),
        false => request.alternatives.clone(),
    };
    let plan = Plan {
        candidates: &found.rows,
        bases,
        alternatives: Tried(&alternatives),
        draws: request.draws,
        seed: request.seed,
        threads: settings.threads + 1,
        go_on,
    };
    let mut done = Done::default();
    let sought = sought(plan.candidates);
    let rerun = |tasks: Vec<Task>| plan.batch(tasks, count, &mut done);
    let mut gathering = Gathering::new(rerun);
    let result = read(Also { sought, takes: &mut gathering })?;
    let (given_up, unread) = gathering.finish();
    done.count_unread(given_up, unread, plan.candidates.len() as u64);
    Ok((Answer::new(found, &plan, done), result))
}

impl Done {
    /// Counts the connections that were given up, to bound memory, and those that an interrupt kept from
    /// being read, of `all`.
    fn count_unread(&mut self, given_up: u64, unread: u64, all: u64) {
        for _ in 0..given_up {
            self.refused.add(TOO_LARGE.0, TOO_LARGE.1);
        }
        self.interrupted += unread;
        let reached = self.reruns.len() as u64 + self.apart.total() + self.refused.total() + self.interrupted;
        self.interrupted += all.saturating_sub(reached);
    }
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
