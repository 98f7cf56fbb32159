//! An analysis of packets as they come: rounds end as time passes, and open connections are looked at.
//!
//! ```text
//! begin_looks ─► read_part ─► end_round ─► look ─► read_part ─► …  ─► finish
//! ```
//!
//! What hosts show becomes known at the end of a round. Rounds that end as time passes are shorter than those of a capture, so it
//! becomes known a little earlier here.

use super::{Analyzer, Findings, Look, round::RoundOrder};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use recoup_units::Instant;

/// Connections closed at a time at the end.
const PART: usize = 2000;

impl<F: Findings> Analyzer<F> {
    /// From now on, troubled connections can be [looked at](Self::look). It is not saved with the analysis.
    pub fn begin_looks(&mut self) {
        self.state.shards.shards.iter_mut().for_each(super::Shard::begin_looks);
    }

    /// All packets that were captured before `now`, a time since 1970, were [read](Self::read_part): analyzes those that wait
    /// for a round to become complete, and closes connections that are silent for too long by then.
    pub fn end_round(&mut self, now: Instant) {
        self.on_threads(|this, in_parallel| {
            let round = &mut this.state.begun;
            if let Some(facts) = this.state.feed.end_round(round, now) {
                round.facts = facts;
                let shards = &mut this.state.shards;
                shards.take(round, &mut this.findings, in_parallel);
                round.clear();
                shards.settle(&mut this.findings);
            }
        });
    }

    /// Passes on open connections as they would be reported if the capture ended here ([`Findings::so_far`]). Of the troubled, one
    /// with many retransmissions is looked at less often.
    pub fn look(&mut self, whom: Look) {
        self.on_threads(|this, in_parallel| {
            let shards = &mut this.state.shards.shards;
            if in_parallel {
                let shards = shards.par_iter_mut().zip(&mut this.findings);
                shards.for_each(|(shard, findings)| shard.look(whom, findings));
            } else {
                let shards = shards.iter_mut().zip(&mut this.findings);
                shards.for_each(|(shard, findings)| shard.look(whom, findings));
            }
        });
    }

    /// [Looks](Self::look) at all connections that packets came of since this time, some at a time, and has what is found of
    /// them taken each time.
    pub fn look_in_parts(&mut self, from: Instant, mut taken: impl FnMut(&mut F)) {
        for (shard, findings) in self.state.shards.shards.iter_mut().zip(&mut self.findings) {
            shard.look(Look::Since(from), findings);
            taken(findings);
        }
    }

    /// Ends the analysis: closes all open connections, some at a time, and has their findings taken each time. What is left is
    /// [finished](Self::finish) then.
    pub fn close_in_parts(&mut self, mut taken: impl FnMut(&mut [F])) {
        self.on_threads(|this, in_parallel| {
            this.rounds(|_| false, true, in_parallel);
            let last = this.state.feed.facts(RoundOrder::Last);
            this.state.shards.take_last(last, &mut this.findings);
        });
        let each = PART.div_ceil(self.findings.len());
        while self.open() > 0 {
            for (shard, findings) in self.state.shards.shards.iter_mut().zip(&mut self.findings) {
                shard.close_some(each, findings);
            }
            taken(&mut self.findings);
        }
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.state.shards.shards.iter().map(super::Shard::open).sum()
    }

    /// The memory of open connections, in bytes.
    pub fn memory(&self) -> usize {
        self.state.shards.memory()
    }
}
