//! Tstat's rules. We reimplemented them, because no package of Tstat exists.
//!
//! ```text
//! RTT = the mean of its parts on both sides of the capture point;  RTT_min likewise, at least 1 ms
//! RTO = RTT + 4·(standard deviation), at least 100 ms;  without samples 5 ms and 500 ms
//! RT  = time since the previous copy or, without one, since the segment before the gap
//! one byte into a zero window                              → flow control
//! RT < RTT, and the segment before was not in sequence     → the same as that
//! the IP identification of the previous copy               → network duplicate
//! RT > RTO                                                 → RTO
//! three duplicate ACKs of the segment before, RT < RTO     → FR
//! it fills a gap within RTT_min                            → reordering
//! else                                                     → unknown
//! ```
//! RTO and FR are unnecessary if the bytes were acknowledged before.
//!
//! Source: the behaviour of Tstat 3 (tstat.polito.it) with its default constants, and Mellia, Meo,
//! Muscariello, Rossi, "Passive analysis of TCP anomalies", Computer Networks 52(14), 2008. No code of
//! Tstat is used. Deviations: segments are kept for the whole connection, whereas Tstat discards old
//! ones. A partly overlapping segment counts as seen if its first byte was seen.

use super::claim;
use crate::accuracy::score::Claim;
use recoup_trace::finding::Triggers;
use recoup_trace::read::{CapturedPacket, Reader};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, SeqNumber};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

const MIN_RTO: f64 = 0.1;
const MIN_RTT: f64 = 0.001;
/// Without samples.
const FIRST_RTO: f64 = 0.5;
const FIRST_RTT: f64 = 0.005;
/// The ACK itself and its three duplicates.
const ACKS: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    InSequence,
    Rto,
    Fast,
    UnnecessaryRto,
    UnnecessaryFast,
    Reordering,
    NetworkDuplicate,
    FlowControl,
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    end: u64,
    at: Instant,
    ip_id: Option<u16>,
    /// The first ACK that covered it, and all later ACKs of exactly its end.
    acks: u32,
    retransmitted: bool,
    kind: Kind,
}

/// Statistics of the round-trip times between the capture point and one receiver, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    count: f64,
    sum: f64,
    squares: f64,
    min: f64,
}

impl Samples {
    fn add(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        self.min = if self.count == 0.0 { rtt } else { self.min.min(rtt) };
        self.count += 1.0;
        self.sum += rtt;
        self.squares += rtt * rtt;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }

    /// The standard deviation of both samples together.
    fn deviation(&self, other: &Self) -> f64 {
        let count = (self.count + other.count).max(1.0);
        let mean = (self.sum + other.sum) / count;
        ((self.squares + other.squares) / count - mean * mean).max(0.0).sqrt()
    }
}

/// The data of one sender.
#[derive(Debug, Default)]
struct Stream {
    isn: Option<SeqNumber>,
    /// Segments by the offset of their first byte.
    segments: BTreeMap<u64, Segment>,
    samples: Samples,
    window_is_zero: bool,
}

/// Mean RTT, RTO and minimum RTT, in seconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    rtt: f64,
    rto: f64,
    min: f64,
}

impl Times {
    fn of(a: &Samples, b: &Samples) -> Self {
        let rtt = a.mean() + b.mean();
        match a.count > 0.0 && b.count > 0.0 {
            true => Self { rtt, rto: (rtt + 4.0 * a.deviation(b)).max(MIN_RTO), min: (a.min + b.min).max(MIN_RTT) },
            false => Self { rtt, rto: FIRST_RTO, min: FIRST_RTT },
        }
    }
}

impl Stream {
    /// The offset in the stream. Sequence numbers do not wrap in the captures of these tests.
    fn offset(&self, seq: SeqNumber) -> Option<u64> {
        Some(u64::from(seq.since(self.isn?)))
    }

    fn on_ack(&mut self, at: Instant, ack: SeqNumber) {
        let Some(ack) = self.offset(ack) else {
            return;
        };
        let below = self.segments.range_mut(..ack).rev();
        let mut newest = true;
        for (_, segment) in below.filter(|(_, segment)| segment.end <= ack) {
            let exactly = segment.end == ack;
            if segment.acks > 0 {
                segment.acks += u32::from(exactly);
                // The ACK that covered this segment covered all below.
                break;
            }
            segment.acks = 1;
            if exactly && newest && !segment.retransmitted {
                self.samples.add(at.since(segment.at));
            }
            newest = false;
        }
    }

