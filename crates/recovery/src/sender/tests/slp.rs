//! Selective loss prevention (2021 paper §II-C). With an RTT of 80 ms the RTO is 280 ms and a copy
//! follows 10 ms after its original; where nothing else is said, what is asked for is always worth one.

use super::super::*;
use super::network::{Fate, Network, copying};
use super::script::{MSS, Script, segments};
use crate::ack::Ack;
use crate::profile::Profile;
use crate::slp::{Kind, Likelihoods, LossRate, SlpRules};
use crate::undo::Proof;
use recoup_units::{BitRate, Ppm};

/// Connected at 80 ms; segments of these kinds are worth a copy.
fn flow(profile: &str, kinds: &[Kind]) -> Script {
    let mut flow = Script::copying(profile, Trigger::Syn, |rules| *rules = copying(kinds));
    if kinds.contains(&Kind::Syn) {
        return flow;
    }
    flow.opens(80);
    flow
}

/// The same where what ends a write is.
fn pushing(profile: &str) -> Script {
    flow(profile, &[Kind::Psh])
}

/// The paper's q for data alone.
fn push_only() -> Likelihoods {
    Likelihoods::default().with(Kind::Psh, Ppm::percent(10))
}

/// Segments 1 to 9 left at 80 ms, a copy of `n`, which ends a write, at 90 ms.
fn nine_and_a_copy(profile: &str, n: u64) -> Script {
    let mut flow = pushing(profile);
    flow.writes(n).writes(9 - n).sends("1-9");
    flow.expires(Timer::Copy, 90).sends(&format!("copy {n}"));
    flow
}

fn bits(per_second: u64) -> BitRate {
    BitRate::from_bits_per_second(per_second).unwrap()
}

// The arbitrator.

#[test]
fn p_q_rto_size_and_bandwidth_decide_together() {
    // (p, q in %; RTT, RTO in ms; payload; the least bw in bit/s: (1 − p)·(payload + 40)·8 / p·q·RTO)
    for (p, q, rtt, rto, payload, least) in [
        (2, 10, 80, 280, 1000, 14_560_000),
        (2, 10, 200, 600, 1000, 6_794_667),
        (2, 10, 80, 280, 300, 4_760_000),
        (2, 100, 80, 280, 1000, 1_456_000),
        (50, 10, 80, 280, 1000, 297_143),
    ] {
        for (bandwidth, copied) in [(least, true), (least - 1, false)] {
            let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
                rules.loss = LossRate::Fixed(Ppm::percent(p));
                rules.likelihoods = Likelihoods::default().with(Kind::Psh, Ppm::percent(q));
                rules.bandwidth = bits(bandwidth);
            });
            flow.opens(rtt).rto(rto).unit(payload).writes(1).sent();
            let planned = flow.sender.deadline(Timer::Copy).is_some();
            assert_eq!(planned, copied, "{p} {q} {rto} {payload} {bandwidth}");
            let withheld = flow.sender.counters().copies_withheld;
            assert_eq!(withheld, 0, "what is not worth a copy is not withheld");
        }
    }
}

#[test]
fn a_syn_of_70_bytes_is_copied_from_27440_bits_a_second_on() {
    // linux-2.6 begins with an RTO of three seconds.
    for (profile, least) in [("linux-3.17", 27_440), ("linux-2.6", 9147)] {
        for (bandwidth, copied) in [(least, true), (least - 1, false)] {
            let slow = |rules: &mut SlpRules| rules.bandwidth = bits(bandwidth);
            let mut flow = Script::copying(profile, Trigger::Syn, slow);
            flow.headers(69).sends("SYN");
            let planned = flow.sender.deadline(Timer::Copy).is_some();
            assert_eq!(planned, copied, "{profile} {bandwidth}");
        }
    }
}

#[test]
fn the_rto_that_counts_is_the_one_backed_off() {
    // 0.02 · 0.1 · RTO against 340 bytes: 280 ms ask for 4.76 Mbit/s, 560 ms for 2.38.
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
        rules.likelihoods = push_only();
        rules.bandwidth = bits(2_380_000);
    });
    flow.opens(80).unit(300).writes(1).sends("1:300");
    flow.no_timer(Timer::Copy).at(160).ack(1).rto(280);
    flow.writes(1).sends("2:300").expires(Timer::Rto, 440);
    flow.sends("rto 2:300").at(520).ack(2).rto(560);
    flow.writes(1).sends("3:300").timer(Timer::Copy, 520 + 10);
}

