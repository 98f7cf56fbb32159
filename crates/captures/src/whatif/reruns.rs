//! Reruns a batch of connections in parallel.
//!
//! Each connection is first run once under every mechanism. Where the capture holds the fate of every
//! packet, this run is the answer. Only the other connections are kept, until the losses of the whole
//! batch are pooled; then they are run with drawn fates.

use super::alternatives::Alternative;
use super::bases::Bases;
use super::candidates::{Candidate, mixed};
use super::gather::Task;
use super::paths;
use super::pools::Pools;
use super::prediction::{Anew, Prediction, Spread};
use super::reasons::Reasons;
use super::timers::Ends;
use super::votes::{Eligible, Voter, take_votes, voters};
use crate::wording::in_ms;
use recoup_recovery::Mechanisms;
use recoup_support::threads::in_parallel_with;
use recoup_tcp::flow::Host;
use recoup_whatif::loss::LossProcess;
use recoup_whatif::{Fates, Mismatch, Outcome, Pacing, Recorded, Reproduced, Rerunner, Trial, record};
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many connections run once more with all fates drawn, and so often, to find out how much chance changes.
const MOST_ANEW: usize = 512;
const DRAWS_ANEW: u32 = 4;

/// How connections are rerun.
pub(super) struct Plan<'a> {
    pub candidates: &'a [Candidate],
    pub bases: Bases,
    pub alternatives: Tried<'a>,
    /// Runs with drawn fates, for each connection and mechanism.
    pub draws: u32,
    pub seed: u64,
    pub threads: usize,
    /// Called after each connection with the number of those done. Reruns stop when it returns `false`.
    pub go_on: &'a (dyn Fn(u64) -> bool + Sync),
}

/// The mechanisms to try.
#[derive(Clone, Copy)]
pub(super) struct Tried<'a> {
    /// Those that the answer lists.
    pub listed: &'a [Alternative],
    /// Profiles that a proxy before a server could run. At the client's side they are not tried.
    pub profiles: &'a [Alternative],
}

/// A connection that was rerun.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rerun {
    /// Its place among the candidates.
    pub candidate: usize,
    /// Its base, among the known profiles.
    pub base: usize,
    /// Whether the network lost one of its packets.
    pub is_lossy: bool,
    /// Whether the ACKs of the capture set the pace of its new data, because the congestion control of its
    /// base does not.
    pub is_paced_as_captured: bool,
    /// From its first packet in the capture to the ACK of the last data.
    pub recorded_ms: f64,
    /// How much later the base run ends.
    pub error_ms: f64,
    /// The flow completion time of the base run.
    pub base_fct_ms: f64,
    /// The flow completion time of the base run from establishment.
    pub base_fct_established_ms: f64,
    /// Bytes, retransmissions and spurious ones of the base run.
    pub bytes: u64,
    pub retransmissions: u64,
    pub spurious: u64,
    /// Runs with all fates drawn; of a sample of the connections.
    pub anew: Option<Anew>,
    /// For each mechanism; `None`: the connection did not complete under it.
    pub predictions: Vec<Option<Prediction>>,
}

/// Results of a batch, and of all before it.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub reruns: Vec<Rerun>,
    /// Connections that their base does not reproduce, and their time in the capture.
    pub apart: Reasons,
    pub apart_ms: f64,
    /// How many connections ran once more with all fates drawn.
    pub anew: usize,
    /// Connections whose packets do not suit.
    pub refused: Reasons,
    /// Connections that were not reached before an interrupt.
    pub interrupted: u64,
    pub pools: Pools,
}

/// A connection that was run once under every mechanism.
struct Begun {
    rerun: Rerun,
    /// Input of its draws; `None` if nothing is drawn.
    undecided: Option<Undecided>,
}

/// A connection whose answer needs draws.
struct Undecided {
    recorded: Arc<Recorded>,
    reproduced: Reproduced,
    /// Whether it also runs with all fates drawn.
    runs_anew: bool,
}

/// Why a connection has no answer.
enum Without {
    Apart(Mismatch),
    Interrupted,
}

