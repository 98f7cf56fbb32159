//! The replays of one episode, one per candidate profile.

use super::{
    super::{context::EpisodeContext, playback::Playback, replay::Replay, rtt_samples::Estimators},
    row::Row,
};
use crate::hosts::{Score, TimeoutEvidence};
use serde::{Deserialize, Serialize};

/// Retransmissions after which a profile far behind the best is dropped.
const ENOUGH_TO_DROP: u32 = 16;

/// The distance to the best profile from which on a profile is dropped, in shares explained.
const FAR_BEHIND: f64 = 0.25;

/// One candidate profile's replay of an episode.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProfileReplay {
    pub candidate: usize,
    /// The replay of the current recording.
    replay: Option<Box<Replay>>,
    /// The score of earlier recordings.
    previous: Score,
    /// When timers fired in earlier recordings.
    previous_timeouts: TimeoutEvidence,
}

/// Cost of replaying a tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunCost {
    pub work: u64,
    /// All of the tape was replayed.
    pub complete: bool,
}

impl ProfileReplay {
    pub fn new(candidate: usize) -> Self {
        Self { candidate, replay: None, previous: Score::default(), previous_timeouts: TimeoutEvidence::default() }
    }

    /// Replays what is on the tape, as far as `most` work allows. Returns what it cost.
    pub fn run(
        &mut self,
        playback: &Playback<'_>,
        estimators: &mut Estimators<'_>,
        most: u64,
        rows: &mut [Row],
        context: &EpisodeContext<'_>,
    ) -> RunCost {
        let before = self.replay.as_ref().map_or(0, |replay| replay.work());
        let replay = self.replay.get_or_insert_with(|| {
            let mechanisms = context.candidates.mechanisms(self.candidate);
            let used = context.pools.replays.take();
            let mut replay = used.unwrap_or_else(|| Box::new(Replay::new(mechanisms)));
            let rtt = estimators.with(mechanisms.rto);
            replay.begin(mechanisms, context, &playback.tape.beginning, rtt);
            replay
        });
        let complete = replay.run(playback, before.saturating_add(most), |index, explained| {
            rows[index as usize].explained[self.candidate] = explained;
        });
        RunCost { work: replay.work() - before, complete }
    }

    /// Takes over the result of a profile that differs only in its probes, if they made no difference and
    /// this recording has no other tape. `others` have replayed all of the tape; `rows` are those of the
    /// recording.
    pub fn take_over(
        &mut self,
        others: &[Self],
        playback: &Playback<'_>,
        most: u64,
        rows: &mut [Row],
        context: &EpisodeContext<'_>,
    ) -> Option<RunCost> {
        if !playback.last || self.replay.is_some() {
            return None;
        }
        let with = context.candidates.with_draft_probes(self.candidate)?;
        let other = others.iter().find(|other| other.candidate == with)?;
        let replay = other.replay.as_ref()?;
        if !replay.is_same_without_probes() || replay.work() > most {
            return None;
        }
        for row in rows {
            row.explained[self.candidate] = row.explained[with];
        }
        self.previous = self.previous.plus(replay.score());
        self.previous_timeouts.merge(replay.timeouts());
        Some(RunCost { work: replay.work(), complete: true })
    }

    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        (self.replay.as_ref()).map_or(0, |replay| replay.memory())
    }

    /// The recording is over.
    pub fn end_stretch(&mut self, context: &EpisodeContext<'_>) {
        self.previous = self.score();
        self.previous_timeouts = self.timeouts();
        if let Some(mut replay) = self.replay.take() {
            replay.trim();
            context.pools.replays.give(replay);
        }
    }

    pub fn score(&self) -> Score {
        let now = self.replay.as_ref().map(|replay| replay.score());
        self.previous.plus(now.unwrap_or_default())
    }

    /// When timers fired.
    pub fn timeouts(&self) -> TimeoutEvidence {
        let mut all = self.previous_timeouts;
        all.merge(self.replay.as_ref().map(|replay| replay.timeouts()).unwrap_or_default());
        all
    }
}

/// Keeps the profiles that explain about as much as the best.
pub(super) fn drop_unlikely(replays: &mut Vec<ProfileReplay>, context: &EpisodeContext<'_>) {
    let best = (replays.iter()).fold(0.0, |best: f64, replay| best.max(replay.score().share()));
    replays.retain_mut(|replay| {
        let score = replay.score();
        let unlikely = score.of >= ENOUGH_TO_DROP && score.share() < best - FAR_BEHIND;
        if unlikely {
            replay.end_stretch(context);
        }
        !unlikely
    });
}