#[test]
fn each_kind_is_known() {
    // Two writes at once, of two segments and of two; then the end of the stream.
    for (kind, copied) in [
        (Kind::First, "copy 1"),
        (Kind::Psh, "copy 2"),
        (Kind::Other, "copy 3"),
        (Kind::Tail, "copy 4"),
    ] {
        let mut flow = flow("linux-3.17", &[kind]);
        flow.writes(2).writes(2).sends("1-4");
        flow.expires(Timer::Copy, 90).sends(copied);
    }
    let mut flow = flow("linux-3.17", &[Kind::Fin]);
    flow.writes(1).sends("1").no_timer(Timer::Copy);
    flow.writes(1).closes().sends("2+FIN");
    flow.expires(Timer::Copy, 90).sends("copy 2+FIN");
}

#[test]
fn the_handshake_is_a_kind_of_each_side() {
    for (trigger, kind, copied) in [
        (Trigger::Syn, Kind::Syn, true),
        (Trigger::Syn, Kind::SynAck, false),
        (Trigger::SynAck, Kind::Syn, false),
        (Trigger::SynAck, Kind::SynAck, true),
        (Trigger::Syn, Kind::Tail, false),
        (Trigger::Syn, Kind::First, false),
    ] {
        let mut flow = Script::copying("linux-3.17", trigger, |rules| *rules = copying(&[kind]));
        flow.sends("SYN");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, copied, "{trigger:?} {kind:?}");
    }
}

#[test]
fn a_loss_rate_that_is_learned_falls_with_what_arrives_and_rises_with_what_does_not() {
    // 0.1 · 0.28 s · p against (1 − p) · 8320 bits at 20 Mbit/s: p has to be 1.464 %, 1/68 is.
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
        rules.loss = LossRate::Learned;
        rules.likelihoods = push_only();
        rules.bandwidth = bits(20_000_000);
    });
    flow.opens(80);
    let mut copied = Vec::new();
    for n in 1..=30 {
        let at = 80 * n;
        flow.writes(1).sends(&n.to_string());
        if flow.sender.deadline(Timer::Copy).is_some() {
            copied.push(n);
            flow.expires(Timer::Copy, at + 10)
                .sends(&format!("copy {n}"));
        }
        if n == 25 {
            flow.expires(Timer::Rto, at + 280).sends("rto 25");
            break;
        }
        flow.at(at + 80).ack(n);
    }
    assert_eq!(copied, (1..=18).collect::<Vec<_>>());
    // A retransmission in 29 segments: 2/79. (The window after a timeout has no room before.)
    flow.at(2400).ack(25).writes(2).sends("26-27");
    flow.at(2480).ack(27).writes(1).sends("28");
    flow.timer(Timer::Copy, 2490);
}

#[test]
fn a_retransmission_reported_as_needless_is_no_loss() {
    let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
        rules.loss = LossRate::Learned;
        rules.likelihoods = push_only();
        rules.bandwidth = bits(20_000_000);
    });
    flow.opens(80).writes(10).sends("1-10");
    assert_eq!(flow.sender.counters().copies_withheld, 1, "worth one");
    // 20 segments in all: 1/70 is too little, 2/70 would do.
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(240).sack(10, &[1..=1]).writes(9).sends("11-19");
    flow.no_timer(Timer::Copy);
    assert_eq!(flow.sender.counters().copies_withheld, 1);
}

