//! Where sockets are: addresses, ports, listeners.

use super::*;

#[test]
fn a_host_of_every_address_needs_to_know_none() {
    let mut pair = Pair::new();
    let config = Config { every_address: true, ..Config::new([]) };
    pair.server = Host::new(config, 1500, Secret::from_key([7; 16]));
    pair.server.listen("198.51.100.7:80".parse().unwrap()).unwrap();
    let there = "198.51.100.7:80".parse().unwrap();
    let ours = pair.client.connect(pair.now, there).unwrap();
    pair.run(100);
    assert_eq!(pair.client.next_event().map(|event| (event.connection, event.opened)), Some((ours, true)));
    let theirs = pair.server.next_event().unwrap().connection;
    assert_eq!(pair.server.path(theirs).unwrap().src, there);
    // It may connect from any, too, but has none to choose by itself.
    let back = "192.0.2.1:9".parse().unwrap();
    assert!(pair.server.connect_with(pair.now, "203.0.113.5:0".parse().unwrap(), back, None).is_ok());
    assert_eq!(pair.server.connect(pair.now, back), Err(HostError::Unreachable(back)));
    assert!(matches!(pair.client.listen(there), Err(HostError::NotOurs(_))));
}

#[test]
fn a_listener_at_port_0_gets_a_free_port() {
    let mut host = host(SERVER);
    let anywhere = "0.0.0.0:0".parse().unwrap();
    let ports = [(); 2].map(|()| {
        let id = host.listen(anywhere).unwrap();
        host.listens_at(id).unwrap().port()
    });
    assert!(ports.iter().all(|port| *port >= 32_768) && ports[0] != ports[1], "{ports:?}");
}

#[test]
fn options_of_a_listener_hold_for_later_connections() {
    let mut pair = Pair::new();
    pair.server = host(SERVER);
    let listener = pair.server.listen("192.0.2.2:80".parse().unwrap()).unwrap();
    let mss_of = |pair: &mut Pair| {
        let (ours, _) = pair.open();
        pair.client.info(pair.now, ours).unwrap().snd_mss
    };
    assert_eq!(mss_of(&mut pair), 1448);
    let mut options = pair.server.config().tcp;
    options.max_segment = Some(1000);
    options.backlog = 2;
    pair.server.set_listener_options(listener, &options).unwrap();
    assert_eq!(mss_of(&mut pair), 988);
    assert_eq!(pair.server.acceptable(listener), 2);
    // Two wait to be accepted, which is as many as may.
    pair.client.connect(pair.now, "192.0.2.2:80".parse().unwrap()).unwrap();
    pair.run(100);
    assert_eq!((pair.server.acceptable(listener), pair.server.stats().syns_dropped), (2, 1));
    while let Some(connection) = pair.server.accept(listener) {
        pair.server.abort(connection).unwrap();
    }
    assert_eq!(pair.server.acceptable(listener), 0);
    pair.server.stop_listening(listener);
    assert_eq!(pair.server.set_listener_options(listener, &options), Err(HostError::Unknown));
}

#[test]
fn a_released_connection_does_not_wait_for_ever_for_a_closed_window() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    let mut written = 0;
    for _ in 0..200 {
        written += pair.server.write(pair.now, theirs, &[7; 100_000]).unwrap();
        pair.run(100);
    }
    assert!(written > 0 && pair.server.unacknowledged(theirs) > Some(0));
    pair.server.release(pair.now, theirs).unwrap();
    // The peer answers each probe and never reads.
    pair.run(2 * 3_600_000);
    assert!(pair.client.state(ours).is_some());
    assert_eq!(pair.server.connections(), 0);
}

#[test]
fn a_refusal_needs_no_place() {
    let mut pair = Pair::new();
    let config = Config { most_connections: 1, ..Config::new([SERVER.parse().unwrap()]) };
    pair.server = Host::new(config, 1500, Secret::from_key([7; 16]));
    let options = crate::TcpOptions { decide_first: true, ..pair.server.config().tcp };
    let listener = pair.server.listen_with("192.0.2.2:80".parse().unwrap(), &options).unwrap();
    let ask = |pair: &mut Pair| {
        let ours = pair.client.connect(pair.now, "192.0.2.2:80".parse().unwrap()).unwrap();
        pair.run(100);
        (ours, pair.server.next_incoming(listener).unwrap().path)
    };
    let (_, path) = ask(&mut pair);
    pair.server.admit(pair.now, &path, &options).unwrap();
    let (ours, path) = ask(&mut pair);
    pair.server.refuse(pair.now, &path).unwrap();
    pair.run(100);
    assert_eq!(pair.client.state(ours), Some(recoup_tcp::State::Closed(Closed::ByReset)));
    assert_eq!(pair.server.connections(), 1);
}

#[test]
fn listeners_that_ask_do_not_pile_up() {
    let mut pair = Pair::new();
    pair.server = host(SERVER);
    let options = crate::TcpOptions { decide_first: true, ..pair.server.config().tcp };
    let listener = pair.server.listen_with("192.0.2.2:80".parse().unwrap(), &options).unwrap();
    for _ in 0..10 {
        pair.client.connect(pair.now, "192.0.2.2:80".parse().unwrap()).unwrap();
        pair.run(100);
        let path = pair.server.next_incoming(listener).unwrap().path;
        pair.server.ignore(&path);
    }
    assert_eq!(std::iter::from_fn(|| pair.server.next_asking()).count(), 1);
}
