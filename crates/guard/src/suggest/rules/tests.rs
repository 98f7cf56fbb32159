use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn opened(rtts: Vec<Duration>) -> PathFacts {
    let connections = rtts.len() as u64;
    PathFacts { connections, opened: HandshakeFacts { rtts, ..HandshakeFacts::default() }, ..PathFacts::default() }
}

#[test]
fn a_first_timeout_needs_twenty_handshakes() {
    assert_eq!(Suggestions::of(&opened(vec![ms(60); 19])).syn, Suggestion::Unknown(Unknown::Handshakes));
    // 60 ms · 1.5 = 90 ms are 22.5 ticks.
    let found = Suggestions::of(&opened(vec![ms(60); 20]));
    assert_eq!(found.syn, Suggestion::Lower(ms(92)));
    assert_eq!(found.syn_ack, Suggestion::Unknown(Unknown::Handshakes));
}

#[test]
fn the_variance_counts_where_it_is_large() {
    // SRTT 110, RTTVAR 55; then |110 − 10| = 100: RTTVAR 66.25, SRTT 97.5.
    assert_eq!(smoothed(&[ms(110), ms(10)]), Duration::from_secs_f64(0.0975 + 4.0 * 0.06625));
    let rtts: Vec<Duration> = (0..20).map(|i| if i % 2 == 0 { ms(10) } else { ms(110) }).collect();
    let smoothed = smoothed(&rtts);
    assert!(smoothed > ms(110).mul_f64(MARGIN), "{smoothed:?}");
    assert_eq!(Suggestions::of(&opened(rtts)).syn, Suggestion::Lower(rounded(smoothed)));
}

#[test]
fn one_in_a_thousand_round_trips_may_be_longer() {
    let with = |n: usize| {
        let mut rtts = vec![ms(40); n];
        rtts[3] = ms(604);
        Suggestions::of(&opened(rtts)).syn
    };
    // 604 ms · 1.5 is more than 0.9 s.
    assert_eq!(with(999), Suggestion::Usual(Usual::Needed));
    assert_eq!(with(1_000), Suggestion::Lower(ms(60)));
}

#[test]
fn short_paths_keep_the_shortest_timeout_and_long_ones_the_kernels() {
    // Hosts pause.
    assert_eq!(Suggestions::of(&opened(vec![Duration::from_micros(300); 50])).syn, Suggestion::Lower(ms(40)));
    assert_eq!(Suggestions::of(&opened(vec![ms(650); 50])).syn, Suggestion::Usual(Usual::Needed));
}

#[test]
fn an_answer_that_no_loss_explains_keeps_the_kernels_timer() {
    let with = |answered, least| {
        let mut facts = opened(vec![ms(60); 50]);
        facts.opened.repeated = 1;
        facts.opened.answered = vec![([ms(2_000), ms(answered)], least)];
        Suggestions::of(&facts).syn
    };
    // A round trip after the retransmission: the packet before was lost.
    assert_eq!(with(60, None), Suggestion::Lower(ms(92)));
    assert_eq!(with(90, Some(ms(60))), Suggestion::Lower(ms(92)));
    // It may be late by 32 ms, or the other end's own retransmission may come first.
    assert_eq!(with(122, None), Suggestion::Lower(ms(92)));
    assert_eq!(with(0, None), Suggestion::Lower(ms(92)));
    // The answer to the packet before, after a second and some.
    for (answered, least) in [(123, None), (17, Some(ms(100)))] {
        assert_eq!(with(answered, least), Suggestion::Usual(Usual::TooEarly), "{answered}");
    }
}

/// Round trips of data whose median is 60 ms.
fn rtts(samples: u64, p90: u64, p99: u64, max: u64) -> RttQuantiles {
    RttQuantiles { samples, p50: ms(60), p90: ms(p90), p99: ms(p99), max: ms(max), ..RttQuantiles::default() }
}

#[test]
fn the_round_trips_of_data_bound_first_timeouts() {
    let mut facts = opened(vec![ms(60); 50]);
    // One round trip of 300 ms of 100 may be longer than the timeout; 9 of 130 ms may not. 130 ms are 32.5 ticks.
    facts.data = vec![rtts(100, 70, 130, 300)];
    assert_eq!(Suggestions::of(&facts).syn, Suggestion::Lower(ms(132)));
    facts.data = vec![rtts(99, 70, 130, 300)];
    assert_eq!(Suggestions::of(&facts).syn, Suggestion::Lower(ms(300)));
    // Others are short.
    facts.data.push(rtts(10_000, 60, 60, 60));
    assert_eq!(Suggestions::of(&facts).syn, Suggestion::Lower(ms(92)));
}

#[test]
fn the_least_rto_covers_delayed_acks() {
    let of = |data: Vec<RttQuantiles>| {
        let facts = PathFacts { connections: data.len() as u64, data, ..PathFacts::default() };
        Suggestions::of(&facts).least_rto
    };
    assert_eq!(of(vec![rtts(100, 61, 70, 80); 4]), Suggestion::Unknown(Unknown::Data));
    assert_eq!(of(vec![rtts(19, 61, 70, 80); 5]), Suggestion::Unknown(Unknown::Data));
    // A delay of 40 ms is possible, though none shows.
    assert_eq!(of(vec![rtts(20, 61, 70, 80); 5]), Suggestion::Lower(ms(48)));
    // The largest excess is 50 ms, and one in a hundred is at least that: 75 ms are 18.75 ticks.
    assert_eq!(of(vec![rtts(20, 61, 110, 110); 5]), Suggestion::Lower(ms(76)));
    // Of 1,000 round trips, one may exceed it by more: then 40 ms, of which there are 9 in each connection, times 1.5.
    let mut data = vec![rtts(100, 61, 100, 100); 10];
    data[0].max = ms(170);
    assert_eq!(of(data.clone()), Suggestion::Lower(ms(60)));
    data[1].max = ms(170);
    assert_eq!(of(data.clone()), Suggestion::Lower(ms(112)));
    data[1].max = ms(260);
    data[0].max = ms(260);
    assert_eq!(of(data), Suggestion::Usual(Usual::Needed));
    let too_early =
        PathFacts { too_early: 1, data: vec![rtts(20, 61, 70, 80); 5], connections: 5, ..PathFacts::default() };
    assert_eq!(Suggestions::of(&too_early).least_rto, Suggestion::Usual(Usual::TooEarly));
}

#[test]
fn the_delay_of_acks_is_lowered_only_for_peers_that_waited() {
    assert_eq!(Suggestions::of(&PathFacts::default()).most_ack_delay, Suggestion::Unknown(Unknown::Waiters));
    let facts = PathFacts { waiters: 2, nagle: ms(80), ..PathFacts::default() };
    // Two ticks.
    assert_eq!(Suggestions::of(&facts).most_ack_delay, Suggestion::Lower(ms(8)));
}

#[test]
fn a_network_says_only_what_is_new() {
    let around = Some(ms(100));
    assert_eq!(Suggestion::Unknown(Unknown::Handshakes).within(around), around);
    assert_eq!(Suggestion::Lower(ms(84)).within(around), around);
    assert_eq!(Suggestion::Lower(ms(80)).within(around), Some(ms(80)));
    // A path that needs more gets it, however little that is.
    assert_eq!(Suggestion::Lower(ms(104)).within(around), Some(ms(104)));
    assert_eq!(Suggestion::Usual(Usual::TooEarly).within(around), None);
    assert_eq!(Suggestion::Lower(ms(800)).within(None), Some(ms(800)));
}