#[test]
fn the_bandwidth_is_the_delivery_rate_once_more_than_the_application_limits_it() {
    // 1040 bytes for 0.02 · q · 280 ms: 2 Mbit/s take q = 0.728.
    for (bandwidth, q, before, after) in [
        (1_000_000, 80, false, true),
        (100_000_000, 80, true, true),
        (100_000_000, 70, true, false),
    ] {
        let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
            rules.bandwidth = bits(bandwidth);
            rules.likelihoods = Likelihoods::default().with(Kind::Psh, Ppm::percent(q));
        });
        flow.opens(80);
        // The handshake tells nothing, nor does the first flight: it was written into an open window.
        for (n, at) in [(1, 80), (2, 160)] {
            flow.writes(1).sends(&n.to_string());
            if before {
                flow.expires(Timer::Copy, at + 10)
                    .sends(&format!("copy {n}"));
            } else {
                flow.no_timer(Timer::Copy);
            }
            flow.at(at + 80).ack(n);
        }
        // Ten go into an open window, twenty when they are acknowledged: 160,000 bits in 80 ms.
        flow.writes(40).sends("3-12").at(320).ack(12).sends("13-32");
        flow.at(400).ack(32).sends("33-42");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, after, "{bandwidth} {q}");
    }
}

#[test]
fn who_writes_while_the_window_is_full_does_not_limit_the_rate() {
    for (full, copied) in [(true, true), (false, false)] {
        let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
            rules.bandwidth = bits(1_000_000);
            rules.likelihoods = Likelihoods::default().with(Kind::Psh, Ppm::percent(80));
        });
        flow.opens(80).writes(10).sends("1-10").at(160).ack(10);
        // The next twenty are written while twenty are in flight, or once they have arrived.
        flow.writes(20).sends("11-30");
        if full {
            flow.writes(20).at(240).ack(30);
        } else {
            flow.at(240).ack(30).writes(20);
        }
        flow.sends("31-50").at(320).ack(50).writes(1).sends("51");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, copied, "{full}");
    }
}

// The window.

#[test]
fn next_and_twice_the_size_must_be_below_the_congestion_window() {
    // Ten segments of window, the end of a write: (bytes in it, whether the last is copied).
    for (bytes, last, copied) in [
        (8000, "1-8", true),
        (8999, "1-8, 9:999", true),
        (9000, "1-9", false),
        (9499, "1-9, 10:499", true),
        (9500, "1-9, 10:500", false),
        (10_000, "1-10", false),
    ] {
        let mut flow = pushing("linux-3.17");
        flow.writes_bytes(bytes).sends(last);
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        // Ten segments in flight fill the window, however short the last one.
        assert_eq!(planned, copied && bytes < 9000, "{bytes}");
        let withheld = flow.sender.counters().copies_withheld;
        assert_eq!(withheld, u64::from(!planned), "{bytes}");
    }
}

#[test]
fn next_and_the_size_must_be_below_the_window_of_the_peer() {
    for (window, copied) in [(3000, false), (3001, true)] {
        let mut flow = Script::copying("linux-3.17", Trigger::Syn, |rules| {
            *rules = copying(&[Kind::Psh]);
        });
        flow.window(window).opens(80).writes(3).sends("1-3");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, copied, "{window}");
    }
}

#[test]
fn a_copy_takes_the_room_of_a_segment_however_short() {
    for (before, copied) in [(8, true), (9, false)] {
        let mut flow = flow("linux-3.17", &[Kind::Fin]);
        flow.unit(100).trickles(1, before).closes().sends("FIN");
        let planned = flow.sender.deadline(Timer::Copy).is_some();
        assert_eq!(planned, copied, "{before}");
    }
}

#[test]
fn the_window_of_all_else_is_smaller_until_the_segment_is_acknowledged() {
    let mut flow = pushing("linux-3.17");
    // From when it is planned on.
    flow.writes(3).sends("1-3").writes(20).sends("4-9").pipe(9);
    flow.expires(Timer::Copy, 90).sends("copy 3");
    flow.at(150).ack(2).cwnd(12).sends("10-13").pipe(11);
    // The DSACK of an ACK lost would tell that it arrived; what counts is the ACK.
    flow.at(151).sack(2, &[4..=4]).pipe(10).sends("14");
    flow.at(160).ack(4).cwnd(14).sends("15-18").pipe(14);
}

#[test]
fn a_window_that_a_copy_fills_is_used_up() {
    // draft-01 probes when it is, or when nothing is left to send.
    let mut flow = pushing("linux-3.17+tlp");
    flow.writes(1).sends("1").writes(20).sends("2-9");
    flow.timer(Timer::Probe, 80 + 160);
}

