//! Errors of ICMP, fragments, raw packets, and packets of any kind.

use super::datagrams::{at, ip, packets, pair, receive, udp};
use super::*;
use crate::VnetHeader;
use recoup_wire::{Checksum, IcmpMessage, IpVersion, decode_icmp, encode_icmp, quotable};

#[test]
fn errors_are_sent_about_what_deserves_one_and_not_too_many() {
    let mut server = host(SERVER);
    let port = udp("192.0.2.1:9", "192.0.2.2:53", &[7; 1400]);
    let answer = packets(&mut server, Instant::ZERO, &port).pop().unwrap();
    let icmp = decode_icmp(&answer).unwrap();
    assert_eq!((icmp.src, icmp.dst, icmp.message), (ip(SERVER), ip(CLIENT), IcmpMessage::Unreachable { code: 3 }));
    assert_eq!((icmp.checksum, answer.len()), (Checksum::Correct, 576));
    assert_eq!(answer[icmp.data.clone()], port[..548]);
    // An unknown protocol, here 132.
    let mut protocol = port.clone();
    protocol[9] = 132;
    repair(&mut protocol);
    let answer = packets(&mut server, Instant::ZERO, &protocol).pop().unwrap();
    assert_eq!(decode_icmp(&answer).unwrap().message, IcmpMessage::Unreachable { code: 2 });
    // About none of these: a broadcast, a multicast, another host's, one from nobody, an error, an unknown message, a
    // damaged one.
    let mut damaged = port.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let mut about_error = Vec::new();
    let error = IcmpMessage::Unreachable { code: 3 };
    encode_icmp(ip(CLIENT), ip(SERVER), 7, error, quotable(&udp("192.0.2.2:1", "192.0.2.1:2", b"")), &mut about_error)
        .unwrap();
    let mut unknown = Vec::new();
    let timestamp = IcmpMessage::Other { kind: 13, code: 0, rest: [0; 4] };
    encode_icmp(ip(CLIENT), ip(SERVER), 7, timestamp, &[0; 12], &mut unknown).unwrap();
    for silent in [
        udp("192.0.2.1:9", "255.255.255.255:53", b""),
        udp("192.0.2.1:9", "224.0.0.1:53", b""),
        udp("192.0.2.1:9", "192.0.2.77:53", b""),
        udp("224.0.0.1:9", "192.0.2.2:53", b""),
        udp("192.0.2.2:9", "192.0.2.2:53", b""),
        about_error,
        unknown,
        damaged,
    ] {
        assert_eq!(packets(&mut server, Instant::ZERO, &silent), Vec::<Vec<u8>>::new());
    }
    // A flood for a second draws some thousand.
    let drawn: usize = (0..100_000).map(|n| packets(&mut server, Instant::from_nanos(n * 10_000), &port).len()).sum();
    assert!((500..1500).contains(&drawn), "{drawn}");
    let stats = server.stats();
    assert_eq!((stats.errors_sent, stats.errors_withheld), (drawn as u64 + 2, 100_000 - drawn as u64));
}

#[test]
fn an_unknown_protocol_over_ipv6_is_a_parameter_problem() {
    let mut server = host("2001:db8::2");
    let mut packet = udp("[2001:db8::1]:9", "[2001:db8::2]:53", b"12345678");
    packet[6] = 132;
    let answer = packets(&mut server, Instant::ZERO, &packet).pop().unwrap();
    let icmp = decode_icmp(&answer).unwrap();
    assert_eq!(icmp.message, IcmpMessage::ParameterProblem { code: 1, pointer: 6 });
    // Behind destination options, their field is at fault.
    packet[6] = 60;
    packet[40..48].copy_from_slice(&[132, 0, 1, 4, 0, 0, 0, 0]);
    let answer = packets(&mut server, Instant::ZERO, &packet).pop().unwrap();
    assert_eq!(decode_icmp(&answer).unwrap().message, IcmpMessage::ParameterProblem { code: 1, pointer: 40 });
}

#[test]
fn a_segment_in_fragments_is_a_segment() {
    let mut server = Pair::new().server;
    let mut syn = segment(9, 5, 0, Flags::SYN, &stream(600));
    syn[6] = 0;
    repair(&mut syn);
    let mut fragments = Vec::new();
    recoup_wire::cut_into_fragments(&syn, 300, 0, &mut Vec::new(), &mut |p| fragments.push(p.to_vec())).unwrap();
    let (last, others) = fragments.split_last().unwrap();
    for fragment in others {
        assert!(answers(&mut server, Instant::ZERO, fragment).is_empty());
    }
    assert_eq!(answers(&mut server, Instant::ZERO, last)[0].flags, Flags::SYN | Flags::ACK);
    assert_eq!(server.stats().reassembled, 1);
}

