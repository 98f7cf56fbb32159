//! The link's MTU changes.

use super::*;
use recoup_tcp::MtuProbing;

#[test]
fn a_search_for_the_path_mtu_heeds_a_link_that_takes_less_than_it_would_probe_for() {
    let host = |address: &str| {
        let mut config = Config::new([address.parse().unwrap()]);
        config.tcp.endpoint.mtu_probing = MtuProbing::Always;
        Host::new(config, 9000, Secret::from_key([1; 16]))
    };
    let longest = Rc::new(Cell::new(0));
    let (seen, mut pair) = (longest.clone(), Pair::new());
    (pair.client, pair.server) = (host(CLIENT), host(SERVER));
    pair.server.listen("192.0.2.2:80".parse().unwrap()).unwrap();
    pair.lost = Box::new(move |_, packet| {
        seen.set(seen.get().max(packet.len()));
        false
    });
    let (ours, theirs) = pair.open();
    // Its segments are smaller than the new MTU for now.
    pair.client.set_mtu(pair.now, 1500);
    let bytes = stream(1_000_000);
    assert!(pair.transfer(ours, theirs, &bytes) == bytes);
    assert_eq!(longest.get(), 1500, "bytes of the longest packet");
}
