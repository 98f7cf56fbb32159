//! Reads one capture after the other, and can pause in between.
//!
//! ```text
//! read ─► read ─► finish ─► Analysis
//!   └─► save ─► … ─► resume ─► read ─► finish
//! ```
//!
//! A resumed analysis finds what it would have found without the pause. Facts about hosts are
//! exchanged after each round of packets, so the end of a capture must not end a round: the packets
//! of an incomplete round wait for the next capture, or for the end.

use super::{
    Analysis, Findings, Settings,
    round::{Round, RoundOrder},
    saved::SavedAnalysis,
};
use crate::{
    finding::{Inseparable, Retransmission},
    follow::table::Separation,
    hosts::ReportsDuplicates,
    read::{CapturedPacket, Counts, Packet, PacketSource, ReadError},
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::{
    mem::take,
    sync::{Arc, PoisonError},
};
use thiserror::Error;

/// Packets read between two calls of `watch`.
const PACKETS_PER_WATCH: u64 = 4096;

/// One inseparable connection per this many that can be told apart makes a merged file unfit.
const MOST_INSEPARABLE: u64 = 8;

/// An analysis that goes on from one capture to the next. Frames and connections are numbered
/// through.
#[derive(Debug)]
pub struct Analyzer<F> {
    pub(super) state: SavedAnalysis,
    /// Those of each shard.
    pub(super) findings: Vec<F>,
    /// Without threads, or if the system provides none, the calling thread does everything.
    threads: Option<ThreadPool>,
}

/// Why a saved analysis cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ResumeError {
    /// The settings differ in what the state depends on.
    #[error("the saved analysis was made with another {0}")]
    Settings(&'static str),
    /// The state contradicts itself.
    #[error("the saved analysis is damaged: {0}")]
    Damaged(&'static str),
}

/// Why there are no findings so far.
#[derive(Debug, Error)]
pub enum SoFarError {
    /// The capture cannot be analyzed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The state cannot be copied.
    #[error("the state cannot be copied: {0}")]
    Copy(#[from] postcard::Error),
    /// The copy cannot be resumed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
}

impl<F: Findings> Analyzer<F> {
    /// An analysis that has read nothing yet. `findings` is called once for each shard of the
    /// connections.
    pub fn new(settings: &Settings, findings: impl Fn() -> F) -> Self {
        Self::with(SavedAnalysis::new(settings), settings, findings)
    }

    /// Goes on with a saved analysis. Connections stay in their shard, so `findings` is called in the
    /// order in which [`findings_mut`](Self::findings_mut) gave them when it was saved.
    ///
    /// # Errors
    /// If the saved analysis was made with other settings, or is damaged. The number of threads may
    /// differ.
    pub fn resume(
        mut saved: SavedAnalysis,
        settings: &Settings,
        findings: impl Fn() -> F,
    ) -> Result<Self, ResumeError> {
        saved.resume(settings)?;
        Ok(Self::with(saved, settings, findings))
    }

    fn with(state: SavedAnalysis, settings: &Settings, findings: impl Fn() -> F) -> Self {
        Self { findings: state.shards.shards.iter().map(|_| findings()).collect(), state, threads: threads(settings) }
    }

    /// Analyzes the next capture. Its frames are numbered on from those read before. `watch` is called
    /// every few thousand packets. If it returns `false`, reading stops.
    ///
    /// # Errors
    /// Those of [`PacketSource::stop`].
    pub fn read<S: PacketSource>(
        &mut self,
        mut source: S,
        mut watch: impl FnMut(&S) -> bool + Send,
    ) -> Result<(), ReadError> {
        let mut count = 0_u64;
        self.read_part(&mut source, |source| {
            let asked = count.is_multiple_of(PACKETS_PER_WATCH);
            count += 1;
            !asked || watch(source)
        });
        self.end_capture(source)
    }

    /// Analyzes the next packets of a capture, of which others may follow. `watch` is called before each packet. If it
    /// returns `false`, the part ends. [`end_capture`](Self::end_capture) follows the last part. Returns whether the capture may have more packets.
    pub fn read_part<S: PacketSource>(&mut self, source: &mut S, mut watch: impl FnMut(&S) -> bool + Send) -> bool {
        let before = self.state.counts.frames;
        let mut ended = false;
        let packets = |packet: &mut Packet| {
            let more = watch(source) && {
                ended = !source.next_into(packet);
                !ended
            };
            packet.frame += before;
            more
        };
        self.on_threads(|this, in_parallel| this.rounds(packets, false, in_parallel));
        !ended
    }

    /// No more parts of this capture will be [read](Self::read_part).
    ///
    /// # Errors
    /// Those of [`PacketSource::stop`].
    pub fn end_capture<S: PacketSource>(&mut self, source: S) -> Result<(), ReadError> {
        source.name().clone_into(&mut self.state.name);
        self.state.counts.append(source.stop()?);
        Ok(())
    }

    /// Analyzes the next packets as [`read`](Self::read) does those of a capture. Their frame numbers
    /// must increase.
    pub fn follow(&mut self, mut packets: impl Iterator<Item = CapturedPacket> + Send) {
        let packets = |packet: &mut Packet| {
            let next = packets.next().map(|next| Packet::from(&next));
            next.map(|next| *packet = next).is_some()
        };
        self.on_threads(|this, in_parallel| this.rounds(packets, false, in_parallel));
    }

    /// Calls `run` on the threads, and says whether there are several.
    pub(super) fn on_threads(&mut self, run: impl FnOnce(&mut Self, bool) + Send) {
        match self.threads.take() {
            Some(pool) => {
                pool.install(|| run(self, true));
                self.threads = Some(pool);
            }
            None => run(self, false),
        }
    }

    /// Analyzes round after round. An incomplete one waits for more packets, unless there will be none
    /// (`last`).
    pub(super) fn rounds(
        &mut self,
        mut packets: impl FnMut(&mut Packet) -> bool + Send,
        last: bool,
        in_parallel: bool,
    ) {
        let mut more_packets = true;
        let mut packets = |packet: &mut Packet| {
            more_packets = more_packets && packets(packet);
            more_packets
        };
        let SavedAnalysis { shards, feed, begun: coming, .. } = &mut self.state;
        let findings = self.findings.as_mut_slice();
        let fill = |round: &mut Round| feed.fill(&mut packets, round, last);
        shards.take_rounds(coming, fill, findings, in_parallel);
    }

    /// The findings if the capture ended here, of which `counts` were read. The analysis itself goes on, untouched.
    ///
    /// # Errors
    /// As [`finish`](Self::finish); also if the state cannot be copied, which would be a defect.
    pub fn so_far(&self, settings: &Settings, counts: Counts) -> Result<Analysis<F>, SoFarError>
    where
        F: Clone,
    {
        // Threads share parts of the state: a copy of what is saved shares nothing.
        let mut state: SavedAnalysis = postcard::from_bytes(&postcard::to_allocvec(&self.state)?)?;
        state.resume(settings)?;
        state.counts.append(counts);
        Ok(Self { state, findings: self.findings.clone(), threads: None }.finish()?)
    }

    /// State from which the analysis goes on after a pause. Save it before [`finish`](Self::finish).
    pub fn save(&self) -> &SavedAnalysis {
        &self.state
    }

    /// Whether a retransmission that was passed on may still be revised, by what is known of its
    /// receiver now.
    pub fn may_be_revised(&self) -> impl Fn(&Retransmission) -> bool + use<F> {
        let hosts = Arc::clone(&self.state.shards.hosts);
        move |row| {
            let hosts = hosts.read().unwrap_or_else(PoisonError::into_inner);
            let reports = hosts.of(row.endpoints.dst.ip()).duplicates;
            row.provisional && reports.proof() != Some(ReportsDuplicates::Yes)
        }
    }

    /// The findings of each shard, so far.
    pub fn findings_mut(&mut self) -> impl Iterator<Item = &mut F> {
        self.findings.iter_mut()
    }

    /// Counts of the packets read so far, also before the analysis was saved.
    pub fn counts(&self) -> Counts {
        let mut counts = self.state.counts.clone();
        counts.clock = self.state.feed.clock;
        counts.left_out = self.state.shards.left_out();
        counts.left_out.outside_window = self.state.feed.outside_window;
        counts.inseparable = inseparable(&self.state.shards.separation());
        counts
    }

    /// No more captures will come: analyzes the packets held back, closes all connections and returns
    /// the findings.
    ///
    /// # Errors
    /// [`ReadError::Merged`] if the last capture is merged from captures of several points that cannot
    /// be told apart.
    pub fn finish(self) -> Result<Analysis<F>, ReadError> {
        let name = self.state.name.clone();
        let (mut analysis, separation) = self.finish_all();
        check_separation(&mut analysis.counts, &separation, &name)?;
        Ok(analysis)
    }

    /// As [`finish`](Self::finish); also returns whether capture points could be told apart.
    pub(super) fn finish_all(mut self) -> (Analysis<F>, Separation) {
        self.on_threads(|this, in_parallel| {
            this.rounds(|_| false, true, in_parallel);
            let last = this.state.feed.facts(RoundOrder::Last);
            let findings = &mut this.findings;
            this.state.shards.finish(last, findings, in_parallel);
        });
        let counts = self.counts();
        let shards = &self.state.shards;
        let mut hosts = shards.hosts.write().unwrap_or_else(PoisonError::into_inner);
        let analysis = Analysis { counts, findings: self.findings, hosts: take(&mut hosts.learned) };
        (analysis, shards.separation())
    }
}

/// The threads of an analysis; `None` if the calling one does everything.
pub(super) fn threads(settings: &Settings) -> Option<ThreadPool> {
    (settings.threads > 0)
        .then(|| ThreadPoolBuilder::new().num_threads(settings.threads + 1))
        .and_then(|pool| pool.build().ok())
}

/// How many connections were captured at points that cannot be told apart, and the first of them.
fn inseparable(separation: &Separation) -> Option<(u64, Inseparable)> {
    let first = separation.first?;
    Some((separation.inseparable, first))
}

/// Counts these connections.
///
/// # Errors
/// [`ReadError::Merged`] if there are too many for an analysis of `name`.
pub(super) fn check_separation(counts: &mut Counts, separation: &Separation, name: &str) -> Result<(), ReadError> {
    counts.inseparable = inseparable(separation);
    match counts.inseparable {
        Some((inseparable, first)) if inseparable * MOST_INSEPARABLE >= separation.apart => {
            let file = name.into();
            Err(ReadError::Merged { file, first })
        }
        _ => Ok(()),
    }
}
