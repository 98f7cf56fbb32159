//! Captures whose snap length cuts SACK blocks.

use super::*;

/// A segment that is lost at `at`, reported above by `ack`, and sent again after three reports.
fn lost_and_repaired(conversation: &mut Conversation, at: f64, seq: i64, cut: bool) {
    for i in 0..5 {
        conversation.data(at + 0.01 * i as f64, seq + 1000 * i, MSS);
    }
    for i in 2..=5 {
        let packet = conversation.ack(at + 50.0 + 0.1 * i as f64, seq, seq + 1000, seq + 1000 * i);
        if cut {
            packet.options_complete = false;
            packet.segment.options.sack.clear();
        }
    }
    conversation.data(at + 50.6, seq, MSS);
    conversation.ack(at + 100.7, seq + 5000, 0, 0);
}

fn triggers(conversation: Conversation) -> Vec<String> {
    conversation.analyzed().retransmissions.iter().map(|row| row.triggers.to_string()).collect()
}

#[test]
fn only_the_episodes_whose_blocks_are_cut_are_unknown() {
    let mut conversation = Conversation::opened(0.0);
    lost_and_repaired(&mut conversation, 100.0, 0, false);
    lost_and_repaired(&mut conversation, 1000.0, 5000, true);
    lost_and_repaired(&mut conversation, 2000.0, 10_000, false);
    // A timeout needs no blocks.
    conversation.data(3000.0, 15_000, 300);
    conversation.data(3400.0, 15_000, 300);
    conversation.ack(3450.0, 15_300, 0, 0);
    let found = triggers(conversation);
    assert_eq!(found[..3], ["fast", "unknown", "fast"]);
    assert!(["rto", "tlp", "tlp|rto"].contains(&&*found[3]), "{found:?}");
}

#[test]
fn the_first_block_is_enough() {
    let mut conversation = Conversation::opened(0.0);
    lost_and_repaired(&mut conversation, 100.0, 0, false);
    for packet in &mut conversation.packets {
        packet.options_complete &= packet.segment.options.sack.is_empty();
    }
    assert_eq!(triggers(conversation), ["fast"]);
}
