use super::*;
use crate::{
    Config,
    host::{ConnectionId, Place, Read},
};
use recoup_tcp::Ecn;
use recoup_wire::{Payload, decode, encode};
use std::net::SocketAddr;

const SERVER: &str = "192.0.2.2:80";
const BACKLOG: usize = 10;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// A server with [`BACKLOG`] half-open connections, as many as there may be.
fn flooded(change: impl FnOnce(&mut Config)) -> Host {
    let mut config = Config::new(["192.0.2.2".parse().unwrap(), "2001:db8::2".parse().unwrap()]);
    config.tcp.backlog = BACKLOG;
    config.tcp.endpoint.ecn = Ecn::Answer;
    change(&mut config);
    let mut host = Host::new(config, 1500, Secret::from_key([5; 16]));
    host.listen(SERVER.parse().unwrap()).unwrap();
    for port in 1..=BACKLOG as u16 {
        hand_in(&mut host, Instant::ZERO, &from(port, Segment { flags: Flags::SYN, ..Segment::default() }));
    }
    assert_eq!((host.half_open(), host.stats().cookies_sent), (BACKLOG, 0));
    host
}

/// A packet to the server.
fn from(port: u16, segment: Segment) -> Vec<u8> {
    let ends = Endpoints { src: SocketAddr::new([203, 0, 113, 9].into(), port), dst: SERVER.parse().unwrap() };
    let mut packet = Vec::new();
    let payload = vec![7; segment.payload_len as usize];
    encode(&segment, &ends, 1, Payload::Bytes(&payload), &mut packet).unwrap();
    packet
}

/// The server's answers.
fn hand_in(host: &mut Host, now: Instant, packet: &[u8]) -> Vec<Segment> {
    let mut out = Vec::new();
    let mut sink = |packet: &[u8]| out.push(decode(packet).unwrap().segment);
    host.on_packet(now, packet, &mut sink);
    host.poll_transmit(now, &mut sink);
    out
}

fn syn(options: Options) -> Segment {
    let flags = Flags::SYN | Flags::ECE | Flags::CWR;
    Segment { seq: SeqNumber(4_000), flags, window: 64_000, options, ..Segment::default() }
}

fn all_options() -> Options {
    Options {
        timestamps: Some(Timestamps { value: 1_000_000, echo: 0 }),
        mss: Some(1_452),
        window_scale: Some(9),
        sack_permitted: true,
        ..Options::NONE
    }
}

/// The ACK of a SYN-ACK, 50 ms later by the peer's clock, with so many bytes.
fn ack_of(answer: &Segment, payload_len: u32) -> Segment {
    let echo = answer.options.timestamps.map(|theirs| Timestamps { value: 1_000_050, echo: theirs.value });
    Segment {
        seq: SeqNumber(4_001),
        ack: answer.seq + 1,
        flags: Flags::ACK,
        window: 400,
        payload_len,
        options: Options { timestamps: echo, ..Options::NONE },
    }
}

fn opened(host: &mut Host) -> Option<ConnectionId> {
    host.next_event().filter(|event| event.opened).map(|event| event.connection)
}

#[test]
fn a_cookie_opens_a_connection_with_all_that_the_syn_said() {
    let mut host = flooded(|_| ());
    let now = ms(30_000);
    let answers = hand_in(&mut host, now, &from(99, syn(all_options())));
    let answer = answers[0];
    assert_eq!(answer.flags, Flags::SYN | Flags::ACK | Flags::ECE);
    assert_eq!((answer.options.window_scale.is_some(), answer.options.sack_permitted), (true, true));
    // Whatever memory there is when the ACK comes.
    assert_eq!(answer.window, 4096);
    let stamp = answer.options.timestamps.unwrap().value;
    assert!((29_937..=30_001).contains(&stamp), "{stamp}");
    assert_eq!((host.connections(), host.half_open(), host.stats().cookies_sent), (0, BACKLOG, 1));
    assert_eq!((host.take_flooded(), host.take_flooded()), (Some(SERVER.parse().unwrap()), None));
    let later = ms(30_050);
    hand_in(&mut host, later, &from(99, ack_of(&answer, 3)));
    let id = opened(&mut host).expect("a connection");
    let info = host.info(later, id).unwrap();
    assert_eq!((info.snd_mss, info.snd_wscale, info.options), (1_428, 9, 7), "1440 is the next size below");
    assert_eq!((info.snd_wnd, info.rtt, info.min_rtt), (400 << 9, 0, u32::MAX));
    let mut bytes = [0; 9];
    assert_eq!(host.read(later, id, &mut bytes), Ok(Read::Bytes(3)));
    assert!(host.table.get(id).unwrap().tcp.endpoint().is_ecn_capable());
    assert_eq!(host.stats().cookies_accepted, 1);
    // Ten segments leave at once, as on any new connection.
    host.write(later, id, &[1; 40_000]).unwrap();
    let mut sent = 0;
    host.poll_transmit(later, &mut |packet: &[u8]| sent += decode(packet).unwrap().segment.payload_len);
    assert_eq!(sent, 10 * 1_428);
}