#[test]
fn a_sender_learns_that_a_fragment_did_not_come() {
    let mut server = host(SERVER);
    let packet = udp("192.0.2.1:9", "192.0.2.2:53", &stream(3000));
    let mut fragments = Vec::new();
    recoup_wire::cut_into_fragments(&packet, 1500, 0, &mut Vec::new(), &mut |p| fragments.push(p.to_vec())).unwrap();
    packets(&mut server, Instant::ZERO, &fragments[0]);
    packets(&mut server, Instant::ZERO, &fragments[2]);
    assert_eq!(server.next_timer(), Some(Instant::from_millis(30_000)));
    server.on_timer(Instant::from_millis(30_000));
    let mut sent = Vec::new();
    server.poll_transmit(Instant::from_millis(30_000), &mut |packet: &[u8]| sent.push(packet.to_vec()));
    let icmp = decode_icmp(&sent[0]).unwrap();
    assert_eq!((icmp.message, sent.len()), (IcmpMessage::TimeExceeded { code: 1 }, 1));
    assert_eq!((server.next_timer(), server.stats().fragmented_dropped), (None, 1));
}

#[test]
fn what_nothing_takes_goes_to_the_application_if_it_wants_it() {
    let mut server = Pair::new().server;
    let mut sctp = udp("192.0.2.1:9", "192.0.2.2:53", b"12345678");
    sctp[9] = 132;
    repair(&mut sctp);
    let mut other_host = segment(9, 5, 0, Flags::SYN, b"");
    other_host[19] = 77;
    repair(&mut other_host);
    // The checksum of TCP covers the address.
    other_host[36..38].fill(0);
    let pseudo = recoup_wire::pseudo_header(ip(CLIENT), ip("192.0.2.77"), other_host.len() - 20, 6);
    let sum = pseudo.plus(&other_host[20..]).checksum();
    other_host[36..38].copy_from_slice(&sum.to_be_bytes());
    let fragment = {
        let mut packet = udp("192.0.2.1:9", "192.0.2.77:53", &[7; 8]);
        packet[6] = 0x20;
        repair(&mut packet);
        packet
    };
    let arp = [0, 1, 8, 0, 6, 4, 0, 1].to_vec();
    let wanted = [sctp.clone(), other_host, udp("192.0.2.1:9", "192.0.2.77:53", b"x"), fragment, arp];
    for packet in &wanted {
        packets(&mut server, Instant::ZERO, packet);
    }
    assert_eq!((server.next_raw(), server.stats().ignored), (None, 5));
    server.set_raw(Some(2000));
    let mut damaged = wanted[2].clone();
    *damaged.last_mut().unwrap() ^= 1;
    for packet in wanted.iter().chain([&damaged, &sctp[..30].to_vec()]) {
        assert!(packets(&mut server, Instant::ZERO, packet).is_empty());
    }
    // Own segments and refusals of ports are the stack's.
    assert_eq!(packets(&mut server, Instant::ZERO, &segment(9, 5, 7, Flags::ACK, b"")).len(), 1);
    assert_eq!(packets(&mut server, Instant::ZERO, &udp("192.0.2.1:9", "192.0.2.2:53", b"")).len(), 1);
    assert!(server.has_events());
    assert_eq!(std::iter::from_fn(|| server.next_raw()).collect::<Vec<_>>(), wanted);
    assert_eq!((server.has_events(), server.stats().ignored), (false, 7));
    // Bounded: the oldest stay.
    for n in 0..1000 {
        packets(&mut server, Instant::ZERO, &udp("192.0.2.1:9", "192.0.2.77:53", &[n as u8; 8]));
    }
    let kept: Vec<u8> = std::iter::from_fn(|| server.next_raw()).map(|packet| packet[28]).collect();
    assert_eq!((kept, server.stats().raw_dropped), ((0..20).collect(), 980));
    let mut sent = Vec::new();
    server.send_raw(&[1, 2, 3]).unwrap();
    assert_eq!(server.send_raw(&[0; 1501]), Err(HostError::TooLong { len: 1501, most: 1500 }));
    server.poll_transmit(Instant::ZERO, &mut |packet: &[u8]| sent.push(packet.to_vec()));
    assert_eq!(sent, [[1, 2, 3]]);
}