    fn on_data(&mut self, packet: &CapturedPacket, times: Times, far_window_is_zero: bool) -> Option<Kind> {
        let segment = &packet.segment;
        let start = self.offset(segment.seq)?;
        let end = start + u64::from(segment.sequence_len());
        let last = self.segments.last_key_value();
        let in_order = last.is_none_or(|(_, last)| start >= last.end);
        let kind = match in_order {
            true => Kind::InSequence,
            false => self.classify(packet, start, times, far_window_is_zero),
        };
        let earlier = self.segments.get(&start);
        let (acks, retransmitted) = (earlier.map_or(0, |e| e.acks), earlier.is_some());
        let new = Segment { end, at: packet.at, ip_id: packet.ip_id, acks, retransmitted, kind };
        self.segments.insert(start, new);
        Some(kind)
    }

    fn classify(&self, packet: &CapturedPacket, start: u64, times: Times, far_window_is_zero: bool) -> Kind {
        let before = self.segments.range(..start).next_back().map(|(_, s)| s);
        let earlier = self.segments.range(..=start).next_back();
        let earlier = earlier.map(|(_, s)| s).filter(|s| s.end > start);
        let since = |segment: &Segment| packet.at.since(segment.at).as_secs_f64();
        let recovery = earlier.or(before).map_or(0.0, since);
        if packet.segment.payload_len == 1 && far_window_is_zero {
            return Kind::FlowControl;
        }
        let previous = before.map_or(Kind::InSequence, |s| s.kind);
        if recovery < times.rtt && previous != Kind::InSequence {
            return previous;
        }
        if earlier.is_some_and(|s| s.ip_id.is_some() && s.ip_id == packet.ip_id) {
            return Kind::NetworkDuplicate;
        }
        let fast = before.is_some_and(|s| s.acks >= ACKS) && recovery < times.rto;
        let acknowledged = earlier.is_some_and(|s| s.acks > 0);
        match (fast, recovery > times.rto, acknowledged) {
            (true, _, false) => Kind::Fast,
            (true, _, true) => Kind::UnnecessaryFast,
            (_, true, false) => Kind::Rto,
            (_, true, true) => Kind::UnnecessaryRto,
            _ if earlier.is_none() && self.fills_soon(packet, start, times) => Kind::Reordering,
            _ => Kind::Unknown,
        }
    }

    /// Whether the segment after the gap arrived less than the minimum RTT ago.
    fn fills_soon(&self, packet: &CapturedPacket, start: u64, times: Times) -> bool {
        let after = self.segments.range(start..).next();
        after.is_some_and(|(_, s)| packet.at.since(s.at).as_secs_f64() < times.min)
    }
}

/// The retransmissions of data that these rules find in a capture.
pub fn tstat(capture: &Path) -> Vec<Claim> {
    let mut reader = Reader::open(capture).expect("a capture");
    let mut streams: HashMap<Endpoints, Stream> = HashMap::new();
    let mut claims = Vec::new();
    while let Some(packet) = reader.next() {
        let kind = on_packet(&mut streams, packet);
        claims.extend(kind.and_then(|kind| to_claim(packet.frame, kind)));
    }
    claims
}

fn on_packet(streams: &mut HashMap<Endpoints, Stream>, packet: &CapturedPacket) -> Option<Kind> {
    let segment = &packet.segment;
    let far = streams.entry(packet.endpoints.reverse()).or_default();
    if segment.flags.contains(Flags::ACK) {
        far.on_ack(packet.at, segment.ack);
    }
    let (far_samples, far_window_is_zero) = (far.samples, far.window_is_zero);
    let own = streams.entry(packet.endpoints).or_default();
    own.window_is_zero = segment.window == 0;
    if segment.flags.contains(Flags::SYN) && own.isn != Some(segment.seq) {
        *own = Stream { isn: Some(segment.seq), ..Stream::default() };
    }
    if segment.sequence_len() == 0 {
        return None;
    }
    let times = Times::of(&own.samples, &far_samples);
    own.on_data(packet, times, far_window_is_zero)
}

fn to_claim(frame: u64, kind: Kind) -> Option<Claim> {
    let unknown = Triggers::UNKNOWN.to_string();
    match kind {
        Kind::Rto => Some(claim(frame, "rto", false)),
        Kind::Fast => Some(claim(frame, "fast", false)),
        Kind::UnnecessaryRto => Some(claim(frame, "rto", true)),
        Kind::UnnecessaryFast => Some(claim(frame, "fast", true)),
        Kind::Unknown => Some(claim(frame, &unknown, false)),
        Kind::InSequence | Kind::Reordering | Kind::NetworkDuplicate | Kind::FlowControl => None,
    }
}
