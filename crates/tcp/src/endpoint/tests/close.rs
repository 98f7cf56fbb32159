//! Closing in every order, TIME-WAIT, aborting, and giving up.

use super::*;

const GRACEFULLY: State = State::Closed(Closed::Gracefully);
const BY_TIMEOUT: State = State::Closed(Closed::ByTimeout);
const BY_RESET: State = State::Closed(Closed::ByReset);
const BY_ABORT: State = State::Closed(Closed::ByAbort);

#[test]
fn the_client_closes_first() {
    let mut pair = Pair::open(&config(), &config());
    pair.close(Client);
    pair.run_until(55);
    assert_eq!(pair.states(), [State::FinWait2, State::CloseWait]);
    pair.close(Server);
    assert_eq!(pair.states()[1], State::LastAck);
    pair.run_until(80);
    assert_eq!(pair.states(), [State::TimeWait, GRACEFULLY]);
    assert_eq!(pair.trace(), ["30 > F. 1:2 ack 1", "40 < . 1 ack 2", "55 < F. 1:2 ack 2", "65 > . 2 ack 2"]);
    pair.run_until(60_064);
    assert_eq!(pair.states()[0], State::TimeWait);
    pair.run();
    assert_eq!(pair.states(), [GRACEFULLY; 2]);
    assert_eq!(pair.now_of_rest(), 60_065);
}

#[test]
fn both_close_at_once() {
    let mut pair = Pair::open(&config(), &config());
    pair.close(Client);
    pair.close(Server);
    pair.run_until(45);
    assert_eq!(pair.states(), [State::Closing; 2]);
    pair.run_until(55);
    assert_eq!(pair.states(), [State::TimeWait; 2]);
    assert_eq!(pair.trace(), ["30 > F. 1:2 ack 1", "30 < F. 1:2 ack 1", "40 < . 2 ack 2", "40 > . 2 ack 2",]);
    pair.run();
    assert_eq!(pair.states(), [GRACEFULLY; 2]);
}

#[test]
fn the_fin_rides_on_the_last_data() {
    let mut pair = Pair::open(&config(), &config());
    pair.write(Client, 1500);
    pair.close(Client);
    pair.run_until(35);
    pair.close(Server);
    pair.run_until(70);
    assert_eq!(
        pair.trace(),
        [
            "30 > . 1:1001 ack 1",
            "30 > FP. 1001:1502 ack 1",
            "35 < F. 1:2 ack 1",
            "40 < . 2 ack 1001",
            "40 < . 2 ack 1502",
            "45 > . 1502 ack 2",
        ]
    );
    assert_eq!(pair.read[1], 1500);
}

#[test]
fn a_fin_that_does_not_fit_is_sent_alone() {
    // A full last segment has no room for payload, but a FIN is none (RFC 9293 §3.4).
    let mut pair = Pair::open(&config(), &config());
    pair.write(Client, 2000);
    pair.close(Client);
    pair.run_until(35);
    assert_eq!(pair.trace(), ["30 > . 1:1001 ack 1", "30 > FP. 1001:2002 ack 1"]);
    // Written all and sent, then closed: bare.
    let mut pair = Pair::open(&config(), &config());
    pair.write(Client, 500);
    pair.run_until(60);
    pair.close(Client);
    pair.run_until(75);
    assert_eq!(pair.trace(), ["30 > P. 1:501 ack 1", "40 < . 1 ack 501", "60 > F. 501:502 ack 1", "70 < . 1 ack 502"]);
}

#[test]
fn three_segments_close_when_the_peer_answers_with_its_own_fin() {
    let mut lone = Lone::open();
    lone.endpoint.close(lone.now);
    assert_eq!(lone.sent(), ["F. 1:2 ack 1"]);
    assert_eq!(lone.answer("F. 1:2 ack 2"), [". 2 ack 2"]);
    assert_eq!(lone.state(), State::TimeWait);
}

