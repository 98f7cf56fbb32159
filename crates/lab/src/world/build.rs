//! From a world as data to the simulator's topology and sources of flows.

use super::{Link, Tmix, Workload, WorldScenario};
use crate::scenario::check_profiles;
use recoup_path::DataSegments;
use recoup_recovery::Profile;
use recoup_sim::FlowSpec;
use recoup_sim::traffic::cvec::ConnectionVector;
use recoup_sim::traffic::synth::{self, Synth};
use recoup_sim::traffic::{App, Repeated, Replay, ReplaySettings, Source, StartRule};
use recoup_sim::world::{LinkId, MOST_OPEN, Route, RouteId, Topology, World};
use recoup_support::suggest::did_you_mean;
use recoup_units::{BitRate, Direction};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A place in the file, and what is wrong there.
type Wrong = (String, String);

/// The most links: those of the world, and those that connections of tmix have for their own delay and loss.
const MOST_LINKS: usize = 100_000;

/// The links of a world, and the flows of each workload.
pub(super) struct Built {
    pub topology: Topology,
    pub flows: Vec<Flows>,
}

/// The flows of a workload.
pub(super) struct Flows {
    pub source: Box<dyn Source>,
    /// The number of pairs of hosts that run one flow after another; else 1. Flow n is of the pair n modulo this number.
    pub pairs: usize,
}

/// The number of a link in its topology.
pub(super) const fn link_id(link: usize, direction: Direction) -> LinkId {
    LinkId(2 * link as u32 + direction as u32)
}

impl WorldScenario {
    /// Whether the world can be built.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        for (what, key) in [(self.links.is_empty(), "links"), (self.workloads.is_empty(), "workloads")] {
            if what {
                let why = format!("the world has no {key}: expected [{key}.NAME]");
                return Err((key.into(), why));
            }
        }
        check_profiles(&self.profiles).map_err(|why| ("profiles".into(), why))?;
        let pairs = self.workloads.iter().filter(|one| one.every.is_none() && one.tmix.is_none());
        let pairs: u64 = pairs.map(|one| one.pairs.unwrap_or(1)).sum();
        if pairs > MOST_OPEN as u64 {
            let why = format!("workloads: expected at most {MOST_OPEN} pairs in all, found {pairs}");
            return Err(("workloads".into(), why));
        }
        let built = self.build(&self.profiles[0], self.seed)?;
        World::<App>::new(&built.topology, self.seed).map(drop).map_err(|e| ("links".into(), e.to_string()))
    }

    /// The world of a profile, with the flows of this seed.
    pub(super) fn build(&self, profile: &Profile, seed: u64) -> Result<Built, Wrong> {
        let mut topology = Topology::default();
        for link in &self.links {
            let key = format!("links.{}", link.name);
            if link.between.iter().any(String::is_empty) {
                let why = format!("{key}: expected `between`, the two nodes it connects");
                return Err((key, why));
            }
            let drop = link.settings.drop.resolve(DataSegments::default());
            let drop = drop.map_err(|e| (format!("{key}.drop"), format!("{key}.drop: {e}")))?;
            for direction in [Direction::Up, Direction::Down] {
                topology.add_link(&link.name, link.settings.hops(&drop, direction));
            }
        }
        let flows = self.workloads.iter().zip(0_u64..).map(|(one, number)| {
            one.check(self.duration)?;
            let [client, server] = self.ends(one)?;
            let up = self.route(client, server).ok_or_else(|| {
                let key = format!("workloads.{}", one.name);
                let why = format!("{key}: no links lead from `{client}` to `{server}`");
                (key, why)
            })?;
            let down: Vec<LinkId> = up.iter().rev().map(|link| LinkId(link.0 ^ 1)).collect();
            let profile = one.profile.as_ref().unwrap_or(profile);
            let spec = one.settings.flow(profile);
            // A seed of its own, so that workloads do not begin their flows at the same times.
            let seed = seed ^ number << 32;
            let Some(tmix) = &one.tmix else {
                let route = topology.add_route(&up, &down);
                let repeated = one.repeated(spec, route, seed);
                return Ok(Flows { pairs: repeated.pairs(), source: Box::new(repeated) });
            };
            let rtts = up.iter().map(|link| self.links[link.0 as usize / 2].settings.rtt);
            let settings =
                ReplaySettings { spec, shared_rtt: rtts.sum(), shared: Route { up, down }, scale: one.scale };
            let vectors = tmix.vectors(seed, self.duration.div_f64(one.scale));
            let most = usize::try_from(one.flows.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
            let vectors = &vectors[..vectors.len().min(most)];
            Ok(Flows { source: Box::new(Replay::new(vectors, settings, &mut topology)), pairs: 1 })
        });
        let flows = flows.collect::<Result<_, Wrong>>()?;
        let links = topology.links.len();
        if links > MOST_LINKS {
            let why = format!(
                "workloads: connections of tmix with the same round-trip time and loss rates share a link: expected at most {MOST_LINKS} links in all, found {links}"
            );
            return Err(("workloads".into(), why));
        }
        Ok(Built { topology, flows })
    }

    /// The nodes of a workload, which exist and differ.
    fn ends<'a>(&'a self, one: &'a Workload) -> Result<[&'a str; 2], Wrong> {
        let nodes = || self.links.iter().flat_map(|link| &link.between);
        let key = |end: &str| format!("workloads.{}.{end}", one.name);
        for (end, node) in [("client", &one.client), ("server", &one.server)] {
            let key = key(end);
            if node.is_empty() {
                let why = format!("{key}: expected a node, such as `{}`", self.links[0].between[0]);
                return Err((format!("workloads.{}", one.name), why));
            }
            if !nodes().any(|known| known == node) {
                let near = did_you_mean(node, nodes().map(String::as_str));
                let why = format!("{key}: no link leads to a node `{node}`{near}");
                return Err((key, why));
            }
        }
        if one.client == one.server {
            let key = key("server");
            let why = format!("{key}: client and server stand at the same node");
            return Err((key, why));
        }
        Ok([&one.client, &one.server])
    }

    /// The fewest links from one node to another.
    fn route(&self, from: &str, to: &str) -> Option<Vec<LinkId>> {
        let mut found = BTreeMap::from([(from, Vec::new())]);
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            if node == to {
                return found.remove(node);
            }
            for (number, link) in self.links.iter().enumerate() {
                let [first, second] = &link.between;
                let (direction, other) = match node {
                    node if node == first => (Direction::Up, second),
                    node if node == second => (Direction::Down, first),
                    _ => continue,
                };
                if !found.contains_key(other.as_str()) {
                    let mut links = found[node].clone();
                    links.push(link_id(number, direction));
                    found.insert(other, links);
                    next.push_back(other);
                }
            }
        }
        None
    }
}

