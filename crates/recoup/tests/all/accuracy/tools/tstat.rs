//! Rules like Tstat's, which is not packaged anywhere we test.
//!
//! ```text
//! RTT = the mean of its parts on both sides of the place of capture;  RTT_min likewise, at least 1 ms
//! RTO = RTT + 4·(standard deviation), at least 100 ms;  without samples 5 ms and 500 ms
//! RT  = time since the copy sent before, or, if there was none, since the segment before the gap
//! one byte into a shut window                              → flow control
//! RT < RTT, and the segment before was no ordinary one     → as that one
//! the IP identification of the copy before                 → network duplicate
//! RT > RTO                                                 → RTO
//! three duplicate ACKs of the segment before, RT < RTO     → FR
//! it fills a gap within RTT_min                            → reordering
//! else                                                     → unknown
//! ```
//! RTO and FR are unnecessary where the bytes were acknowledged before.
//!
//! Source: what Tstat 3 (tstat.polito.it) does with its default constants; the idea is that of Mellia,
//! Meo, Muscariello, Rossi, "Passive analysis of TCP anomalies", Computer Networks 52(14), 2008. The
//! rules are told again here, not its code. Deviations: segments are kept for the whole connection,
//! where Tstat forgets old ones; a segment that overlaps others in part counts as seen if its first
//! byte was.

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
    NeedlessRto,
    NeedlessFast,
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
    /// ACKs that covered it, those of exactly its end from the second on.
    acks: u32,
    sent_again: bool,
    kind: Kind,
}

/// Moments of the round-trip times between the place of capture and a receiver, in seconds.
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
        self.min = if self.count == 0.0 {
            rtt
        } else {
            self.min.min(rtt)
        };
        self.count += 1.0;
        self.sum += rtt;
        self.squares += rtt * rtt;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }

    /// Of both together.
    fn deviation(&self, other: &Self) -> f64 {
        let count = (self.count + other.count).max(1.0);
        let mean = (self.sum + other.sum) / count;
        ((self.squares + other.squares) / count - mean * mean)
            .max(0.0)
            .sqrt()
    }
}

/// What one end sent.
#[derive(Debug, Default)]
struct Stream {
    isn: Option<SeqNumber>,
    /// By the offset of the first byte.
    segments: BTreeMap<u64, Segment>,
    samples: Samples,
    window_shut: bool,
}

/// Mean, RTO and least.
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
            true => Self {
                rtt,
                rto: (rtt + 4.0 * a.deviation(b)).max(MIN_RTO),
                min: (a.min + b.min).max(MIN_RTT),
            },
            false => Self {
                rtt,
                rto: FIRST_RTO,
                min: FIRST_RTT,
            },
        }
    }
}

impl Stream {
    /// No capture here wraps.
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
                // All below were covered by the ACK that covered this.
                break;
            }
            segment.acks = 1;
            if exactly && newest && !segment.sent_again {
                self.samples.add(at.since(segment.at));
            }
            newest = false;
        }
    }

    fn on_data(&mut self, packet: &CapturedPacket, times: Times, far_shut: bool) -> Option<Kind> {
        let segment = &packet.segment;
        let start = self.offset(segment.seq)?;
        let end = start + u64::from(segment.sequence_len());
        let last = self.segments.last_key_value();
        let in_order = last.is_none_or(|(_, last)| start >= last.end);
        let kind = match in_order {
            true => Kind::InSequence,
            false => self.classify(packet, start, times, far_shut),
        };
        let earlier = self.segments.get(&start);
        let (acks, sent_again) = (earlier.map_or(0, |e| e.acks), earlier.is_some());
        let new = Segment {
            end,
            at: packet.at,
            ip_id: packet.ip_id,
            acks,
            sent_again,
            kind,
        };
        self.segments.insert(start, new);
        Some(kind)
    }

    fn classify(&self, packet: &CapturedPacket, start: u64, times: Times, far_shut: bool) -> Kind {
        let before = self.segments.range(..start).next_back().map(|(_, s)| s);
        let earlier = self.segments.range(..=start).next_back();
        let earlier = earlier.map(|(_, s)| s).filter(|s| s.end > start);
        let since = |segment: &Segment| packet.at.since(segment.at).as_secs_f64();
        let recovery = earlier.or(before).map_or(0.0, since);
        if packet.segment.payload_len == 1 && far_shut {
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
            (true, _, true) => Kind::NeedlessFast,
            (_, true, false) => Kind::Rto,
            (_, true, true) => Kind::NeedlessRto,
            _ if earlier.is_none() && self.fills_soon(packet, start, times) => Kind::Reordering,
            _ => Kind::Unknown,
        }
    }

    /// The segment after the gap came less than the least round trip ago.
    fn fills_soon(&self, packet: &CapturedPacket, start: u64, times: Times) -> bool {
        let after = self.segments.range(start..).next();
        after.is_some_and(|(_, s)| packet.at.since(s.at).as_secs_f64() < times.min)
    }
}

/// What such rules say of the data in a capture.
pub fn tstat(capture: &Path) -> Vec<Claim> {
    let mut reader = Reader::open(capture).expect("a capture");
    let mut streams: HashMap<Endpoints, Stream> = HashMap::new();
    let mut claims = Vec::new();
    while let Some(packet) = reader.next() {
        let kind = on_packet(&mut streams, packet);
        claims.extend(kind.and_then(|kind| says(packet.frame, kind)));
    }
    claims
}

fn on_packet(streams: &mut HashMap<Endpoints, Stream>, packet: &CapturedPacket) -> Option<Kind> {
    let segment = &packet.segment;
    let far = streams.entry(packet.endpoints.reverse()).or_default();
    if segment.flags.contains(Flags::ACK) {
        far.on_ack(packet.at, segment.ack);
    }
    let (far_samples, far_shut) = (far.samples, far.window_shut);
    let own = streams.entry(packet.endpoints).or_default();
    own.window_shut = segment.window == 0;
    if segment.flags.contains(Flags::SYN) && own.isn != Some(segment.seq) {
        *own = Stream {
            isn: Some(segment.seq),
            ..Stream::default()
        };
    }
    if segment.sequence_len() == 0 {
        return None;
    }
    let times = Times::of(&own.samples, &far_samples);
    own.on_data(packet, times, far_shut)
}

fn says(frame: u64, kind: Kind) -> Option<Claim> {
    let unknown = Triggers::UNKNOWN.to_string();
    match kind {
        Kind::Rto => Some(claim(frame, "rto", false)),
        Kind::Fast => Some(claim(frame, "fast", false)),
        Kind::NeedlessRto => Some(claim(frame, "rto", true)),
        Kind::NeedlessFast => Some(claim(frame, "fast", true)),
        Kind::Unknown => Some(claim(frame, &unknown, false)),
        Kind::InSequence | Kind::Reordering | Kind::NetworkDuplicate | Kind::FlowControl => None,
    }
}
