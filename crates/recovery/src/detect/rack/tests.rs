use super::*;
use crate::ack::Ack;
use recoup_units::Span;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn calm(recovering: bool, reordering_seen: bool) -> RackContext {
    RackContext { recovering, reordering_seen, dupthresh: Segments(3), min_rtt: ms(80), srtt: ms(100) }
}

fn board(sacked: u64) -> Scoreboard {
    let mut board = Scoreboard::new(Offset(0));
    for n in 0..20 {
        board.push(Instant::ZERO, Span::at(Offset(n), 1));
    }
    let block = Span::at(Offset(1), sacked);
    board.on_ack(&Ack::new(Offset(0), 0).with_blocks([block]), Instant::ZERO);
    board
}

//= test: RFC 8985 §6.2 step 4
#[test]
fn the_window_depends_on_reordering_and_on_dsacks() {
    let mut rack = Rack::default();
    // (SACKed, recovering, reordering seen, window in ms)
    let cases =
        [(1, false, false, 20), (3, false, false, 0), (1, true, false, 0), (3, false, true, 20), (9, true, true, 20)];
    for (sacked, recovering, seen, window) in cases {
        let got = rack.reordering_window(&board(sacked), &calm(recovering, seen));
        assert_eq!(got, ms(window), "{sacked} {recovering} {seen}");
    }
    // One step per round trip, up to SRTT; reset after 16 recoveries.
    let seen = calm(true, true);
    let windows: Vec<Duration> = [(10, 20), (15, 30), (20, 40), (40, 60), (60, 80), (80, 90)]
        .into_iter()
        .map(|(una, nxt)| {
            rack.on_dsack(Offset(una), Offset(nxt));
            rack.reordering_window(&board(9), &seen)
        })
        .collect();
    assert_eq!(windows, [40, 40, 60, 80, 100, 100].map(ms));
    for left in (0..16).rev() {
        rack.on_recovered();
        let window = rack.reordering_window(&board(9), &seen);
        assert_eq!(window, ms(if left > 0 { 100 } else { 20 }), "{left} left");
    }
}

#[test]
fn a_late_segment_sets_the_window_by_its_delay_until_sixteen_recoveries_have_passed() {
    // min_rtt is 80 ms and SRTT 100 ms. (delay, reo_wnd), ms.
    let mut rack = Rack::default();
    let window = |rack: &Rack| rack.reordering_window(&board(9), &calm(true, true));
    for (delay, expected) in [(90, 20), (115, 40), (100, 40), (400, 100)] {
        rack.on_late(delay * 1_000_000, 80_000_000);
        assert_eq!(window(&rack), ms(expected), "{delay} ms");
    }
    for left in (0..16).rev() {
        rack.on_recovered();
        assert_eq!(window(&rack), ms(if left > 0 { 100 } else { 20 }));
    }
}

#[test]
fn the_rtt_is_that_of_the_newest_delivered_segment() {
    let sent = |at, end| Sent { at: Instant::from_millis(at), end: Offset(end) };
    // (ACK at, newest delivered, RACK.segment, RACK.rtt), ms
    let acks = [
        (100, sent(10, 5), sent(10, 5), 90),
        (120, sent(10, 4), sent(10, 4), 110), // sent before by sequence
        (140, sent(50, 2), sent(20, 7), 120),
    ];
    let mut rack = Rack::default();
    for (at, newest, last, rtt) in acks {
        let summary =
            AckSummary { newest_delivered: Some(newest), last_delivered: Some(last), ..AckSummary::default() };
        rack.on_ack(Instant::from_millis(at), &summary);
        assert_eq!(rack.rtt(), ms(rtt), "at {at}");
    }
    assert_eq!(rack.newest, Some(sent(50, 2)));
}
