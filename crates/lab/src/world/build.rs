//! From a world as data to the simulator's topology and sources of flows.

use super::{Link, Workload, WorldScenario};
use crate::suggest::did_you_mean;
use recoup_path::DataSegments;
use recoup_recovery::Profile;
use recoup_sim::world::{LinkId, RouteId, Topology, World};
use recoup_traffic::{App, Repeated, StartRule};
use recoup_units::{BitRate, Direction};
use std::collections::{BTreeMap, VecDeque};

/// A place in the file, and what is wrong there.
type Wrong = (String, String);

/// The links of a world, and a route for each workload.
#[derive(Debug)]
pub(super) struct Built {
    pub topology: Topology,
    /// The route of each workload.
    pub routes: Vec<RouteId>,
}

/// The number of a link in its topology.
pub(super) const fn link_id(link: usize, direction: Direction) -> LinkId {
    LinkId(2 * link as u32 + direction as u32)
}

impl WorldScenario {
    /// Whether the world can be built.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        for (what, key) in [
            (self.links.is_empty(), "links"),
            (self.workloads.is_empty(), "workloads"),
        ] {
            if what {
                let why = format!("the world has no {key}: expected [{key}.NAME]");
                return Err((key.into(), why));
            }
        }
        let built = self.build()?;
        World::<App>::new(&built.topology, self.seed)
            .map(drop)
            .map_err(|e| ("links".into(), e.to_string()))
    }

    pub(super) fn build(&self) -> Result<Built, Wrong> {
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
        let routes = self.workloads.iter().map(|one| {
            let [client, server] = self.ends(one)?;
            let up = self.route(client, server).ok_or_else(|| {
                let key = format!("workloads.{}", one.name);
                let why = format!("{key}: no links lead from `{client}` to `{server}`");
                (key, why)
            })?;
            let down: Vec<LinkId> = up.iter().rev().map(|link| LinkId(link.0 ^ 1)).collect();
            one.check()?;
            Ok(topology.add_route(&up, &down))
        });
        let routes = routes.collect::<Result<_, Wrong>>()?;
        Ok(Built { topology, routes })
    }

    /// The nodes of a workload, which exist and differ.
    fn ends<'a>(&'a self, one: &'a Workload) -> Result<[&'a str; 2], Wrong> {
        let nodes = || self.links.iter().flat_map(|link| &link.between);
        let key = |end: &str| format!("workloads.{}.{end}", one.name);
        for (end, node) in [("client", &one.client), ("server", &one.server)] {
            let key = key(end);
            if node.is_empty() {
                let why = format!(
                    "{key}: expected a node, such as `{}`",
                    self.links[0].between[0]
                );
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
    fn check(&self) -> Result<(), Wrong> {
        let key = format!("workloads.{}", self.name);
        if self.pairs.is_some() && self.every.is_some() {
            let why = format!("{key}: expected `pairs` or `every`, found both");
            return Err((format!("{key}.every"), why));
        }
        if self.every.is_some() && !self.think.is_zero() {
            let why = format!("{key}.think: only pairs of hosts pause; `every` is the interval");
            return Err((format!("{key}.think"), why));
        }
        Ok(())
    }

    /// The flows of this workload, whose hosts are of `profile` unless they have their own.
    pub(super) fn source(&self, profile: &Profile, route: RouteId, seed: u64) -> Repeated {
        let spec = self.settings.flow(self.profile.as_ref().unwrap_or(profile));
        let rule = match self.every {
            Some(mean) => StartRule::Poisson { mean },
            None => StartRule::AfterThinking {
                pairs: self.pairs.unwrap_or(1) as usize,
                mean: self.think,
            },
        };
        Repeated::new(spec, route, rule, self.flows.unwrap_or(u64::MAX), seed)
    }
}
