//! UDP and echoes between two hosts, and in floods.

use super::*;
use recoup_wire::{IcmpMessage, IpFields, QuotedHeader, decode_icmp, decode_udp, encode_icmp, encode_udp, quotable};

pub(super) fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub(super) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A UDP packet to the server.
pub(super) fn udp(from: &str, to: &str, bytes: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    encode_udp(&Endpoints { src: at(from), dst: at(to) }, IpFields::from(7).fragmentable(), bytes, &mut packet)
        .unwrap();
    packet
}

/// All packets with which a host answers one.
pub(super) fn packets(host: &mut Host, now: Instant, packet: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut sink = |packet: &[u8]| out.push(packet.to_vec());
    host.on_packet(now, packet, &mut sink);
    while host.poll_transmit(now, &mut sink) {}
    out
}

pub(super) fn receive(host: &mut Host, id: DatagramId) -> Option<(SocketAddr, Vec<u8>)> {
    host.udp_receive(id).unwrap().map(|datagram| (datagram.source, datagram.bytes))
}

/// Two hosts with both IP versions, and a UDP socket of each.
pub(super) fn pair(version: usize) -> (Pair, DatagramId, DatagramId, SocketAddr, SocketAddr) {
    let mut pair = Pair::new();
    for (host, addresses) in [(&mut pair.client, [CLIENT, "2001:db8::1"]), (&mut pair.server, [SERVER, "2001:db8::2"])]
    {
        host.config.addresses = addresses.iter().map(|text| ip(text)).collect();
    }
    let client = [at("0.0.0.0:0"), at("[::]:0")][version];
    let server = [at("192.0.2.2:53"), at("[2001:db8::2]:53")][version];
    let ours = pair.client.udp_bind(client).unwrap();
    let theirs = pair.server.udp_bind(server).unwrap();
    let port = pair.client.udp_local(ours).unwrap().unwrap().port();
    let client = SocketAddr::new([ip(CLIENT), ip("2001:db8::1")][version], port);
    (pair, ours, theirs, client, server)
}

#[test]
fn datagrams_go_there_and_back_however_long() {
    for version in [0, 1] {
        let (mut pair, ours, theirs, client, server) = pair(version);
        for len in [0, 1, 1000, 1472, 1473, 5000, 65_507] {
            let bytes = stream(len);
            pair.client.udp_send(ours, None, Some(server), &bytes).unwrap();
            assert!(pair.client.has_work());
            pair.run(20);
            assert_eq!(pair.server.next_readable_datagram(), Some(theirs));
            assert_eq!(pair.server.next_readable_datagram(), None);
            let datagram = pair.server.udp_receive(theirs).unwrap().unwrap();
            assert_eq!((datagram.source, datagram.destination), (client, server));
            assert!(datagram.bytes == bytes, "{len} bytes");
            pair.server.udp_send(theirs, None, Some(datagram.source), &bytes).unwrap();
            pair.run(20);
            assert!(receive(&mut pair.client, ours) == Some((server, bytes)));
            assert_eq!(pair.client.udp_receive(ours), Ok(None));
        }
        let most = [65_507, 65_527][version];
        assert!(pair.client.udp_send(ours, None, Some(server), &vec![0; most]).is_ok());
        let error = pair.client.udp_send(ours, None, Some(server), &vec![0; most + 1]).unwrap_err();
        assert!(matches!(error, HostError::TooLong { .. }), "{error}");
        assert_eq!(pair.client.udp_send(ours, None, None, b"x"), Err(HostError::NotConnected));
        for nowhere in [at("192.0.2.255:0"), at("224.0.0.1:53"), at("[ff02::1]:53"), at("127.0.0.1:53")] {
            let error = pair.client.udp_send(ours, None, Some(nowhere), b"x");
            assert_eq!(error, Err(HostError::Unreachable(nowhere)));
        }
    }
}

