//! The sender raises its thresholds after late arrivals.

use super::super::*;
use super::script::Script;
use crate::event::LossDetector;

#[test]
fn reordering_beyond_dupthresh_raises_it_and_disables_fack() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[6..=6]).sends("fast 1");
    // Segment 2 was not lost but five places late.
    flow.at(161).sack(0, &[6..=6, 2..=2]);
    let detection = flow.sender.losses.threshold;
    assert_eq!((detection.dupthresh(), detection.uses_fack()), (Segments(5), false));
}

#[test]
fn reordering_within_dupthresh_disables_only_early_retransmit() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[3..=3]).at(161).sack(0, &[2..=3]).at(162).ack(3);
    let detection = flow.sender.losses.threshold;
    assert!(detection.reordering_seen());
    assert_eq!((detection.dupthresh(), detection.uses_fack()), (Segments(3), true));
    flow.at(163).sack(3, &[7..=7]).state(State::Recovery).sends("fast 4-5");
}

#[test]
fn without_fack_only_segments_with_enough_sacked_above_are_lost() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(30).sends("1-10");
    flow.sender.losses.threshold.on_reordering(Segments(4));
    flow.at(160).sack(0, &[3..=3]).state(State::Disorder).sends("11");
    flow.at(161).sack(0, &[6..=6, 3..=3]).state(State::Disorder).sends("12");
    flow.at(162).sack(0, &[8..=8, 6..=6, 3..=3]).state(State::Disorder).sends("13");
    // FACK would have taken 7 as lost too; four SACKs lie above 1 and 2 alone.
    flow.at(163).sack(0, &[10..=10, 8..=8, 6..=6, 3..=3]).state(State::Recovery).sends("fast 1");
    assert_eq!(flow.marked(), [1, 2].map(|n| (n, LossDetector::Threshold)));
}
