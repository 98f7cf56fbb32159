//! State that explanations depend on besides the packets.

use super::{
    identify::{Candidates, HostProfiles, Replayed},
    pool::Pools,
};
use crate::{
    finding::Vantage,
    hosts::{DuplicateReports, KnownHosts},
    timeline::Timeline,
};
use recoup_units::Instant;
use std::{
    cell::RefCell,
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};

/// State that all episodes of a shard share.
#[derive(Debug, Default)]
pub(crate) struct ReplayContext {
    pub candidates: Candidates,
    /// All shards share it. Nobody writes while a shard reads.
    pub hosts: Arc<RwLock<KnownHosts>>,
    pub pools: Pools,
    /// Timeline of the shard's connections, if it is asked for.
    pub timeline: Option<RefCell<Timeline>>,
}

impl ReplayContext {
    /// Facts about hosts.
    pub fn hosts(&self) -> RwLockReadGuard<'_, KnownHosts> {
        // The lock is poisoned only if another thread panicked, which has ended the analysis.
        self.hosts.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Facts about an episode's connection.
#[derive(Debug)]
pub(crate) struct EpisodeContext<'a> {
    /// The profiles that are replayed.
    pub candidates: &'a Candidates,
    /// Facts about each host from earlier connections.
    pub hosts: &'a RwLock<KnownHosts>,
    pub pools: &'a Pools,
    pub sender: IpAddr,
    pub receiver: IpAddr,
    /// SACK was negotiated, or is in use.
    pub sack: bool,
    /// SACK is in use, or the handshake was not captured and nothing rules SACK out.
    pub may_sack: bool,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// The receiver's SACK blocks report what was sent.
    pub reports_usable: bool,
    /// When the receiver's last ACK passed from which the capture may have cut SACK blocks; [`Instant::ZERO`] without any.
    pub blocks_cut_at: Instant,
    /// The largest payload of a segment, in bytes; at least 1.
    pub mss: u32,
    /// The shortest round-trip time between the capture point and the receiver.
    pub min_rtt: Option<Duration>,
    /// Where the direction was captured.
    pub vantage: Vantage,
    /// The round-trip time between the capture point and the sender.
    pub lag: Duration,
    /// The work that recordings and replays of the direction may take: what its packets so far pay
    /// for.
    pub most_work: u64,
}

impl EpisodeContext<'_> {
    /// The profiles that explain most, see [`Candidates::best`].
    pub fn best_profiles(&self, replayed: &Replayed, exact: bool) -> Vec<usize> {
        let known = self.known();
        self.candidates.best(replayed, &known, self.sender, exact)
    }

    /// The profiles that the data's sender may run.
    pub fn sender_profiles(&self) -> HostProfiles {
        self.known().profiles_of(self.sender, self.candidates)
    }

    /// How the data's receiver reported duplicates before.
    pub fn receiver_reports(&self) -> DuplicateReports {
        self.known().duplicates_of(self.receiver)
    }

    fn known(&self) -> RwLockReadGuard<'_, KnownHosts> {
        // The lock is poisoned only if another thread panicked, which has ended the analysis.
        self.hosts.read().unwrap_or_else(PoisonError::into_inner)
    }
}