#[test]
fn the_most_specific_socket_takes_a_datagram() {
    let mut server = host(SERVER);
    server.config.addresses.push(ip("192.0.2.3"));
    let every = server.udp_bind(at("0.0.0.0:53")).unwrap();
    let one = server.udp_bind(at("192.0.2.2:54")).unwrap();
    let connected = server.udp_bind(at("0.0.0.0:55")).unwrap();
    server.udp_connect(connected, at("192.0.2.1:9")).unwrap();
    assert_eq!(server.udp_local(connected), Ok(Some(at("192.0.2.2:55"))));
    assert_eq!(server.udp_peer(connected), Ok(Some(at("192.0.2.1:9"))));
    let any = server.udp_bind_any().unwrap();
    let cases = [
        ("192.0.2.1:9", "192.0.2.2:53", every),
        ("192.0.2.1:9", "192.0.2.3:53", every),
        ("192.0.2.1:9", "192.0.2.2:54", one),
        ("192.0.2.1:9", "192.0.2.3:54", any),
        ("192.0.2.1:9", "192.0.2.2:55", connected),
        ("192.0.2.1:10", "192.0.2.2:55", any),
        ("192.0.2.1:9", "192.0.2.3:55", any),
        ("192.0.2.1:9", "198.51.100.7:53", any),
        ("[2001:db8::1]:9", "[2001:db8::7]:53", any),
        ("192.0.2.1:9", "239.1.2.3:53", any),
    ];
    for (from, to, expected) in cases {
        assert!(packets(&mut server, Instant::ZERO, &udp(from, to, b"x")).is_empty());
        assert_eq!(server.next_readable_datagram(), Some(expected), "{from} > {to}");
        let datagram = server.udp_receive(expected).unwrap().unwrap();
        assert_eq!((datagram.source, datagram.destination), (at(from), at(to)));
    }
    // The socket that takes any sends from anywhere.
    server.udp_send(any, Some(at("198.51.100.7:53")), Some(at("192.0.2.1:9")), b"answer").unwrap();
    let mut sent = Vec::new();
    server.poll_transmit(Instant::ZERO, &mut |packet: &[u8]| sent.push(decode_udp(packet).unwrap().endpoints));
    assert_eq!(sent, [Endpoints { src: at("198.51.100.7:53"), dst: at("192.0.2.1:9") }]);
    assert_eq!(server.udp_send(any, None, Some(at("192.0.2.1:9")), b""), Err(HostError::NotConnected));
    let own = ip("198.51.100.7");
    assert_eq!(server.udp_send(one, Some(at("198.51.100.7:1")), None, b""), Err(HostError::NotConnected));
    let to = Some(at("192.0.2.1:9"));
    assert_eq!(server.udp_send(one, Some(at("198.51.100.7:1")), to, b""), Err(HostError::NotOurs(own)));
}

#[test]
fn a_place_is_taken_once_and_free_again() {
    let mut server = host(SERVER);
    server.config.addresses.push(ip("192.0.2.3"));
    let one = server.udp_bind(at("192.0.2.2:53")).unwrap();
    let other = server.udp_bind(at("192.0.2.3:53")).unwrap();
    assert_eq!(server.udp_bind(at("192.0.2.2:53")), Err(HostError::InUse(at("192.0.2.2:53"))));
    assert_eq!(server.udp_bind(at("0.0.0.0:53")), Err(HostError::InUse(at("0.0.0.0:53"))));
    assert!(server.udp_bind(at("[::]:53")).is_ok());
    assert_eq!(server.udp_bind(at("192.0.2.9:53")), Err(HostError::NotOurs(ip("192.0.2.9"))));
    server.udp_connect(one, at("192.0.2.1:9")).unwrap();
    server.udp_connect(one, at("192.0.2.1:10")).unwrap();
    assert_eq!(server.udp_bind(at("192.0.2.2:53")), Err(HostError::InUse(at("192.0.2.2:53"))));
    server.udp_close(one).unwrap();
    server.udp_close(other).unwrap();
    assert_eq!(server.udp_close(one), Err(HostError::Unknown));
    let again = server.udp_bind(at("0.0.0.0:53")).unwrap();
    assert_ne!(again, one);
    assert_eq!(server.udp_receive(one), Err(HostError::Unknown));
    packets(&mut server, Instant::ZERO, &udp("192.0.2.1:10", "192.0.2.2:53", b"x"));
    assert_eq!(receive(&mut server, again).unwrap().1, b"x");
    let any = server.udp_bind_any().unwrap();
    assert_eq!(server.udp_bind_any(), Err(HostError::AnyInUse));
    server.udp_close(any).unwrap();
    assert!(server.udp_bind_any().is_ok());
    // Every ephemeral port is found, and then none.
    let count = (0..30_000).take_while(|_| server.udp_bind(at("192.0.2.2:0")).is_ok()).count();
    assert_eq!(count, 28_232);
}

