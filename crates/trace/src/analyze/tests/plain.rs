//! The short way for plain packets finds what the long way finds. An analysis with a timeline takes the long way.

use super::*;
use proptest::{collection::vec, prelude::*};

/// Checks that both ways find the same.
pub(super) fn check(packets: &[CapturedPacket], settings: &Settings) {
    let found = [false, true].map(|timeline| {
        let settings = Settings { timeline, ..settings.clone() };
        let kept = merged_parts(follow(packets.iter().copied(), &settings, Kept::default));
        format!("{:#?}\n{:#?}", kept.connections, kept.retransmissions)
    });
    assert_eq!(found[0], found[1]);
}

/// What happens next in a conversation.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// So many new bytes.
    Data(u32),
    /// An ACK of all that the other end sent but so many bytes.
    Ack(i64),
    /// So many bytes are sent, and not captured.
    Missing(i64),
    /// Sends again from this many bytes before the next one.
    Again(i64),
    /// The packet before, once more.
    Twice,
    Fin,
    /// An ACK with this window.
    Window(u16),
    Reset,
    /// A packet that took another way.
    OtherWay,
}

fn next() -> impl Strategy<Value = (Next, usize, f64)> {
    let next = prop_oneof![
        20 => prop_oneof![Just(1000_u32), Just(1), Just(300), Just(4000)].prop_map(Next::Data),
        20 => prop_oneof![4 => Just(0_i64), 1 => Just(1000), 1 => Just(-1000)].prop_map(Next::Ack),
        1 => (1..3000_i64).prop_map(Next::Missing),
        1 => (1..5000_i64).prop_map(Next::Again),
        1 => Just(Next::Twice),
        1 => Just(Next::Fin),
        1 => prop_oneof![Just(0_u16), Just(10), Just(2000)].prop_map(Next::Window),
        1 => Just(Next::Reset),
        1 => Just(Next::OtherWay),
    ];
    (next, 0..2_usize, prop_oneof![Just(0.0), Just(0.05), 0.0..3.0_f64, 0.0..400.0_f64])
}

proptest! {
    #[test]
    fn the_short_way_finds_what_the_long_way_finds(
        has_syn in any::<bool>(),
        has_timestamps in any::<bool>(),
        steps in vec(next(), 1..120),
    ) {
        let mut talk = if has_syn { Conversation::opened(0.0) } else { Conversation::mid_connection() };
        let (mut at, mut sent) = (51.0, [0_i64; 2]);
        for (next, side, wait) in steps {
            at += wait;
            let acked = sent[1 - side];
            let mut send = |seq: i64, len: u32, ack: i64, change: &dyn Fn(&mut Segment)| {
                talk.packet(at, side, seq, len, ack, |segment| {
                    if !has_timestamps {
                        segment.options.timestamps = None;
                    }
                    change(segment);
                });
            };
            match next {
                Next::Data(len) => {
                    send(sent[side], len, acked, &|_| {});
                    sent[side] += i64::from(len);
                }
                Next::Ack(less) => send(sent[side], 0, acked - less, &|_| {}),
                Next::Missing(bytes) => sent[side] += bytes,
                Next::Again(back) => send(sent[side] - back, back.min(1000) as u32, acked, &|_| {}),
                Next::Twice => talk.packets.extend_from_within(talk.packets.len().saturating_sub(1)..),
                Next::Fin => {
                    send(sent[side], 0, acked, &|segment| segment.flags = Flags::ACK.union(Flags::FIN));
                    sent[side] += 1;
                }
                Next::Window(window) => send(sent[side], 0, acked, &|segment| segment.window = window),
                Next::Reset => send(sent[side], 0, acked, &|segment| segment.flags = Flags::RST),
                Next::OtherWay => {
                    send(sent[side], 0, acked, &|_| {});
                    if let Some(packet) = talk.packets.last_mut() {
                        packet.outgoing = Some(side == 1);
                        packet.ip_id = packet.ip_id.map(|id| id + 3);
                    }
                }
            }
        }
        for (i, packet) in talk.packets.iter_mut().enumerate() {
            packet.frame = i as u64 + 1;
        }
        check(&talk.packets, &Settings::default());
    }
}
