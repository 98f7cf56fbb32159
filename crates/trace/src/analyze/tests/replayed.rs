//! What a replay begins with, and when.

use super::*;

#[test]
fn without_an_ack_every_retransmission_is_a_timeout() {
    let mut conversation = Conversation::mid_connection();
    // An HP-UX host's backoff: the first timeout is less than half of the second.
    for at in [0.0, 200.0, 800.0, 2000.0, 4400.0, 9200.0] {
        conversation.data(at, 0, 648);
    }
    let kept = conversation.analyzed();
    let triggers = kept.retransmissions.iter().map(|row| row.triggers);
    assert_eq!(triggers.collect::<Vec<_>>(), [Trigger::Rto.into(); 5]);
}

#[test]
fn earlier_reordering_does_not_affect_later_losses() {
    // (pairs of segments in which the second overtakes the first; their steps fill any tape)
    for pairs in [10, 1000, 3000] {
        let mut conversation = Conversation::opened(0.0);
        let mut at = 100.0;
        for i in 0..pairs {
            let first = i * 2000;
            conversation.data(at, first, 1000);
            conversation.data(at + 0.1, first + 1000, 1000);
            conversation.ack(at + 50.0, first, first + 1000, first + 2000);
            conversation.ack(at + 50.1, first + 2000, 0, 0);
            at += 60.0;
        }
        let lost = pairs * 2000;
        for i in 0..10 {
            conversation.data(at + i as f64 * 0.01, lost + i * 1000, 1000);
        }
        for i in 1..10 {
            conversation.ack(
                at + 50.0 + i as f64 * 0.01,
                lost,
                lost + 1000,
                lost + (i + 1) * 1000,
            );
        }
        conversation.data(at + 50.05, lost, 1000);
        conversation.ack(at + 100.1, lost + 10_000, 0, 0);
        let kept = conversation.analyzed();
        let [row] = kept.retransmissions.as_slice() else {
            panic!("{pairs}: {:?}", kept.retransmissions);
        };
        assert_eq!(row.triggers, Trigger::Fast.into(), "{pairs}");
        let profile = &kept.connections[0].directions[1].profile;
        let best = profile.best().map(|best| (best.explained, best.of));
        assert_eq!(best, Some((1, 1)), "{pairs}: {profile:?}");
    }
}
