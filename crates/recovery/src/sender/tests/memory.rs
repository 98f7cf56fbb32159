//! The memory of a sender: how large it is, and what it does when there is no more.

use super::super::*;
use super::script::{MSS, Script};
use crate::scoreboard::SentSegment;

#[test]
fn no_new_data_is_offered_while_the_memory_is_full() {
    let lent = || {
        let segments = vec![SentSegment::default(); 5].leak();
        Storage::lent(segments, vec![0; 4].leak())
    };
    for storage in [Storage::with_capacity(4), lent()] {
        let mut flow = Script::connected("linux-6", 80);
        assert!(flow.sender.keep_in(storage).is_ok());
        flow.writes(30).sends("1-4");
        // A host that sends more all the same is not heard.
        let fifth = Span::at(flow.sender.nxt(), MSS);
        flow.sender
            .on_sent(Instant::from_millis(80), Transmission::New(fifth));
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
