//! The loss processes of paths and of the capture.
//!
//! A connection loses few packets, so that its own losses say little about the next one. Its process is
//! therefore drawn towards that of its path, and the path's towards that of the capture. A path is known
//! by the address of the peer.

use recoup_whatif::loss::LossProcess;
use std::collections::HashMap;
use std::net::IpAddr;

/// Paths whose losses are kept apart. Those beyond count in the capture's process alone.
const MOST_PATHS: usize = 1 << 16;

/// The losses of the connections seen so far.
#[derive(Debug, Default)]
pub(super) struct Pools {
    paths: HashMap<IpAddr, LossProcess>,
    capture: LossProcess,
}

impl Pools {
    /// Adds the losses of a connection to this peer.
    pub fn add(&mut self, peer: IpAddr, losses: &LossProcess) {
        self.capture.merge(losses);
        if self.paths.len() < MOST_PATHS || self.paths.contains_key(&peer) {
            self.paths.entry(peer).or_default().merge(losses);
        }
    }

    /// The process to draw from for a connection to this peer, which has these losses of its own. Its
    /// losses were added before.
    pub fn process(&self, peer: IpAddr, own: &LossProcess) -> LossProcess {
        match self.paths.get(&peer) {
            Some(path) => own.shrunk_to(&path.shrunk_to(&self.capture)),
            None => own.shrunk_to(&self.capture),
        }
    }
}
