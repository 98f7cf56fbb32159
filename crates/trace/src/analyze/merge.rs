//! Merges analyses of disjoint sets of connections.

use super::saved::SavedAnalysis;
use crate::follow::points::Pair;
use std::{collections::HashSet, net::SocketAddr, sync::PoisonError};
use thiserror::Error;

/// Why two saved analyses cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// They were made with different settings.
    #[error("the saved analyses were made with another {0}")]
    Settings(&'static str),
    /// A connection is open in both.
    #[error("both saved analyses hold the connection between {} and {}", .0[0], .0[1])]
    Connection([SocketAddr; 2]),
    /// One of them contradicts itself.
    #[error("a saved analysis is damaged: {0}")]
    Damaged(&'static str),
    /// Together they have more connections than an analysis can hold.
    #[error("the saved analyses have too many connections")]
    TooMany,
}

impl SavedAnalysis {
    /// Adds an analysis of other connections, for example of another link. What is merged is as if one
    /// analysis had read all captures:
    ///
    /// - Frames and connections of `other` are numbered after these ([`renumbering`](Self::renumbering)).
    /// - Each learns what the other has learned of hosts. A verdict that this changes is revised when the
    ///   merged analysis goes on.
    /// - Time goes on by the clock that shows the later time.
    ///
    /// If it fails, `self` stays as it is.
    ///
    /// # Errors
    /// If the settings differ, if a connection is open in both, or if there are too many.
    pub fn merge(&mut self, mut other: Self) -> Result<(), MergeError> {
        self.check_mergeable(&other)?;
        // Each capture ended where it did: a packet read ahead has no other one after it.
        self.feed.take_ahead(&mut self.begun);
        other.feed.take_ahead(&mut other.begun);
        let by = self.renumbering();
        other.begun.renumber(by);
        self.begun.merge(&other.begun);
        for (shard, mut other) in self.shards.shards.iter_mut().zip(other.shards.shards) {
            other.renumber(by);
            shard.merge(other);
        }
        self.feed.merge(other.feed, by.frames);
        self.counts.append(other.counts);
        self.name = other.name;
        let (mine, theirs) = (&mut self.shards, &other.shards.hosts);
        mine.numbered = mine.numbered.saturating_add(other.shards.numbered);
        let mut hosts = mine.hosts.write().unwrap_or_else(PoisonError::into_inner);
        let changed = hosts.merge(&theirs.read().unwrap_or_else(PoisonError::into_inner));
        mine.changed.extend(changed);
        mine.changed.extend(other.shards.changed);
        Ok(())
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), MergeError> {
        if let Some(setting) = self.settings.difference(&other.settings) {
            return Err(MergeError::Settings(setting));
        }
        if self.shards.shards.len() != other.shards.shards.len() {
            return Err(MergeError::Settings("number of shards"));
        }
        for one in [self, other] {
            one.check_counts().map_err(MergeError::Damaged)?;
        }
        let both = self.shards.shards.iter().zip(&other.shards.shards);
        let slots = both.map(|(mine, theirs)| mine.slots() + theirs.slots());
        if slots.max() > Some(u32::MAX as usize) {
            return Err(MergeError::TooMany);
        }
        let mine: HashSet<Pair> = self.pairs().collect();
        match other.pairs().find(|pair| mine.contains(pair)) {
            Some(pair) => {
                let ends = pair.ends();
                Err(MergeError::Connection([ends.src, ends.dst]))
            }
            None => Ok(()),
        }
    }

    /// The ends of all connections that are open, or whose packets are held back.
    fn pairs(&self) -> impl Iterator<Item = Pair> {
        let open = self.shards.shards.iter().flat_map(|shard| shard.pairs());
        let ahead = self.feed.ahead().map(|packet| Pair::of(&packet.endpoints));
        open.chain(self.begun.pairs()).chain(ahead)
    }
}
