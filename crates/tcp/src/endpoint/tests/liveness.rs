//! Keep-alive probes, and what ICMP reports.

use super::*;

const BY_TIMEOUT: State = State::Closed(Closed::ByTimeout);

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Probes after 10 s, then every 2 s, and gives up after three.
const RULES: KeepAlive = KeepAlive { idle: secs(10), interval: secs(2), probes: 3 };

fn watched(state: State) -> Lone {
    let mut lone = Lone::in_state(state);
    lone.endpoint.set_keep_alive(Some(RULES));
    lone
}

/// An open connection with nothing outstanding.
fn quiet() -> Lone {
    let mut lone = Lone::open();
    lone.endpoint.set_keep_alive(Some(RULES));
    lone
}

#[test]
fn the_defaults_are_linuxs() {
    assert_eq!(KeepAlive::default(), KeepAlive { idle: secs(7200), interval: secs(75), probes: 9 });
    let lone = Lone::open();
    assert_eq!((lone.endpoint.keep_alive(), lone.endpoint.next_timer()), (None, None), "off");
}

#[test]
fn a_silent_peer_is_probed_and_given_up() {
    let mut lone = quiet();
    assert_eq!(lone.endpoint.next_timer(), Some((Instant::from_millis(10_000), Timer::KeepAlive)));
    assert_eq!(lone.pass(ms(15_999)), ["10000 . 0 ack 1", "12000 . 0 ack 1", "14000 . 0 ack 1"]);
    assert_eq!(lone.endpoint.unanswered_keep_alives(), 3);
    assert_eq!(lone.state(), State::Established);
    // The peer learns of it, if it hears us (Linux `tcp_send_active_reset`).
    assert_eq!(lone.pass(ms(1)), ["16000 R. 1 ack 1"]);
    assert_eq!(lone.state(), BY_TIMEOUT);
    assert_eq!(lone.endpoint.next_timer(), None);
}

#[test]
fn a_probe_is_below_what_is_next() {
    let mut lone = Lone::in_state(State::Established);
    lone.endpoint.set_keep_alive(Some(RULES));
    lone.recv("P. 1:101 ack 11");
    assert_eq!(lone.sent(), [". 11 ack 101"]);
    assert_eq!(lone.pass(secs(10)), ["10000 . 10 ack 101"]);
}

#[test]
fn any_acceptable_segment_is_an_answer() {
    for answer in [". 1 ack 1", "P. 1:11 ack 1", "P. 5:11 ack 1"] {
        let mut lone = quiet();
        lone.pass(secs(12));
        assert_eq!(lone.endpoint.unanswered_keep_alives(), 2);
        lone.pass(ms(500));
        lone.answer(answer);
        assert_eq!(lone.endpoint.unanswered_keep_alives(), 0);
        assert_eq!(lone.pass(ms(9_999)), [""; 0], "{answer}");
        assert_eq!(lone.pass(ms(1)).len(), 1, "{answer}");
    }
    // Anybody could have sent these: an old number, an ACK of what was never sent, and SYN.
    for other in [". 0 ack 1", ". 1 ack 9", "S 0:1", "R 900"] {
        let mut lone = quiet();
        lone.pass(secs(12));
        lone.answer(other);
        assert_eq!(lone.endpoint.unanswered_keep_alives(), 2, "{other}");
    }
}

#[test]
fn a_probe_is_answered() {
    let mut pair = Pair::open(&config(), &config());
    pair.end(Client).set_keep_alive(Some(RULES));
    pair.run_until(31_000);
    assert_eq!(
        pair.trace(),
        [
            "10020 > . 0 ack 1",
            "10030 < . 1 ack 1",
            "20040 > . 0 ack 1",
            "20050 < . 1 ack 1",
            "30060 > . 0 ack 1",
            "30070 < . 1 ack 1",
        ]
    );
    assert_eq!(pair.states(), [State::Established; 2]);
}

#[test]
fn a_probe_acknowledges_what_an_ack_is_owed_for() {
    let acks = AckPolicy::Delayed(ms(200));
    let mut lone = Lone::connected(&Config { acks, ..config() }, "S. 0:1 ack 1 mss 1000 sackOK wscale 0");
    lone.endpoint.set_keep_alive(Some(KeepAlive { idle: ms(100), ..RULES }));
    lone.recv("P. 1:11 ack 1");
    assert_eq!(lone.pass(ms(300)), ["100 . 0 ack 11"]);
}

