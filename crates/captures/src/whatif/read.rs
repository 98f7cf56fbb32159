//! Reads a capture twice: to find its connections, and to rerun them.

use super::alternatives::{Alternative, Defaults};
use super::answer::Answer;
use super::bases::Bases;
use super::candidates::{Candidates, Sample};
use super::gather::{Gathering, TOO_LARGE, Task, sought};
use super::profile_to_try::profiles_to_try;
use super::reruns::{Done, Plan, Tried};
use crate::analysis::{AnalysisError, Analyzed};
use crate::capture::{Again, Capture, Progress};
use crate::levers::Need;
use crate::reread::{Also, read_connections};
use recoup_recovery::Profile;
use recoup_trace::analyze::Settings;
use recoup_trace::read::ReadError;
use std::mem::take;
use std::sync::atomic::{AtomicU64, Ordering};

/// Arguments of the reruns.
#[derive(Clone, Debug)]
pub struct Request {
    /// The mechanisms to try; if there are none, those that the senders lack.
    pub alternatives: Vec<Alternative>,
    /// Runs with drawn fates for each connection and mechanism, where the capture does not hold the fate
    /// of every packet. With fewer than 2, no paired interval is known.
    pub draws: u32,
    /// The seed of the draws.
    pub seed: u64,
    /// Whether profiles are tried besides that a proxy before the servers could run, for
    /// [`Answer::profile_to_try`].
    pub names_profile: bool,
}

/// Reruns the connections of a capture.
///
/// # Errors
/// When the capture cannot be read, or not a second time.
pub fn what_if(
    capture: Capture<'_>,
    request: &Request,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<Answer>, AnalysisError> {
    what_if_sampled(capture, Sample::default(), request, settings, progress)
}

/// Reruns a sample of the connections of a capture.
///
/// # Errors
/// Those of [`what_if`].
pub fn what_if_sampled(
    capture: Capture<'_>,
    sample: Sample,
    request: &Request,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<Answer>, AnalysisError> {
    let (analyzed, again) = capture.analyze_first(settings, || Candidates::new(sample), progress)?;
    let reruns = |done, all| progress.reruns(done, all);
    let mut answer = rerun_candidates(&analyzed, &analyzed.findings, &again, request, settings, &reruns)?;
    answer.notes.extend(again.kept_note("are run again"));
    Ok(analyzed.map(|_| answer))
}

/// Reruns the connections `found` in the analysis of a capture, from a second reading of it. `reruns` takes the number of
/// connections done, and of all of them. It ends the reruns by returning `false`.
///
/// # Errors
/// When the capture cannot be opened again.
pub(crate) fn rerun_candidates<V>(
    analyzed: &Analyzed<V>,
    found: &Candidates,
    again: &Again<'_>,
    request: &Request,
    settings: &Settings,
    reruns: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Answer, ReadError> {
    let found = &*found.without_repaired(&analyzed.counts);
    let (count, all) = (AtomicU64::new(0), found.rows.len() as u64);
    let go_on = |count| reruns(count, all);
    let goes_on = |_| go_on(count.load(Ordering::Relaxed));
    let read = |also: Also<'_>| {
        if also.sought.is_empty() {
            return Ok(());
        }
        let read = again.read(analyzed, &goes_on, |source, go_on| {
            read_connections(source, &also.sought, also.takes, go_on);
        });
        read.map(|_| ())
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
    let mut defaults = default_alternatives(found, &bases);
    let alternatives = match request.alternatives.is_empty() {
        true => take(&mut defaults.alternatives),
        false => request.alternatives.clone(),
    };
    let profiles = match request.names_profile && found.shown.has(Need::Losses) {
        true => profiles_to_try(&request.alternatives),
        false => Vec::new(),
    };
    let mut plan = Plan {
        candidates: &found.rows,
        bases,
        alternatives: Tried { listed: &alternatives, profiles: &profiles },
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
    let mut answer = Answer::new(found, &plan, done);
    answer.names_profile = request.names_profile;
    if request.alternatives.is_empty() {
        answer.without_effect.extend(defaults.without_effect);
        answer.leave_out_idle();
    }
    Ok((answer, result))
}

impl Done {
    /// Counts the connections that were given up, to bound memory, and those that an interrupt kept from
    /// being read, of `all`.
    fn count_unread(&mut self, given_up: u64, unread: u64, all: u64) {
        self.refused.add_all(TOO_LARGE.0, TOO_LARGE.1, given_up);
        self.interrupted += unread;
        let reached = self.reruns.len() as u64 + self.apart.total() + self.refused.total() + self.interrupted;
        self.interrupted += all.saturating_sub(reached);
    }
}

/// The default alternatives to the most likely bases of these connections.
fn default_alternatives(found: &Candidates, bases: &Bases) -> Defaults {
    let mut likely = vec![false; bases.known().len()];
    for candidate in &found.rows {
        if let Some(first) = bases.order(candidate).first() {
            likely[*first] = true;
        }
    }
    let likely = bases.known().iter().zip(likely).filter(|(_, is_likely)| *is_likely);
    let likely: Vec<&Profile> = likely.map(|(profile, _)| profile).collect();
    Defaults::of(&likely, |need| found.shown.has(need))
}