#[test]
fn an_ack_of_a_part_leaves_the_rest_to_count() {
    let mut flow = pushing("linux-3.17");
    flow.writes(3).sends("1-3").writes(20).sends("4-9");
    flow.expires(Timer::Copy, 90).sends("copy 3");
    let part = segments(3, 3).start + 400;
    flow.at(150).takes(Ack::new(part, 1 << 20)).sends("10-13");
    flow.cwnd(12).pipe(11);
    let rest = flow.sender.copies.segment().unwrap();
    assert_eq!((rest.start, rest.len()), (part, 600));
    flow.at(151).ack(3).cwnd(13).sends("14-16").pipe(13);
    assert!(flow.sender.copies.segment().is_none());
}

#[test]
fn there_is_one_copy_a_window() {
    let mut flow = pushing("linux-3.17");
    flow.trickles(1, 1).expires(Timer::Copy, 90).sends("copy 1");
    flow.trickles(2, 3).no_timer(Timer::Copy);
    let withheld = |span| Event::CopyWithheld { span };
    for n in 2..=3 {
        assert_eq!(flow.count(withheld(segments(n, n))), 1);
    }
    // 2 and 3 are of the window of 1; what is sent after its ACK begins another.
    flow.at(160).ack(1).trickles(4, 4);
    flow.expires(Timer::Copy, 170).sends("copy 4");
    assert_eq!(flow.sender.counters().copies_withheld, 2);
    assert_eq!(flow.sender.counters().copies, 2);
    assert_eq!(flow.sender.counters().copied_bytes, 2 * MSS);
}

