//! Flows of one script, again and again.

use crate::FlowSpec;
use crate::traffic::{App, NewFlow, Source};
use crate::world::{FlowEnd, RouteId};
use recoup_path::draws::Draws;
use recoup_tcp::flow::ScriptProgress;
use recoup_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// When flows begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartRule {
    /// Each of `pairs` pairs of hosts thinks, then runs a flow, and so on. Think times are exponential.
    AfterThinking {
        /// Pairs of hosts.
        pairs: usize,
        /// The mean think time.
        mean: Duration,
    },
    /// Flows begin at exponential intervals, whatever happens to the others.
    Poisson {
        /// The mean interval.
        mean: Duration,
    },
}

/// A source of flows that all follow one script on one route.
///
/// Flow n of pair p has the number n · pairs + p, so that a flow's random choices do not depend on how long other
/// pairs' flows take.
#[derive(Debug)]
pub struct Repeated {
    spec: FlowSpec,
    route: RouteId,
    rule: StartRule,
    /// How many flows may begin.
    limit: u64,
    seed: u64,
    begun: u64,
    /// When flows begin, and which pair runs them.
    starts: BinaryHeap<Reverse<(Instant, usize)>>,
    pairs: Vec<Pair>,
}

/// A pair of hosts.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// How often it has waited.
    waits: u64,
    /// The number of its flow under way.
    running: Option<u64>,
}

impl Repeated {
    /// Flows of `spec` on `route`, at most `limit`. Start times come from `seed`.
    pub fn new(spec: FlowSpec, route: RouteId, rule: StartRule, limit: u64, seed: u64) -> Self {
        let pairs = match rule {
            StartRule::AfterThinking { pairs, .. } => pairs,
            StartRule::Poisson { .. } => 1,
        };
        let mut source = Self {
            spec,
            route,
            rule,
            limit,
            seed,
            begun: 0,
            starts: BinaryHeap::new(),
            pairs: vec![Pair::default(); pairs],
        };
        for pair in 0..pairs {
            source.wait(pair, Instant::ZERO);
        }
        source
    }

    /// The pair that runs the flow with this number.
    pub const fn pair(&self, number: u64) -> usize {
        (number % self.pairs.len() as u64) as usize
    }

    /// The number of pairs. Flows that begin at intervals, whatever happens to the others, are of one.
    pub const fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Lets a pair wait before its next flow.
    fn wait(&mut self, pair: usize, now: Instant) {
        // "repeated" in ASCII.
        const DOMAIN: u64 = 0x7265_7065_6174_6564;
        let (StartRule::AfterThinking { mean, .. } | StartRule::Poisson { mean }) = self.rule;
        let draws = Draws::new(self.seed, DOMAIN, pair as u64);
        let seconds = draws.exponential(mean.as_secs_f64(), 0, self.pairs[pair].waits);
        self.pairs[pair].waits += 1;
        let at = now + Duration::from_secs_f64(seconds);
        self.starts.push(Reverse((at, pair)));
    }

    /// Lets the pair of a flow that has ended go on.
    fn go_on(&mut self, number: u64, now: Instant) {
        let pair = self.pair(number);
        let thinks = matches!(self.rule, StartRule::AfterThinking { .. });
        if thinks && self.pairs[pair].running == Some(number) {
            self.pairs[pair].running = None;
            self.wait(pair, now);
        }
    }
}

impl Source for Repeated {
    fn next_start(&self) -> Option<Instant> {
        let Reverse((at, _)) = self.starts.peek()?;
        (self.begun < self.limit).then_some(*at)
    }

    fn start(&mut self, now: Instant) -> NewFlow<'_> {
        let pair = self.starts.pop().map_or(0, |Reverse((_, pair))| pair);
        let round = self.pairs[pair].waits.saturating_sub(1);
        let number = round * self.pairs.len() as u64 + pair as u64;
        self.begun += 1;
        self.pairs[pair].running = Some(number);
        if matches!(self.rule, StartRule::Poisson { .. }) {
            self.wait(pair, now);
        }
        let workload = &self.spec.workload;
        let scripts = [&workload.client, &workload.server];
        NewFlow {
            number,
            route: self.route,
            applications: scripts.map(|script| App::Script(ScriptProgress::new(script))),
            spec: &self.spec,
        }
    }

    fn on_complete(&mut self, now: Instant, number: u64) {
        self.go_on(number, now);
    }

    /// A flow that was never complete ends, too.
    fn on_end(&mut self, now: Instant, number: u64, _: &FlowEnd<'_>) {
        self.go_on(number, now);
    }
}

#[cfg(test)]
mod tests;
