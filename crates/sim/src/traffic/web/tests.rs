use super::*;
use crate::traffic::Mix;
use crate::world::{Ended, Topology, World};
use crate::{NoObserver, TimerModel};
use recoup_path::{HopSpec, Queue};
use recoup_recovery::Mechanisms;
use recoup_tcp::Config;
use recoup_tcp::flow::Workload;
use recoup_units::BitRate;

/// The round-trip time of the path.
const RTT: Duration = Duration::from_millis(100);

/// The payload of a full segment.
const MSS: u64 = 1448;

/// A page of these objects: bytes and subdomain.
fn page(objects: &[(u64, usize)]) -> Page {
    let object = |&(bytes, subdomain): &(u64, usize)| PageObject { bytes, subdomain };
    Page { name: "page".into(), objects: objects.iter().map(object).collect() }
}

/// A download over a path without losses, whose way down has this rate in bit/s.
fn download(page: &Page, rate: Option<u64>) -> (Browser, Ended) {
    download_watched(page, rate, &mut NoObserver)
}

/// A download under an observer.
fn download_watched(page: &Page, rate: Option<u64>, observer: &mut impl crate::Observer) -> (Browser, Ended) {
    let config = Config::new(Mechanisms::LINUX_3_17);
    let spec = FlowSpec { client: config, server: config, timers: TimerModel::Exact, workload: Workload::default() };
    let mut topology = Topology::default();
    let up = topology.add_link("up", vec![HopSpec::Delay(RTT / 2)]);
    let mut hops = vec![HopSpec::Delay(RTT / 2)];
    if let Some(rate) = rate.and_then(BitRate::from_bits_per_second) {
        let queue = Queue::Unlimited;
        hops.insert(0, HopSpec::Rate { rate, queue });
    }
    let down = topology.add_link("down", hops);
    let route = topology.add_route(&[up], &[down]);
    let mut mix = Mix::new(vec![Browser::new(page, spec, route)]);
    let mut world = World::new(&topology, 1).unwrap();
    let ended = world.run(&mut mix, Instant::from_millis(600_000), observer);
    (mix.into_sources().remove(0), ended)
}

/// When each object was requested and how long it took, in ms, by object; and its connection.
fn times(browser: &Browser) -> Vec<(f64, f64, u64)> {
    let mut fetches = browser.fetches();
    fetches.sort_by_key(|fetch| fetch.object);
    let times = fetches.iter().map(|fetch| {
        let began = fetch.began.since(Instant::ZERO);
        let took = fetch.completion_time().expect("it arrived");
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        (ms(began), ms(took), fetch.connection)
    });
    times.collect()
}

#[test]
fn an_object_takes_a_round_trip_and_another_one_for_the_handshake() {
    // The document, then eight objects on six connections, each within an initial window: the seventh and the eighth
    // follow on the connections that are free first.
    let page = page(&[(MSS, 0); 9]);
    let (browser, ended) = download(&page, None);
    assert!(browser.is_complete());
    assert_eq!(ended.open, 0);
    let mut expected = vec![(0.0, 200.0, 0), (200.0, 100.0, 0)];
    expected.extend((1..6).map(|connection| (200.0, 200.0, connection)));
    expected.extend([(300.0, 100.0, 0), (400.0, 100.0, 0)]);
    let mut found = times(&browser);
    // At 400 ms all six connections are free at once.
    found[8].2 = 0;
    assert_eq!(found, expected);
}

#[test]
fn an_object_larger_than_the_initial_window_takes_as_many_round_trips_as_slow_start() {
    // Ten segments leave in the first round trip. Their ACKs, one for every second segment at least, let more leave
    // than the 15 that are left.
    for (segments, round_trips) in [(1, 2), (10, 2), (11, 3), (25, 3)] {
        let (browser, _) = download(&page(&[(segments * MSS, 0)]), None);
        let [(_, took, _)] = times(&browser)[..] else { panic!("one object") };
        assert_eq!(took, 100.0 * f64::from(round_trips), "{segments} segments");
    }
}

