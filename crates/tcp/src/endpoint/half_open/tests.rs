use super::*;
use crate::{Ecn, SendLimits};
use recoup_recovery::{Mechanisms, profile::BASES};

const LIMITS: SendLimits = SendLimits { buffer: 1 << 20, unsent: 1 << 20 };

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// A SYN with some of the options.
fn syn(bits: u8) -> Segment {
    let with = |bit: u8| bits & 1 << bit != 0;
    Segment {
        seq: SeqNumber(7_000),
        flags: if with(0) { Flags::SYN | Flags::ECE | Flags::CWR } else { Flags::SYN },
        window: 64_000,
        options: Options {
            timestamps: with(1).then_some(Timestamps { value: 77, echo: 0 }),
            mss: with(2).then_some(1_460),
            window_scale: with(3).then_some(if with(4) { 0 } else { 9 }),
            sack_permitted: with(4),
            ..Options::NONE
        },
        ..Segment::default()
    }
}

fn config(bits: u8) -> Config {
    let own = BASES[usize::from(bits) % BASES.len()].1;
    let isn = SeqNumber(u32::MAX - 3);
    let buffer = if bits & 32 == 0 { 60_000 } else { 1 << 20 };
    let mut config = Config { isn, ecn: Ecn::Answer, receive_buffer: buffer, ..Config::new(own) };
    config.timestamps = bits & 64 == 0;
    config
}

/// A connection that answered a SYN at 5 ms, and repeated its answer so often, each time `late`.
fn answered(config: &Config, syn: &Segment, repetitions: u32, late: Duration) -> Connection {
    let mut connection = Connection::listen(config, LIMITS);
    let mut out = Segment::default();
    connection.deliver(ms(5), syn, &[]);
    while connection.poll_transmit(ms(5), &mut out).is_some() {}
    for _ in 0..repetitions {
        let (at, timer) = connection.next_wake().unwrap();
        connection.on_wake(at + late, timer);
        while connection.poll_transmit(at + late, &mut out).is_some() {}
    }
    connection
}

fn reopened(connection: &Connection, config: &Config) -> Connection {
    let half = HalfOpen::of(connection.endpoint(), ms(5)).expect("half open");
    let mut again = Connection::listen(config, LIMITS);
    half.reopen(&mut again);
    assert_eq!(HalfOpen::of(again.endpoint(), ms(5)), Some(half));
    again
}

#[test]
fn what_is_made_again_is_what_was_left() {
    for bits in 0..128 {
        for repetitions in [0, 1, 2, 5] {
            let config = config(bits);
            let mut kept = answered(&config, &syn(bits), repetitions, Duration::ZERO);
            let mut again = reopened(&kept, &config);
            let (seq, ack) = (SeqNumber(7_001), config.isn + 1);
            let echo = Timestamps { value: 99, echo: 6 };
            let timestamps = kept.endpoint().timestamps.then_some(echo);
            let options = Options { timestamps, ..Options::NONE };
            let ack = Segment { seq, ack, flags: Flags::ACK, window: 500, options, ..Segment::default() };
            assert_eq!(kept.next_wake(), again.next_wake(), "{bits} {repetitions}");
            for connection in [&mut kept, &mut again] {
                connection.deliver(ms(60_000), &ack, &[]);
                connection.write(ms(60_001), &[1; 5_000], crate::WriteMode::default(), |_, _| {}).unwrap();
            }
            let shown = |connection: &Connection| format!("{:?}", connection.endpoint());
            assert_eq!(shown(&kept), shown(&again), "{bits} {repetitions}");
        }
    }
}

#[test]
fn timers_that_are_late_change_no_sample() {
    let config = Config::new(Mechanisms::LINUX_6);
    let kept = answered(&config, &syn(0b11110), 3, Duration::from_millis(3));
    let again = reopened(&kept, &config);
    let sent = |connection: &Connection| connection.endpoint().sender().board().first().map(|first| first.sent_at);
    assert_eq!(sent(&kept), sent(&again));
    let (at, later) = (kept.next_wake().unwrap().0, again.next_wake().unwrap().0);
    assert_eq!(at, later);
}

#[test]
fn a_connection_that_owes_something_or_is_open_stays() {
    let config = Config::new(Mechanisms::LINUX_6);
    let mut connection = Connection::listen(&config, LIMITS);
    assert_eq!(HalfOpen::of(connection.endpoint(), ms(5)), None);
    connection.deliver(ms(5), &syn(0), &[]);
    assert_eq!(HalfOpen::of(connection.endpoint(), ms(5)), None, "it owes the SYN-ACK");
    let connection = answered(&config, &syn(0), 0, Duration::ZERO);
    let mut again = reopened(&connection, &config);
    again.deliver(ms(6), &syn(0), &[]);
    assert_eq!(HalfOpen::of(again.endpoint(), ms(5)), None, "it owes another SYN-ACK");
    let mut out = Segment::default();
    while again.poll_transmit(ms(6), &mut out).is_some() {}
    assert!(HalfOpen::of(again.endpoint(), ms(5)).is_some());
}

#[test]
fn without_a_handshake_of_its_own_a_connection_has_no_sample_of_it() {
    let config = Config { isn: SeqNumber(500), ..Config::new(Mechanisms::LINUX_6) };
    let mut connection = Connection::listen(&config, LIMITS);
    connection.establish(ms(1_000), &syn(0b11110));
    let timestamps = Some(Timestamps { value: 99, echo: 980 });
    let segment = Segment {
        seq: SeqNumber(7_001),
        ack: SeqNumber(501),
        flags: Flags::ACK,
        window: 60_000,
        payload_len: 3,
        options: Options { timestamps, ..Options::NONE },
    };
    connection.deliver(ms(1_000), &segment, b"abc");
    let endpoint = connection.endpoint();
    assert_eq!((endpoint.state(), endpoint.sender().rtt().srtt()), (State::Established, None));
    assert_eq!((endpoint.readable(), endpoint.sender().uses_sack(), endpoint.timestamps), (3, true, true));
    assert_eq!(endpoint.sender().peer_window().edge().since(Offset::DATA), 60_000);
    connection.write(ms(1_001), &[1; 20_000], crate::WriteMode::default(), |_, _| {}).unwrap();
    let mut out = Segment::default();
    let sent = std::iter::from_fn(|| connection.poll_transmit(ms(1_001), &mut out).map(|_| out.payload_len));
    assert_eq!(sent.sum::<u32>(), 10 * 1448);
    connection.endpoint().sender().check().unwrap();
}
