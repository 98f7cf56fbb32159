//! New data on duplicate ACKs before recovery (RFC 3042; RFC 6675 §5 step 3; Linux).

use super::super::*;
use super::script::{MSS, Script};

#[test]
fn it_sends_nothing_or_two_or_what_the_pipe_has_room_for() {
    // RFC 3042 §2: on the first two duplicates, cwnd unchanged. Linux has no such cap. Dupthresh is
    // eight, so that five SACKs begin no recovery.
    let cases = [
        ("nolt", ["nothing"; 5]),
        ("lt", ["11", "12", "nothing", "nothing", "nothing"]),
        ("undo", ["11", "12", "13", "14", "15"]), // Linux's own
    ];
    for (mechanism, sent) in cases {
        let mut flow = Script::connected(&format!("linux-3.17+{mechanism}"), 80);
        flow.sender.losses.threshold.on_reordering(Segments(8));
        flow.writes(40).sends("1-10");
        for (i, expected) in (0..).zip(sent) {
            flow.at(160 + i).sack(0, &[2..=2 + i]).cwnd(10);
            flow.state(State::Disorder).sends(expected);
        }
    }
}

//= test: RFC 5681 §3.2 step 1
#[test]
fn two_segments_may_go_on_one_ack() {
    // RFC 3042 §2: as long as no more than cwnd + 2 are outstanding.
    let mut flow = Script::connected("rfc6675+lt", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[2..=3]).state(State::Disorder).sends("11-12");
}

//= test: RFC 5681 §3.2 step 1
#[test]
fn a_duplicate_ack_without_new_sack_information_sends_nothing() {
    // RFC 3042 §2, for SACK.
    let mut flow = Script::connected("rfc6675+lt", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[2..=2]).sends("11");
    flow.at(161).sack(0, &[2..=2]).at(162).ack(0).sends("nothing");
}

#[test]
fn the_peers_window_binds_it() {
    // RFC 3042 §2: the receiver's advertised window must allow it.
    let mut flow = Script::connected_with("rfc6675+lt", 80, 11 * MSS);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[2..=2]).sends("11");
    flow.at(161).sack(0, &[2..=3]).sends("nothing");
}

#[test]
fn an_ack_that_advances_ends_it() {
    // Two were sent beyond a window of ten; the ACK of 2 leaves ten and, grown by one, lets one go.
    let mut flow = Script::connected("linux-3.17+lt", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[2..=2]).sends("11");
    flow.at(161).sack(0, &[2..=3]).sends("12");
    // 3.17: three segments acknowledged, slow start: 13; nine are out.
    flow.at(162).ack(3).state(State::Open).cwnd(13).sends("13-16");
}

#[test]
fn without_sack_a_duplicate_ack_is_a_segment_out_of_the_pipe() {
    for (profile, first, second) in
        [("reno", "11", "12"), ("reno+nolt", "nothing", "nothing"), ("linux-6+notlp", "11", "12")]
    {
        let mut flow = Script::without_sack(profile, 80);
        flow.writes(40).sends("1-10");
        flow.at(160).ack(0).cwnd(10).pipe(9).sends(first);
        flow.at(161).ack(0).cwnd(10).sends(second);
    }
}

#[test]
fn moderation_lets_the_window_follow_the_segments_in_flight() {
    // Linux 2.6 tcp_try_to_open: cwnd is at most three segments above the pipe while the sender is in Disorder.
    for (profile, after) in [("linux-2.6", [10, 10]), ("linux-2.6+moderate", [7, 6])] {
        let mut flow = Script::connected(profile, 80);
        flow.writes(5).sends("1-5");
        flow.at(160).sack(0, &[2..=2]).state(State::Disorder);
        flow.cwnd(after[0]);
        flow.at(161).sack(0, &[2..=3]).state(State::Disorder);
        flow.cwnd(after[1]);
        flow.at(162).ack(5).state(State::Open);
    }
}