#[test]
fn the_other_direction_stays_open() {
    let mut pair = Pair::open(&config(), &config());
    pair.close(Client);
    pair.run_until(60);
    pair.write(Server, 3500);
    pair.run_until(100);
    assert_eq!(pair.read[0], 3500);
    pair.close(Server);
    pair.run();
    assert_eq!(pair.states(), [GRACEFULLY; 2]);
}

#[test]
fn a_lost_fin_is_retransmitted_on_both_sides() {
    // FIN lost, its ACK lost, the other FIN lost, the last ACK lost.
    for lost in [(Client, 1), (Server, 1), (Server, 2), (Client, 2)] {
        let mut pair = Pair::open(&config(), &config());
        pair.lost = vec![lost];
        pair.close(Client);
        pair.run_until(60);
        pair.close(Server);
        pair.run();
        assert_eq!(pair.states(), [GRACEFULLY; 2], "{lost:?}");
    }
}

#[test]
fn time_wait_answers_a_repeated_fin_and_begins_anew() {
    let mut pair = Pair::open(&config(), &config());
    pair.lost = vec![(Client, 2)]; // the last ACK
    pair.close(Client);
    pair.run_until(60);
    pair.close(Server);
    pair.run();
    assert_eq!(
        pair.trace()[2..],
        [
            "60 < F. 1:2 ack 2",
            "70 > . 2 ack 2",
            "280 < F. 1:2 ack 2",
            "290 > . 2 ack 2 sack 1:2", // RFC 2883: it came twice
        ]
    );
    assert_eq!(pair.now_of_rest(), 60_290);
}

#[test]
fn what_time_wait_does_with_segments() {
    // (segment, answer, state)
    let cases: [(&str, &[&str], State); 7] = [
        (". 2 ack 2", &[], State::TimeWait),
        (". 1 ack 2", &[". 2 ack 2"], State::TimeWait),
        ("F. 1:2 ack 2", &[". 2 ack 2 sack 1:2"], State::TimeWait),
        ("P. 2:12 ack 2", &[". 2 ack 2"], State::TimeWait), // nothing follows a FIN
        ("S 77:78", &[". 2 ack 2"], State::TimeWait),
        ("R 3", &[". 2 ack 2"], State::TimeWait),
        ("R 2", &[], GRACEFULLY), // all was acknowledged
    ];
    for (segment, answer, state) in cases {
        let mut lone = Lone::in_state(State::TimeWait);
        assert_eq!(lone.answer(segment), answer, "{segment}");
        assert_eq!(lone.state(), state, "{segment}");
    }
}

#[test]
fn fin_wait_1_takes_fins_and_their_acks_in_any_order() {
    // (segments, state): our FIN is 1, theirs too
    let cases: [(&[&str], State); 6] = [
        (&[". 1 ack 2"], State::FinWait2),
        (&["F. 1:2 ack 1"], State::Closing),
        (&["F. 1:2 ack 1", ". 2 ack 2"], State::TimeWait),
        (&[". 1 ack 2", "F. 1:2 ack 2"], State::TimeWait),
        (&["FP. 1:102 ack 2"], State::TimeWait),
        // Their FIN comes before their data does.
        (&["F. 101:102 ack 2", "P. 1:101 ack 2"], State::TimeWait),
    ];
    for (segments, state) in cases {
        let mut lone = Lone::in_state(State::FinWait1);
        for segment in segments {
            lone.answer(segment);
        }
        assert_eq!(lone.state(), state, "{segments:?}");
    }
}

#[test]
fn closing_twice_or_when_closed_changes_nothing() {
    for state in [State::FinWait1, State::FinWait2, State::Closing, State::LastAck, State::TimeWait, BY_RESET] {
        let mut lone = Lone::in_state(state);
        lone.endpoint.close(lone.now);
        lone.endpoint.write(lone.now, 100);
        assert_eq!((lone.sent(), lone.state()), (vec![], state));
    }
}

