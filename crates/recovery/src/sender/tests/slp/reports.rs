//! Which conclusions the sender draws from the arrival of a copy.

use super::*;

// Reports that a copy arrived.

#[test]
fn the_report_of_a_copy_changes_nothing() {
    for profile in ["linux-3.17", "linux-2.6", "linux-6", "rfc6675"] {
        let mut flow = nine_and_a_copy(profile, 4);
        flow.at(160).ack(5);
        let before = flow.sender.clone();
        flow.at(170).sack(5, &[4..=4]).sends("nothing");
        let state = |s: &Sender| {
            let timers = Timer::ALL.map(|t| s.deadline(t));
            (s.state(), s.cwnd(), s.ssthresh(), s.pipe(), s.rto(), timers)
        };
        assert_eq!(state(&flow.sender), state(&before), "{profile}");
        flow.undone(0, 0, 0).dupthresh(3);
        let counters = flow.sender.counters();
        assert_eq!((counters.copies_reported, counters.dsacks), (1, 0));
        assert_eq!(counters.reordering_seen, 0, "{profile}");
    }
}

#[test]
fn the_dsack_of_a_copy_takes_no_reduction_back_but_another_does() {
    let mut flow = nine_and_a_copy("linux-3.17", 1);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(240).ack(9).cwnd(7);
    // Two of the original, the copy and the retransmission have arrived.
    flow.at(241).sack(9, &[1..=1]).cwnd(7).undone(0, 0, 0);
    // All three.
    flow.at(242).sack(9, &[1..=1]).cwnd(10).undone(1, 0, 0);
}

#[test]
fn the_dsack_of_what_was_not_copied_is_heeded() {
    let mut flow = nine_and_a_copy("linux-3.17", 9 - 1);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(240).sack(9, &[1..=1]).cwnd(10).undone(1, 0, 0);
}

#[test]
fn a_dsack_does_not_hide_new_data_in_the_same_ack() {
    let mut flow = nine_and_a_copy("linux-3.17", 1);
    // A delayed ACK that the copy drew.
    flow.at(170).sack(1, &[1..=1]).pipe(8).cwnd(11);
    assert_eq!(flow.sender.counters().copies_reported, 1);
    // One lost before; this one SACKs besides.
    let mut flow = nine_and_a_copy("linux-3.17", 1);
    flow.at(160).ack(1);
    flow.at(170).sack(1, &[1..=1, 3..=3]).state(State::Disorder);
    flow.pipe(7).undone(0, 0, 0);
}

/// Whether the sender took a reduction back on what `story` tells, with and without a copy.
fn undone(profile: &str, story: impl Fn(&mut Script, bool)) -> [u64; 2] {
    [true, false].map(|copies| {
        let kinds: &[Kind] = if copies { &[Kind::Psh] } else { &[] };
        let mut flow = flow(profile, kinds);
        story(&mut flow, copies);
        Proof::ALL.map(|proof| flow.sender.counters().undone_by(proof)).iter().sum()
    })
}

#[test]
fn the_echo_of_a_copy_takes_no_reduction_back() {
    // 1 went at 80 ms, its copy at 90, its retransmission at 160; whoever drew the ACK was sent before.
    let found = undone("linux-3.17", |flow, copies| {
        flow.writes(1).writes(8).sends("1-9");
        if copies {
            flow.expires(Timer::Copy, 90).sends("copy 1");
        }
        flow.at(160).sack(0, &[2..=4]).sends("fast 1");
        flow.at(165).echoing(90).ack(9);
    });
    assert_eq!(found, [0, 1]);
}

#[test]
fn a_copied_segment_that_arrives_late_does_not_prove_a_timeout_spurious() {
    for how in 0..2 {
        let found = undone("linux-3.17", |flow, copies| {
            flow.writes(2).writes(7).sends("1-9");
            if copies {
                flow.expires(Timer::Copy, 90).sends("copy 2");
            }
            flow.expires(Timer::Rto, 360).sends("rto 1");
            flow.at(400);
            match how {
                0 => flow.sack(0, &[2..=2]),
                _ => flow.ack(2),
            };
            if copies && how == 1 {
                flow.sends("slow_start 3-5");
            }
        });
        assert_eq!(found, [0, 1], "{how}");
    }
}