#[test]
fn without_timestamps_a_cookie_keeps_the_size_alone() {
    let mut host = flooded(|_| ());
    for (port, mss, kept) in [(50, None, 536), (51, Some(1_460), 1_460), (52, Some(100), 48), (53, Some(9_000), 1_460)]
    {
        let options = Options { timestamps: None, mss, ..all_options() };
        let answer = hand_in(&mut host, ms(9), &from(port, syn(options)))[0];
        let Options { timestamps, window_scale, sack_permitted, .. } = answer.options;
        assert_eq!((timestamps, window_scale, sack_permitted), (None, None, false));
        assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
        hand_in(&mut host, ms(9), &from(port, ack_of(&answer, 0)));
        let id = opened(&mut host).expect("a connection");
        let info = host.info(ms(9), id).unwrap();
        assert_eq!((info.snd_mss, info.options, info.snd_wnd), (kept, 0, 400));
    }
}

#[test]
fn what_is_no_cookie_opens_nothing() {
    let mut host = flooded(|_| ());
    // None was sent so far, so none is looked for.
    let forged = Segment { seq: SeqNumber(9), ack: SeqNumber(10), flags: Flags::ACK, ..Segment::default() };
    assert_eq!(hand_in(&mut host, ms(0), &from(60, forged))[0].flags, Flags::RST);
    assert_eq!(host.stats().cookies_refused, 0);
    let answer = hand_in(&mut host, ms(0), &from(60, syn(all_options())))[0];
    let right = ack_of(&answer, 0);
    let wrong = [
        (61, right),
        (60, Segment { ack: right.ack + 1, ..right }),
        (60, Segment { ack: right.ack + 8, ..right }),
        (60, Segment { seq: right.seq + 1, ..right }),
    ];
    for (port, segment) in wrong {
        assert_eq!(hand_in(&mut host, ms(0), &from(port, segment)), []);
    }
    assert_eq!((host.stats().cookies_refused, host.connections()), (4, 0));
    // One at random is right once in 2^28 times.
    let mut seq = SeqNumber(1);
    for _ in 0..100_000 {
        seq = SeqNumber(seq.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        hand_in(&mut host, ms(0), &from(60, Segment { ack: seq, ..right }));
    }
    assert_eq!(host.connections(), 0);
    // Two minutes are too long.
    let answer = hand_in(&mut host, ms(119_000), &from(60, syn(all_options())));
    assert_eq!(hand_in(&mut host, ms(121_000), &from(60, right)), []);
    assert!(opened(&mut host).is_none());
    assert!(hand_in(&mut host, ms(121_000), &from(60, ack_of(&answer[0], 0))).is_empty());
    assert!(opened(&mut host).is_some());
}

#[test]
fn a_crowded_listener_takes_no_cookie_until_somebody_is_accepted() {
    let mut host = flooded(|config| config.tcp.backlog = BACKLOG);
    let listener = host.listeners.at(SERVER.parse().unwrap()).unwrap();
    let port = 100 + BACKLOG as u16;
    let asked = (100..=port).map(|port| hand_in(&mut host, ms(1), &from(port, syn(all_options())))[0]);
    let answers: Vec<Segment> = asked.collect();
    let last = answers[BACKLOG];
    for (port, answer) in (100..port).zip(&answers) {
        hand_in(&mut host, ms(1), &from(port, ack_of(answer, 0)));
    }
    assert_eq!(host.acceptable(listener), BACKLOG);
    assert!(hand_in(&mut host, ms(2), &from(port, ack_of(&last, 1))).is_empty());
    // Nor a new SYN, nor a handshake that is half done.
    assert!(hand_in(&mut host, ms(2), &from(200, syn(all_options()))).is_empty());
    let half = Segment { seq: SeqNumber(1), flags: Flags::ACK, ..Segment::default() };
    assert!(hand_in(&mut host, ms(2), &from(1, half)).is_empty());
    assert_eq!((host.half_open(), host.stats().syns_dropped), (BACKLOG, 3));
    host.accept(listener).unwrap();
    let answers = hand_in(&mut host, ms(3), &from(port, ack_of(&last, 1)));
    assert!(!answers.is_empty() && answers[0].flags == Flags::ACK, "{answers:?}");
    assert_eq!(host.acceptable(listener), BACKLOG);
}

#[test]
fn cookies_go_by_path_and_version() {
    let secret = Secret::from_key([1; 16]);
    let path = |src: &str, dst: &str| Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
    let made = |path: &Endpoints, isn, size, period| cookie(&secret, path, SeqNumber(isn), size, period);
    let one = path("192.0.2.1:80", "192.0.2.9:9");
    let first = made(&one, 1, 3, 7);
    assert_eq!(first.0 & 7, 3);
    for (path, isn, size, period) in [
        (path("192.0.2.1:80", "192.0.2.9:10"), 1, 3, 7),
        (path("[::ffff:192.0.2.1]:80", "[::ffff:192.0.2.9]:9"), 1, 3, 7),
        (one, 2, 3, 7),
        (one, 1, 4, 7),
        (one, 1, 3, 8),
    ] {
        assert_ne!(made(&path, isn, size, period).0 >> 3, first.0 >> 3);
    }
}

#[test]
fn what_comes_in_front_of_the_ack_with_the_cookie_does_not_end_its_connection() {
    let mut host = flooded(|_| ());
    let answer = hand_in(&mut host, ms(30_000), &from(99, syn(all_options())))[0];
    let first = ack_of(&answer, 3);
    // The second segment, and an ACK of a copy of the SYN-ACK.
    for payload_len in [3, 0] {
        let early = Segment { seq: first.seq + 3, payload_len, ..first };
        assert_eq!(hand_in(&mut host, ms(30_050), &from(99, early)), []);
    }
    hand_in(&mut host, ms(30_051), &from(99, first));
    assert!(opened(&mut host).is_some());
}

#[test]
fn an_ack_without_a_cookie_may_be_for_another_host_with_the_address() {
    let mut host = flooded(|_| ());
    host.set_place(Place { number: 0, of: 2 });
    let answer = hand_in(&mut host, ms(0), &from(99, syn(all_options())))[0];
    let wrong = Segment { ack: answer.seq, ..ack_of(&answer, 0) };
    assert_eq!(hand_in(&mut host, ms(0), &from(99, wrong)), []);
    let stray = host.next_stray().expect("a stray");
    // The last host that is asked does not answer it.
    host.on_stray(ms(0), &stray, &mut |_: &[u8]| panic!("an answer"));
    assert!(host.next_stray().is_none());
    hand_in(&mut host, ms(0), &from(99, ack_of(&answer, 0)));
    assert!(opened(&mut host).is_some());
}

#[test]
fn a_cookie_counts_although_a_copy_of_the_syn_found_room() {
    let mut host = flooded(|_| ());
    let cookie = hand_in(&mut host, ms(0), &from(99, syn(all_options())))[0];
    // One of the others gives up, so that the next copy of the SYN is remembered.
    let reset = Segment { seq: SeqNumber(1), flags: Flags::RST, ..Segment::default() };
    hand_in(&mut host, ms(1), &from(1, reset));
    let other = hand_in(&mut host, ms(1), &from(99, syn(all_options())))[0];
    assert_ne!(cookie.seq, other.seq);
    assert_eq!(host.half_open(), BACKLOG);
    // What overtook the first segment does not say the peer's ISN, and draws no reset.
    let first = ack_of(&cookie, 3);
    assert_eq!(hand_in(&mut host, ms(2), &from(99, Segment { seq: first.seq + 3, ..first })), []);
    hand_in(&mut host, ms(2), &from(99, first));
    let id = opened(&mut host).expect("a connection");
    assert_eq!((host.half_open(), host.connections()), (BACKLOG - 1, 1));
    assert_eq!(host.read(ms(2), id, &mut [0; 9]), Ok(Read::Bytes(3)));
    // The place is free again.
    assert_eq!(hand_in(&mut host, ms(3), &from(98, syn(all_options()))).len(), 1);
    assert_eq!((host.half_open(), host.stats().cookies_sent), (BACKLOG, 1));
}

#[test]
fn a_cookie_stands_for_the_options_that_its_connection_has_among_several() {
    let mut host = flooded(|_| {});
    let id = host.listeners.at(SERVER.parse().unwrap()).unwrap();
    let options = host.listener_options(id);
    let small = crate::TcpOptions { max_segment: Some(500), ..options };
    host.split_listener(id, &[options, small]).unwrap();
    let mut sizes = Vec::new();
    for port in 1_000..1_040 {
        let answers = hand_in(&mut host, ms(10), &from(port, syn(all_options())));
        let [answer] = answers[..] else { panic!("{answers:?}") };
        let timestamps = answer.options.timestamps.unwrap();
        let ack = Segment {
            seq: SeqNumber(4_001),
            ack: answer.seq + 1,
            flags: Flags::ACK,
            window: 64_000,
            options: Options {
                timestamps: Some(Timestamps { value: 1_000_001, echo: timestamps.value }),
                ..Options::NONE
            },
            ..Segment::default()
        };
        hand_in(&mut host, ms(20), &from(port, ack));
        let connection = host.accept(id).expect("an open connection");
        let advertised = u32::from(answer.options.mss.unwrap());
        assert_eq!(host.info(ms(20), connection).unwrap().advmss, advertised);
        assert_eq!(advertised, [1460, 500][host.choice(connection).unwrap()]);
        sizes.push(advertised);
    }
    assert!(sizes.contains(&500) && sizes.contains(&1460), "{sizes:?}");
    assert!(host.stats().cookies_accepted >= 40);
}
