//! A port of the host's own address, beside the kernel's server on it.

use crate::hosts::{CLIENT, CLIENT_V6, Client, Hosts, SERVER, SERVER_V6, Server, ip, kernel_server, link, run};
use recoup_net::{PacketRing, PacketSocketOptions};
use recoup_proxy::inlet::{Inlet, InletOptions, source_address};
use recoup_stack::TcpStream;
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, encode};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const BYTES: usize = 50 << 20;

/// The places of both IP versions.
const PLACES: [&str; 2] = ["0.0.0.0:80", "[::]:80"];

#[test]
fn the_stack_serves_other_hosts_and_the_kernel_its_own() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "kernel", "[::]:80");
    let mut before: Vec<_> = [format!("{SERVER}:80"), format!("[{SERVER_V6}]:80")]
        .iter()
        .map(|to| Client::connect(&hosts.client, to).unwrap())
        .collect();
    let Some(server) = Server::new(&hosts.server, "stack", &PLACES) else { return };
    for to in [format!("{SERVER}:80"), format!("[{SERVER_V6}]:80")] {
        let client = Client::connect(&hosts.client, &to).unwrap();
        assert_eq!(client.server, "stack");
        client.exchange(BYTES);
        // From the host itself.
        let client = Client::connect(&hosts.server, &to).unwrap();
        assert_eq!(client.server, "kernel");
        client.exchange(1 << 20);
    }
    // Connections that the kernel had before go on.
    for client in &mut before {
        assert_eq!(client.server, "kernel");
        client.asks().unwrap();
    }
    let counts = server.inlet(|inlet| inlet.counts().unwrap());
    assert!(counts.to_stack > 100 && counts.from_stack > 100, "{counts:?}");
    assert_eq!((counts.without_route, counts.not_taken, counts.crowded), (0, 0, 0));
    // Super-packets passed both ways: in single packets, there would be ten times as many.
    let packets = 2 * BYTES as u64 / 1400;
    assert!(counts.to_stack < packets && counts.from_stack < packets, "{counts:?}");
    drop(server);
    for to in [format!("{SERVER}:80"), format!("[{SERVER_V6}]:80")] {
        assert_eq!(Client::connect(&hosts.client, &to).unwrap().server, "kernel");
    }
    for client in before {
        client.exchange(1 << 20);
    }
}

#[test]
fn two_queues_serve_without_offloads_at_the_interface() {
    let Some(hosts) = Hosts::new() else { return };
    for (host, name) in [(&hosts.server, "outside"), (&hosts.client, "far")] {
        run(host, "ethtool", &format!("-K {name} tso off gso off gro off tx off rx off sg off"));
    }
    let options = InletOptions { queues: 2, ..InletOptions::default() };
    let Some(_server) = Server::with(&hosts.server, "stack", &PLACES, options) else { return };
    for _ in 0..4 {
        for to in [format!("{SERVER}:80"), format!("[{SERVER_V6}]:80")] {
            Client::connect(&hosts.client, &to).unwrap().exchange(1 << 20);
        }
    }
}

#[test]
fn what_was_changed_is_said_and_undone() {
    let Some(hosts) = Hosts::new() else { return };
    let links = |host| run(host, "ip", "-br link");
    let before = links(&hosts.server);
    let Some(server) = Server::new(&hosts.server, "stack", &["10.0.0.1:80"]) else { return };
    let changes = server.inlet(|inlet| inlet.changes().join("\n"));
    assert!(changes.contains("made the TUN device recoup") && changes.contains("MTU 1500"), "{changes}");
    assert!(changes.contains("TCP to 10.0.0.1:80 that arrives at outside"), "{changes}");
    assert_eq!(changes.lines().count(), 2);
    assert_ne!(links(&hosts.server), before);
    drop(server);
    assert_eq!(links(&hosts.server), before);
    assert_eq!(
        Client::connect(&hosts.client, "10.0.0.1:80").err().unwrap().kind(),
        std::io::ErrorKind::ConnectionRefused
    );
}

#[test]
fn a_place_that_is_not_the_hosts_is_refused_in_one_line() {
    let Some(hosts) = Hosts::new() else { return };
    let open = |host: &recoup_net::Namespace, at: &'static [&str], interfaces: &'static [&str]| {
        let job = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _guard = runtime.enter();
            let at: Vec<SocketAddr> = at.iter().map(|at| at.parse().unwrap()).collect();
            let interfaces = interfaces.iter().map(ToString::to_string).collect();
            Inlet::open(&at, &InletOptions { interfaces, ..InletOptions::default() }).err().map(|why| why.to_string())
        };
        host.run(job).unwrap().unwrap()
    };
    for (at, interfaces, expected) in [
        (&["10.0.0.1:80", "10.0.0.9:80"][..], &[][..], "10.0.0.1 is this host's address, 10.0.0.9 is not"),
        (&["127.0.0.1:80"], &[], "address 127.0.0.1: expected"),
        (&["10.0.0.1:80"], &["outsid"], "no interface outsid: expected lo, outside"),
        (&["10.0.0.8:80", "10.0.0.9:80"], &[], "10.0.0.8 and 10.0.0.9 are not this host's"),
    ] {
        let why = open(&hosts.server, at, interfaces);
        assert!(why.starts_with(expected) && !why.contains('\n'), "{why}");
    }
}

