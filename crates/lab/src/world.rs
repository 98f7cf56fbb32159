//! Worlds: many flows over links that they share, as data.
//!
//! ```toml
//! about = "what it shows, in one line"
//! profiles = ["linux-3.17", "linux-6"]
//! seed = 1
//! duration = "60s"                # of simulated time
//!
//! [links.bottleneck]              # one link, both ways
//! between = ["left", "right"]     # two nodes; up is from the first to the second
//! rate = "100Mbit"
//! delay = "10ms"                  # one way
//! queue = "100"
//!
//! [workloads.fetches]             # hosts at two nodes, and their flows
//! client = "right"
//! server = "left"
//! pairs = 100                     # each runs one flow after another …
//! think = "70ms"                  # … after a pause of this mean
//! segments = 10
//! ```
//!
//! A node is where links meet. It exists because a link names it. Packets take the route with the fewest links; of
//! several, the one whose links come first in the file. Hosts stand at nodes, and what is between a host and its
//! node takes no time.

mod build;
mod calibrate;
mod keys;
mod parse;
pub(crate) mod report;
mod run;
mod watch;

pub use calibrate::{Calibration, Target};
pub use keys::{Key, LINK_KEYS, WORKLOAD_KEYS, host_settings};
pub(crate) use parse::is_world;
pub use report::{SCHEMA, WorldReport};
pub use run::{LinkResult, WorkloadResult, WorldResult};
pub use watch::{Chosen, Watch};

use crate::scenario::Origin;
use crate::settings::{Settings, SourceFile};
use recoup_recovery::Profile;
use recoup_sim::traffic::cvec::ConnectionVector;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A world, and the profiles that are compared in it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldScenario {
    /// The name: that of a built-in scenario, or of the file.
    pub name: String,
    /// The description, one line.
    pub about: String,
    /// The profiles to compare. Each runs in a world of its own.
    pub profiles: Vec<Profile>,
    /// The seed of everything random.
    pub seed: u64,
    /// Independent runs of each profile. Their seeds follow one another.
    pub runs: u64,
    /// The time simulated.
    pub duration: Duration,
    /// The links, in the order of the file.
    pub links: Vec<Link>,
    /// The workloads, in the order of the file.
    pub workloads: Vec<Workload>,
    origin: Origin,
}

/// A link, both ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The name.
    pub name: String,
    /// The nodes at its ends. `up` is from the first to the second.
    pub between: [String; 2],
    /// Its rate, queue and so on; twice its delay as the round-trip time.
    settings: Settings,
}

/// Flows of one kind between hosts at two nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// The name.
    pub name: String,
    /// The node of the clients.
    pub client: String,
    /// The node of the servers, which usually send most of the data.
    pub server: String,
    /// The profile of its hosts; `None` for the one that the world compares.
    pub profile: Option<Profile>,
    /// The number of pairs of hosts that run one flow after another.
    pub pairs: Option<u64>,
    /// The mean pause of a pair before each flow.
    pub think: Duration,
    /// The mean interval at which flows begin, whatever happens to the others.
    pub every: Option<Duration>,
    /// The largest number of flows that begin.
    pub flows: Option<u64>,
    /// Connections to replay in place of pairs that run one flow after another.
    pub tmix: Option<Tmix>,
    /// The factor of their start times.
    pub scale: f64,
    /// The settings of its hosts.
    settings: Settings,
}

/// Connections of Tmix.
#[derive(Clone, Debug, PartialEq)]
pub enum Tmix {
    /// The connections of a file.
    File(SourceFile, Arc<[ConnectionVector]>),
    /// A synthetic mix, with so many connections a second. Its seed is that of the run.
    Synthetic(f64),
}

impl WorldScenario {
    /// The files this world was read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let of_links = self.links.iter().map(|link| &link.settings);
        let all = of_links.chain(self.workloads.iter().map(|one| &one.settings));
        let read = all.flat_map(Settings::files);
        let vectors = self.workloads.iter().filter_map(|one| match &one.tmix {
            Some(Tmix::File(file, _)) => Some(&*file.path),
            _ => None,
        });
        self.origin.path.as_deref().into_iter().chain(read).chain(vectors)
    }

    /// Every key with its value as text, in the order of the file.
    pub fn values(&self) -> Vec<(String, String)> {
        keys::values(self)
    }
}

impl Link {
    fn new(name: &str) -> Self {
        let settings = Settings { rtt: Duration::ZERO, ..Settings::default() };
        Self { name: name.into(), between: Default::default(), settings }
    }
}

impl Workload {
    fn new(name: &str) -> Self {
        Self { name: name.into(), scale: 1.0, ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