#[test]
fn a_segment_that_does_not_arrive_is_counted_if_it_is_outstanding() {
    let mut client = host(CLIENT);
    client.connect(Instant::ZERO, at("192.0.2.2:80")).unwrap();
    let mut syn = Vec::new();
    client.poll_transmit(Instant::ZERO, &mut |packet: &[u8]| syn = packet.to_vec());
    let error = |client: &mut Host, quoted: &[u8]| {
        let mut packet = Vec::new();
        let message = Unreachable::Host.message(IpVersion::V4);
        encode_icmp(ip("192.0.2.9"), ip(CLIENT), 7, message, quotable(quoted), &mut packet).unwrap();
        packets(client, Instant::ZERO, &packet);
        client.stats().unreachable
    };
    assert_eq!(error(&mut client, &syn), 1);
    let mut other = syn.clone();
    other[27] ^= 0x80; // the sequence number
    assert_eq!(error(&mut client, &other), 1);
    other[12..16].copy_from_slice(&[192, 0, 2, 3]); // sent by another
    assert_eq!(error(&mut client, &other), 1);
}

#[test]
fn packets_of_any_kind_do_no_harm_to_sockets_of_datagrams() {
    for version in [0, 1] {
        let (mut pair, ours, theirs, client, server) = pair(version);
        pair.server.set_raw(Some(100_000));
        pair.client.udp_bind_any().unwrap();
        pair.client.udp_connect(ours, server).unwrap();
        let mut state = 1_u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let long = udp(&client.to_string(), &server.to_string(), &stream(4000));
        let mut models = vec![long[..1400].to_vec(), udp(&client.to_string(), &server.to_string(), b"data")];
        recoup_wire::cut_into_fragments(&long, 1300, 9, &mut Vec::new(), &mut |p| models.push(p.to_vec())).unwrap();
        for kind in [0, 1, 2, 3, 4, 5, 8, 11, 12, 128, 129] {
            let message = IcmpMessage::Other { kind, code: (draw(5)) as u8, rest: [0, 0, 1, 7] };
            let mut packet = Vec::new();
            encode_icmp(server.ip(), client.ip(), 7, message, quotable(&long), &mut packet).unwrap();
            models.push(packet);
        }
        for round in 0..60_000 {
            let mut packet = models[draw(models.len())].clone();
            for _ in 0..draw(3) {
                let at = draw(packet.len().min(100));
                packet[at] = draw(256) as u8;
            }
            if draw(8) == 0 {
                packet.truncate(draw(packet.len()));
            }
            // Behind the checks of a checksum there is more to find.
            if version == 0 && packet.len() >= 20 {
                repair(&mut packet);
            }
            let header = VnetHeader { flags: draw(3) as u8, ..VnetHeader::default() };
            let now = pair.now + Duration::from_millis(round);
            let mut sink = |_: &[u8]| {};
            for host in [&mut pair.client, &mut pair.server] {
                host.on_frame(now, &header, &packet, &mut sink);
                host.on_timer(now);
                if round % 100 == 0 {
                    host.poll_transmit(now, &mut sink);
                }
            }
        }
        pair.now += Duration::from_millis(120_000);
        while pair.server.udp_receive(theirs).unwrap().is_some() {}
        while !matches!(pair.client.udp_receive(ours), Ok(None)) {}
        pair.flush();
        pair.flying.clear();
        pair.client.udp_send(ours, None, None, &stream(5000)).unwrap();
        pair.run(50);
        assert!(receive(&mut pair.server, theirs) == Some((client, stream(5000))));
        pair.server.udp_send(theirs, None, Some(client), &stream(5000)).unwrap();
        pair.run(50);
        assert!(receive(&mut pair.client, ours) == Some((server, stream(5000))));
    }
}

#[test]
fn echoes_of_others_are_answered_only_on_demand() {
    let mut server = host(SERVER);
    let request = |to: &str| {
        let mut packet = Vec::new();
        let message = IcmpMessage::EchoRequest { identifier: 7, sequence: 1 };
        encode_icmp(ip(CLIENT), ip(to), 7, message, b"ping", &mut packet).unwrap();
        packet
    };
    let answers = |server: &mut Host, to: &str| packets(server, Instant::ZERO, &request(to)).len();
    assert_eq!([SERVER, "192.0.2.77"].map(|to| answers(&mut server, to)), [1, 0]);
    server.listen_any(&crate::TcpOptions::default()).unwrap();
    assert_eq!([SERVER, "192.0.2.77"].map(|to| answers(&mut server, to)), [1, 0]);
    server.config.answer_any_echo = true;
    assert_eq!([SERVER, "192.0.2.77", "224.0.0.1"].map(|to| answers(&mut server, to)), [1, 1, 0]);
}