impl Plan<'_> {
    /// Reruns these connections. `count` counts those done.
    pub fn batch(&mut self, tasks: Vec<Task>, count: &AtomicU64, done: &mut Done) {
        let recorded = self.record(tasks, count, done);
        self.take_votes(&recorded, count);
        let run_anew = self.to_run_anew(&recorded, done);
        let first = |rerunner: &mut Rerunner, i: usize| {
            let (candidate, recorded) = &recorded[i];
            let begun = match (self.go_on)(count.load(Ordering::Relaxed)) {
                true => self.begin(rerunner, *candidate, recorded, run_anew.contains(candidate)),
                false => Err(Without::Interrupted),
            };
            let is_over = begun.as_ref().map_or(true, |begun| begun.undecided.is_none());
            count.fetch_add(u64::from(is_over), Ordering::Relaxed);
            Ok::<_, Infallible>(begun)
        };
        let Ok(begun) = in_parallel_with(recorded.len(), self.threads, Rerunner::new, first);
        let mut undecided = Vec::new();
        for ((candidate, recorded), one) in recorded.iter().zip(begun) {
            let peer = self.candidates[*candidate].peer_address();
            // The losses of a connection that is reported apart were still seen.
            done.pools.add(peer, recorded.losses());
            match one {
                Ok(begun) => match begun.undecided {
                    Some(need) => undecided.push((begun.rerun, need)),
                    None => done.reruns.push(begun.rerun),
                },
                Err(Without::Apart(why)) => {
                    done.apart.add(why.name(), apart_about(why));
                    done.apart_ms += in_ms(recorded.duration());
                }
                Err(Without::Interrupted) => done.interrupted += 1,
            }
        }
        drop(recorded);
        self.draw_all(undecided, count, done);
    }

    /// Reads what the packets of these connections show, with what their paths share.
    fn record(&self, tasks: Vec<Task>, count: &AtomicU64, done: &mut Done) -> Vec<(usize, Arc<Recorded>)> {
        let read = |(): &mut (), i: usize| {
            let task: &Task = &tasks[i];
            let candidate = &self.candidates[task.candidate];
            let goes_on = (self.go_on)(count.load(Ordering::Relaxed));
            let read = || record(&task.packets, candidate.sender, &candidate.retransmissions);
            Ok::<_, Infallible>(goes_on.then(read))
        };
        let Ok(read) = in_parallel_with(tasks.len(), self.threads, || (), read);
        let (mut candidates, mut recorded) = (Vec::new(), Vec::new());
        for (task, one) in tasks.iter().zip(read) {
            match one {
                Some(Ok(one)) => {
                    candidates.push(task.candidate);
                    recorded.push((self.candidates[task.candidate].peer_address(), one));
                }
                Some(Err(why)) => {
                    count.fetch_add(1, Ordering::Relaxed);
                    done.refused.add(why.name(), why.to_string());
                }
                None => done.interrupted += 1,
            }
        }
        drop(tasks);
        paths::share(&mut recorded, self.threads);
        let recorded = recorded.into_iter().map(|(_, one)| Arc::new(one));
        candidates.into_iter().zip(recorded).collect()
    }

    /// Has connections of listeners that did not vote before say which profiles reproduce them.
    fn take_votes(&mut self, recorded: &[(usize, Arc<Recorded>)], count: &AtomicU64) {
        let with_retransmissions = recorded.iter().enumerate().filter(|(_, (_, one))| one.has_retransmissions());
        let eligible = with_retransmissions.map(|(place, (candidate, _))| {
            let candidate = &self.candidates[*candidate];
            Eligible { place, listener: candidate.listener(), connection: candidate.sought.id }
        });
        let voters = voters(&self.bases, eligible);
        let voters: Vec<Voter<'_>> = voters.iter().map(|one| (one.listener, &recorded[one.place].1)).collect();
        let goes_on = || (self.go_on)(count.load(Ordering::Relaxed));
        take_votes(&mut self.bases, &voters, self.threads, &goes_on);
    }

    /// The connections that run with all fates drawn.
    fn to_run_anew(&self, recorded: &[(usize, Arc<Recorded>)], done: &mut Done) -> HashSet<usize> {
        let mut chosen: Vec<usize> = recorded.iter().map(|(candidate, _)| *candidate).collect();
        chosen.sort_unstable_by_key(|candidate| mixed(self.candidates[*candidate].sought.id));
        chosen.truncate(MOST_ANEW - done.anew);
        done.anew += chosen.len();
        chosen.into_iter().collect()
    }

    /// Runs the connections whose answer rests on draws.
    fn draw_all(&self, undecided: Vec<(Rerun, Undecided)>, count: &AtomicU64, done: &mut Done) {
        let pools = &done.pools;
        let capture = pools.of_capture();
        let draw = |rerunner: &mut Rerunner, i: usize| {
            let (rerun, undecided) = &undecided[i];
            let goes_on = (self.go_on)(count.fetch_add(1, Ordering::Relaxed));
            let draw = || {
                let peer = self.candidates[rerun.candidate].peer_address();
                let losses = pools.process(&capture, peer, undecided.recorded.losses());
                self.draw(rerunner, rerun, undecided, &losses)
            };
            Ok::<_, Infallible>(goes_on.then(draw))
        };
        let Ok(drawn) = in_parallel_with(undecided.len(), self.threads, Rerunner::new, draw);
        for rerun in drawn {
            match rerun {
                Some(rerun) => done.reruns.push(rerun),
                None => done.interrupted += 1,
            }
        }
    }

    /// Runs a connection once under every mechanism.
    fn begin(
        &self,
        rerunner: &mut Rerunner,
        number: usize,
        recorded: &Arc<Recorded>,
        runs_anew: bool,
    ) -> Result<Begun, Without> {
        let candidate = &self.candidates[number];
        let mechanisms = |order: &[usize]| {
            order.iter().map(|i| self.bases.mechanisms(*i, candidate.sender_address())).collect::<Vec<Mechanisms>>()
        };
        // What its listener's connections show counts more than what this one would fit as well.
        let mut order = self.bases.voted(&candidate.listener());
        if order.is_empty() {
            order = self.bases.order(candidate);
        } else if order.len() > 1 {
            let own = mechanisms(&order);
            if let Some(place) = own.iter().position(|one| rerunner.is_by_own_window(recorded, one)) {
                order = vec![order[place]];
            }
        }
        let reproduced = rerunner.reproduce(recorded, &mechanisms(&order)).map_err(Without::Apart)?;
        let base_fct = reproduced.base.fct.zip(reproduced.base.fct_established);
        let (base_fct, established) = base_fct.ok_or(Without::Apart(Mismatch::Incomplete))?;
        let mut rerun = Rerun {
            candidate: number,
            base: order[reproduced.profile],
            is_lossy: recorded.has_loss(),
            is_paced_as_captured: reproduced.pacing == Pacing::AsCaptured,
            recorded_ms: in_ms(recorded.duration()),
            error_ms: in_ms(reproduced.base.duration) - in_ms(recorded.duration()),
            base_fct_ms: in_ms(base_fct),
            base_fct_established_ms: in_ms(established),
            bytes: reproduced.base.bytes_sent,
            retransmissions: reproduced.base.retransmissions,
            spurious: reproduced.base.spurious,
            anew: None,
            predictions: Vec::new(),
        };
        rerun.predictions = self.predict(rerunner, recorded, &reproduced, candidate.ends());
        let is_drawn = rerun.predictions.iter().any(|one| one.is_none_or(|one| one.packets_drawn > 0.0));
        let needs_draws = self.draws > 0 && (is_drawn || runs_anew);
        let recorded = Arc::clone(recorded);
        Ok(Begun { rerun, undecided: needs_draws.then_some(Undecided { recorded, reproduced, runs_anew }) })
    }

    /// Runs a connection once under every mechanism. The draws come later, from the pooled losses.
    fn predict(
        &self,
        rerunner: &mut Rerunner,
        recorded: &Arc<Recorded>,
        of: &Reproduced,
        ends: Ends,
    ) -> Vec<Option<Prediction>> {
        let losses = LossProcess::of(recorded.losses());
        let fates = Fates::captured(&losses, self.seed);
        // The same over a path that is as slow as it can be, where its rate is unknown.
        let mut slow: Option<Option<(Arc<Recorded>, Outcome)>> = None;
        let mut predict = |trial: Trial| {
            let mut prediction = Prediction::of(&of.base, &[rerunner.run(recorded, of, &trial, fates)]);
            if !trial.changes_pace(&of.mechanisms) {
                return prediction;
            }
            let slow = slow.get_or_insert_with(|| {
                let slow = Arc::new(recorded.over_slowest_path()?);
                let base = rerunner.run(&slow, of, &Trial::of(of.mechanisms), fates);
                Some((slow, base))
            });
            if let (Some(prediction), Some((slow, base))) = (&mut prediction, slow) {
                prediction.meet(Prediction::of(base, &[rerunner.run(slow, of, &trial, fates)]));
            }
            prediction
        };
        let all = self.alternatives.on(&of.mechanisms, ends);
        let mut predict = OncePerTrial::new(&mut predict);
        all.map(|trial| trial.map_or_else(|| Some(Prediction::default()), |trial| predict.of(trial))).collect()
    }

    /// Replaces the predictions that rest on draws.
    fn draw(&self, rerunner: &mut Rerunner, rerun: &Rerun, of: &Undecided, losses: &LossProcess) -> Rerun {
        let mut rerun = rerun.clone();
        let Undecided { recorded, reproduced, runs_anew } = of;
        let candidate = &self.candidates[rerun.candidate];
        let (connection, ends) = (candidate.sought.id, candidate.ends());
        let seeds = |draws: u32| (0..draws).map(move |draw| seed(self.seed, connection, draw));
        let mut draw = |trial: Trial| {
            let run = |seed| rerunner.run(recorded, reproduced, &trial, Fates::captured(losses, seed));
            Prediction::of(&reproduced.base, &seeds(self.draws).map(run).collect::<Vec<Outcome>>())
        };
        let mut draw = OncePerTrial::new(&mut draw);
        for (prediction, trial) in rerun.predictions.iter_mut().zip(self.alternatives.on(&reproduced.mechanisms, ends))
        {
            let is_drawn = prediction.is_none_or(|one| one.packets_drawn > 0.0);
            if let Some(trial) = trial.filter(|_| is_drawn) {
                *prediction = draw.of(trial).map(|drawn| drawn.with_pace_of(prediction.as_ref()));
            }
        }
        rerun.anew = runs_anew.then(|| {
            let mut spread = |trial: Trial| {
                let run = |seed| rerunner.run(recorded, reproduced, &trial, Fates::anew(losses, seed));
                Spread::of(seeds(DRAWS_ANEW).map(run))
            };
            let mut spread = OncePerTrial::new(&mut spread);
            let base = spread.of(Trial::of(reproduced.mechanisms));
            let with = self.alternatives.on(&reproduced.mechanisms, ends);
            Anew { base, with: with.map(|trial| trial.map_or(base, |trial| spread.of(trial))).collect() }
        });
        rerun
    }
}