#[test]
fn outstanding_data_is_probe_enough() {
    let mut lone = watched(State::Established);
    assert!(lone.pass(secs(60)).iter().all(|line| line.ends_with("P. 1:11 ack 1")));
    lone.recv(". 1 ack 11");
    assert_eq!(lone.pass(secs(11)), ["70000 . 10 ack 1"]);
    // Written between the timer and the transmission: no probe.
    let mut lone = quiet();
    lone.now = Instant::from_millis(10_000);
    lone.endpoint.on_timer(lone.now, Timer::KeepAlive);
    lone.endpoint.write(lone.now, 10);
    assert_eq!(lone.sent(), ["P. 1:11 ack 1"]);
    assert_eq!(lone.answer(". 1 ack 11"), [""; 0]);
}

#[test]
fn states_in_which_the_peer_is_probed() {
    for (state, probed) in [
        (State::Listen, false),
        (State::SynSent, false),
        (State::SynReceived, false),
        (State::FinWait2, true),
        (State::TimeWait, false),
        (State::Closed(Closed::ByReset), false),
    ] {
        let lone = watched(state);
        let timer = lone.endpoint.next_own_timer().filter(|(_, timer)| *timer == Timer::KeepAlive);
        assert_eq!(timer.is_some(), probed, "{state:?}");
    }
    let mut lone = watched(State::CloseWait);
    lone.recv(". 2 ack 11");
    assert_eq!(lone.pass(secs(10)), ["10000 . 10 ack 2"]);
}

#[test]
fn probing_begins_with_the_connection_or_when_it_is_switched_on() {
    let mut lone = Lone::connecting(&config());
    lone.endpoint.set_keep_alive(Some(RULES));
    lone.sent();
    lone.pass(ms(900));
    lone.answer("S. 0:1 ack 1 mss 1000");
    assert_eq!(lone.pass(secs(10)), ["10900 . 0 ack 1"]);
    // Switched on late: the silence so far counts (Linux `keepalive_time_elapsed`).
    let mut lone = Lone::open();
    lone.pass(secs(30));
    lone.endpoint.set_keep_alive(Some(RULES));
    assert_eq!(lone.pass(Duration::ZERO), ["30000 . 0 ack 1"]);
    lone.endpoint.set_keep_alive(None);
    assert_eq!(lone.endpoint.next_timer(), None);
    assert_eq!(lone.pass(secs(1000)), [""; 0]);
}

#[test]
fn a_user_timeout_decides_instead_of_the_number_of_probes() {
    // (user timeout, when it ends)
    for (timeout, end) in [(1, 12_000), (12, 12_000), (13, 14_000), (25, 26_000)] {
        let mut lone = quiet();
        lone.endpoint.set_user_timeout(secs(timeout));
        lone.pass(ms(end - 1));
        assert_eq!(lone.state(), State::Established, "{timeout}");
        lone.pass(ms(1));
        assert_eq!(lone.state(), BY_TIMEOUT, "{timeout}");
    }
}

#[test]
fn rules_without_time_or_probes_still_probe_once() {
    let mut lone = Lone::open();
    let none = KeepAlive { idle: Duration::ZERO, interval: Duration::ZERO, probes: 0 };
    lone.endpoint.set_keep_alive(Some(none));
    assert_eq!(lone.pass(secs(1)), ["1 . 0 ack 1", "2 R. 1 ack 1"]);
    assert_eq!(lone.state(), BY_TIMEOUT);
}

#[test]
fn what_most_connections_do_not_need_is_not_kept() {
    let mut lone = quiet();
    assert!(lone.endpoint.liveness.is_some());
    lone.endpoint.set_keep_alive(None);
    assert!(lone.endpoint.liveness.is_none());
    let mut lone = Lone::in_state(State::Established);
    lone.endpoint.on_unreachable(lone.now, Unreachable::Net, OWN_ISN + 1);
    lone.recv(". 1 ack 11");
    assert!(lone.endpoint.liveness.is_none());
    lone.endpoint.set_keep_alive(Some(RULES));
    lone.endpoint.reset(&config(), true);
    assert_eq!(lone.endpoint.keep_alive(), None);
}

const ALL: [Unreachable; 5] =
    [Unreachable::Net, Unreachable::Host, Unreachable::Protocol, Unreachable::Port, Unreachable::Prohibited];

