use super::*;
use crate::traffic::Mix;
use crate::traffic::cvec::parse;
use crate::world::{FlowEnd, World};
use crate::{NoObserver, TimerModel};
use recoup_recovery::Mechanisms;
use recoup_tcp::Config;
use recoup_tcp::flow::Workload;
use recoup_units::Offset;

/// Records when connections end, and the bytes that their hosts received.
struct Watched {
    replay: Replay,
    ended: Vec<(u64, Instant, [u64; 2], u64)>,
}

impl Source for Watched {
    fn next_start(&self) -> Option<Instant> {
        self.replay.next_start()
    }

    fn start(&mut self, now: Instant) -> NewFlow<'_> {
        self.replay.start(now)
    }

    fn on_end(&mut self, now: Instant, number: u64, ended: &FlowEnd<'_>) {
        let [client, server] = ended.endpoints.map(|one| one.receiver().next().since(Offset::DATA) - 1);
        let dropped = ended.record.packets_dropped;
        self.ended.push((number, now, [server, client], dropped));
    }
}

fn run(text: &str, scale: f64, shared: Duration) -> Vec<(u64, Instant, [u64; 2], u64)> {
    let config = Config::new(Mechanisms::LINUX_3_17);
    let mut topology = Topology::default();
    let hops = || vec![HopSpec::Delay(shared / 2)];
    let up = vec![topology.add_link("up", hops())];
    let down = vec![topology.add_link("down", hops())];
    let settings = ReplaySettings {
        spec: FlowSpec { client: config, server: config, timers: TimerModel::Exact, workload: Workload::default() },
        shared: Route { up, down },
        shared_rtt: shared,
        scale,
    };
    let replay = Replay::new(&parse(text).unwrap(), settings, &mut topology);
    let watched = Watched { replay, ended: vec![] };
    let mut mix = Mix::new(vec![watched]);
    let mut world = World::new(&topology, 1).unwrap();
    world.run(&mut mix, Instant::from_millis(100_000), &mut NoObserver);
    mix.into_sources().remove(0).ended
}

const EXCHANGES: &str = "SEQ 1000000 2 0 1\nr 100000\n> 300\nt 20000\n< 900\nt 500000\n> 300\nt 0\n< 900\nt 40000\n";

/// The handshake and two exchanges take 2.5 round trips of 100 ms, and the last FIN waits.
#[test]
fn a_connection_has_its_round_trip_time_and_waits() {
    for (scale, shared, begins) in [(1.0, 0, 1000), (0.5, 0, 500), (1.0, 30, 1000)] {
        let ended = run(EXCHANGES, scale, Duration::from_millis(shared));
        let [(0, at, [300_u64..=600, 1800], 0)] = ended[..] else { panic!("{ended:?}") };
        // SYN to request 100 ms, request 50, wait 20, response 50, wait 500, request and response 100, wait 40.
        // Then the FIN and the ACKs of both: within two round trips, as TIME-WAIT is not waited for.
        let took = at.as_millis_f64() - f64::from(begins);
        assert!((860.0..1070.0).contains(&took), "{took}");
    }
}

#[test]
fn connections_begin_in_order_and_lose_what_their_vectors_say() {
    let text = "SEQ 9000000 1 0 1\nr 10000\nl 0 0.2\n> 100\nt 0\n< 300000\n\
        SEQ 1000 1 0 2\nr 10000\nl 0 0\n> 100\nt 0\n< 300000\n";
    let ended = run(text, 1.0, Duration::ZERO);
    let dropped: Vec<u64> = ended.iter().map(|(_, _, _, dropped)| *dropped).collect();
    assert_eq!(dropped[0], 0);
    // 208 segments, of which a fifth is lost at each transmission.
    assert!((25..100).contains(&dropped[1]), "{dropped:?}");
}

#[test]
fn windows_and_segment_sizes_are_those_of_the_vector() {
    let time = |window: u32| {
        let text = format!("SEQ 0 1 0 1\nm 500 500\nw {window} 65535\nr 100000\n> 100\nt 0\n< 100000\n");
        run(&text, 1.0, Duration::ZERO)[0].1
    };
    // 100 kB take at least twelve round trips with a window of 8 kB.
    assert!(time(8_000).as_millis_f64() > 1200.0, "{}", time(8_000).as_millis_f64());
    assert!(time(65_535).as_millis_f64() < 800.0, "{}", time(65_535).as_millis_f64());
}

#[test]
fn connections_with_equal_networks_share_their_own_links() {
    let mut topology = Topology::default();
    let vectors = parse(&EXCHANGES.repeat(50)).unwrap();
    let config = Config::new(Mechanisms::LINUX_3_17);
    let settings = ReplaySettings {
        spec: FlowSpec { client: config, server: config, timers: TimerModel::Exact, workload: Workload::default() },
        shared: Route::default(),
        shared_rtt: Duration::ZERO,
        scale: 1.0,
    };
    Replay::new(&vectors, settings, &mut topology);
    assert_eq!((topology.links.len(), topology.routes.len()), (2, 1));
}
