//! Segments that a blind attacker, an old connection or an old path might send (RFC 5961, RFC 7323
//! §5).

use super::*;

const BY_RESET: State = State::Closed(Closed::ByReset);

/// The window offered in [`Lone::open`].
const WINDOW: u32 = 64 << 20;

#[test]
fn a_reset_must_be_exact() {
    // RFC 5961 §3.2. (number of the reset, answer, state); 1 is expected.
    let cases: [(u32, &[&str], State); 7] = [
        (1, &[], BY_RESET),
        (2, &[". 1 ack 1"], State::Established),
        (WINDOW, &[". 1 ack 1"], State::Established),
        (WINDOW + 2, &[], State::Established),
        (0, &[], State::Established),
        (1u32.wrapping_sub(1000), &[], State::Established), // before the connection began
        (1 << 31, &[], State::Established),
    ];
    for (seq, answer, state) in cases {
        for flags in ["R", "R."] {
            let mut lone = Lone::open();
            assert_eq!(lone.answer(&format!("{flags} {seq} ack 1")), answer, "{seq}");
            assert_eq!(lone.state(), state, "{seq}");
        }
    }
}

#[test]
fn a_syn_triggers_a_challenge_ack_at_any_sequence_number() {
    // RFC 5961 §4.2
    for seq in [0, 1, 2, 1000, WINDOW + 5, 1 << 31, u32::MAX] {
        for state in [
            State::Established,
            State::FinWait1,
            State::FinWait2,
            State::CloseWait,
            State::Closing,
            State::LastAck,
            State::TimeWait,
        ] {
            for flags in ["S", "S.", "SF", "SP."] {
                let mut lone = Lone::in_state(state);
                let own = lone.endpoint.sender().nxt();
                let next = lone.endpoint.receiver().next();
                let answer = lone.answer(&format!("{flags} {seq} ack 1"));
                assert_eq!(answer, [format!(". {own} ack {next}")], "{flags} {seq}");
                assert_eq!(lone.state(), state, "{flags} {seq}");
            }
        }
    }
}

#[test]
fn an_ack_of_unsent_data_triggers_a_challenge_ack_and_its_segment_is_dropped() {
    for ack in [12, 1000, (1u32 << 31) - 100] {
        let mut lone = Lone::in_state(State::Established); // 10 bytes are out
        assert_eq!(lone.answer(&format!("P. 1:101 ack {ack}")), [". 11 ack 1"], "{ack}");
        assert_eq!(lone.endpoint.readable(), 0);
        assert_eq!(lone.endpoint.sender().una(), Offset(1));
    }
}

#[test]
fn an_ack_older_than_the_largest_window_triggers_a_challenge_ack() {
    // RFC 5961 §5.2. The peer's largest window was 5000; 20000 bytes are acknowledged.
    for (ack, dropped) in [(20_001, false), (15_001, false), (15_000, true), (1, true)] {
        let mut lone = Lone::connected(&config(), "S. 0:1 ack 1 mss 1000 win 5000");
        lone.endpoint.write(lone.now, 20_000);
        for at in (0..20_001).step_by(1000) {
            lone.sent();
            lone.recv(&format!(". 1 ack {} win 5000", at + 1));
        }
        assert_eq!(lone.endpoint.sender().una(), Offset(20_001));
        lone.recv(&format!("P. 1:101 ack {ack} win 5000"));
        assert_eq!(lone.endpoint.owes_challenge_ack(), dropped, "{ack}");
        assert_eq!(lone.endpoint.readable() == 0, dropped, "{ack}");
    }
}

