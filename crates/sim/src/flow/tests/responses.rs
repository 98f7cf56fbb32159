//! The TCP latency of responses. The server is connected after 120 ms and writes at once. Its RTO is 280 ms.

use super::*;
use recoup_tcp::flow::{Response, Script, When, Write};

/// (segments, retransmissions, segments lost, latency in ms)
type Row = (u64, u32, u32, Option<u64>);

fn rows(responses: &[Response]) -> Vec<Row> {
    let row = |(number, response): (usize, &Response)| {
        assert_eq!(response.ordinal as usize, number);
        let latency = response.latency().map(|latency| latency.as_millis() as u64);
        (response.segments, response.retransmissions, response.lost, latency)
    };
    responses.iter().enumerate().map(row).collect()
}

#[test]
fn a_response_takes_from_its_first_byte_to_the_ack_of_its_last() {
    for (up, down, expected) in [
        (None, None, (10, 0, 0, Some(80))),
        // Fast retransmit at 200 ms, its ACK at 280 ms.
        (None, Some("data:1"), (10, 1, 1, Some(160))),
        // The last ACK arrives at 200 ms, so the timer fires at 480 ms.
        (None, Some("data:10"), (10, 1, 1, Some(440))),
        // The ACK of the last segment is lost: a spurious retransmission, as long as the loss of the segment.
        (Some("ack:11"), None, (10, 1, 0, Some(440))),
    ] {
        let flow = Flow {
            up: Vec::leak(up.into_iter().collect()),
            down: Vec::leak(down.into_iter().collect()),
            ..Flow::default()
        };
        let (simulation, _) = flow.simulate();
        let responses = simulation.responses();
        let what = format!("{up:?} {down:?}");
        assert_eq!(rows(responses), [expected], "{what}");
        assert_eq!(responses[0].bytes(), 10 * MSS);
        let sent = responses[0].first_sent_at;
        assert_eq!(sent, Some(Instant::from_millis(120)), "{what}");
        assert_eq!(responses[0].min_rtt, Some(ms(80)), "{what}");
    }
}

/// Selective loss prevention: the copy of the last segment leaves RTT/8 after it, and arrives in its place.
#[test]
fn a_loss_that_a_copy_repairs_is_a_loss_without_retransmission() {
    let flow = Flow {
        profile: "linux-3.17+noer+slp",
        rtt: ms(200),
        down: &["data:8"],
        workload: Workload::exchange(0, 8 * MSS),
        ..Flow::default()
    };
    let (simulation, _) = flow.simulate();
    assert_eq!(rows(simulation.responses()), [(8, 0, 1, Some(225))]);
}

/// Two requests of 100 bytes; the second follows the first response.
fn two_exchanges(first: u64, second: u64) -> Workload {
    let write = |received, bytes| Write { when: When { received, ..When::default() }, bytes };
    Workload {
        client: Script::of(&[write(0, 100), write(first, 100)]),
        server: Script::of(&[write(100, first), write(200, second)]),
    }
}

#[test]
fn each_response_of_a_connection_has_a_latency_of_its_own() {
    let both = |down: &'static [&'static str]| {
        let flow = Flow { workload: two_exchanges(2 * MSS, MSS + 1), down, ..Flow::default() };
        rows(flow.simulate().0.responses())
    };
    assert_eq!(both(&[]), [(2, 0, 0, Some(80)), (2, 0, 0, Some(80))]);
    // Its first segment is acknowledged at 280 ms, its second retransmitted at 560 ms.
    let lost = both(&["data:4"]);
    assert_eq!(lost, [(2, 0, 0, Some(80)), (2, 1, 1, Some(440))]);
}

#[test]
fn a_response_that_waits_for_the_window_begins_when_it_is_sent() {
    // 20 segments and one more are written at 120 ms. The initial window is 10 segments; with the ACKs that arrive at 200 ms
    // all others leave.
    let write = |bytes| Write { when: When::default(), bytes };
    let flow = Flow {
        workload: Workload { client: Script::default(), server: Script::of(&[write(20 * MSS), write(MSS)]) },
        ..Flow::default()
    };
    let (simulation, _) = flow.simulate();
    let responses = simulation.responses();
    assert_eq!(rows(responses), [(20, 0, 0, Some(160)), (1, 0, 0, Some(80))]);
    let second = responses[1].first_sent_at;
    assert_eq!(second, Some(Instant::from_millis(200)));
}

#[test]
fn a_response_whose_data_never_arrives_has_no_latency() {
    let flow = Flow { down: drop_all_from(5), ..Flow::default() };
    let (simulation, record) = flow.simulate();
    let [response] = simulation.responses() else {
        panic!("one response");
    };
    assert_eq!((response.segments, response.lost), (10, 6));
    let retransmissions = record.counters.retransmissions.total();
    assert_eq!(u64::from(response.retransmissions), retransmissions);
    assert_eq!((response.latency(), response.min_rtt), (None, None));
}

#[test]
fn the_responses_of_the_flow_before_are_forgotten() {
    let flow = Flow::default();
    let mut simulation = Simulation::new(&flow.path()).unwrap();
    for number in 0..2 {
        simulation.run(&flow.spec(), 1, FlowId(number), &mut NoObserver);
        assert_eq!(rows(simulation.responses()), [(10, 0, 0, Some(80))]);
    }
}