#[test]
fn what_is_sent_again_is_not_copied() {
    let mut flow = flow("linux-3.17", &Kind::ALL[2..]);
    flow.writes(1).sends("1");
    flow.expires(Timer::Copy, 90).sends("copy 1");
    flow.expires(Timer::Rto, 360)
        .sends("rto 1")
        .no_timer(Timer::Copy);
}

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
fn other_data_does_not_wait_for_the_gap_and_goes_before_the_copy() {
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
fn a_copy_is_dropped_when_a_timer_takes_its_original_for_lost() {
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
fn a_copy_is_dropped_when_there_is_no_room_left_for_it() {
    let mut flow = pushing("linux-3.17");
    flow.writes(8).sends("1-8").timer(Timer::Copy, 90);
    flow.at(85).congested().state(State::Cwr);
    flow.at(86).ack(1).pipe(7).cwnd(7);
    flow.expires(Timer::Copy, 90).sends("nothing");
    flow.at(91).ack(2).sends("nothing").no_timer(Timer::Copy);
    assert_eq!(flow.sender.counters().copies, 0);
}

// What the arrival of a copy means.

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
fn a_dsack_that_comes_with_news_leaves_the_news() {
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
        Proof::ALL
            .map(|proof| flow.sender.counters().undone_by(proof))
            .iter()
            .sum()
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
fn a_copied_segment_that_arrives_after_a_timeout_does_not_prove_it_spurious() {
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
            assert_eq!(sender.detection.reordering_seen(), seen, "{profile}");
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
        assert_eq!(flow.sender.detection.reordering_seen(), seen);
    }
}

#[test]
fn the_dsack_of_a_copy_does_not_widen_the_reordering_window() {
    // RFC 8985: any DSACK of a retransmission widens it. One was needed, so that one could be.
    let mut flow = pushing("linux-3.17+rack");
    flow.writes(9)
        .sends("1-9")
        .at(160)
        .sack(0, &[2..=4])
        .sends("fast 1");
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
        flow.sender.set_sack(false);
        flow.writes(1).writes(5).sends("1-6");
        flow.expires(Timer::Copy, 90).sends("copy 1");
        flow.at(160).ack(1).at(170).ack(1).pipe(5);
        assert_eq!(flow.sender.counters().copies_reported, 1);
        flow.at(171).ack(1).sends("nothing");
        flow.at(172).ack(1).sends("nothing");
        flow.at(173).ack(1).sends("fast 2");
    }
}

#[test]
fn without_sack_a_copy_swallows_no_duplicate_ack_of_later_data() {
    // Its own came while nothing was outstanding, with a delayed ACK, or never.
    let answers: [fn(&mut Script); 3] = [
        |flow| _ = flow.at(160).ack(1).at(170).ack(1),
        |flow| _ = flow.at(170).ack(1),
        |flow| _ = flow.at(160).ack(1),
    ];
    for answer in answers {
        let mut flow = pushing("reno");
        flow.sender.set_sack(false);
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
        flow.at(at)
            .sack(1, &[1..=1])
            .state(State::Open)
            .sends("nothing");
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

// Timeouts and repair.

#[test]
fn a_timeout_finds_room_although_a_copy_is_out() {
    for profile in [
        "linux-3.17",
        "linux-2.6",
        "linux-6+notlp",
        "rfc6675",
        "reno",
    ] {
        let mut flow = pushing(profile);
        flow.writes(3).sends("1-3");
        flow.expires(Timer::Copy, 90).sends("copy 3");
        let at = flow.fires(Timer::Rto);
        flow.cwnd(1).sends("rto 1").no_timer(Timer::Copy);
        flow.at(at + 80).ack(1).cwnd(2).sends("slow_start 2-3");
        flow.at(at + 160).ack(3);
        assert_eq!(
            flow.sender.counters().retransmissions.total(),
            3,
            "{profile}"
        );
    }
}

#[test]
fn a_timeout_finds_room_although_what_was_copied_is_too_young_to_be_lost() {
    // Linux 6 takes only what is older than a round trip.
    let mut flow = flow("linux-6+notlp", &[Kind::Fin]);
    flow.writes(1).sends("1").at(340).closes().sends("FIN");
    flow.expires(Timer::Copy, 350).sends("copy FIN");
    flow.expires(Timer::Rto, 360).pipe(1).sends("rto 1");
}

#[test]
fn whatever_of_a_flight_is_lost_a_copy_of_its_last_segment_delays_no_repair() {
    for profile in [
        "linux-3.17",
        "linux-3.17+tlpr",
        "linux-2.6",
        "linux-6",
        "rfc6675",
        "reno",
    ] {
        for pattern in 0..1u32 << 8 {
            let fate = |i: u32| match pattern >> i & 1 {
                1 => Fate::Lost,
                _ => Fate::Passes,
            };
            let fates: Vec<Fate> = (0..8).map(fate).collect();
            let [with, without] = [&[Kind::Psh][..], &[]].map(|kinds| {
                let profile: Profile = profile.parse().unwrap();
                let mut mechanisms = *profile.mechanisms();
                mechanisms.slp = Some(copying(kinds));
                let mut network = Network::of(&mechanisms, &fates, &[], 1);
                network.write(0, 8);
                assert!(network.until(
                    |n| n.sender.limit() > Offset::DATA && n.sender.una() == n.sender.limit()
                ));
                (network.now, network.sender.counters())
            });
            assert_eq!(
                (with.1.copies, without.1.copies),
                (1, 0),
                "{profile} {pattern:08b}"
            );
            let timeouts = |counters: &Counters| counters.timeouts.iter().sum::<u64>();
            let [more, few] = [&with.1, &without.1].map(timeouts);
            // The copy takes its millisecond at the bottleneck.
            let later = with.0 > without.0 + Duration::from_millis(2);
            assert!(
                more <= few && (few > 0 || !later),
                "{profile} {pattern:08b}: {} not {}",
                with.0,
                without.0
            );
        }
    }
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
fn a_syn_and_its_copy_lost_are_repeated_by_the_timer_alone() {
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
    for profile in [
        "linux-3.17+slp",
        "linux-3.17+tlpr+slp",
        "linux-6+slp",
        "linux-2.6+slp",
        "rfc6675+slp",
        "reno+slp",
    ] {
        let mut flow = Script::new(profile);
        flow.sends("SYN").expires(Timer::Copy, 5).sends("copy SYN");
        flow.at(80).ack(0).unit(300).writes(1).sends("1:300");
        let initial = flow.sender.cwnd();
        flow.expires(Timer::Copy, 90).sends("copy 1:300");
        flow.at(160)
            .ack(1)
            .at(170)
            .sack(1, &[1..=1])
            .sends("nothing");
        flow.state(State::Open).undone(0, 0, 0);
        assert!(flow.sender.cwnd() >= initial);
        let counters = flow.sender.counters();
        assert_eq!((counters.copies, counters.retransmissions.total()), (2, 0));
    }
}
