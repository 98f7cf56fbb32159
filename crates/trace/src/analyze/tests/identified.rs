//! Facts that only the connections of one host together show.

use super::*;
use crate::finding::Identification;

/// Ten segments, of which the last two are not acknowledged; the sender waits.
fn two_left(at: f64) -> Conversation {
    let mut conversation = Conversation::opened(at);
    for i in 0..10 {
        conversation.data(at + 100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    conversation.ack(at + 150.0, 8000, 0, 0);
    conversation
}

/// 2·SRTT + 2 ms after the ACK, a probe repeats the last segment.
fn probed(at: f64) -> Conversation {
    let mut conversation = two_left(at);
    conversation.data(at + 252.5, 9000, 1000);
    conversation.ack(at + 302.6, 10_000, 0, 0);
    conversation
}

/// An RTO after the ACK, the sender begins again from the first of the two.
fn timed_out(at: f64) -> Conversation {
    let mut conversation = two_left(at);
    conversation.data(at + 402.0, 8000, 1000);
    conversation.ack(at + 452.1, 9000, 0, 0);
    conversation.data(at + 452.2, 9000, 1000);
    conversation.ack(at + 502.3, 10_000, 0, 0);
    conversation
}

/// The only segment in flight is lost: a probe and a timeout are due at the same time.
fn single_lost(at: f64) -> Conversation {
    single_lost_with(at, 200.0)
}

/// The same with another least RTO in ms.
fn single_lost_with(at: f64, least_rto: f64) -> Conversation {
    let again = at + 252.0 + least_rto;
    let mut conversation = Conversation::opened(at);
    conversation.data(at + 100.0, 0, 1000);
    conversation.ack(at + 150.1, 1000, 0, 0);
    conversation.data(at + 200.0, 1000, 1000);
    conversation.data(again, 1000, 1000);
    conversation.ack(again + 50.1, 2000, 0, 0);
    conversation
}

/// The findings of these connections of one server to clients at different ports.
fn together(all: impl IntoIterator<Item = Conversation>) -> Kept {
    let mut packets = Vec::new();
    for (conversation, port) in all.into_iter().zip(40_000..) {
        let mut own = conversation.packets;
        for packet in &mut own {
            for end in [&mut packet.endpoints.src, &mut packet.endpoints.dst] {
                if end.port() != 80 {
                    end.set_port(port);
                }
            }
        }
        packets.extend(own);
    }
    packets.sort_by_key(|packet: &CapturedPacket| packet.at);
    for (packet, frame) in packets.iter_mut().zip(1..) {
        packet.frame = frame;
    }
    analyzed(&packets, &Settings::default())
}

/// The profile of each sender, when a connection repaired by SACK is followed by these.
fn profiles(others: impl IntoIterator<Item = Conversation>) -> Vec<String> {
    let kept = together(std::iter::once(repaired()).chain(others));
    let profile = |connection: &Connection| match &connection.directions[1].profile {
        Identification::Profile(one) => one.profile.clone(),
        Identification::Several(several) => {
            let names: Vec<&str> = several.iter().map(|one| &*one.profile).collect();
            names.join("|")
        }
        other => format!("{other:?}"),
    };
    kept.connections.iter().map(profile).collect()
}

#[test]
fn a_probe_at_one_connection_settles_the_host() {
    let found = profiles([probed(1000.0)]);
    assert_eq!(found, ["linux-6|linux-3.17+tlp"; 2]);
}

#[test]
fn probes_left_out_settle_the_host_even_for_earlier_connections() {
    let found = profiles([timed_out(1000.0), timed_out(2000.0)]);
    let without = |names: &String| !names.contains("tlp") || names.contains("+notlp");
    assert!(found.iter().all(without), "{found:?}");
    assert!(found[0].starts_with("linux-6+notlp|"), "{found:?}");
}

#[test]
fn triggers_follow_the_settled_profile_even_in_earlier_connections() {
    let later = || [1000.0, 2000.0].map(timed_out);
    let named = |kept: &Kept| kept.retransmissions[0].triggers;
    assert_eq!(named(&together([single_lost(0.0)])), Trigger::Tlp.into());
    let kept = together(std::iter::once(single_lost(0.0)).chain(later()));
    assert_eq!(named(&kept), Trigger::Rto.into());
    let tally = kept.connections[0].directions[1].retransmissions;
    assert_eq!(tally.of_trigger(Some(Trigger::Rto)), 1);
    assert_eq!(tally.total(), 1);
}

/// One probe may be left out for another reason.
#[test]
fn without_evidence_no_setting_counts_as_changed() {
    for others in [vec![], vec![timed_out(1000.0)]] {
        let found = profiles(others);
        assert!(found[0].starts_with("linux-6|"), "{found:?}");
        assert!(!found[0].contains("+notlp"), "{found:?}");
    }
}

#[test]
fn timeouts_that_come_much_sooner_or_later_show_another_least_rto() {
    for (least, expected) in [(50.0, Some(50)), (200.0, None), (700.0, Some(700))] {
        let kept = together((0..4).map(|i| single_lost_with(2000.0 * f64::from(i), least)));
        for connection in &kept.connections {
            let sender = &connection.directions[1];
            assert!(
                sender.profile.best().is_some_and(|best| best.profile == "linux-6"),
                "{least}: {:?}",
                sender.profile
            );
            assert!(!matches!(sender.profile, Identification::None(_)), "{least}: {:?}", sender.profile);
            let found = sender.least_rto.map(|rto| rto.as_secs_f64() * 1e3);
            assert!(
                match (found, expected) {
                    (Some(found), Some(expected)) =>
                        (f64::from(expected) - 1.0..=f64::from(expected) + 5.0).contains(&found),
                    (None, None) => true,
                    _ => false,
                },
                "{least}: {found:?}"
            );
        }
    }
    // Two may be chance.
    let kept = together((0..2).map(|i| single_lost_with(2000.0 * f64::from(i), 50.0)));
    assert!(kept.connections.iter().all(|connection| connection.directions[1].least_rto.is_none()));
}
