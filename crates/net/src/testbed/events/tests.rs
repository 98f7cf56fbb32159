//! Events of packets and senders on one time axis.

use super::*;
use recoup_recovery::{Timer, Transmission};
use recoup_units::{Offset, Segments, Span};
use recoup_wire::SackBlocks;

const fn us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn record(direction: Direction, number: u64, flags: Flags, at: u64, end: PacketOutcome) -> PacketRecord {
    PacketRecord {
        direction,
        number,
        arrival: us(at),
        outcome: end,
        len: 40,
        flow: FlowId(3),
        tcp: Some(Tcp { seq: 7, ack: 0, payload_len: 0, flags, sack: SackBlocks::NONE }),
        damaged: false,
    }
}

const fn delivered(at: u64) -> PacketOutcome {
    PacketOutcome::Delivered { due: us(at), departure: us(at) }
}

/// `(time in µs, up or down, ordinal, point)` of each packet event.
fn packets(events: &[FlowEvent]) -> Vec<(u64, Direction, u64, PathPoint)> {
    let of_packet = |event: &FlowEvent| match event.kind {
        FlowEventKind::Packet(packet) => {
            Some((event.at.as_nanos() / 1000, packet.direction, packet.ordinal, packet.point))
        }
        FlowEventKind::Sender { .. } => None,
    };
    events.iter().filter_map(of_packet).collect()
}

#[test]
fn packets_are_numbered_within_their_flow_and_direction() {
    use Direction::{Down, Up};
    use PathPoint::{Arrived, Dropped, Sent};
    let lost = PacketOutcome::Dropped { due: us(60), cause: DropCause::Loss };
    let other = PacketRecord { flow: FlowId(2), ..record(Up, 1, Flags::ACK, 5, delivered(9)) };
    let records = [
        other,
        record(Up, 2, Flags::SYN, 10, delivered(30)),
        record(Down, 1, Flags::SYN | Flags::ACK, 40, delivered(80)),
        // A copy that the path made of it.
        record(Down, 1, Flags::SYN | Flags::ACK, 40, delivered(85)),
        record(Up, 4, Flags::ACK, 50, lost),
        record(Up, 5, Flags::ACK, 70, PacketOutcome::Unfinished),
        record(Up, 6, Flags::RST, 90, delivered(95)),
    ];
    let events = collect(&records, FlowId(3), 1_000_000, &[]);
    let expected = [
        (0, Up, 0, Sent),
        (20, Up, 0, Arrived),
        (30, Down, 0, Sent),
        (40, Up, 1, Sent),
        (50, Up, 1, Dropped(DropCause::Loss)),
        (60, Up, 2, Sent),
        (70, Down, 0, Arrived),
        (75, Down, 0, Arrived),
    ];
    assert_eq!(packets(&events), expected);
    assert!(collect(&records, FlowId(9), 0, &[]).is_empty());
}

#[test]
fn all_times_count_from_the_flow_s_first_event() {
    let sent =
        Event::Sent { what: Transmission::New(Span::new(Offset(0), Offset(1))), pipe: Segments(1), cwnd: Segments(10) };
    let set = Event::TimerSet { timer: Timer::Rto, at: Some(us(1_000_100)) };
    // The sender's clock started 2 ms after the path's.
    let log = SenderEvents { started_at: 2_000_000, events: vec![(us(100), sent), (us(101), set)] };
    let syn = record(Direction::Up, 1, Flags::SYN, 2120, delivered(2200));
    let events = collect(&[syn], FlowId(3), 0, &[(Host::Client, log)]);
    let times: Vec<_> = events.iter().map(|event| event.at).collect();
    assert_eq!(times, [us(0), us(1), us(20), us(100)]);
    let FlowEventKind::Sender { host, event } = events[1].kind else {
        panic!("{events:?}");
    };
    assert_eq!(host, Host::Client);
    let expected = Event::TimerSet { timer: Timer::Rto, at: Some(us(1_000_000)) };
    assert_eq!(event, expected);
}