#[test]
fn queues_are_bounded_and_the_newest_is_dropped() {
    let mut server = host(SERVER);
    let id = server.udp_bind(at("192.0.2.2:53")).unwrap();
    let other = server.udp_bind(at("192.0.2.2:54")).unwrap();
    for n in 0..50_000_u32 {
        packets(&mut server, Instant::ZERO, &udp("192.0.2.1:9", "192.0.2.2:53", &n.to_be_bytes()));
    }
    packets(&mut server, Instant::ZERO, &udp("192.0.2.1:9", "192.0.2.2:54", b"x"));
    let dropped = server.dropped_datagrams(id).unwrap();
    assert_eq!((dropped, server.stats().datagrams_dropped), (50_000 - 1298, dropped));
    let read: Vec<_> = std::iter::from_fn(|| receive(&mut server, id)).collect();
    let expected: Vec<Vec<u8>> = (0..1298_u32).map(|n| n.to_be_bytes().to_vec()).collect();
    assert_eq!(read.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), expected);
    assert!(receive(&mut server, other).is_some());
    // What was read is not announced, and there is room again.
    assert_eq!(server.next_readable_datagram(), None);
    packets(&mut server, Instant::ZERO, &udp("192.0.2.1:9", "192.0.2.2:53", b"again"));
    assert_eq!(server.next_readable_datagram(), Some(id));
    server.set_datagram_buffer(other, 0).unwrap();
    packets(&mut server, Instant::ZERO, &udp("192.0.2.1:9", "192.0.2.2:54", b"x"));
    assert_eq!(server.udp_receive(other), Ok(None));
}

#[test]
fn what_waits_to_be_sent_is_bounded_and_leaves_as_there_is_room() {
    struct Narrow(usize, Vec<Vec<u8>>);
    impl Sink for Narrow {
        fn send(&mut self, packet: &[u8]) {
            self.0 -= 1;
            self.1.push(packet.to_vec());
        }
        fn room(&self) -> usize {
            self.0
        }
    }
    let mut client = host(CLIENT);
    let id = client.udp_bind(at("0.0.0.0:0")).unwrap();
    let to = Some(at("192.0.2.2:53"));
    let fill =
        |client: &mut Host| (0..10_000).take_while(|_| client.udp_send(id, None, to, &[7; 1000]).is_ok()).count();
    let count = fill(&mut client);
    assert_eq!(count, (256_usize << 10).div_ceil(1028));
    assert_eq!(client.udp_send(id, None, to, b""), Err(HostError::Full));
    let mut sink = Narrow(10, Vec::new());
    assert!(client.poll_transmit(Instant::ZERO, &mut sink));
    assert_eq!((sink.1.len(), fill(&mut client)), (10, 10));
    for _ in 0..1000 {
        sink.0 = 3;
        client.poll_transmit(Instant::ZERO, &mut sink);
        fill(&mut client);
    }
    assert!(sink.1.iter().all(|packet| decode_udp(packet).unwrap().is_sound()));
    // The fragments of a datagram go together if there is ever room for them.
    sink.0 = usize::MAX;
    while client.poll_transmit(Instant::ZERO, &mut sink) {}
    assert!(!client.has_work());
    client.udp_send(id, None, to, b"").unwrap();
    client.udp_send(id, None, to, &[7; 4000]).unwrap();
    sink = Narrow(2, Vec::new());
    assert!(client.poll_transmit(Instant::ZERO, &mut sink));
    assert_eq!(sink.1.len(), 1);
    sink.0 = 4;
    assert!(!client.poll_transmit(Instant::ZERO, &mut sink));
    assert_eq!(sink.1.len(), 4);
}