#[test]
fn closing_before_there_is_a_connection() {
    let mut lone = Lone::in_state(State::Listen);
    lone.endpoint.close(lone.now);
    assert_eq!(lone.state(), GRACEFULLY);
    // The FIN waits for the handshake.
    let mut lone = Lone::in_state(State::SynSent);
    lone.endpoint.close(lone.now);
    assert_eq!(lone.answer("S. 0:1 ack 1"), ["F. 1:2 ack 1"]);
    assert_eq!(lone.state(), State::FinWait1);
    let mut lone = Lone::in_state(State::SynReceived);
    lone.endpoint.close(lone.now);
    assert_eq!(lone.answer(". 1 ack 1"), ["F. 1:2 ack 1"]);
    assert_eq!(lone.state(), State::FinWait1);
}

#[test]
fn abort() {
    // (state, reset sent): RFC 9293 §3.10.5
    let cases: [(State, &[&str]); 11] = [
        (State::Listen, &[]),
        (State::SynSent, &[]),
        (State::SynReceived, &["R. 1 ack 1"]),
        (State::Established, &["R. 11 ack 1"]),
        (State::FinWait1, &["R. 2 ack 1"]),
        (State::FinWait2, &["R. 2 ack 1"]),
        (State::CloseWait, &["R. 11 ack 2"]),
        (State::Closing, &[]),
        (State::LastAck, &[]),
        (State::TimeWait, &[]),
        (BY_RESET, &[]),
    ];
    for (state, reset) in cases {
        let mut lone = Lone::in_state(state);
        lone.endpoint.abort();
        assert_eq!(lone.sent(), reset, "{state:?}");
        let closed = if state == BY_RESET { BY_RESET } else { BY_ABORT };
        assert_eq!(lone.state(), closed, "{state:?}");
        assert_eq!(lone.endpoint.next_timer(), None, "{state:?}");
    }
}

#[test]
fn an_abort_reaches_the_peer_even_behind_lost_data() {
    // The reset stands behind data the server misses, so the server asks (RFC 5961 §3); the answer
    // stands where it expects it.
    let mut pair = Pair::open(&config(), &config());
    pair.lost = vec![(Client, 1)];
    pair.write(Client, 500);
    pair.run_until(35);
    pair.end(Client).abort();
    pair.run();
    assert_eq!(pair.trace(), ["30 > P. 1:501 ack 1", "35 > R. 501 ack 1", "45 < . 1 ack 1", "55 > R 1"]);
    assert_eq!(pair.states(), [BY_ABORT, BY_RESET]);
}

#[test]
fn a_closed_endpoint_answers_with_resets() {
    // (segment, answer): RFC 9293 §3.10.7.1
    let cases: [(&str, &[&str]); 4] =
        [(". 1 ack 1", &["R 1"]), ("P. 1:101 ack 77", &["R 77"]), ("R 1", &[]), ("R. 1 ack 1", &[])];
    for (segment, answer) in cases {
        let mut lone = Lone::in_state(BY_RESET);
        assert_eq!(lone.answer(segment), answer, "{segment}");
        assert_eq!(lone.state(), BY_RESET);
    }
    // Without an ACK to stand on, the reset has number 0 and acknowledges the segment.
    let mut lone = Lone::in_state(BY_RESET);
    lone.recv("S 5:6");
    let reset = lone.transmits()[0];
    assert_eq!(reset.flags, Flags::RST | Flags::ACK);
    assert_eq!((reset.seq, reset.ack), (SeqNumber(0), PEER_ISN + 6));
}

#[test]
fn a_reset_ends_every_state() {
    for (state, end) in [
        (State::SynReceived, BY_RESET),
        (State::Established, BY_RESET),
        (State::FinWait1, BY_RESET),
        (State::FinWait2, BY_RESET),
        (State::CloseWait, BY_RESET),
        (State::Closing, BY_RESET),
        (State::LastAck, BY_RESET),
        (State::TimeWait, GRACEFULLY),
    ] {
        let mut lone = Lone::in_state(state);
        let next = lone.endpoint.receiver().next();
        assert_eq!(lone.answer(&format!("R {next}")), [""; 0]);
        assert_eq!(lone.state(), end, "{state:?}");
        assert_eq!(lone.endpoint.next_timer(), None);
    }
}

