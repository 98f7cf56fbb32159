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
use super::reasons::Reasons;
use crate::wording::in_ms;
use recoup_recovery::{Mechanisms, Profile};
use recoup_support::threads::in_parallel_with;
use recoup_whatif::loss::LossProcess;
use recoup_whatif::{Mismatch, Outcome, Pacing, Recorded, Reproduced, Rerunner, record};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
pub(super) struct Tried<'a>(pub &'a [Alternative]);

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
    /// For each mechanism; `None`: the connection did not complete under it.
    pub predictions: Vec<Option<Prediction>>,
}

/// Predicted changes by a mechanism in one connection. Values of several draws are means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Prediction {
    /// The change of the flow completion time; negative: faster.
    pub change_ms: f64,
    /// The variance of the draws, in ms².
    pub variance: f64,
    /// How many draws; 0 if nothing was drawn.
    pub draws: u32,
    /// Whether it runs in another way than before.
    pub is_changed: bool,
    /// Packets whose fate was drawn.
    pub packets_drawn: f64,
    pub extra_bytes: f64,
    pub extra_retransmissions: f64,
    pub extra_spurious: f64,
}

/// Results of a batch, and of all before it.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub reruns: Vec<Rerun>,
    /// Connections that their base does not reproduce.
    pub apart: Reasons,
    /// Connections whose packets do not suit.
    pub refused: Reasons,
    /// Connections that were not reached before an interrupt.
    pub interrupted: u64,
    pub pools: Pools,
}

/// A connection that was run once under every mechanism.
struct Begun {
    rerun: Rerun,
    /// Input of its draws; `None` if nothing was drawn.
    undecided: Option<(Arc<Recorded>, Reproduced)>,
}

/// Why a connection has no answer.
enum Without {
    Apart(Mismatch),
    Interrupted,
}

impl Plan<'_> {
    /// Reruns these connections. `count` counts those done.
    pub fn batch(&self, tasks: Vec<Task>, count: &AtomicU64, done: &mut Done) {
        let recorded = self.record(tasks, count, done);
        let first = |rerunner: &mut Rerunner, i: usize| {
            let (candidate, recorded) = &recorded[i];
            let begun = match (self.go_on)(count.load(Ordering::Relaxed)) {
                true => self.begin(rerunner, *candidate, recorded),
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
                Err(Without::Apart(why)) => done.apart.add(why.name(), apart_about(why)),
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

    /// Runs the connections whose answer rests on draws.
    fn draw_all(&self, undecided: Vec<(Rerun, (Arc<Recorded>, Reproduced))>, count: &AtomicU64, done: &mut Done) {
        let pools = &done.pools;
        let capture = pools.of_capture();
        let draw = |rerunner: &mut Rerunner, i: usize| {
            let (rerun, (recorded, reproduced)) = &undecided[i];
            let goes_on = (self.go_on)(count.fetch_add(1, Ordering::Relaxed));
            let draw = || {
                let peer = self.candidates[rerun.candidate].peer_address();
                let losses = pools.process(&capture, peer, recorded.losses());
                self.draw(rerunner, rerun, recorded, reproduced, &losses)
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
    fn begin(&self, rerunner: &mut Rerunner, number: usize, recorded: &Arc<Recorded>) -> Result<Begun, Without> {
        let candidate = &self.candidates[number];
        let order = self.bases.order(candidate);
        let profiles: Vec<Profile> = order.iter().map(|i| self.bases.known()[*i].clone()).collect();
        let reproduced = rerunner.reproduce(recorded, &profiles).map_err(Without::Apart)?;
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
            predictions: Vec::with_capacity(self.alternatives.0.len()),
        };
        let mut is_drawn = false;
        let losses = LossProcess::of(recorded.losses());
        for mechanisms in self.alternatives.on(&reproduced.mechanisms) {
            let Some(mechanisms) = mechanisms else {
                rerun.predictions.push(Some(Prediction::default()));
                continue;
            };
            let run = rerunner.run(recorded, &reproduced, &mechanisms, &losses, self.seed);
            let prediction = Prediction::of(&reproduced.base, &[run]);
            // The draws come later, from the pooled losses.
            is_drawn |= prediction.is_none_or(|one| one.packets_drawn > 0.0);
            rerun.predictions.push(prediction);
        }
        Ok(Begun { rerun, undecided: (is_drawn && self.draws > 0).then(|| (Arc::clone(recorded), reproduced)) })
    }

    /// Replaces the predictions that rest on draws.
    fn draw(
        &self,
        rerunner: &mut Rerunner,
        rerun: &Rerun,
        recorded: &Arc<Recorded>,
        reproduced: &Reproduced,
        losses: &LossProcess,
    ) -> Rerun {
        let mut rerun = rerun.clone();
        let candidate = &self.candidates[rerun.candidate];
        let all = self.alternatives.on(&reproduced.mechanisms);
        for (prediction, mechanisms) in rerun.predictions.iter_mut().zip(all) {
            let is_drawn = prediction.is_none_or(|one| one.packets_drawn > 0.0);
            let Some(mechanisms) = mechanisms.filter(|_| is_drawn) else {
                continue;
            };
            let runs: Vec<Outcome> = (0..self.draws)
                .map(|draw| {
                    let seed = seed(self.seed, candidate.sought.id, draw);
                    rerunner.run(recorded, reproduced, &mechanisms, losses, seed)
                })
                .collect();
            *prediction = Prediction::of(&reproduced.base, &runs);
        }
        rerun
    }
}

impl Tried<'_> {
    /// The mechanisms of each alternative on this base; `None` where they are those of the base.
    fn on(self, base: &Mechanisms) -> impl Iterator<Item = Option<Mechanisms>> {
        let base = *base;
        let all = self.0.iter().map(move |one| one.on(&base));
        all.map(move |mechanisms| (mechanisms != base).then_some(mechanisms))
    }
}

impl Prediction {
    /// From the runs under a mechanism. `None` if half of them or more did not complete.
    fn of(base: &Outcome, runs: &[Outcome]) -> Option<Self> {
        let base_fct = in_ms(base.fct?);
        let complete: Vec<(&Outcome, f64)> =
            runs.iter().filter_map(|run| Some((run, in_ms(run.fct?) - base_fct))).collect();
        if 2 * complete.len() <= runs.len() {
            return None;
        }
        let n = complete.len() as f64;
        let mean = |of: &dyn Fn(&Outcome) -> f64| {
            let values = complete.iter().map(|(run, _)| of(run));
            values.sum::<f64>() / n
        };
        let extra = |of: fn(&Outcome) -> u64| {
            let before = of(base) as f64;
            mean(&|run| of(run) as f64 - before)
        };
        let change_ms = complete.iter().map(|(_, change)| change).sum::<f64>() / n;
        let squares = complete.iter().map(|(_, c)| (c - change_ms).powi(2));
        let is_drawn = complete.iter().any(|(run, _)| run.packets_drawn > 0);
        Some(Self {
            change_ms,
            variance: squares.sum::<f64>() / (n - 1.0).max(1.0),
            draws: if is_drawn { complete.len() as u32 } else { 0 },
            is_changed: complete.iter().any(|(run, change)| {
                *change != 0.0 || (run.segments_sent, run.retransmissions) != (base.segments_sent, base.retransmissions)
            }),
            packets_drawn: mean(&|run| run.packets_drawn as f64),
            extra_bytes: extra(|run| run.bytes_sent),
            extra_retransmissions: extra(|run| run.retransmissions),
            extra_spurious: extra(|run| run.spurious),
        })
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
