//! Which copies the windows permit, and how a copy reduces the window.

use super::*;

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
fn a_short_copy_occupies_a_full_segment_of_the_window() {
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
fn a_window_filled_by_a_copy_is_used_up() {
    // draft-01 probes when it is, or when nothing is left to send.
    let mut flow = pushing("linux-3.17+tlp");
    flow.writes(1).sends("1").writes(20).sends("2-9");
    flow.timer(Timer::Probe, 80 + 160);
}

#[test]
fn an_ack_of_a_part_leaves_the_remainder_counted() {
    let mut flow = pushing("linux-3.17");
    flow.writes(3).sends("1-3").writes(20).sends("4-9");
    flow.expires(Timer::Copy, 90).sends("copy 3");
    let part = segments(3, 3).start + 400;
    flow.at(150).takes(Ack::new(part, 1 << 20)).sends("10-13");
    flow.cwnd(12).pipe(11);
    let rest = flow.sender.copying.as_ref().and_then(|copying| copying.copies.segment()).unwrap();
    assert_eq!((rest.start, rest.len()), (part, 600));
    flow.at(151).ack(3).cwnd(13).sends("14-16").pipe(13);
    assert!(flow.sender.copying.as_ref().and_then(|copying| copying.copies.segment()).is_none());
}

#[test]
fn there_is_one_copy_a_window() {
    let mut flow = pushing("linux-3.17");
    flow.trickles(1, 1).expires(Timer::Copy, 90).sends("copy 1");
    flow.trickles(2, 3).no_timer(Timer::Copy);
    let withheld = |span| Event::CopyWithheld { span, another_out: true };
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
    flow.expires(Timer::Rto, 360).sends("rto 1").no_timer(Timer::Copy);
}

// Timeouts and repair.

#[test]
fn a_timeout_can_retransmit_while_a_copy_is_in_flight() {
    for profile in ["linux-3.17", "linux-2.6", "linux-6+notlp", "rfc6675", "reno"] {
        let mut flow = pushing(profile);
        flow.writes(3).sends("1-3");
        flow.expires(Timer::Copy, 90).sends("copy 3");
        let at = flow.fires(Timer::Rto);
        flow.cwnd(1).sends("rto 1").no_timer(Timer::Copy);
        flow.at(at + 80).ack(1).cwnd(2).sends("slow_start 2-3");
        flow.at(at + 160).ack(3);
        assert_eq!(flow.sender.counters().retransmissions.total(), 3, "{profile}");
    }
}

#[test]
fn a_timeout_can_retransmit_while_the_copied_segment_is_too_recent_to_be_lost() {
    // Linux 6 takes only what is older than a round trip.
    let mut flow = flow("linux-6+notlp", &[Kind::Fin]);
    flow.writes(1).sends("1").at(340).closes().sends("FIN");
    flow.expires(Timer::Copy, 350).sends("copy FIN");
    flow.expires(Timer::Rto, 360).pipe(1).sends("rto 1");
}

#[test]
fn whatever_of_a_flight_is_lost_a_copy_of_its_last_segment_delays_no_repair() {
    for profile in ["linux-3.17", "linux-3.17+tlpr", "linux-2.6", "linux-6", "rfc6675", "reno"] {
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
                assert!(network.until(|n| n.sender.limit() > Offset::DATA && n.sender.una() == n.sender.limit()));
                (network.now, network.sender.counters())
            });
            assert_eq!((with.1.copies, without.1.copies), (1, 0), "{profile} {pattern:08b}");
            let timeouts = |counters: &Counters| counters.timeouts.iter().sum::<u64>();
            let [more, few] = [&with.1, &without.1].map(timeouts);
            // The copy takes its millisecond at the bottleneck.
            let later = with.0 > without.0 + Duration::from_millis(2);
            assert!(more <= few && (few > 0 || !later), "{profile} {pattern:08b}: {} not {}", with.0, without.0);
        }
    }
}
