//! What remains of a connection in TIME-WAIT, against the endpoint.

use super::*;
use proptest::prelude::*;

const START: Instant = Instant::from_millis(0);

/// A connection in TIME-WAIT: 5000 bytes were received, 4000 sent. The peer's last timestamp is 1000.
fn in_time_wait(config: &Config) -> Lone {
    let mut lone = Lone::connecting(&Config { dsack: false, ..*config });
    lone.sent();
    lone.recv("S. 0:1 ack 1 win 2000 mss 1012 sackOK wscale 2 ts 1000/1");
    lone.sent();
    for i in 0..5 {
        let (start, end) = (1000 * i + 1, 1000 * i + 1001);
        lone.recv(&format!(". {start}:{end} ack 1 win 500 ts 1000/1"));
        lone.endpoint.read(START, 1000);
        lone.sent();
    }
    for i in 0..4 {
        lone.endpoint.write(START, 1000);
        assert_eq!(lone.sent().len(), 1);
        lone.recv(&format!(". 5001 ack {} win 500 ts 1000/1", 1000 * i + 1001));
    }
    lone.endpoint.close(START);
    assert_eq!(lone.sent(), ["F. 4001:4002 ack 5001"]);
    lone.recv("F. 5001:5002 ack 4002 win 500 ts 1000/1");
    assert_eq!(TimeWait::of(&lone.endpoint), None, "the ACK of the FIN is owed");
    assert_eq!(lone.sent(), [". 4002 ack 5002"]);
    lone
}

/// The sequence number of the peer's that is expected, and ours.
const THEIRS: u32 = 5002;
const OURS: u32 = 4002;

fn read(text: &str) -> Segment {
    segment(text, PEER_ISN, OWN_ISN)
}

fn answer(config: &Config, text: &str) -> TimeWaitAnswer {
    let lone = in_time_wait(config);
    let answer = TimeWait::of(&lone.endpoint).unwrap().on_segment(START, &read(text));
    let anew = match answer {
        TimeWaitAnswer::BeginsAnew(isn) => Some(isn),
        _ => None,
    };
    assert_eq!(lone.endpoint.begins_anew(START, &read(text)), anew, "{text}");
    answer
}

/// The answer in short.
fn short(answer: TimeWaitAnswer) -> String {
    match answer {
        TimeWaitAnswer::Nothing => String::new(),
        TimeWaitAnswer::Acknowledge(ack) => line(&ack, OWN_ISN, PEER_ISN),
        TimeWaitAnswer::Challenge(ack) => format!("challenge {}", line(&ack, OWN_ISN, PEER_ISN)),
        TimeWaitAnswer::BeginsAnew(isn) => format!("anew from {}", isn.since(OWN_ISN)),
        TimeWaitAnswer::Ended => "ended".into(),
    }
}

#[test]
fn it_is_small() {
    assert_eq!(size_of::<TimeWait>(), 24);
}

#[test]
fn only_an_endpoint_in_time_wait_leaves_one() {
    for state in [State::Listen, State::SynSent, State::Established, State::FinWait2, State::Closing, State::LastAck] {
        assert_eq!(TimeWait::of(&Lone::in_state(state).endpoint), None, "{state:?}");
    }
    let closed = State::Closed(Closed::ByReset);
    assert_eq!(TimeWait::of(&Lone::in_state(closed).endpoint), None);
    assert!(TimeWait::of(&Lone::in_state(State::TimeWait).endpoint).is_some());
}