#[test]
fn a_copied_segment_that_is_late_is_no_reordering() {
    // 3 is marked lost and not sent again yet, or, by time, not even marked.
    for profile in ["linux-3.17", "linux-6", "linux-3.17+rack", "linux-2.6"] {
        for (kinds, seen) in [(&[Kind::Psh][..], false), (&[], true)] {
            let mut flow = flow(profile, kinds);
            flow.writes(3).writes(6).sends("1-9");
            if !kinds.is_empty() {
                flow.expires(Timer::Copy, 90).sends("copy 3");
            }
            flow.at(160).sack(0, &[7..=7]).sent();
            flow.at(161).sack(0, &[3..=3, 7..=7]).sent();
            let sender = &flow.sender;
            assert_eq!(sender.losses.threshold.reordering_seen(), seen, "{profile}");
            assert_eq!(sender.reordering() > Segments(3), seen, "{profile}");
        }
    }
}

#[test]
fn the_dsack_of_a_copied_segment_sent_again_is_no_reordering() {
    // 3 was marked lost, sent again and SACKed; then the first, or the copy, arrives as a duplicate.
    for (kinds, seen) in [(&[Kind::Psh][..], false), (&[], true)] {
        let mut flow = flow("linux-3.17", kinds);
        flow.writes(3).writes(6).sends("1-9");
        if !kinds.is_empty() {
            flow.expires(Timer::Copy, 90).sends("copy 3");
        }
        flow.at(160).sack(0, &[6..=7]).sent();
        flow.at(161).sack(0, &[6..=8]).sent();
        flow.at(162).sack(0, &[3..=3, 6..=8]).sent();
        flow.at(163).sack(0, &[3..=3, 3..=3, 6..=8]).sent();
        assert_eq!(flow.sender.losses.threshold.reordering_seen(), seen);
    }
}

#[test]
fn the_dsack_of_a_copy_does_not_widen_the_reordering_window() {
    // RFC 8985: any DSACK of a retransmission widens it. One was needed, so that one could be.
    let mut flow = pushing("linux-3.17+rack");
    flow.writes(9).sends("1-9").at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(240).ack(9).state(State::Open);
    flow.writes(1).writes(3).sends("10-13");
    flow.expires(Timer::Copy, 250).sends("copy 10");
    flow.at(320).ack(10);
    flow.at(330).sack(10, &[10..=10]);
    // 12 came, 11 did not: RACK.rtt + min_rtt / 4 after it was sent.
    flow.at(331).sack(10, &[12..=12]);
    flow.timer(Timer::Reorder, 240 + 91 + 20);
}

#[test]
fn without_sack_the_duplicate_ack_of_a_copy_does_not_count() {
    for profile in ["linux-3.17", "reno", "rfc6675", "linux-6"] {
        let mut flow = pushing(profile);
        flow.sender.mechanisms.sack = Sack::Refused;
        flow.writes(1).writes(5).sends("1-6");
        flow.expires(Timer::Copy, 90).sends("copy 1");
        flow.at(160).ack(1).at(170).ack(1).pipe(5);
        assert_eq!(flow.sender.counters().copies_reported, 0, "it says nothing");
        flow.at(171).ack(1).sends("nothing");
        flow.at(172).ack(1).sends("nothing");
        flow.at(173).ack(1).sends("fast 2");
    }
}

#[test]
fn without_sack_a_copy_swallows_no_duplicate_ack_of_later_data() {
    // Its own came while nothing was outstanding, with a delayed ACK, or never.
    let answers: [fn(&mut Script); 3] =
        [|flow| _ = flow.at(160).ack(1).at(170).ack(1), |flow| _ = flow.at(170).ack(1), |flow| _ = flow.at(160).ack(1)];
    for answer in answers {
        let mut flow = pushing("reno");
        flow.sender.mechanisms.sack = Sack::Refused;
        flow.writes(1).sends("1");
        flow.expires(Timer::Copy, 90).sends("copy 1");
        answer(&mut flow);
        flow.at(200).writes(6).sent();
        flow.fires(Timer::Copy);
        flow.sends("copy 7").at(280).ack(2);
        for at in 281..=283 {
            flow.sends("nothing").at(at).ack(2);
        }
        flow.sends("fast 3");
    }
}

