//! The memory of a sender: how large it is, and what it does when there is no more.

use super::super::*;
use super::script::{MSS, Script};
use crate::scoreboard::SentSegment;

#[test]
fn no_new_data_is_offered_while_the_memory_is_full() {
    let lent = || {
        let segments = vec![SentSegment::default(); 5].leak();
        Storage::lent(segments, vec![0; 1].leak())
    };
    for storage in [Storage::with_capacity(4), lent()] {
        let mut flow = Script::connected("linux-6", 80);
        assert!(flow.sender.keep_in(storage).is_ok());
        flow.writes(30).sends("1-4");
        // A host that sends more all the same is not heard.
        let fifth = Span::at(flow.sender.nxt(), MSS);
        flow.sender.on_sent(Instant::from_millis(80), Transmission::New(fifth));
        assert_eq!(flow.sender.nxt(), fifth.start);
        assert_eq!(flow.sender.check(), Ok(()));
        // Each segment that is acknowledged makes room for one.
        flow.at(160).ack(2).sends("5-6");
        flow.at(161).sack(2, &[4..=6]).sends("fast 3");
        flow.at(241).ack(6).sends("7-10");
        // The probe has no room for new data.
        flow.fires(Timer::Probe);
        flow.sends("tlp 10");
    }
}

#[test]
fn what_is_outstanding_moves_to_other_memory() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    let refused = flow.sender.keep_in(Storage::with_capacity(9));
    assert_eq!(refused.map_err(|storage| storage.capacity()), Err(9));
    let mut sender = flow.sender.clone();
    assert!(sender.keep_in(Storage::with_capacity(10)).is_ok());
    core::mem::swap(&mut flow.sender, &mut sender);
    flow.at(160).sack(0, &[5..=9]);
    assert!(flow.sender.keep_in(Storage::with_capacity(10)).is_ok());
    assert_eq!(flow.sender.check(), Ok(()));
    flow.sends("fast 1, fast 2, fast 3, fast 4");
    flow.at(240).ack(9).sends("11-16");
}

#[test]
fn the_memory_of_a_sender_is_bounded() {
    let new = |profile: &str, log| {
        let profile: crate::Profile = profile.parse().unwrap();
        Sender::new(profile.mechanisms(), MSS as u32, Trigger::Syn, log)
    };
    // Everything that an ACK touches lies in the sender itself or in its segments.
    assert!(size_of::<Sender>() <= 1264, "{}", size_of::<Sender>());
    assert!(size_of::<crate::AckSummary>() <= 128);
    for (profile, log, heap) in [
        ("linux-6", false, 0..=0),
        ("linux-3.17+slp", false, 1..=300),
        ("linux-6+bbr1", false, 1..=500),
        ("linux-6", true, 1..=200),
    ] {
        let memory = new(profile, log).memory();
        assert!(heap.contains(&memory), "{profile}: {memory}");
    }
    // 64 bytes a segment and one bit, for a power of two of them.
    for (segments, most) in [(1, 4 * 64 + 8), (10, 16 * 64 + 8), (100, 128 * 64 + 3 * 8)] {
        let mut sender = new("linux-6", false);
        let now = Instant::ZERO;
        let whole = Span::at(Offset::DATA, segments * MSS);
        let outstanding = (0..segments).map(|i| (now, Span::at(whole.start + i * MSS, MSS)));
        sender.resume(ResumeState {
            una: whole.start,
            window_edge: whole.end,
            rtt: *sender.rtt(),
            advanced_at: now,
            outstanding,
        });
        assert_eq!(sender.memory(), most, "{segments}");
        assert_eq!(sender.clone().memory(), most, "{segments}");
    }
}

/// What the window permits is sent and acknowledged, after a recovery if it is long enough for one: round `n`.
fn loses_one(flow: &mut Script, n: u64) {
    flow.sent();
    let outstanding = u64::from(flow.sender.board().outstanding().0);
    let acked = flow.sender.nxt().since(Offset::DATA) / MSS - outstanding;
    let last = acked + outstanding;
    if outstanding >= 5 {
        flow.at(200 + 100 * n).sack(acked, &[acked + 2..=last]);
        flow.sent();
        assert_eq!(flow.sender.state(), State::Recovery);
    }
    flow.at(201 + 100 * n).ack(last);
}

#[test]
fn a_sender_with_memory_of_a_fixed_size_takes_no_more() {
    let mut flow = Script::connected("linux-6", 80);
    flow.sender.log = Log::new(false);
    assert!(flow.sender.keep_in(Storage::with_capacity(16)).is_ok());
    let memory = flow.sender.memory();
    // Recoveries come and go, and none of them is kept.
    flow.writes(2000);
    for n in 0..100 {
        loses_one(&mut flow, n);
        assert_eq!(flow.sender.memory(), memory, "after {n}");
    }
    assert!(flow.sender.counters().recoveries > 20);
    assert_eq!(flow.sender.recoveries().len(), 0);
    flow.sent();
}

#[test]
fn finished_recoveries_take_no_more_than_the_host_leaves() {
    for (more, kept) in [(1 << 20, 20..=100), (0, 1..=16)] {
        let mut flow = Script::connected("linux-6", 80);
        flow.sender.log = Log::new(false);
        flow.writes(2000);
        for n in 0..100 {
            flow.sender.limit_memory(more);
            loses_one(&mut flow, n);
        }
        let recoveries = flow.sender.recoveries().len();
        assert!(flow.sender.counters().recoveries > 20 && kept.contains(&recoveries), "{more}: {recoveries}");
        flow.sent();
    }
}

#[test]
fn a_sender_that_begins_again_in_memory_of_a_fixed_size_takes_no_more_either() {
    let mut flow = Script::connected("linux-6", 80);
    assert!(flow.sender.keep_in(Storage::with_capacity(16)).is_ok());
    let mechanisms = &crate::Mechanisms::LINUX_6;
    flow.sender.reset(mechanisms, MSS as u32, Trigger::Syn, false);
    let memory = flow.sender.memory();
    flow.sender.establish(Instant::from_millis(80), 1 << 20);
    flow.writes(10).sent();
    flow.at(160).sack(0, &[4..=10]).sent();
    assert_eq!(flow.sender.state(), State::Recovery);
    flow.at(240).ack(10);
    assert_eq!(flow.sender.counters().recoveries, 1);
    assert_eq!(flow.sender.recoveries().len(), 0);
    assert_eq!(flow.sender.memory(), memory);
}