#[test]
fn a_challenge_ack_is_owed_for_what_may_be_a_blind_attack_and_nothing_else() {
    // RFC 5961 §3.2, §4.2, §5.2. (segment, challenged); 1 is expected, 10 bytes are outstanding.
    let cases = [
        ("R 1".to_string(), false), // obeyed
        ("R 2".to_string(), true),
        (format!("R {}", WINDOW + 2), false), // ignored
        ("R 0".to_string(), false),
        ("S 1".to_string(), true),
        (format!("S. {} ack 11", WINDOW + 2), true),
        (". 1 ack 12".to_string(), true), // never sent
        (". 1 ack 11".to_string(), false),
        ("P. 1:101 ack 11".to_string(), false),
        (format!(". {} ack 11", WINDOW + 2), false), // answered by an ordinary ACK
        (". 0 ack 11".to_string(), false),
    ];
    for (text, challenged) in cases {
        let mut lone = Lone::in_state(State::Established);
        lone.recv(&text);
        assert_eq!(lone.endpoint.owes_challenge_ack(), challenged, "{text}");
        if challenged {
            assert_eq!(lone.sent(), [". 11 ack 1"], "{text}");
            assert!(!lone.endpoint.owes_challenge_ack(), "{text}");
            lone.recv(&text);
            lone.endpoint.withhold_challenge_ack();
            assert_eq!(lone.sent(), [""; 0], "{text}");
        }
    }
}

#[test]
fn a_required_ack_replaces_the_challenge_ack() {
    let mut lone = Lone::in_state(State::Established);
    lone.recv("S 1");
    lone.recv("P. 1:101 ack 11");
    assert!(!lone.endpoint.owes_challenge_ack());
    assert_eq!(lone.sent(), [". 11 ack 101"]);
}

#[test]
fn segments_outside_the_window_change_nothing() {
    // RFC 9293 §3.10.7.4, first step: whatever they acknowledge, carry or say.
    let cases = [
        format!(". {} ack 11", WINDOW + 2),
        format!("P. {}:{} ack 11", WINDOW + 2, WINDOW + 102),
        format!("F. {}:{} ack 11", WINDOW + 2, WINDOW + 3),
        format!(". {} ack 11", 1u32.wrapping_sub(5000)),
        format!(". {} ack 11", 1u32 << 31),
    ];
    for text in cases {
        let mut lone = Lone::in_state(State::Established);
        assert_eq!(lone.answer(&text), [". 11 ack 1"], "{text}");
        assert_eq!(lone.endpoint.sender().una(), Offset(1), "{text}");
        assert_eq!(lone.endpoint.readable(), 0, "{text}");
        // The true end of the stream is still believed.
        lone.answer("FP. 1:102 ack 11");
        assert_eq!(lone.state(), State::CloseWait, "{text}");
        assert_eq!(lone.endpoint.readable(), 100, "{text}");
    }
}

#[test]
fn acks_at_both_ends_of_the_window_are_used() {
    // A peer that has filled the window acknowledges from its far edge, which §3.10.7.4 would
    // refuse; one whose data has overtaken its ACK does so from below.
    let mut lone = Lone::in_state(State::Established);
    assert_eq!(lone.answer(&format!(". {} ack 6", WINDOW + 1)), [""; 0]);
    assert_eq!(lone.endpoint.sender().una(), Offset(6));
    let held = Config { acks: AckPolicy::Delayed(ms(200)), ..config() };
    let mut lone = Lone::connected(&held, "S. 0:1 ack 1 mss 1000");
    lone.endpoint.write(lone.now, 10);
    lone.sent();
    lone.recv("P. 1:101 ack 1");
    lone.recv(". 1 ack 11");
    assert_eq!(lone.endpoint.sender().una(), Offset(11));
}

#[test]
fn a_segment_without_ack_is_dropped() {
    let mut lone = Lone::open();
    assert_eq!(lone.answer("P 1:101"), [""; 0]);
    assert_eq!(lone.answer("F 1:2"), [""; 0]);
    assert_eq!(lone.endpoint.readable(), 0);
    assert_eq!(lone.state(), State::Established);
}

fn with_peer_clock() -> Lone {
    Lone::connected(&with_timestamps(), "S. 0:1 ack 1 mss 1000 sackOK ts 1000/1")
}

#[test]
fn old_timestamps_are_rejected() {
    // RFC 7323 §5.3. (timestamp, taken)
    let cases = [
        (1000, true),
        (1001, true),
        (999, false),
        (0, false),
        (1000u32.wrapping_sub(1 << 31).wrapping_add(1), false),
        (1000 + (1 << 31) - 1, true),
    ];
    for (timestamp, taken) in cases {
        let mut lone = with_peer_clock();
        let answer = lone.answer(&format!("P. 1:101 ack 1 ts {timestamp}/1"));
        let next = if taken { 101 } else { 1 };
        assert_eq!(answer, [format!(". 1 ack {next}")], "{timestamp}");
    }
    // A reset is judged by its number alone (§5.2).
    let mut lone = with_peer_clock();
    lone.recv("R 1 ts 5/1");
    assert_eq!(lone.state(), BY_RESET);
}

