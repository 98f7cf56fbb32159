//! A thousand connections in 32 MB, as on a phone: all of the memory that the process allocates counts.

use cap::Cap;
use recoup_stack::{
    Config, Driver, TcpOptions,
    device::{Parking, Properties, pair},
    host::{Host, Read, Secret},
};
use std::{alloc::System, net::SocketAddr, time::Duration};

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

const CONNECTIONS: usize = 1000;
const MEMORY: usize = 32_000_000;

/// Sends to connections whose applications do not read at first, then do. In one thread, so that what is allocated is
/// what both hosts and the packets between them take.
#[test]
fn a_thousand_connections_take_no_more_than_they_may() {
    let (first, second) = pair(Properties { mtu: 1500, offloads: false }, 64);
    let host = |address: &str, memory| {
        let mut config = Config::new([address.parse().unwrap()]);
        config.memory = memory;
        config.tcp = TcpOptions { backlog: CONNECTIONS, ..TcpOptions::default() };
        Host::new(config, 1500, Secret::from_key([7; 16]))
    };
    let at: SocketAddr = "192.0.2.2:80".parse().unwrap();
    let mut client = Driver::new(host("192.0.2.1", 1 << 30), Parking::new(first));
    // Packets that wait, hash tables and queues are beside the memory of connections.
    let mut server = Driver::new(host("192.0.2.2", MEMORY / 8 * 7), Parking::new(second));
    let listener = server.host.listen(at).unwrap();
    let turn = |client: &mut Driver<_>, server: &mut Driver<_>| {
        client.turn(Duration::ZERO).unwrap();
        while client.host.next_event().is_some() {}
        let before = ALLOCATED.allocated();
        server.turn(Duration::ZERO).unwrap();
        while server.host.next_event().is_some() {}
        ALLOCATED.allocated() as i64 - before as i64
    };
    // What the server allocates in its turns, and in its reads.
    let (mut taken, mut most) = (0, 0);
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    while theirs.len() < CONNECTIONS {
        if ours.len() < CONNECTIONS {
            let now = client.now();
            ours.push(client.host.connect(now, at).unwrap());
        }
        taken += turn(&mut client, &mut server);
        while let Some(id) = server.host.accept(listener) {
            theirs.push(id);
        }
        most = most.max(taken);
    }
    let bytes = vec![7; 50_000];
    for round in 0..4000 {
        for id in ours.iter().filter(|_| round % 50 == 0) {
            let now = client.now();
            client.host.write(now, *id, &bytes).unwrap();
        }
        taken += turn(&mut client, &mut server);
        most = most.max(taken);
    }
    assert!(most as usize > MEMORY / 3, "{most} bytes: the readers hold little");
    assert!((most as usize) < MEMORY, "{most} bytes");
    // Each connection still brings its bytes.
    let mut received = vec![0; CONNECTIONS];
    let mut into = vec![0; 8000];
    for _ in 0..20_000 {
        let before = ALLOCATED.allocated();
        for (id, received) in theirs.iter().zip(&mut received) {
            let now = server.now();
            while let Read::Bytes(count) = server.host.read(now, *id, &mut into).unwrap() {
                *received += count;
            }
        }
        taken += ALLOCATED.allocated() as i64 - before as i64;
        taken += turn(&mut client, &mut server);
        most = most.max(taken);
        if received.iter().all(|count| *count >= 50_000) {
            break;
        }
    }
    let late = received.iter().filter(|count| **count < 50_000).count();
    assert_eq!(late, 0, "connections without their bytes");
    assert!((most as usize) < MEMORY, "{most} bytes");
}