#[test]
fn three_duplicate_acks_beside_the_copys_begin_a_recovery_no_sooner() {
    let mut flow = nine_and_a_copy("linux-3.17", 1);
    flow.at(160).ack(1);
    for at in [170, 171, 172] {
        flow.at(at).sack(1, &[1..=1]).state(State::Open).sends("nothing");
    }
}

#[test]
fn the_rtt_is_measured_from_the_original() {
    let mut flow = pushing("linux-3.17");
    flow.writes(1).sends("1");
    flow.expires(Timer::Copy, 90).sends("copy 1");
    let sampled = |rtt| Event::RttSample {
        rtt: Duration::from_millis(rtt),
        srtt: Duration::from_millis(80),
        rto: Duration::from_millis(280),
    };
    let before = flow.count(sampled(80));
    flow.at(160).ack(1).rto(280);
    assert_eq!(flow.count(sampled(80)), before + 1);
    flow.at(170).sack(1, &[1..=1]).rto(280);
}

#[test]
fn the_rtt_of_a_copied_segment_is_of_the_one_whose_timestamp_is_echoed() {
    // (ACK at, RTT by timestamp, SRTT in microseconds); original at 80 ms, copy at 90
    for (at, by_timestamp, srtt) in
        [(160, Some(80), 80_000), (170, Some(80), 80_000), (170, Some(90), 81_250), (170, None, 81_250)]
    {
        let mut flow = pushing("linux-3.17");
        flow.writes(1).sends("1");
        flow.expires(Timer::Copy, 90).sends("copy 1");
        let mut ack = Ack::new(segments(1, 1).end, 1 << 20);
        ack.timestamp_rtt = by_timestamp.map(Duration::from_millis);
        flow.at(at).takes(ack);
        let found = flow.sender.rtt().srtt();
        assert_eq!(found, Some(Duration::from_micros(srtt)), "{at} {by_timestamp:?}");
    }
}

#[test]
fn neither_a_copy_nor_its_report_moves_the_retransmission_timer() {
    let mut flow = nine_and_a_copy("linux-3.17", 1);
    flow.timer(Timer::Rto, 80 + 280);
    flow.at(160).ack(1).timer(Timer::Rto, 160 + 280);
    flow.at(170).sack(1, &[1..=1]).timer(Timer::Rto, 160 + 280);
}

#[test]
fn neither_a_copy_nor_its_report_moves_the_probe_timer() {
    // draft-01 counts from the last ACK, TLPR from the last transmission.
    for (profile, sent, acked) in [
        ("linux-3.17+tlp", 80 + 160, 160 + 160),
        ("linux-3.17+tlpr", 80 + 160, 80 + 160),
        ("linux-6", 80 + 162, 160 + 162),
    ] {
        let mut flow = nine_and_a_copy(profile, 1);
        flow.timer(Timer::Probe, sent);
        flow.at(160).ack(1).timer(Timer::Probe, acked);
        flow.at(170).sack(1, &[1..=1]).timer(Timer::Probe, acked);
    }
}

#[test]
fn a_probe_of_a_copied_segment_is_judged_by_its_own_answer() {
    // 3 was copied and probed. (DSACKs of it, whether the probe repaired a loss.)
    for profile in ["linux-3.17+tlp", "linux-3.17+tlpr", "linux-6"] {
        for (dsacks, repaired) in [(0, true), (1, false), (2, false)] {
            let mut flow = pushing(profile);
            flow.writes(3).sends("1-3");
            flow.expires(Timer::Copy, 90).sends("copy 3");
            flow.at(160).ack(2);
            let at = flow.fires(Timer::Probe);
            flow.sends("tlp 3").at(at + 80).ack(3);
            for later in 0..dsacks {
                flow.at(at + 81 + later).sack(3, &[3..=3]);
            }
            flow.at(at + 90).writes(1).sends("4");
            let next = flow.fires(Timer::Copy);
            flow.sends("copy 4").at(next + 70).ack(4);
            let found = flow.count(Event::ProbeRepairedLoss);
            assert_eq!(found > 0, repaired, "{profile}, {dsacks} DSACKs");
            flow.undone(0, 0, 0);
        }
    }
}