#[test]
fn ports_can_be_taken_and_released_meanwhile() {
    let Some(hosts) = Hosts::new() else { return };
    let Some(server) = Server::new(&hosts.server, "stack", &["10.0.0.1:80", "10.0.0.1:81"]) else { return };
    let refused = |port: u16| {
        let client = Client::connect(&hosts.client, &format!("{SERVER}:{port}"));
        client.err().map(|why| why.kind()) == Some(std::io::ErrorKind::ConnectionRefused)
    };
    let mut client = Client::connect(&hosts.client, "10.0.0.1:81").unwrap();
    server.inlet(|inlet| inlet.drain("10.0.0.1:81".parse().unwrap())).unwrap();
    assert!(refused(81) && !refused(80));
    client.asks().unwrap();
    server.inlet(|inlet| inlet.take("0.0.0.0:81".parse().unwrap())).unwrap();
    assert!(!refused(81));
    server.inlet(|inlet| inlet.release("0.0.0.0:81".parse().unwrap())).unwrap();
    assert!(refused(81));
    assert_eq!(client.asks().unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    let why = server.inlet(|inlet| inlet.take("10.0.0.7:81".parse().unwrap())).unwrap_err().to_string();
    assert_eq!(why, "no address 10.0.0.7 of the stack: expected 10.0.0.1");
}

/// A stack that connects from the host's own address, to a server of the kernel's on another host.
#[test]
fn a_stack_connects_from_a_port_that_the_kernel_reserves() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.client, "far", "[::]:80");
    let to: [SocketAddr; 2] = [format!("{CLIENT}:80"), format!("[{CLIENT_V6}]:80")].map(|to| to.parse().unwrap());
    let job = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for to in &to {
                let source = source_address(*to).unwrap();
                let inlet = Inlet::open(&[(source, 0).into()], &InletOptions::default());
                let inlet = match inlet {
                    Err(why) if why.to_string().contains("CAP_") => return recoup_testing::skip(why),
                    inlet => inlet.unwrap(),
                };
                inlet.start().unwrap();
                let place = inlet.places()[0];
                assert!(place.ip() == source && place.port() != 0);
                assert!(std::net::TcpListener::bind(place).is_err());
                let options = Default::default();
                let connect = TcpStream::connect_with(&inlet.stacks()[0], place, *to, &options);
                let mut stream = tokio::time::timeout(Duration::from_secs(10), connect).await.unwrap().unwrap();
                stream.write_all(b"hello").await.unwrap();
                let mut received = [0; 9];
                stream.read_exact(&mut received).await.unwrap();
                assert_eq!(&received, b"far\nhello");
            }
        });
    };
    hosts.server.run(job).unwrap();
}

/// 200,000 SYNs from addresses that do not exist.
#[test]
fn clients_connect_and_connections_go_on_under_a_flood_of_syns() {
    const FLOOD: u32 = 200_000;
    let Some(hosts) = Hosts::new() else { return };
    let Some(server) = Server::new(&hosts.server, "stack", &["10.0.0.1:80"]) else { return };
    // Answers to the flood have a way.
    ip(&hosts.server, "route add 11.0.0.0/8 via 10.0.0.2");
    let mut client = Client::connect(&hosts.client, "10.0.0.1:80").unwrap();
    let hardware = link(&hosts.server, "outside")["address"].as_str().unwrap().to_owned();
    let hardware: Vec<u8> = hardware.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let ring = hosts.client.run(|| PacketRing::open(Some("far"), &PacketSocketOptions::default())).unwrap().unwrap();
    let flood = std::thread::Builder::new().spawn(move || {
        let syn = Segment {
            seq: SeqNumber(1),
            ack: SeqNumber(0),
            payload_len: 0,
            window: 500,
            flags: Flags::SYN,
            options: Options::NONE,
        };
        for number in 0..FLOOD {
            let source = std::net::Ipv4Addr::from_bits(0x0b00_0001 + number);
            let ends = Endpoints { src: (source, 4000).into(), dst: "10.0.0.1:80".parse().unwrap() };
            let mut frame = [&hardware[..], &[2, 0, 0, 0, 0, 9, 8, 0]].concat();
            encode(&syn, &ends, 1, Payload::Fill(0), &mut frame).unwrap();
            // A full queue drops one.
            let _ = ring.send(&frame);
        }
    });
    let flood = flood.unwrap();
    let mut rounds = 0;
    while !flood.is_finished() || rounds < 5 {
        client.asks().unwrap();
        Client::connect_and_ask(&hosts.client, "10.0.0.1:80").unwrap().exchange(10_000);
        rounds += 1;
    }
    flood.join().unwrap();
    let counts = server.inlet(|inlet| inlet.counts().unwrap());
    assert!(counts.to_stack > u64::from(FLOOD) / 2, "{counts:?}");
    client.exchange(1 << 20);
}