/// Runs a connection once under each trial: several names may stand for the same mechanisms.
struct OncePerTrial<'a, T> {
    run: &'a mut dyn FnMut(Trial) -> T,
    known: Vec<(Trial, T)>,
}

impl<'a, T: Copy> OncePerTrial<'a, T> {
    fn new(run: &'a mut dyn FnMut(Trial) -> T) -> Self {
        Self { run, known: Vec::new() }
    }

    fn of(&mut self, trial: Trial) -> T {
        if let Some((_, result)) = self.known.iter().find(|(known, _)| *known == trial) {
            return *result;
        }
        let result = (self.run)(trial);
        self.known.push((trial, result));
        result
    }
}

impl Tried<'_> {
    /// What each alternative is on this base; `None` where it is the base itself.
    fn on(self, base: &Mechanisms, ends: Ends) -> impl Iterator<Item = Option<Trial>> {
        let base = *base;
        let listed = self.listed.iter().map(Some);
        let is_server = ends.sender == Host::Server;
        let profiles = self.profiles.iter().map(move |one| is_server.then_some(one));
        let all = listed.chain(profiles).map(move |one| one.map(|one| one.on(&base, ends)));
        all.map(move |trial| trial.filter(|trial| *trial != Trial::of(base)))
    }
}

/// Why a connection is reported apart, in words that hold for all of its kind.
fn apart_about(why: Mismatch) -> &'static str {
    match why {
        Mismatch::NoProfile => "no profile is known",
        Mismatch::Incomplete => "their own rerun does not deliver all data",
        Mismatch::Retransmissions { .. } => "their own rerun retransmits other data",
        Mismatch::Duration { .. } => "the duration of their own rerun differs by more than 5 %",
    }
}

/// The seed of a draw for a connection, the same for all mechanisms.
fn seed(seed: u64, connection: u64, draw: u32) -> u64 {
    mixed(mixed(mixed(seed).wrapping_add(connection)).wrapping_add(draw.into()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A connection whose base run takes so long.
    pub fn rerun(base_fct_ms: f64) -> Rerun {
        Rerun {
            candidate: 0,
            base: 0,
            is_lossy: true,
            is_paced_as_captured: false,
            recorded_ms: base_fct_ms,
            error_ms: 0.0,
            base_fct_ms,
            base_fct_established_ms: base_fct_ms - 100.0,
            bytes: 10_000,
            retransmissions: 1,
            spurious: 0,
            anew: None,
            predictions: Vec::new(),
        }
    }

    /// A change that needed no draw.
    pub fn prediction(change_ms: f64) -> Prediction {
        Prediction { change_ms, is_changed: change_ms != 0.0, ..Prediction::default() }
    }

    #[test]
    fn seeds_differ_by_connection_and_draw() {
        let mut all: Vec<u64> =
            (0..100).flat_map(|connection| (0..10).map(move |draw| seed(1, connection, draw))).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
        assert_ne!(seed(1, 0, 0), seed(2, 0, 0));
    }
}
