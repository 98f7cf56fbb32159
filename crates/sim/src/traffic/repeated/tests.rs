use super::*;
use crate::traffic::Mix;
use crate::world::{Topology, World};
use crate::{NoObserver, TimerModel};
use recoup_recovery::Mechanisms;
use recoup_tcp::Config;
use recoup_tcp::flow::Workload;

/// Records when the flows of a source begin, and how many end.
struct Watched {
    source: Repeated,
    begun: Vec<(Instant, u64)>,
    ended: u64,
}

impl Source for Watched {
    fn next_start(&self) -> Option<Instant> {
        self.source.next_start()
    }

    fn start(&mut self, now: Instant) -> NewFlow<'_> {
        let flow = self.source.start(now);
        self.begun.push((now, flow.number));
        flow
    }

    fn on_complete(&mut self, now: Instant, number: u64) {
        self.source.on_complete(now, number);
    }

    fn on_end(&mut self, now: Instant, number: u64, ended: &FlowEnd<'_>) {
        self.ended += 1;
        self.source.on_end(now, number, ended);
    }
}

/// Runs flows of one segment for ten seconds, over links without delay.
fn run(rules: &[(StartRule, u64)]) -> Vec<Watched> {
    let config = Config::new(Mechanisms::LINUX_3_17);
    let spec = FlowSpec {
        client: config,
        server: config,
        timers: TimerModel::Exact,
        workload: Workload::exchange(0, 1000).closing(true),
    };
    let mut topology = Topology::default();
    let route = topology.add_route(&[], &[]);
    let watched = |(rule, limit): &(StartRule, u64)| Watched {
        source: Repeated::new(spec.clone(), route, *rule, *limit, 1),
        begun: Vec::new(),
        ended: 0,
    };
    let mut mix = Mix::new(rules.iter().map(watched).collect());
    let mut world = World::new(&topology, 1).unwrap();
    world.run(&mut mix, Instant::from_millis(10_000), &mut NoObserver);
    mix.into_sources()
}

const THINKING: StartRule = StartRule::AfterThinking { pairs: 3, mean: Duration::from_millis(10) };
const POISSON: StartRule = StartRule::Poisson { mean: Duration::from_millis(10) };

#[test]
fn flows_begin_at_the_mean_interval_up_to_the_limit() {
    for (rule, limit, expected) in
        [(THINKING, u64::MAX, 3000.0), (POISSON, u64::MAX, 1000.0), (POISSON, 70, 70.0), (THINKING, 7, 7.0)]
    {
        let watched = &run(&[(rule, limit)])[0];
        let begun = watched.begun.len() as f64;
        // Three standard deviations of a Poisson count.
        let spread = if limit < 100 { 0.0 } else { 3.0 * f64::sqrt(expected) };
        assert!((begun - expected).abs() <= spread, "{rule:?}: {begun}");
        assert_eq!(watched.ended as f64, begun, "{rule:?}");
    }
}

#[test]
fn numbers_name_the_pair_and_the_round() {
    let watched = &run(&[(THINKING, u64::MAX)])[0];
    let mut numbers: Vec<u64> = watched.begun.iter().map(|(_, number)| *number).collect();
    for pair in 0..3 {
        let of_pair = numbers.iter().filter(|n| watched.source.pair(**n) == pair);
        assert!(of_pair.zip(0..).all(|(n, round)| *n == 3 * round + pair as u64));
    }
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), watched.begun.len());
}

#[test]
fn a_source_does_not_change_the_flows_of_another() {
    let alone = run(&[(THINKING, u64::MAX)]);
    let both = run(&[(THINKING, u64::MAX), (POISSON, u64::MAX)]);
    assert_eq!(alone[0].begun, both[0].begun);
    assert!(both[1].begun.len() > 100);
}
