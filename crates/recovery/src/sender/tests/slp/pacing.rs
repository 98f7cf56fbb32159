//! When a copy is sent or dropped, and copies in the handshake.

use super::*;

// Pacing.

#[test]
fn the_gap_is_a_share_of_srtt() {
    for (millionths, rtt, gap) in [(125_000, 80, 10), (500_000, 80, 40), (125_000, 200, 25)] {
        let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
            *rules = copying(&[Kind::Psh]);
            rules.gap = Ppm::new(millionths);
        });
        flow.opens(rtt).writes(1).sends("1");
        flow.timer(Timer::Copy, rtt + gap);
    }
}

#[test]
fn other_data_is_sent_during_the_gap_before_the_copy() {
    let mut flow = pushing("linux-3.17");
    flow.writes(1).sends("1").at(85).writes(1).sends("2");
    flow.expires(Timer::Copy, 90).writes(1).sends("3, copy 1");
}

#[test]
fn a_copy_is_dropped_when_its_original_was_acknowledged_sacked_or_lost() {
    let part = segments(2, 2).start + 1;
    let acks = [
        Ack::new(segments(2, 2).end, 1 << 20),
        Ack::new(part, 1 << 20),
        Ack::new(Offset::DATA, 1 << 20).with_blocks([segments(2, 2)]),
        // 2 is three below the highest SACK.
        Ack::new(segments(1, 1).end, 1 << 20).with_blocks([segments(5, 5)]),
    ];
    for ack in acks {
        let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
            *rules = copying(&[Kind::Psh]);
            rules.gap = Ppm::ONE;
        });
        flow.opens(80).writes(2).writes(3).sends("1-5");
        flow.timer(Timer::Copy, 160).at(150).takes(ack).sent();
        flow.no_timer(Timer::Copy);
        assert_eq!(flow.sender.counters().copies, 0, "{ack:?}");
    }
}

#[test]
fn a_copy_is_dropped_when_a_timer_marks_its_original_lost() {
    let mut flow = Script::copying("linux-6", Trigger::Syn, |rules| {
        *rules = copying(&[Kind::Psh]);
        rules.gap = Ppm::ONE;
    });
    flow.opens(80).writes(2).writes(3).sends("1-5");
    // RACK.rtt 60 ms, reordering window 15 ms, slack 2 ms.
    flow.timer(Timer::Copy, 160).at(140).sack(0, &[3..=3]);
    flow.expires(Timer::Reorder, 157).no_timer(Timer::Copy);
    flow.sends("fast 1");
}

#[test]
fn a_copy_is_dropped_when_the_window_is_full() {
    let mut flow = pushing("linux-3.17");
    flow.writes(8).sends("1-8").timer(Timer::Copy, 90);
    flow.at(85).congested().state(State::Cwr);
    flow.at(86).ack(1).pipe(7).cwnd(7);
    flow.expires(Timer::Copy, 90).sends("nothing");
    flow.at(91).ack(2).sends("nothing").no_timer(Timer::Copy);
    assert_eq!(flow.sender.counters().copies, 0);
}

// The handshake.

#[test]
fn a_syn_is_copied_after_five_milliseconds_and_counts_as_sent_once() {
    for trigger in [Trigger::Syn, Trigger::SynAck] {
        for profile in ["linux-3.17", "linux-2.6", "linux-6", "rfc6675", "reno"] {
            let mut flow = Script::copying(profile, trigger, |_| ());
            let initial = flow.sender.rto().as_millis() as u64;
            flow.sends("SYN").expires(Timer::Copy, 5).sends("copy SYN");
            flow.timer(Timer::Rto, initial);
            flow.at(80).ack(0).no_timer(Timer::Rto).undone(0, 0, 0);
            let opened = Script::connected(profile, 80);
            assert_eq!(flow.sender.cwnd(), opened.sender.cwnd(), "{profile}");
            assert_eq!(flow.sender.rto(), opened.sender.rto(), "{profile}");
            assert_eq!(flow.sender.counters().retransmissions.total(), 0);
            assert_eq!(flow.sender.counters().segments_sent, 0);
        }
    }
}

#[test]
fn a_syn_answered_before_the_gap_is_over_is_not_copied() {
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |_| ());
    flow.sends("SYN").at(4).ack(0).no_timer(Timer::Copy);
}

#[test]
fn if_a_syn_and_its_copy_are_lost_only_the_timer_retransmits() {
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |_| ());
    flow.sends("SYN").expires(Timer::Copy, 5).sends("copy SYN");
    flow.expires(Timer::Rto, 1000).sends("syn SYN");
    flow.no_timer(Timer::Copy).at(1080).ack(0).cwnd(10);
    // Nothing of the handshake keeps data from being copied.
    flow.unit(100).writes(1).sends("1:100");
    flow.expires(Timer::Copy, 1085).sends("copy 1:100");
}

// Profiles.

#[test]
fn a_request_of_300_bytes_is_copied_by_every_profile_as_the_paper_has_it() {
    for profile in ["linux-3.17+slp", "linux-3.17+tlpr+slp", "linux-6+slp", "linux-2.6+slp", "rfc6675+slp", "reno+slp"]
    {
        let mut flow = Script::new(profile);
        flow.sends("SYN").expires(Timer::Copy, 5).sends("copy SYN");
        flow.at(80).ack(0).unit(300).writes(1).sends("1:300");
        let initial = flow.sender.cwnd();
        flow.expires(Timer::Copy, 90).sends("copy 1:300");
        flow.at(160).ack(1).at(170).sack(1, &[1..=1]).sends("nothing");
        flow.state(State::Open).undone(0, 0, 0);
        assert!(flow.sender.cwnd() >= initial);
        let counters = flow.sender.counters();
        assert_eq!((counters.copies, counters.retransmissions.total()), (2, 0));
    }
}
