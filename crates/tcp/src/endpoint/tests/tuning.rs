//! Buffers that follow what a connection needs.

use super::*;
use crate::WindowScaling;

const SMALL: u64 = 65_535;

fn tuned(timestamps: bool) -> Config {
    Config {
        timestamps,
        receive_buffer: SMALL,
        window_scaling: WindowScaling::Shift(7),
        tune_receive_buffer: true,
        ..config()
    }
}

/// The client sends without end to a server that reads at once, and gets what it wants up to `most`. Returns the sizes
/// of the buffer.
fn run_bulk(pair: &mut Pair, ms: u64, most: u64) -> Vec<u64> {
    let mut sizes = vec![pair.ends[1].receiver().buffer()];
    let end = pair.now + Duration::from_millis(ms);
    pair.write(Client, 1_000_000);
    pair.flush();
    while pair.step(end) {
        let now = pair.now;
        let unsent = pair.ends[0].sender().limit().since(pair.ends[0].sender().nxt());
        if unsent < 1_000_000 {
            pair.write(Client, 1_000_000);
        }
        if let Some(wanted) = pair.ends[1].wanted_receive_buffer(now) {
            let size = wanted.min(most);
            pair.end(Server).set_receive_buffer(now, size);
            sizes.push(size);
        }
        pair.sent.clear();
        pair.flush();
    }
    sizes
}

/// The highest rate in bytes per round trip of 20 ms, by the last 100 ms.
fn per_round_trip(pair: &mut Pair, most: u64) -> u64 {
    let before = pair.read[1];
    run_bulk(pair, 100, most);
    (pair.read[1] - before) / 5
}

#[test]
fn the_receive_buffer_grows_ahead_of_the_sender() {
    for timestamps in [true, false] {
        let mut pair = Pair::open(&tuned(timestamps), &tuned(timestamps));
        let sizes = run_bulk(&mut pair, 400, 4 << 20);
        assert!(sizes.is_sorted() && sizes.len() > 3, "{timestamps}: {sizes:?}");
        // Slow start is never held up: the window is open whenever the sender has room.
        let sender = pair.ends[0].sender();
        assert!(*sizes.last().unwrap() > 2 * sender.cwnd_bytes().min(1_500_000), "{timestamps}: {sizes:?}");
        let reached = per_round_trip(&mut pair, 4 << 20);
        assert!(reached > 10 * SMALL, "{timestamps}: {reached}");
    }
}

#[test]
fn what_the_host_does_not_give_is_asked_for_once_a_round_trip() {
    let mut pair = Pair::open(&tuned(true), &tuned(true));
    let sizes = run_bulk(&mut pair, 400, SMALL);
    assert!((5..=21).contains(&sizes.len()), "{}", sizes.len());
    assert!(per_round_trip(&mut pair, SMALL) <= SMALL);
    assert_eq!(pair.ends[1].receiver().buffer(), SMALL);
}

#[test]
fn a_buffer_that_was_taken_back_grows_again() {
    let mut pair = Pair::open(&tuned(true), &tuned(true));
    run_bulk(&mut pair, 300, 1 << 20);
    let now = pair.now;
    pair.end(Server).set_receive_buffer(now, SMALL);
    let sizes = run_bulk(&mut pair, 300, 1 << 20);
    assert_eq!((sizes[0], *sizes.last().unwrap()), (SMALL, 1 << 20), "{sizes:?}");
}

#[test]
fn an_application_that_reads_slowly_gets_no_larger_buffer() {
    let mut pair = Pair::open(&tuned(true), &tuned(true));
    pair.reads = [true, false];
    pair.write(Client, 10_000_000);
    for ms in 31..1000 {
        pair.run_until(ms);
        let now = pair.now;
        pair.end(Server).read(now, 400);
        assert_eq!(pair.ends[1].wanted_receive_buffer(now), None, "at {ms} ms");
    }
}

#[test]
fn small_exchanges_need_no_larger_buffer() {
    let mut pair = Pair::open(&tuned(true), &tuned(true));
    for round in 1..100 {
        pair.write(Client, 3000);
        pair.run_until(30 + round * 25);
        let now = pair.now;
        assert_eq!(pair.ends[1].wanted_receive_buffer(now), None);
    }
}

#[test]
fn without_the_setting_nothing_is_wanted() {
    let config = Config { tune_receive_buffer: false, ..tuned(true) };
    let mut pair = Pair::open(&config, &config);
    assert_eq!(run_bulk(&mut pair, 300, 4 << 20), [SMALL]);
}

#[test]
fn no_more_is_wanted_than_the_window_field_can_offer() {
    let server = Config { window_scaling: WindowScaling::Shift(2), ..tuned(true) };
    let mut pair = Pair::open(&tuned(true), &server);
    let sizes = run_bulk(&mut pair, 400, u64::MAX);
    assert_eq!(*sizes.last().unwrap(), 65_535 << 2);
}

#[test]
fn the_right_edge_does_not_move_back_when_the_buffer_shrinks() {
    let mut lone =
        Lone::connected(&Config { receive_buffer: 20_000, ..config() }, "S. 0:1 ack 1 mss 1000 sackOK wscale 0");
    let window = |lone: &mut Lone| lone.transmits().last().map(|s| s.window).unwrap();
    lone.recv(". 1:1001 ack 1");
    lone.endpoint.read(Instant::ZERO, 1000);
    assert_eq!(window(&mut lone), 20_000);
    lone.endpoint.set_receive_buffer(Instant::ZERO, 5000);
    let mut offered = vec![];
    for from in (1001..25_001).step_by(1000) {
        lone.recv(&format!(". {from}:{} ack 1", from + 1000));
        lone.endpoint.read(Instant::ZERO, 1000);
        offered.push(window(&mut lone));
    }
    assert_eq!(offered[..3], [19_000, 18_000, 17_000]);
    assert_eq!(offered[14..18], [5000, 5000, 5000, 5000]);
}

#[test]
fn a_larger_buffer_opens_a_closed_window_at_once() {
    let mut lone =
        Lone::connected(&Config { receive_buffer: 2000, ..config() }, "S. 0:1 ack 1 mss 1000 sackOK wscale 0");
    lone.recv(". 1:2001 ack 1");
    assert_eq!(lone.transmits()[0].window, 0);
    lone.endpoint.set_receive_buffer(Instant::ZERO, 6000);
    let sent = lone.transmits();
    assert_eq!(sent.iter().map(|s| s.window).collect::<Vec<_>>(), [4000]);
}

#[test]
fn the_send_buffer_is_to_hold_two_windows() {
    let mut pair = Pair::open(&config(), &config());
    assert_eq!(pair.ends[0].wanted_send_buffer(), 20_000);
    pair.write(Client, 100_000);
    pair.run_until(60);
    let cwnd = pair.ends[0].sender().cwnd_bytes();
    assert!(cwnd > 10_000);
    assert_eq!(pair.ends[0].wanted_send_buffer(), 2 * cwnd);
}
