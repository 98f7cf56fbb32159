//! Watches the foreground flows of a dumbbell: which of their segments were lost when first sent.

use crate::prelude::*;

/// A set of segments of a flow: segment n, from 0, is the bit n.
pub type Segments = u128;

/// The longest flow that can be watched, in segments.
const MOST_SEGMENTS: u64 = 128;

/// A flow that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The world in which it ran, from 0.
    pub world: u64,
    /// Its completion time from establishment, in ms; `None` if it never completed.
    pub fct_ms: Option<f64>,
    /// The segments whose first transmission was lost.
    pub lost: Segments,
    /// The segments sent more than once.
    pub again: Segments,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Spurious retransmissions of data.
    pub spurious: u64,
    /// Retransmissions of data by fast and early retransmit.
    pub by_acks: u64,
    /// All retransmissions of data.
    pub retransmissions: u64,
}

/// Watches flows of equal segments that the server sends.
#[derive(Debug, Default)]
pub struct Watch {
    world: u64,
    open: BTreeMap<FlowId, Open>,
    /// The flows that have ended, in the order of their ends.
    pub flows: Vec<Flow>,
}

impl Watch {
    /// Watches flows of the world with this number.
    pub fn in_world(world: u64) -> Self {
        Self { world, ..Self::default() }
    }
}

/// A flow under way.
#[derive(Debug)]
struct Open {
    /// Where its data begins.
    first: SeqNumber,
    /// The bytes of a segment.
    mss: u32,
    /// The packet that carried each segment first, by its number in the flow.
    originals: Vec<Option<u64>>,
    lost: Segments,
    again: Segments,
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = false;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let segment = &packet.segment;
        if direction != Direction::Down || segment.payload_len == 0 || point == Point::Arrived {
            return;
        }
        let open = self.open.entry(packet.flow).or_insert_with(|| Open {
            first: segment.seq,
            mss: segment.payload_len,
            originals: vec![],
            lost: 0,
            again: 0,
        });
        let index = (segment.seq.since(open.first) / open.mss) as usize;
        if index as u64 >= MOST_SEGMENTS {
            return;
        }
        if open.originals.len() <= index {
            open.originals.resize(index + 1, None);
        }
        let original = &mut open.originals[index];
        match (point, *original) {
            (Point::Sent, None) => *original = Some(packet.ordinal),
            (Point::Sent, Some(_)) => open.again |= 1 << index,
            (_, Some(original)) if original == packet.ordinal => open.lost |= 1 << index,
            _ => {}
        }
    }

    fn on_flow_end(&mut self, _: Instant, flow: FlowId, record: &FlowRecord) {
        let open = self.open.remove(&flow);
        let (lost, again) = open.map_or((0, 0), |open| (open.lost, open.again));
        let counts = &record.counters.retransmissions;
        let of = |triggers: &[Trigger]| triggers.iter().map(|one| counts.of(*one)).sum::<u64>();
        self.flows.push(Flow {
            world: self.world,
            fct_ms: record.fct_established.map(|fct| fct.as_secs_f64() * 1e3),
            lost,
            again,
            segments_sent: record.segments_sent,
            spurious: record.spurious_data,
            by_acks: of(&[Trigger::Fast, Trigger::Early]),
            retransmissions: of(&Trigger::ALL) - of(&[Trigger::Syn, Trigger::SynAck]),
        });
    }
}
