//! What each candidate makes of what was sent again.

use super::row::Row;
use crate::replay::{Replay, Score};
use crate::shared::Common;
use crate::tape::Tape;

/// Retransmissions after which a profile far behind the best is no longer tried.
const DECIDED: u32 = 16;

/// So far, in shares of what is explained.
const BEHIND: f64 = 0.25;

/// What one candidate makes of it.
#[derive(Debug)]
pub(super) struct Try {
    pub candidate: usize,
    /// Of the stretch that is being replayed.
    replay: Option<Box<Replay>>,
    /// Of those before.
    before: Score,
}

impl Try {
    pub fn new(candidate: usize) -> Self {
        Self {
            candidate,
            replay: None,
            before: Score::default(),
        }
    }

    /// Goes on with what is on the tape, or begins with it.
    pub fn run(&mut self, tape: &Tape, rows: &mut [Row], common: &Common<'_>) {
        let replay = self.replay.get_or_insert_with(|| {
            let mechanisms = common.candidates.mechanisms(self.candidate);
            let used = common.stock.replays.take();
            let mut replay = used.unwrap_or_else(|| Box::new(Replay::new(mechanisms)));
            replay.begin(mechanisms, common, &tape.beginning);
            replay
        });
        replay.run(tape, |index, explained| {
            rows[index as usize].explained[self.candidate] = explained;
        });
    }

    /// The stretch is over.
    pub fn rest(&mut self, common: &Common<'_>) {
        self.before = self.score();
        if let Some(replay) = self.replay.take() {
            common.stock.replays.give(replay);
        }
    }

    pub fn score(&self) -> Score {
        let now = self.replay.as_ref().map(|replay| replay.score());
        self.before.plus(now.unwrap_or_default())
    }
}

/// Leaves those that explain as much as any, about.
pub(super) fn drop_hopeless(tries: &mut Vec<Try>, common: &Common<'_>) {
    let best = (tries.iter()).fold(0.0, |best: f64, one| best.max(one.score().share()));
    tries.retain_mut(|one| {
        let score = one.score();
        let hopeless = score.of >= DECIDED && score.share() < best - BEHIND;
        if hopeless {
            one.rest(common);
        }
        !hopeless
    });
}