#[test]
fn the_user_timeout_ends_every_state_that_waits_for_an_ack() {
    let timeout = config().mechanisms.user_timeout;
    for state in [
        State::SynSent,
        State::SynReceived,
        State::Established,
        State::FinWait1,
        State::CloseWait,
        State::Closing,
        State::LastAck,
    ] {
        let mut lone = Lone::in_state(state);
        let repeated = lone.pass(timeout - ms(1));
        // At least at 1, 3, 7, 15, 31, 63, 127 and 255 s.
        assert!(repeated.len() >= 8, "{state:?}: {repeated:?}");
        assert_eq!(lone.state(), state);
        lone.pass(ms(1));
        assert_eq!(lone.state(), BY_TIMEOUT, "{state:?}");
        assert_eq!(lone.endpoint.next_timer(), None);
    }
}

#[test]
fn states_that_wait_for_nobody_have_no_timer() {
    let mut established = Lone::in_state(State::Established);
    established.answer(". 1 ack 11");
    let mut close_wait = Lone::in_state(State::CloseWait);
    close_wait.answer(". 2 ack 11");
    let listen = Lone::in_state(State::Listen);
    let fin_wait_2 = Lone::in_state(State::FinWait2);
    for mut lone in [established, close_wait, listen, fin_wait_2] {
        let state = lone.state();
        assert_eq!(lone.endpoint.next_timer(), None, "{state:?}");
        lone.pass(Duration::from_secs(1_000_000));
        assert_eq!(lone.state(), state);
    }
}

#[test]
fn progress_postpones_the_user_timeout() {
    let timeout = config().mechanisms.user_timeout;
    let mut lone = Lone::in_state(State::Established);
    lone.pass(timeout - ms(1));
    lone.recv(". 1 ack 6"); // half of the ten bytes
    lone.pass(timeout - ms(1));
    assert_eq!(lone.state(), State::Established);
    // A duplicate is no progress.
    lone.recv(". 1 ack 6");
    lone.pass(ms(1));
    assert_eq!(lone.state(), BY_TIMEOUT);
}

#[test]
fn a_released_connection_is_reset_if_data_is_unread_or_arrives() {
    // (before, unread data, a reset asked for, what goes, then what arrives, what answers it)
    type Lines<'a> = &'a [&'a str];
    let cases: [(State, bool, bool, Lines, &str, Lines); 6] = [
        (State::Established, false, false, &["F. 11:12 ack 1"], ". 1 ack 12", &[]),
        (State::Established, false, false, &["F. 11:12 ack 1"], "P. 1:5 ack 12", &["R 12"]),
        (State::Established, true, false, &["R. 11 ack 5"], "P. 5:9 ack 11", &["R 11"]),
        (State::Established, false, true, &["R. 11 ack 1"], ". 1 ack 11", &["R 11"]),
        (State::CloseWait, false, false, &["F. 11:12 ack 2"], ". 2 ack 12", &[]),
        (State::SynSent, false, false, &[], "S. 0:1 ack 1", &["R 1"]),
    ];
    for (state, unread, reset, goes, arrives, answer) in cases {
        let mut lone = Lone::in_state(state);
        if unread {
            lone.recv("P. 1:5 ack 1");
            lone.sent();
        }
        let now = lone.now;
        lone.endpoint.release(now, reset);
        let case = format!("{state:?} {unread} {reset}");
        assert_eq!(lone.sent(), goes, "{case}");
        assert_eq!(lone.answer(arrives), answer, "{case}");
    }
}

#[test]
fn old_data_does_not_reset_a_released_connection() {
    let mut lone = Lone::open();
    lone.recv("P. 1:5 ack 1");
    lone.sent();
    let now = lone.now;
    lone.endpoint.read(now, 4);
    lone.endpoint.release(now, false);
    assert_eq!(lone.sent(), ["F. 1:2 ack 5"]);
    assert_eq!(lone.answer("P. 1:5 ack 2"), [". 2 ack 5 sack 1:5"]);
    assert_eq!(lone.endpoint.state(), State::FinWait2);
}
