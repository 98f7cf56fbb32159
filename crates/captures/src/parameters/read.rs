//! Reads a capture twice: to find its senders, and to study them.

use super::rows::{SenderIdentity, SenderRow};
use super::senders::{Candidate, Senders};
use super::totals::{Measured, ProfileTotals, Totals};
use crate::analysis::{AnalysisError, Analyzed, Vantages, View, view};
use crate::capture::{Again, Capture, Progress};
use crate::reread::{Sought, read_connections};
use crate::study::Model;
use crate::whatif::{
    Bases, Eligible, Gathering, Listener, Reason, Reasons, TOO_LARGE, Task, Voter, share, take_votes, voters,
};
use recoup_recovery::Profile;
use recoup_support::threads::{in_parallel, in_parallel_with};
use recoup_tcp::flow::Host;
use recoup_trace::analyze::Settings;
use recoup_trace::read::ReadError;
use recoup_whatif::parameters::{Grid, Instances, LeftOut, StudiedSender, Subject, study};
use recoup_whatif::{Recorded, record};
use std::cmp::Reverse;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes that are in memory at once: senders times instances. Each takes 160 bytes.
const MOST_CHANGES: usize = 1 << 17;

/// Arguments of the study.
#[derive(Clone, Debug)]
pub struct Request {
    /// The values tried.
    pub grid: Grid,
    /// The model of sentences, tables and figures. Files for programs have both.
    pub model: Model,
    /// Whether a spurious retransmission that the sender undoes costs less. The 2007 study charges each in full (§IV-C).
    pub counts_undo: bool,
    /// Whether the rows of senders list every change of a detection.
    pub lists_events: bool,
}

/// Results of a study of other parameters for the senders of a capture.
#[derive(Debug)]
pub struct ParameterStudy {
    /// Connections of the capture.
    pub connections: u64,
    /// Ends of connections that sent data.
    pub senders: u64,
    /// Senders that cannot be studied, by reason.
    pub refused: Reasons,
    /// Senders that could be studied, but are not in the sample.
    pub left_out: u64,
    /// Senders that were not reached before an interrupt.
    pub interrupted: u64,
    /// The values tried.
    pub grid: Grid,
    /// The instances.
    pub instances: Instances,
    /// The model of sentences, tables and figures.
    pub model: Model,
    /// All senders studied.
    pub all: Totals,
    /// Those of each profile, the most frequent first.
    pub profiles: Vec<ProfileTotals>,
    /// Notes for the user, besides those on the capture.
    pub notes: Vec<String>,
    vantages: Vantages,
}

/// Takes each sender that was studied, in an order that does not depend on the number of threads.
pub type TakesSenders<'a> = dyn FnMut(&SenderRow<'_>) + 'a;

/// Studies the senders of a capture.
///
/// # Errors
/// When the capture cannot be read, or not a second time.
pub fn study_capture(
    capture: Capture<'_>,
    request: &Request,
    settings: &Settings,
    progress: &dyn Progress,
    takes: &mut TakesSenders<'_>,
) -> Result<Analyzed<ParameterStudy>, AnalysisError> {
    let senders = || Senders::new(settings.profile.clone());
    let (mut analyzed, again) = capture.analyze_first(settings, senders, progress)?;
    analyzed.findings.leave_out_repaired(&analyzed.counts);
    let mut studied = study_senders(&analyzed, &again, request, settings, progress, takes)?;
    studied.notes.extend(again.kept_note("are studied"));
    Ok(analyzed.map(|_| studied))
}

fn study_senders(
    analyzed: &Analyzed<Senders>,
    again: &Again<'_>,
    request: &Request,
    settings: &Settings,
    progress: &dyn Progress,
    takes: &mut TakesSenders<'_>,
) -> Result<ParameterStudy, ReadError> {
    let found = &analyzed.findings;
    let (count, all) = (AtomicU64::new(0), found.rows.len() as u64);
    let go_on = || progress.reruns(count.load(Ordering::Relaxed), all);
    let mut studied = ParameterStudy::new(found, request);
    let identified = found.rows.iter().map(|one| (one.listener().0, one.identified.as_slice()));
    let mut plan = Plan {
        candidates: &found.rows,
        bases: Bases::identified(identified, settings.profile.as_ref()),
        instances: studied.instances.clone(),
        counts_undo: request.counts_undo,
        lists_events: request.lists_events,
        threads: settings.threads + 1,
        count: &count,
        go_on: &go_on,
    };
    let sought: Vec<&Sought> = found.rows.iter().map(|candidate| &candidate.sought).collect();
    let mut gathering = Gathering::new(|tasks| plan.batch(tasks, &mut studied, takes));
    if !sought.is_empty() {
        again.read(analyzed, &|_| go_on(), |source, go_on| {
            read_connections(source, &sought, &mut gathering, go_on);
        })?;
    }
    let (given_up, _) = gathering.finish();
    studied.refused.add_all(TOO_LARGE.0, TOO_LARGE.1, given_up);
    studied.finish(all, found.refused.total());
    Ok(studied)
}

/// How senders are studied.
struct Plan<'a> {
    candidates: &'a [Candidate],
    /// The profiles that the connections of listeners vote for.
    bases: Bases,
    instances: Instances,
    counts_undo: bool,
    lists_events: bool,
    threads: usize,
    /// Counts the senders done.
    count: &'a AtomicU64,
    go_on: &'a (dyn Fn() -> bool + Sync),
}

/// Why a sender is not studied.
enum NotStudied {
    /// Its profile is not known.
    Unknown(Reason),
    LeftOut(LeftOut),
}

