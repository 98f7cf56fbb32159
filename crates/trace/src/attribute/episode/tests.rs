use super::*;
use crate::read::Tunnel;
use recoup_wire::{Endpoints, Options, Segment, SeqNumber};

#[test]
fn the_copy_count_saturates() {
    let end = "192.0.2.1:80".parse().unwrap();
    let packet = CapturedPacket {
        frame: 1,
        at: Instant::ZERO,
        endpoints: Endpoints { src: end, dst: end },
        segment: Segment {
            seq: SeqNumber(1),
            ack: SeqNumber(1),
            payload_len: 1000,
            window: 1000,
            flags: Flags::ACK,
            options: Options::NONE,
        },
        ip_id: None,
        hop_limit: 64,
        ecn: Default::default(),
        options_complete: true,
        overlong: false,
        outgoing: None,
        interface: 0,
        link: 0,
        message: None,
        tunnel: Tunnel::NONE,
    };
    let span = Span::at(Offset::DATA, 1000);
    for (before, copy) in [(0, 1), (u16::MAX, u16::MAX)] {
        let prior = PriorTransmissions {
            original: None,
            order_by_id: None,
            has_new_bytes: false,
            refused_with_syn: false,
            near_receiver: false,
            beyond_window: false,
            copies: Some(before),
            revealed_ts: None,
            rtt: None,
            rtt_before: None,
            flight: 1,
            sent_lately: 1,
            most_flight: 1,
            nxt: span.end,
            sent_at: Instant::ZERO,
            all_due: Instant::ZERO,
            original_held_up: false,
            acknowledged: false,
            all_acknowledged_at: None,
            acked: Offset::SYN,
            last_copy: None,
            answer_due: None,
            jitter: Duration::ZERO,
            advanced_at: None,
        };
        let mut episode = Episode::default();
        episode.on_below_nxt(&packet, Instant::ZERO, span, PacketKind::Repeated, &prior);
        assert_eq!(episode.copies_of(span.start), copy);
    }
}