#[test]
fn a_handshake_ends_at_once_where_the_peer_cannot_be_reached() {
    for state in [State::SynSent, State::SynReceived] {
        for why in ALL {
            let mut lone = Lone::in_state(state);
            let now = lone.now;
            assert!(!lone.endpoint.on_unreachable(now, why, OWN_ISN + 1), "not outstanding");
            assert!(!lone.endpoint.on_unreachable(now, why, OWN_ISN - 1), "not outstanding");
            assert_eq!(lone.state(), state);
            assert!(lone.endpoint.on_unreachable(now, why, OWN_ISN));
            assert_eq!(lone.state(), State::Closed(Closed::Unreachable(why)));
            assert_eq!((lone.sent(), lone.endpoint.next_timer()), (vec![], None));
        }
    }
}

#[test]
fn an_open_connection_outlives_the_report_and_ends_with_it() {
    let timeout = config().mechanisms.user_timeout;
    for state in [State::Established, State::FinWait1, State::CloseWait, State::Closing, State::LastAck] {
        for why in ALL {
            let mut lone = Lone::in_state(state);
            assert!(lone.endpoint.on_unreachable(lone.now, why, lone.endpoint.send_unacknowledged()));
            assert_eq!((lone.state(), lone.endpoint.soft_error()), (state, Some(why)));
            lone.pass(timeout);
            assert_eq!(lone.state(), State::Closed(Closed::Unreachable(why)), "{state:?}");
        }
    }
}

#[test]
fn a_peer_that_is_heard_refutes_the_report() {
    let timeout = config().mechanisms.user_timeout;
    let mut lone = Lone::in_state(State::Established);
    lone.endpoint.on_unreachable(lone.now, Unreachable::Host, OWN_ISN + 1);
    lone.answer(". 1 ack 1 win 9000");
    assert_eq!(lone.endpoint.soft_error(), None);
    lone.pass(timeout);
    assert_eq!(lone.state(), BY_TIMEOUT);
}

#[test]
fn nothing_outstanding_nothing_believed() {
    for state in [State::Listen, State::FinWait2, State::TimeWait, State::Closed(Closed::ByReset)] {
        let mut lone = Lone::in_state(state);
        for seq in 0..3 {
            assert!(!lone.endpoint.on_unreachable(lone.now, Unreachable::Port, OWN_ISN + seq), "{state:?}");
        }
        assert_eq!((lone.state(), lone.endpoint.soft_error()), (state, None));
    }
}

#[test]
fn keep_alive_ends_with_the_report_too() {
    let mut lone = watched(State::Established);
    lone.recv(". 1 ack 6"); // half of the ten bytes
    lone.endpoint.on_unreachable(lone.now, Unreachable::Net, OWN_ISN + 6);
    assert_eq!(lone.endpoint.soft_error(), Some(Unreachable::Net));
    lone.recv(". 1 ack 11");
    assert_eq!(lone.endpoint.soft_error(), None);
    lone.pass(secs(100));
    assert_eq!(lone.state(), BY_TIMEOUT);
}

#[test]
fn an_unreachable_path_takes_back_a_backoff() {
    // RFC 6069
    let mut lone = Lone::in_state(State::Established);
    let una = OWN_ISN + 1;
    let rto = lone.endpoint.sender().rto();
    let passed = lone.pass(3 * rto);
    assert_eq!(passed.len(), 2, "after one RTO and two more: {passed:?}");
    assert_eq!(lone.endpoint.sender().rto(), 4 * rto);
    // Not the first outstanding byte, or no trouble of the path: no change.
    let now = lone.now;
    lone.endpoint.on_unreachable(now, Unreachable::Net, una + 1);
    lone.endpoint.on_unreachable(now, Unreachable::Prohibited, una);
    assert_eq!(lone.endpoint.sender().rto(), 4 * rto);
    lone.endpoint.on_unreachable(now, Unreachable::Net, una);
    assert_eq!(lone.endpoint.sender().rto(), 2 * rto);
    assert_eq!(lone.pass(2 * rto), [format!("{} P. 1:11 ack 1", (now + 2 * rto).as_millis_f64())]);
    // Late: the timer of the shorter RTO would have fired.
    lone.pass(3 * rto);
    lone.endpoint.on_unreachable(lone.now, Unreachable::Host, una);
    let at = lone.now.as_millis_f64();
    assert_eq!(lone.pass(Duration::ZERO), [format!("{at} P. 1:11 ack 1")]);
    // Each doubling is taken back once, and never more.
    for _ in 0..10 {
        lone.endpoint.on_unreachable(lone.now, Unreachable::Net, una);
    }
    assert_eq!((lone.endpoint.sender().rto(), lone.endpoint.sender().backoff()), (rto, 0));
}