impl Plan<'_> {
    fn batch(&mut self, tasks: Vec<Task>, studied: &mut ParameterStudy, takes: &mut TakesSenders<'_>) {
        self.take_votes(&tasks);
        let at_once = MOST_CHANGES / self.instances.all().len().max(1);
        for tasks in tasks.chunks(at_once.max(4 * self.threads)) {
            let one = |i: usize| {
                let done = (self.go_on)().then(|| self.study(&tasks[i]));
                self.count.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(done)
            };
            let Ok(done) = in_parallel(tasks.len(), self.threads, one);
            for (task, done) in tasks.iter().zip(done) {
                match done {
                    Some(Ok((profile, sender))) => self.take(task, &profile, &sender, studied, takes),
                    Some(Err(NotStudied::Unknown((name, about)))) => studied.refused.add(name, about),
                    Some(Err(NotStudied::LeftOut(why))) => studied.refused.add(why.name(), why.to_string()),
                    None => {}
                }
            }
        }
    }

    /// Has senders of listeners that did not vote before say which profiles reproduce them. Nothing but these is rerun.
    fn take_votes(&mut self, tasks: &[Task]) {
        let candidate = |task: &Task| &self.candidates[task.candidate];
        let eligible = tasks.iter().enumerate().map(|(place, task)| Eligible {
            place,
            listener: candidate(task).listener(),
            connection: candidate(task).sought.id,
        });
        let voters = voters(&self.bases, eligible);
        let read = |(): &mut (), i: usize| {
            let task = &tasks[voters[i].place];
            let (sender, rows) = (candidate(task).sender, &candidate(task).retransmissions);
            let goes_on = (self.go_on)();
            Ok::<_, Infallible>(goes_on.then(|| record(&task.packets, sender, rows).ok()).flatten())
        };
        let Ok(read) = in_parallel_with(voters.len(), self.threads, || (), read);
        let read = voters.iter().zip(read);
        let (listeners, mut recorded): (Vec<Listener>, Vec<(IpAddr, Recorded)>) = read
            .filter_map(|(voter, one)| Some((voter.listener, (candidate(&tasks[voter.place]).peer_address(), one?))))
            .unzip();
        share(&mut recorded, self.threads);
        let recorded: Vec<Arc<Recorded>> = recorded.into_iter().map(|(_, one)| Arc::new(one)).collect();
        let voters: Vec<Voter<'_>> = listeners.into_iter().zip(&recorded).collect();
        take_votes(&mut self.bases, &voters, self.threads, self.go_on);
    }

    fn study(&self, task: &Task) -> Result<(Profile, StudiedSender), NotStudied> {
        let candidate = &self.candidates[task.candidate];
        let profile = candidate.profile(&self.bases).map_err(NotStudied::Unknown)?;
        let subject = Subject {
            packets: &task.packets,
            sender: candidate.sender,
            profile: &profile,
            retransmissions: &candidate.retransmissions,
            counts_undo: self.counts_undo,
            lists_events: self.lists_events,
        };
        let studied = study(&subject, &self.instances).map_err(NotStudied::LeftOut)?;
        Ok((profile, studied))
    }

    fn take(
        &self,
        task: &Task,
        profile: &Profile,
        sender: &StudiedSender,
        studied: &mut ParameterStudy,
        takes: &mut TakesSenders<'_>,
    ) {
        let candidate = &self.candidates[task.candidate];
        studied.add(candidate, profile, sender);
        let identity = SenderIdentity {
            connection: candidate.sought.id,
            capture_point: candidate.sought.point.number,
            endpoints: candidate.sought.endpoints,
            sender: match candidate.sender {
                Host::Client => "client",
                Host::Server => "server",
            },
            profile: profile.name().into(),
        };
        takes(&SenderRow {
            identity: &identity,
            best_case: candidate.best_case,
            duration: candidate.duration,
            studied: sender,
            instances: &self.instances,
        });
    }
}

impl ParameterStudy {
    fn new(found: &Senders, request: &Request) -> Self {
        let instances = request.grid.instances();
        Self {
            connections: found.connections(),
            senders: found.count,
            refused: found.refused.clone(),
            left_out: found.left_out(),
            interrupted: 0,
            grid: request.grid.clone(),
            model: request.model,
            all: Totals::new(&instances),
            instances,
            profiles: Vec::new(),
            notes: Vec::new(),
            vantages: *found.vantages(),
        }
    }

    fn add(&mut self, candidate: &Candidate, profile: &Profile, sender: &StudiedSender) {
        let measured = Measured { best_case: candidate.best_case, duration: candidate.duration };
        self.all.add(sender, measured, self.model);
        let name = profile.name();
        let known = self.profiles.iter().position(|one| one.profile == name);
        let place = known.unwrap_or_else(|| {
            self.profiles.push(ProfileTotals { profile: name.to_owned(), totals: Totals::new(&self.instances) });
            self.profiles.len() - 1
        });
        self.profiles[place].totals.add(sender, measured, self.model);
    }

    /// `all`: the senders that should have been studied. `before`: those refused by the first reading.
    fn finish(&mut self, all: u64, before: u64) {
        let reached = self.all.senders + self.refused.total() - before;
        self.interrupted = all.saturating_sub(reached);
        self.profiles
            .sort_by(|a, b| (Reverse(a.totals.senders), &a.profile).cmp(&(Reverse(b.totals.senders), &b.profile)));
    }
}

view!(ParameterStudy: connections, vantages);