#[test]
fn a_duplicate_of_an_earlier_turn_of_the_sequence_numbers_is_rejected() {
    // Its number is expected again, but its clock is old: what PAWS is for.
    let mut lone = with_peer_clock();
    lone.answer("P. 1:101 ack 1 ts 2000/1");
    assert_eq!(lone.answer("P. 101:201 ack 1 ts 1500/1"), [". 1 ack 101"]);
    assert_eq!(lone.answer("P. 101:201 ack 1 ts 2000/1"), [". 1 ack 201"]);
}

#[test]
fn timestamps_wrap() {
    let text = format!("S. 0:1 ack 1 mss 1000 ts {}/1", u32::MAX);
    let mut lone = Lone::connected(&with_timestamps(), &text);
    assert_eq!(lone.answer("P. 1:101 ack 1 ts 0/1"), [". 1 ack 101"]);
    assert_eq!(lone.answer("P. 101:201 ack 1 ts 4294967295/1"), [". 1 ack 101"]);
}

#[test]
fn after_24_days_of_silence_any_timestamp_is_new() {
    // RFC 7323 §5.5: the peer's clock may have turned by more than half.
    let day = Duration::from_secs(24 * 3600);
    for (days, next) in [(23, 1), (24, 101)] {
        let mut lone = with_peer_clock();
        lone.pass(day * days);
        assert_eq!(lone.answer("P. 1:101 ack 1 ts 999/1"), [format!(". 1 ack {next}")]);
    }
}

#[test]
fn a_segment_outside_the_window_does_not_set_the_peers_clock() {
    // RFC 7323 §5.3: R2 rejects it before R3 keeps its timestamp.
    let mut lone = with_peer_clock();
    lone.answer("P. 1:1001 ack 1 ts 1000/1");
    lone.answer(". 500 ack 1 ts 2000000000/1");
    lone.answer(&format!(". {} ack 1 ts 2000000000/1", WINDOW + 2000));
    assert_eq!(lone.answer("P. 1001:1101 ack 1 ts 1001/1"), [". 1 ack 1101"]);
}

#[test]
fn a_segment_without_the_negotiated_timestamps_is_accepted() {
    let mut lone = with_peer_clock();
    assert_eq!(lone.answer("P. 1:101 ack 1"), [". 1 ack 101"]);
}

#[test]
fn challenges_do_not_answer_each_other() {
    // Two that disagree on everything: what both send on seeing the other comes to an end.
    let mut pair = Pair::open(&config(), &config());
    let stray = |text: &str| segment(text, OWN_ISN, PEER_ISN);
    for text in ["R 2", "S 1:2", ". 0 ack 1", ". 1 ack 5", "P. 500:600 ack 90", ". 100000000 ack 1"] {
        let segment = stray(text);
        let now = pair.now;
        pair.sent.clear();
        pair.end(Server).on_segment(now, &segment);
        pair.run();
        assert_eq!(pair.sent.len(), 1, "{text}: {:?}", pair.trace());
    }
}

#[test]
fn strange_acks_are_answered_a_few_times_a_second_and_strange_data_always() {
    for state in [State::Established, State::CloseWait, State::FinWait1, State::TimeWait] {
        let mut lone = Lone::in_state(state);
        let strange = format!(". {} ack 1", WINDOW + 100);
        let answers = |lone: &mut Lone| (0..20).filter(|_| !lone.answer(&strange).is_empty()).count();
        assert_eq!(answers(&mut lone), 5, "{state:?}");
        assert_eq!(lone.answer(&format!("P. {}:{} ack 1", WINDOW + 100, WINDOW + 110)).len(), 1, "{state:?}");
        lone.now += Duration::from_secs(1);
        assert_eq!(answers(&mut lone), 5, "{state:?}");
    }
}
