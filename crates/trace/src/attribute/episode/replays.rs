//! Which profiles are replayed over a recording, and in which order.

use super::Episode;
use super::profile_replay::{ProfileReplay, drop_unlikely};
use crate::ablation::{Step, reaches};
use crate::attribute::context::EpisodeContext;
use crate::attribute::playback::Playback;
use crate::attribute::rtt_samples::Estimators;
use crate::finding::Vantage;

impl Episode {
    /// Replays the tape under the candidate profiles. On a known host, the plausible profiles come
    /// first, and the others only if each of them leaves a retransmission unexplained. Later tapes
    /// skip the profiles that are far behind. `last`: the recording ends with this tape.
    pub(super) fn replay(&mut self, context: &EpisodeContext<'_>, last: bool) {
        let Some(mut tape) = self.tape.take() else {
            return;
        };
        if self.rows.len() > self.explained && !self.blocks_cut {
            let playback = Playback::new(&tape, last);
            if self.profile_replays.is_empty() {
                self.choose_profiles(&playback, context);
            } else {
                drop_unlikely(&mut self.profile_replays, context);
                self.run_replays(0, &playback, context);
            }
        }
        tape.clear();
        self.tape = Some(tape);
    }

    fn choose_profiles(&mut self, playback: &Playback<'_>, context: &EpisodeContext<'_>) {
        let plausible_profiles: Vec<usize> = match context.vantage {
            Vantage::Sender => context.sender_profiles().plausible().collect(),
            _ => Vec::new(),
        };
        let new = plausible_profiles.iter().map(|&i| ProfileReplay::new(i));
        self.profile_replays.extend(new);
        self.run_replays(0, playback, context);
        let mut replays = self.profile_replays.iter();
        if !replays.any(|replay| replay.score().is_full()) {
            let others = (0..context.candidates.len()).filter(|i| !plausible_profiles.contains(i));
            let first = self.profile_replays.len();
            self.profile_replays.extend(others.map(ProfileReplay::new));
            self.run_replays(first, playback, context);
        }
    }

    /// Runs the replays from number `first` on. If there is not enough work left for all of them, those that replayed all of
    /// the tape remain: the most widespread systems come first.
    fn run_replays(&mut self, first: usize, playback: &Playback<'_>, context: &EpisodeContext<'_>) {
        if !reaches(Step::Replay) {
            return;
        }
        let rtts = &playback.tape.beginning.rtts;
        let mut estimators = Estimators::new(rtts, context.timestamps);
        let mut all = true;
        let mut complete = vec![true; self.profile_replays.len()];
        for (i, complete) in complete.iter_mut().enumerate().skip(first) {
            let most = context.most_work.saturating_sub(self.work);
            let (others, rest) = self.profile_replays.split_at_mut(i);
            let Some(replay) = rest.first_mut() else { break };
            let recorded = &mut self.rows[self.explained..];
            let known = if all { replay.take_over(others, playback, most, recorded, context) } else { None };
            let run = known.unwrap_or_else(|| replay.run(playback, &mut estimators, most, &mut self.rows, context));
            self.work += run.work;
            *complete = run.complete;
            all &= run.complete;
        }
        if all {
            return;
        }
        self.too_costly = true;
        if complete.contains(&true) {
            self.drop_incomplete(&complete, context);
        } else {
            self.incomplete = true;
        }
    }

    /// Leaves out the profiles that did not replay all of the tape.
    fn drop_incomplete(&mut self, complete: &[bool], context: &EpisodeContext<'_>) {
        let mut complete = complete.iter();
        self.profile_replays.retain_mut(|replay| {
            let stays = complete.next() != Some(&false);
            if !stays {
                replay.end_stretch(context);
            }
            stays
        });
    }
}