#[test]
fn connections_share_the_rate() {
    // At 8 Mbit/s a full segment of 1500 bytes takes 1.5 ms, and a SYN-ACK of 60 bytes 0.06 ms.
    const SEGMENT: f64 = 1.5;
    const SYN_ACK: f64 = 0.06;
    let (browser, _) = download(&page(&[(MSS, 0); 7]), Some(8_000_000));
    let times = times(&browser);
    let (_, document, _) = times[0];
    assert!((document - (200.0 + SYN_ACK + SEGMENT)).abs() < 1e-6);
    let (_, first, _) = times[1];
    assert!((first - (100.0 + SEGMENT)).abs() < 1e-6);
    for (place, (_, took, _)) in (1..).zip(&times[2..]) {
        // The five SYN-ACKs wait behind the first object. The responses to the five requests wait for each other.
        let expected = 200.0 + SEGMENT + SYN_ACK + f64::from(place) * SEGMENT;
        assert!((took - expected).abs() < 1e-6, "{place}: {took} {expected}");
    }
}

#[test]
fn each_subdomain_has_six_connections() {
    let objects: Vec<(u64, usize)> = (0..31).map(|i| (5000, i % 3)).collect();
    let (browser, _) = download(&page(&objects), None);
    assert!(browser.is_complete());
    let fetches = browser.fetches();
    let mut used: Vec<(usize, u64)> = fetches.iter().map(|fetch| (objects[fetch.object].1, fetch.connection)).collect();
    used.sort_unstable();
    used.dedup();
    for subdomain in 0..3 {
        let of = used.iter().filter(|(one, _)| *one == subdomain);
        assert_eq!(of.count(), CONNECTIONS, "{used:?}");
    }
    assert_eq!(used.len(), 18, "no connection has two subdomains");
}

#[test]
fn no_more_connections_than_objects_are_opened() {
    for (objects, connections) in [(1, 1), (2, 1), (4, 3), (7, 6), (20, 6)] {
        let (browser, ended) = download(&page(&vec![(100, 0); objects]), None);
        let fetches = browser.fetches();
        let highest = fetches.iter().map(|fetch| fetch.connection).max();
        assert_eq!(highest, Some(connections - 1), "{objects} objects");
        assert_eq!((fetches.len(), ended.open), (objects, 0));
        assert!(browser.is_complete());
    }
}

#[test]
fn a_connection_without_further_objects_is_closed_at_once() {
    // A small document's last segment is alone, so that its ACK would be delayed by 200 ms. The FIN carries it.
    #[derive(Default)]
    struct Fins(Vec<(f64, recoup_units::Direction)>);
    impl crate::Observer for Fins {
        const WANTS_EVENTS: bool = false;

        fn on_packet(
            &mut self,
            now: Instant,
            point: crate::Point,
            direction: recoup_units::Direction,
            packet: &crate::Packet,
        ) {
            let flags = packet.segment.flags;
            if point == crate::Point::Sent && flags.contains(recoup_wire::Flags::FIN) {
                self.0.push((now.since(Instant::ZERO).as_secs_f64() * 1e3, direction));
            }
        }
    }
    let page = page(&[(MSS, 0)]);
    let mut fins = Fins::default();
    let (browser, ended) = download_watched(&page, None, &mut fins);
    assert!(browser.is_complete());
    assert_eq!(ended.open, 0);
    use recoup_units::Direction::{Down, Up};
    assert_eq!(fins.0, [(200.0, Up), (250.0, Down)]);
}

#[test]
fn fetches_say_where_their_bytes_are() {
    let objects: Vec<(u64, usize)> = (1..20).map(|i| (i * 700, 0)).collect();
    let (browser, _) = download(&page(&objects), None);
    let mut ends = [0; CONNECTIONS];
    for fetch in browser.fetches() {
        let end = &mut ends[fetch.connection as usize];
        assert_eq!(fetch.offset, *end);
        *end += objects[fetch.object].0;
    }
    assert_eq!(ends.iter().sum::<u64>(), page(&objects).bytes());
}
