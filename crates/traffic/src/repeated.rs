//! Flows of one script, again and again.

use crate::draws::Draws;
use crate::{App, NewFlow, Source};
use recoup_sim::FlowSpec;
use recoup_sim::world::{FlowEnd, RouteId};
use recoup_tcp::flow::ScriptProgress;
use recoup_units::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
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
    /// The pair of each flow under way.
    running: HashMap<u64, usize>,
    /// How often each pair has waited.
    waits: Vec<u64>,
}

impl Repeated {
    /// Flows of `spec` on `route`, at most `limit`. Start times come from `seed`.
    pub fn new(spec: FlowSpec, route: RouteId, rule: StartRule, limit: u64, seed: u64) -> Self {
        let mut source = Self {
            spec,
            route,
            rule,
            limit,
            seed,
            begun: 0,
            starts: BinaryHeap::new(),
            running: HashMap::new(),
            waits: match rule {
                StartRule::AfterThinking { pairs, .. } => vec![0; pairs],
                StartRule::Poisson { .. } => vec![0],
            },
        };
        for pair in 0..source.waits.len() {
            source.wait(pair, Instant::ZERO);
        }
        source
    }

    /// Lets a pair wait before its next flow.
    fn wait(&mut self, pair: usize, now: Instant) {
        // "repeated" in ASCII.
        const DOMAIN: u64 = 0x7265_7065_6174_6564;
        let (StartRule::AfterThinking { mean, .. } | StartRule::Poisson { mean }) = self.rule;
        let draws = Draws::new(self.seed, DOMAIN, pair as u64);
        let seconds = draws.exponential(mean.as_secs_f64(), 0, self.waits[pair]);
        self.waits[pair] += 1;
        let at = now + Duration::from_secs_f64(seconds);
        self.starts.push(Reverse((at, pair)));
    }
}

impl Source for Repeated {
    fn next_start(&self) -> Option<Instant> {
        let Reverse((at, _)) = self.starts.peek()?;
        (self.begun < self.limit).then_some(*at)
    }

    fn start(&mut self, now: Instant) -> NewFlow<'_> {
        let number = self.begun;
        self.begun += 1;
        if let Some(Reverse((_, pair))) = self.starts.pop() {
            match self.rule {
                StartRule::Poisson { .. } => self.wait(pair, now),
                StartRule::AfterThinking { .. } => {
                    self.running.insert(number, pair);
                }
            }
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
        if let Some(pair) = self.running.remove(&number) {
            self.wait(pair, now);
        }
    }

    /// A flow that ended before it was complete.
    fn on_end(&mut self, now: Instant, number: u64, _: &FlowEnd<'_>) {
        self.on_complete(now, number);
    }
}