impl Link {
    /// The rate of one way, if it is fixed.
    pub(super) fn rate(&self, direction: Direction) -> Option<BitRate> {
        let settings = &self.settings;
        let recorded = settings.link.get(direction).is_some();
        settings.rate.get(direction).filter(|_| !recorded)
    }
}

impl Workload {
    fn check(&self, duration: Duration) -> Result<(), Wrong> {
        let wrong = |key: &str, why: &str| {
            let above = format!("workloads.{}", self.name);
            let why = format!("{above}: {why}");
            Err((format!("{above}.{key}"), why))
        };
        if self.pairs.is_some() && self.every.is_some() {
            return wrong("every", "expected `pairs` or `every`, found both");
        }
        if self.tmix.is_some() && (self.pairs.is_some() || self.every.is_some()) {
            return wrong("tmix", "expected `pairs`, `every` or `tmix`, found several");
        }
        let in_pairs = self.every.is_none() && self.tmix.is_none();
        if !in_pairs && !self.think.is_zero() {
            return wrong("think", "`think` is for pairs of hosts alone");
        }
        if let Some(Tmix::Synthetic(rate)) = self.tmix
            && rate * duration.as_secs_f64() / self.scale > synth::MOST
        {
            return wrong("tmix", "expected at most 1,000,000 connections of synth: rate · duration / scale");
        }
        if self.tmix.is_none() && self.scale != 1.0 {
            return wrong("scale", "`scale` is for `tmix` alone");
        }
        Ok(())
    }

    /// The flows of pairs that run one after another, or of flows at intervals.
    fn repeated(&self, spec: FlowSpec, route: RouteId, seed: u64) -> Repeated {
        let rule = match self.every {
            Some(mean) => StartRule::Poisson { mean },
            None => StartRule::AfterThinking { pairs: self.pairs.unwrap_or(1) as usize, mean: self.think },
        };
        Repeated::new(spec, route, rule, self.flows.unwrap_or(u64::MAX), seed)
    }
}

impl Tmix {
    /// The vectors of a run; a synthetic mix begins connections until `duration`.
    fn vectors(&self, seed: u64, duration: Duration) -> Arc<[ConnectionVector]> {
        match *self {
            Self::File(_, ref vectors) => Arc::clone(vectors),
            Self::Synthetic(rate) => {
                let synth = Synth { seed, rate, duration };
                synth.vectors().into()
            }
        }
    }
}
