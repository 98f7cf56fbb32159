//! Connection vectors replayed: connections begin when the vectors say, and what their applications write waits for
//! what they receive.

use crate::FlowSpec;
use crate::traffic::cvec::ConnectionVector;
use crate::traffic::{App, NewFlow, Source};
use crate::world::{LinkId, Route, RouteId, Topology};
use recoup_path::{HopSpec, LossKind, LossSpec, Probability};
use recoup_tcp::flow::{Host, ScriptProgress};
use recoup_units::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How vectors are replayed.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// The configuration of the hosts. A vector's windows and segment sizes replace those in it; its workload is not
    /// used.
    pub spec: FlowSpec,
    /// The links that all connections share.
    pub shared: Route,
    /// The round-trip propagation delay of these links. A connection gets the rest of its round-trip time on links of
    /// its own.
    pub shared_rtt: Duration,
    /// What start times are multiplied by: 0.5 doubles the load.
    pub scale: f64,
}

/// A source of the connections of vectors.
#[derive(Debug)]
pub struct Replay {
    /// In the order of their start.
    vectors: Arc<[ConnectionVector]>,
    routes: Vec<RouteId>,
    scale: f64,
    next: usize,
    /// The configuration for all connections.
    usual: FlowSpec,
    /// The configuration for the connection that began last.
    spec: FlowSpec,
}

/// What the own links of a connection do: the round-trip delay in ms, and the loss rates of both directions in 0.01 %.
type Class = (u64, [u32; 2]);

impl Replay {
    /// Adds the links of the connections to `topology`: one pair for all connections with equal delay (rounded to 1 ms of
    /// round-trip time) and loss (rounded to 0.01 %). A packet passes its connection's own link before the shared ones.
    pub fn new(vectors: &[ConnectionVector], settings: ReplaySettings, topology: &mut Topology) -> Self {
        let mut vectors = vectors.to_vec();
        vectors.sort_by_key(|vector| vector.start);
        let mut known = BTreeMap::new();
        let routes = vectors.iter().map(|vector| {
            let class = class(vector, settings.shared_rtt);
            *known.entry(class).or_insert_with(|| add_route(topology, class, &settings.shared))
        });
        Self {
            routes: routes.collect(),
            vectors: vectors.into(),
            scale: settings.scale,
            next: 0,
            spec: settings.spec.clone(),
            usual: settings.spec,
        }
    }

    /// The vector of a connection.
    pub fn vector(&self, number: u64) -> Option<&ConnectionVector> {
        self.vectors.get(usize::try_from(number).ok()?)
    }
}

fn class(vector: &ConnectionVector, shared: Duration) -> Class {
    let rtt = vector.min_rtt.unwrap_or(shared).saturating_sub(shared);
    let millis = (rtt.as_micros() + 500) / 1000;
    let loss = vector.loss.map(|rate| (rate * 1e4).round() as u32);
    (u64::try_from(millis).unwrap_or(u64::MAX), loss)
}

fn add_route(topology: &mut Topology, (rtt, loss): Class, shared: &Route) -> RouteId {
    let one_way = Duration::from_millis(rtt) / 2;
    let mut way = |host: Host, shared: &[LinkId]| {
        let mut hops = Vec::new();
        let rate = loss[crate::traffic::cvec::place(host)];
        if let Some(rate) = Probability::new(f64::from(rate) / 1e4).filter(|_| rate > 0) {
            let kind = LossKind::Bernoulli(rate);
            let transmission = None;
            hops.push(HopSpec::Loss(LossSpec { kind, transmission }));
        }
        if !one_way.is_zero() {
            hops.push(HopSpec::Delay(one_way));
        }
        if hops.is_empty() {
            return shared.to_vec();
        }
        let own = topology.add_link("own", hops);
        [own].into_iter().chain(shared.iter().copied()).collect()
    };
    let up = way(Host::Client, &shared.up);
    let down = way(Host::Server, &shared.down);
    topology.add_route(&up, &down)
}

impl Source for Replay {
    fn next_start(&self) -> Option<Instant> {
        let vector = self.vectors.get(self.next)?;
        Some(Instant::ZERO + vector.start.mul_f64(self.scale))
    }

    fn start(&mut self, _: Instant) -> NewFlow<'_> {
        let vector = &self.vectors[self.next];
        self.spec.clone_from(&self.usual);
        for (place, host) in [&mut self.spec.client, &mut self.spec.server].into_iter().enumerate() {
            let window = vector.windows.map_or(0, |windows| windows[place]);
            if window > 0 {
                host.receive_buffer = window;
            }
            host.mss = vector.segment_sizes.map_or(host.mss, |sizes| sizes[place]);
        }
        let workload = vector.workload();
        let scripts = [&workload.client, &workload.server];
        let number = self.next;
        self.next += 1;
        NewFlow {
            number: number as u64,
            route: self.routes[number],
            applications: scripts.map(|script| App::Script(ScriptProgress::new(script))),
            spec: &self.spec,
        }
    }
}

#[cfg(test)]
mod tests;