#[test]
fn a_refusal_comes_back_to_a_connected_socket_once() {
    for version in [0, 1] {
        let (mut pair, ours, theirs, _, server) = pair(version);
        pair.server.udp_close(theirs).unwrap();
        // A socket that is not connected does not learn of it.
        pair.client.udp_send(ours, None, Some(server), b"x").unwrap();
        pair.run(50);
        assert_eq!((pair.client.udp_receive(ours), pair.client.next_readable_datagram()), (Ok(None), None));
        pair.client.udp_connect(ours, server).unwrap();
        pair.client.udp_send(ours, None, None, b"x").unwrap();
        pair.run(50);
        assert_eq!(pair.server.stats().errors_sent, 2);
        assert_eq!(pair.client.next_readable_datagram(), Some(ours));
        let refused = HostError::Rejected { peer: server, why: Unreachable::Port };
        assert_eq!(pair.client.udp_receive(ours), Err(refused));
        assert_eq!(pair.client.udp_receive(ours), Ok(None));
        assert_eq!(pair.client.udp_send(ours, None, None, b"x"), Ok(()));
        pair.run(50);
        assert_eq!(pair.client.udp_send(ours, None, None, b"x"), Err(refused));
        assert_eq!(pair.client.udp_send(ours, None, None, b"x"), Ok(()));
    }
}

#[test]
fn echoes_come_back_to_who_asked_however_long() {
    for version in [0, 1] {
        let (mut pair, ..) = pair(version);
        let to = [ip(SERVER), ip("2001:db8::2")][version];
        let one = pair.client.ping_open().unwrap();
        let other = pair.client.ping_open().unwrap();
        for (sequence, len) in [(1, 0), (2, 56), (3, 20_000)] {
            pair.client.ping_send(one, to, sequence, &stream(len)).unwrap();
            pair.run(50);
            assert_eq!(pair.client.next_readable_datagram(), Some(one));
            let reply = pair.client.ping_receive(one).unwrap().unwrap();
            assert!(reply == EchoReply { source: to, sequence, data: stream(len) });
            assert_eq!(pair.client.ping_receive(other), Ok(None));
        }
        assert_eq!(pair.client.udp_receive(one), Err(HostError::Unknown));
        pair.client.ping_close(one).unwrap();
        assert_eq!(pair.client.ping_send(one, to, 4, b""), Err(HostError::Unknown));
    }
}

#[test]
fn a_path_that_takes_less_gets_smaller_fragments_of_a_connected_socket() {
    let (mut pair, ours, theirs, client, server) = pair(1);
    pair.client.udp_connect(ours, server).unwrap();
    pair.client.udp_send(ours, None, None, &stream(1400)).unwrap();
    let mut sent = Vec::new();
    pair.client.poll_transmit(pair.now, &mut |packet: &[u8]| sent.push(packet.to_vec()));
    let mut error = Vec::new();
    let big = IcmpMessage::TooBig { mtu: 1280 };
    encode_icmp(ip("2001:db8::9"), client.ip(), 7, big, quotable(&sent[0]), &mut error).unwrap();
    assert!(matches!(decode_icmp(&error).unwrap().quoted(&error).unwrap().carried, QuotedHeader::Udp(_)));
    pair.hand_in(false, &error);
    pair.lost = Box::new(|_, packet| packet.len() > 1280);
    for len in [1400, 30_000] {
        pair.client.udp_send(ours, None, None, &stream(len)).unwrap();
        pair.run(50);
        assert!(receive(&mut pair.server, theirs) == Some((client, stream(len))));
    }
}
