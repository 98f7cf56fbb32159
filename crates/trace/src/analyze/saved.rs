//! An analysis between two captures, as it is saved.

use super::{
    Settings, Shards, TimeWindow, analyzer::ResumeError, feed::PacketFeed, is_shard_count, round::Round, shard,
};
use crate::{attribute::identify::Candidates, finding::Renumbering, hosts::Hosts, read::Counts};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

/// No capture has more frames or connections.
const MOST_COUNTED: u64 = 1 << 58;

/// All that an analysis keeps between two captures: open connections, packets held back, what is
/// known of hosts, and what was counted.
///
/// It is serializable in any format that is not self-describing. Its layout has a version
/// ([`VERSION`](Self::VERSION)): store that beside it, and compare it before reading. Also store a
/// checksum, and compare it too: a resumed analysis refuses what refers to something that is not there,
/// but it cannot recognize a wrong number.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedAnalysis {
    pub(super) settings: SavedSettings,
    pub(super) shards: Shards,
    pub(super) feed: PacketFeed,
    /// The round of packets that is not complete yet.
    pub(super) begun: Round,
    /// Counts of the packets read, in all captures.
    pub(super) counts: Counts,
    /// The name of the last capture.
    pub(super) name: String,
}

/// The settings that a state depends on.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedSettings {
    profiles: Candidates,
    idle: Duration,
    most_connections: usize,
    most_memory: usize,
    hosts: Arc<Hosts>,
    /// As it is printed.
    filter: Option<String>,
    window: TimeWindow,
}

impl SavedSettings {
    /// Bytes that the connections may take up.
    pub fn most_memory(&self) -> usize {
        self.most_memory
    }

    pub fn of(settings: &Settings) -> Self {
        Self {
            profiles: shard::candidates(settings),
            idle: settings.idle,
            most_connections: settings.most_connections,
            most_memory: settings.most_memory,
            hosts: Arc::clone(&settings.hosts),
            filter: settings.filter.as_ref().map(ToString::to_string),
            window: settings.window,
        }
    }

    /// The name of the first setting that differs.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        [
            ("profile", self.profiles != other.profiles),
            ("idle time", self.idle != other.idle),
            ("limit of connections", self.most_connections != other.most_connections),
            ("limit of memory", self.most_memory != other.most_memory),
            ("set of known hosts", self.hosts != other.hosts),
            ("filter", self.filter != other.filter),
            ("time window", self.window != other.window),
        ]
        .into_iter()
        .find_map(|(name, differs)| differs.then_some(name))
    }
}

impl SavedAnalysis {
    /// The version of the layout. A state of another version cannot be read.
    pub const VERSION: u32 = 1;

    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            settings: SavedSettings::of(settings),
            shards: Shards::new(settings),
            feed: PacketFeed::new(settings.window),
            begun: Round::new(settings.shard_count()),
            counts: Counts::default(),
            name: String::new(),
        }
    }

    /// The frames read so far. Those of the next capture are numbered on from here.
    pub fn frames(&self) -> u64 {
        self.counts.frames
    }

    /// The connections numbered so far.
    pub fn connections(&self) -> u64 {
        self.shards.numbered
    }

    /// The connections that are open or have just ended.
    pub fn open(&self) -> usize {
        self.shards.shards.iter().map(shard::Shard::open).sum()
    }

    /// Counts of the packets read so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Numbers that [`merge`](Self::merge) adds to those of the other analysis.
    pub fn renumbering(&self) -> Renumbering {
        Renumbering { frames: self.frames(), connections: self.connections() }
    }

    /// Checks what the analysis relies on: that what refers to a slot, a row, or a packet finds it.
    fn check(&self, settings: &Settings) -> Result<(), &'static str> {
        self.check_counts()?;
        let shards = self.shards.shards.len();
        if !self.feed.is_consistent() || !self.begun.is_consistent(shards) {
            return Err("a round of packets is not divided among the shards");
        }
        let mut shards = self.shards.shards.iter().enumerate();
        shards.try_for_each(|(number, shard)| shard.check(number, settings))
    }

    /// Checks how much there is.
    pub(super) fn check_counts(&self) -> Result<(), &'static str> {
        if !is_shard_count(self.shards.shards.len()) {
            return Err("shards are missing");
        }
        let Counts { frames, packets, .. } = self.counts;
        if [self.shards.numbered, frames, packets].iter().any(|&count| count > MOST_COUNTED) {
            return Err("too many frames or connections were counted");
        }
        Ok(())
    }

    /// Makes anew what is not saved.
    pub(super) fn resume(&mut self, settings: &Settings) -> Result<(), ResumeError> {
        if let Some(setting) = self.settings.difference(&SavedSettings::of(settings)) {
            return Err(ResumeError::Settings(setting));
        }
        let shards = self.shards.shards.len();
        if is_shard_count(shards) && shards != settings.shard_count() {
            return Err(ResumeError::Settings("number of shards"));
        }
        self.check(settings).map_err(ResumeError::Damaged)?;
        self.shards.resume(settings);
        Ok(())
    }
}