#[test]
fn what_it_answers() {
    let ack = ". 4002 ack 5002";
    let challenge = &format!("challenge {ack}");
    let cases = [
        (". 5002 ack 4002", ""),
        (". 5001 ack 4002", challenge), // a keep-alive probe
        ("F. 5001:5002 ack 4002", ack),
        ("FP. 4001:5002 ack 4002", ack), // the last data again, and the FIN
        ("P. 5002:5012 ack 4002", ack),  // nothing follows a FIN
        ("P. 1:1001 ack 1001", challenge),
        (". 5002 ack 4003", challenge), // of what was never sent
        (". 5002 ack 2002", ""),
        (". 5002 ack 2001", challenge), // RFC 5961 §5: older than the peer's largest window
        ("P 5002:5012", ""),
        ("S 1:2", challenge),
        ("S. 9000:9001 ack 4002", challenge),
        ("SF 9000:9001", challenge),
        ("R 5002", "ended"),
        ("R. 5002 ack 4002", "ended"),
        ("R 5003", challenge),
        ("R 5001", ""),
        ("R 90000000", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(short(answer(&config(), text)), expected, "{text}");
    }
}

#[test]
fn an_acknowledgment_has_all_that_was_agreed_on() {
    let config = Config { receive_buffer: 200_000, ..with_timestamps() };
    let mut lone = in_time_wait(&config);
    let mut left = TimeWait::of(&lone.endpoint).unwrap();
    lone.now = Instant::from_millis(500);
    let fin = read("F. 5001:5002 ack 4002 ts 1200/1");
    lone.endpoint.on_segment(lone.now, &fin);
    let sent = lone.transmits();
    assert_eq!(left.on_segment(lone.now, &fin), TimeWaitAnswer::Acknowledge(sent[0]));
    assert_eq!(sent[0].options.timestamps, Some(Timestamps { value: 501, echo: 1200 }));
    // 199 kB of 200 kB, shifted by 2.
    assert!((49_700..=50_000).contains(&sent[0].window), "{}", sent[0].window);
}

#[test]
fn the_fin_again_restarts_the_wait() {
    let lone = in_time_wait(&config());
    let mut left = TimeWait::of(&lone.endpoint).unwrap();
    assert_eq!(left.until(), START + TIME_WAIT);
    let at = Instant::from_millis(20_300);
    for other in [". 5002 ack 4002", "P. 5002:5012 ack 4002", "F. 5002:5003 ack 4002", ". 1 ack 4002", "S 1:2"] {
        left.on_segment(at, &read(other));
        assert_eq!(left.until(), START + TIME_WAIT, "{other}");
    }
    left.on_segment(at, &read("F. 5001:5002 ack 4002"));
    assert_eq!(left.until(), Instant::from_millis(81_000));
}

#[test]
fn which_syns_begin_anew() {
    // RFC 6191 §2. (timestamps on the old connection, SYN, whether it begins anew); the last timestamp is 1000.
    let cases = [
        (true, "S 1:2 ts 1001/0", true),
        (true, "S 5002:5003 ts 1000/0", false),
        (true, "S 5003:5004 ts 1000/0", true),
        (true, "S 9000:9001 ts 999/0", false),
        (true, "S 9000:9001", true),
        (true, "S 5002:5003", false),
        (false, "S 5003:5004", true),
        (false, "S 5002:5003", false),
        (false, "S 9000:9001 ts 5/0", true),
        (false, "S 1:2 ts 5000/0", false), // as Linux
    ];
    for (timestamps, text, anew) in cases {
        let config = if timestamps { with_timestamps() } else { config() };
        let expected = if anew { format!("anew from {}", OURS + 65_537) } else { "challenge . 4002 ack 5002".into() };
        assert_eq!(short(answer(&config, text)), expected, "{timestamps} {text}");
    }
}

#[test]
fn other_states_begin_nothing_anew() {
    for state in [State::SynReceived, State::Established, State::FinWait2, State::LastAck] {
        let lone = Lone::in_state(state);
        assert_eq!(lone.endpoint.begins_anew(START, &read("S 90000:90001")), None, "{state:?}");
    }
}

#[test]
fn a_timestamp_older_than_24_days_rejects_nothing() {
    let day = Duration::from_secs(24 * 3600);
    let mut lone = Lone::connecting(&with_timestamps());
    lone.sent();
    lone.recv("S. 0:1 ack 1 mss 1000 ts 1000/1");
    lone.sent();
    // The peer leaves its timestamps out, and TS.Recent stays. After years it is not taken for a recent one.
    for days in [23, 25, 44, 46, 50, 91, 1000] {
        let mut lone = Lone { endpoint: lone.endpoint.clone(), now: START + days * day };
        lone.endpoint.close(lone.now);
        lone.sent();
        lone.recv("F. 1:2 ack 2");
        lone.sent();
        let mut left = TimeWait::of(&lone.endpoint).unwrap();
        let old = read("F. 1:2 ack 2 ts 5/1");
        let answer = left.on_segment(lone.now, &old);
        let accepted = matches!(answer, TimeWaitAnswer::Acknowledge(_));
        assert_eq!(accepted, days >= 24, "{days} days");
    }
}

/// A segment that may fit or not, and the milliseconds before it. The window of 20,000 bytes ends 19,999 after RCV.NXT.
fn segments() -> impl Strategy<Value = (u64, Segment)> {
    let near = || prop_oneof![4 => -2..=2i32, 1 => 19_997..=20_001i32, 2 => -6000..6000i32, 2 => -100_000..100_000i32, 1 => any::<i32>()];
    let flags = prop_oneof![
        4 => Just(Flags::ACK),
        3 => Just(Flags::ACK | Flags::FIN),
        1 => Just(Flags::RST),
        1 => Just(Flags::SYN),
        3 => (0..32u8).prop_map(|bits| {
            let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK];
            let set = all.iter().enumerate().filter(|(i, _)| bits & 1 << i != 0);
            set.fold(Flags::NONE, |flags, (_, flag)| flags | *flag)
        }),
    ];
    let payload = prop_oneof![2 => Just(0u32), 1 => 1..2000u32];
    let timestamp = prop::option::of(prop_oneof![3 => 995..1010u32, 1 => any::<u32>()]);
    let gap = prop_oneof![Just(0), 1..20_000u64];
    let parts = (gap, flags, near(), near(), payload, 0..=1000u16, timestamp);
    parts.prop_map(|(gap, flags, seq, ack, payload_len, window, timestamp)| {
        let options = Options { timestamps: timestamp.map(|value| Timestamps { value, echo: 1 }), ..Options::NONE };
        // A FIN that comes again ends where the first one ended.
        let back = if flags.contains(Flags::FIN) && seq == 0 { payload_len + 1 } else { 0 };
        let seq = PEER_ISN + THEIRS.wrapping_add_signed(seq).wrapping_sub(back);
        let ack = OWN_ISN + OURS.wrapping_add_signed(ack);
        (gap, Segment { seq, ack, payload_len, window, flags, options })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20 * ProptestConfig::default().cases) })]

    #[test]
    fn it_answers_as_the_endpoint(
        timestamps: bool,
        buffer in prop_oneof![Just(20_000u64), Just(200_000)],
        segments in prop::collection::vec(segments(), 1..30),
    ) {
        let mut lone = in_time_wait(&Config { timestamps, receive_buffer: buffer, ..config() });
        let mut left = TimeWait::of(&lone.endpoint).unwrap();
        let mut answered = Vec::new();
        for (gap, segment) in segments {
            lone.now += ms(gap);
            let until = lone.endpoint.next_timer().map(|(at, _)| at).unwrap();
            prop_assert_eq!(left.until().as_nanos(), until.as_nanos().div_ceil(1_000_000_000) * 1_000_000_000);
            if until <= lone.now {
                break;
            }
            // The scale rounds the advertised window down.
            let receiver = lone.endpoint.receiver();
            let window = receiver.edge().since(receiver.next());
            let start = u64::from(segment.seq.since(lone.endpoint.receive_next()));
            if start <= window && start > window >> lone.endpoint.scale << lone.endpoint.scale {
                continue;
            }
            let anew = lone.endpoint.begins_anew(lone.now, &segment);
            lone.endpoint.on_segment(lone.now, &segment);
            let sent = lone.transmits();
            match left.on_segment(lone.now, &segment) {
                TimeWaitAnswer::Nothing => prop_assert_eq!((sent, anew), (vec![], None)),
                // The endpoint has a limit of its own; of what is left, the host has.
                TimeWaitAnswer::Challenge(_) if segment.sequence_len() == 0 && sent.is_empty() => {
                    let second = lone.now.as_nanos() / 1_000_000_000;
                    let before = answered.iter().filter(|at| **at == second).count();
                    prop_assert!(before >= StrangeAcks::MOST.into(), "{} answers in this second", before);
                }
                TimeWaitAnswer::Acknowledge(ack) | TimeWaitAnswer::Challenge(ack) => {
                    answered.push(lone.now.as_nanos() / 1_000_000_000);
                    prop_assert_eq!((sent, anew), (vec![ack], None));
                }
                TimeWaitAnswer::BeginsAnew(isn) => {
                    prop_assert_eq!(anew, Some(isn));
                    prop_assert_eq!(sent, vec![left.acknowledgment(lone.now)]);
                }
                TimeWaitAnswer::Ended => {
                    prop_assert_eq!(lone.state(), State::Closed(Closed::Gracefully));
                    prop_assert_eq!((sent, anew), (vec![], None));
                    break;
                }
            }
            prop_assert_eq!(lone.state(), State::TimeWait);
        }
    }
}
