//! The loss processes of paths and of the capture.
//!
//! A connection loses few packets, so that its own losses say little about the next one. Its process is
//! therefore drawn towards that of its path, and the path's towards that of the capture
//! (`recoup_whatif::loss` has the formulas). A path is known by the address of the peer.

use recoup_whatif::loss::{LossCounts, LossProcess};
use std::collections::HashMap;
use std::net::IpAddr;

/// Paths whose losses are kept apart, about 1 kB each. Those beyond count in the capture's process alone.
const MOST_PATHS: usize = 1 << 16;

/// A path of fewer connections has the spread of the capture's.
const FEW: u64 = 20;

/// The losses of the connections seen so far.
#[derive(Debug, Default)]
pub(super) struct Pools {
    paths: HashMap<IpAddr, PathLosses>,
    capture: LossCounts,
}

#[derive(Debug, Default)]
struct PathLosses {
    connections: u64,
    counts: LossCounts,
}

impl Pools {
    /// Adds the losses of a connection to this peer.
    pub fn add(&mut self, peer: IpAddr, losses: &LossCounts) {
        self.capture.merge(losses);
        if self.paths.len() < MOST_PATHS || self.paths.contains_key(&peer) {
            let path = self.paths.entry(peer).or_default();
            path.connections += 1;
            path.counts.merge(losses);
        }
    }

    /// The process of all connections together.
    pub fn of_capture(&self) -> LossProcess {
        LossProcess::of(&self.capture)
    }

    /// The process to draw from for a connection to this peer, which has these losses of its own. Its
    /// losses were added before. `capture`: the process of all connections.
    pub fn process(&self, capture: &LossProcess, peer: IpAddr, own: &LossCounts) -> LossProcess {
        let Some(path) = self.paths.get(&peer) else {
            return capture.of_connection(&self.capture, own);
        };
        let process = capture.of_path(&self.capture, &path.counts);
        let spread = match path.connections < FEW {
            true => &self.capture,
            false => &path.counts,
        };
        process.of_connection(spread, own)
    }
}
