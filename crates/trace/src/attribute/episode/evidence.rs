//! What the replays and the retransmissions of an episode show of its sender.

use super::{Episode, EpisodeContext, ProfileReplay, Row};
use crate::{
    attribute::{identify::Replayed, reduction},
    finding::Vantage,
    hosts::{Score, TimeoutEvidence, WindowEvidence},
};

impl Episode {
    pub(super) fn replayed(&self, context: &EpisodeContext<'_>) -> Replayed {
        let candidates = context.candidates;
        let mut scores = vec![Score::default(); candidates.len()];
        for replay in &self.profile_replays {
            scores[replay.candidate] = replay.score();
        }
        let replayed = |i| self.profile_replays.iter().any(|replay| replay.candidate == i);
        let rows = self.rows.iter().map(|row| &row.explained);
        Replayed {
            scores,
            probes: candidates.probe_evidence(rows, replayed),
            window: self.window_evidence(context),
            timeouts: self.timeout_evidence(context),
        }
    }

    /// Evidence about the sender's window from its retransmissions; none away from the sender.
    pub(super) fn window_evidence(&self, context: &EpisodeContext<'_>) -> WindowEvidence {
        let Some(rtt) = context.min_rtt.filter(|_| context.vantage == Vantage::Sender) else {
            return WindowEvidence::default();
        };
        let repairs = self.rows.iter().filter(|row| !row.syn).map(Row::repair);
        let [at_once, paced] = self.clocked;
        WindowEvidence { at_once, paced, ..reduction::window_evidence(repairs, rtt) }
    }

    /// When the sender's timers fired, against those of the first Linux that is left; none away from the sender.
    pub(super) fn timeout_evidence(&self, context: &EpisodeContext<'_>) -> TimeoutEvidence {
        let mut replays = self.profile_replays.iter();
        let linux = replays.find(|replay| context.candidates.has_linux_rto(replay.candidate));
        let linux = linux.filter(|_| context.vantage == Vantage::Sender);
        linux.map_or_else(TimeoutEvidence::default, ProfileReplay::timeouts)
    }
}
