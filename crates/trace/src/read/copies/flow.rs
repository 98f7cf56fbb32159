//! The copies of one direction of a connection, and the packets that they repeat.

use super::{SOON, SentCopy};
use crate::read::{CapturedPacket, Tunnel};
use recoup_units::Instant;
use recoup_wire::{Flags, Segment, SeqNumber, Timestamps};
use std::{collections::BTreeMap, time::Duration};

/// A copy is captured at its time in the log at the soonest, but for the coarseness of clocks.
const EARLY: Duration = Duration::from_millis(1);

/// A host or a mirrored port shows a packet twice within this time. Copies follow later.
const AT_ONCE: Duration = Duration::from_micros(200);

/// Where a packet was captured. A file may hold packets of several points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    interface: u32,
    link: u32,
    hop_limit: u8,
    outgoing: Option<bool>,
    tunnel: Tunnel,
}

impl Point {
    fn of(packet: &CapturedPacket) -> Self {
        let &CapturedPacket { interface, link, hop_limit, outgoing, tunnel, .. } = packet;
        Self { interface, link, hop_limit, outgoing, tunnel }
    }
}

/// The latest packet by TCP that held the bytes of a copy, at one capture point.
#[derive(Clone, Copy, Debug)]
struct Original {
    point: Point,
    at: Instant,
    ack: SeqNumber,
    window: u16,
    timestamps: Option<Timestamps>,
    ip_id: Option<u16>,
    /// It held nothing else.
    is_exact: bool,
}

/// Whether a packet repeats another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeats {
    Yes,
    No,
    /// Nothing tells.
    Unknown,
}

impl Original {
    fn of(packet: &CapturedPacket, copy: &SentCopy) -> Self {
        let segment = &packet.segment;
        Self {
            point: Point::of(packet),
            at: packet.at,
            ack: segment.ack,
            window: segment.window,
            timestamps: segment.options.timestamps,
            ip_id: packet.ip_id,
            is_exact: segment.sequence_len() == copy.len,
        }
    }

    fn is_repeated_by(&self, packet: &CapturedPacket) -> Repeats {
        let segment = &packet.segment;
        if (segment.ack, segment.window) != (self.ack, self.window) {
            return Repeats::No;
        }
        if let (Some(first), Some(now)) = (self.timestamps, segment.options.timestamps) {
            return if first == now { Repeats::Yes } else { Repeats::No };
        }
        match (self.ip_id, packet.ip_id) {
            // 0: there is none, as in the SYN-ACKs of Linux. The pieces of a longer packet have identifications of their own.
            (Some(first), Some(now)) if self.is_exact && first != 0 => match first == now {
                true => Repeats::Yes,
                false => Repeats::No,
            },
            _ => Repeats::Unknown,
        }
    }
}

/// A copy that is looked for.
#[derive(Clone, Debug)]
struct Tracked {
    copy: SentCopy,
    originals: Vec<Original>,
    /// Where it was found.
    found_at: Vec<Point>,
    /// A report of it is not TCP's.
    hides_report: bool,
}

impl Tracked {
    /// Whether the packet passed when a packet socket of the sending host captures the copy.
    fn is_soon(&self, at: Instant) -> bool {
        at + EARLY >= self.copy.at && at <= self.copy.at + SOON
    }

    /// Whether a packet with its bytes is the copy.
    fn is(&self, packet: &CapturedPacket, is_live: bool) -> bool {
        let point = Point::of(packet);
        if self.copy.len != packet.segment.sequence_len() || self.found_at.contains(&point) {
            return false;
        }
        let is_soon = self.is_soon(packet.at);
        if is_live {
            return is_soon;
        }
        let Some(original) = self.originals.iter().find(|original| original.point == point) else {
            return false;
        };
        let is_twice_at_once = packet.at.since(original.at) < AT_ONCE;
        // One of them shows that the capture has another clock.
        let is_other_clock = original.at > self.copy.at + EARLY || packet.at + EARLY < self.copy.at;
        match original.is_repeated_by(packet) {
            Repeats::No => false,
            Repeats::Yes => is_soon || !is_twice_at_once,
            Repeats::Unknown => is_soon || (is_other_clock && !is_twice_at_once),
        }
    }
}

/// A copy was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// It was not found at another point before.
    pub is_first: bool,
    pub may_have_repaired: bool,
}

/// An acknowledgement of the peer, as TCP got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    AsItIs,
    /// A report was taken out.
    WithoutReport,
    /// It said nothing else.
    Nothing,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// By the number of their first byte; of the same bytes, the oldest first.
    copies: BTreeMap<u32, Vec<Tracked>>,
    /// The latest acknowledgement of the peer, with its window.
    answer: Option<(SeqNumber, u16)>,
}

impl Flow {
    pub fn add(&mut self, copy: &SentCopy) {
        let tracked = Tracked { copy: *copy, originals: Vec::new(), found_at: Vec::new(), hides_report: false };
        let same = self.copies.entry(copy.seq.0).or_default();
        let place = same.partition_point(|other| other.copy.at <= copy.at);
        same.insert(place, tracked);
    }

    /// Forgets the oldest copy that begins with this number.
    pub fn forget(&mut self, seq: SeqNumber) {
        if let Some(same) = self.copies.get_mut(&seq.0) {
            if same.len() > 1 {
                same.remove(0);
            } else {
                self.copies.remove(&seq.0);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// The copies whose first number is one of these `len` numbers.
    fn within(&mut self, first: SeqNumber, len: u32) -> impl Iterator<Item = &mut Tracked> {
        let end = u64::from(first.0) + u64::from(len);
        let before_wrap = u64::from(first.0)..end.min(1 << 32);
        let after_wrap = 0..end.saturating_sub(1 << 32);
        let is_inside = move |seq: u32| before_wrap.contains(&seq.into()) || after_wrap.contains(&seq.into());
        // A range of a map with few entries costs no more than two.
        let wraps = end > 1 << 32;
        let range = if wraps { 0..=u32::MAX } else { first.0..=(end - 1).max(first.0.into()) as u32 };
        self.copies.range_mut(range).filter(move |(seq, _)| is_inside(**seq)).flat_map(|(_, same)| same)
    }

    /// A packet that takes up numbers. Returns whether it is a copy.
    pub fn on_segment(&mut self, packet: &CapturedPacket, is_live: bool) -> Option<Found> {
        let (seq, len) = (packet.segment.seq, packet.segment.sequence_len());
        if let Some(same) = self.copies.get_mut(&seq.0) {
            // Of several copies of the same bytes, rather the one whose time fits.
            let candidates = || same.iter().enumerate().filter(|(_, tracked)| tracked.is(packet, is_live));
            let by_time = candidates().find(|(_, tracked)| tracked.is_soon(packet.at));
            if let Some(place) = by_time.or_else(|| candidates().next()).map(|(place, _)| place) {
                let tracked = &mut same[place];
                let is_first = tracked.found_at.is_empty();
                tracked.found_at.push(Point::of(packet));
                tracked.hides_report |= is_first && !tracked.copy.is_of_handshake;
                return Some(Found { is_first, may_have_repaired: tracked.copy.may_have_repaired });
            }
        }
        for tracked in self.within(seq, len) {
            let behind = tracked.copy.seq.since(seq).saturating_add(tracked.copy.len);
            if behind > len {
                continue;
            }
            // TCP itself sends it: reports of it are TCP's from here on.
            tracked.hides_report = false;
            if is_live {
                continue;
            }
            let original = Original::of(packet, &tracked.copy);
            match tracked.originals.iter_mut().find(|known| known.point == original.point) {
                Some(known) => *known = original,
                None => tracked.originals.push(original),
            }
        }
        None
    }

    /// An acknowledgement of the peer, from which a report of a copy is taken out.
    pub fn on_answer(&mut self, segment: &mut Segment) -> Answer {
        let before = self.answer;
        if before.is_none_or(|(ack, _)| !segment.ack.before(ack)) {
            self.answer = Some((segment.ack, segment.window));
        }
        let Some(report) = report(segment) else {
            return Answer::AsItIs;
        };
        if !self.take_report(report) {
            return Answer::AsItIs;
        }
        segment.options.sack = segment.options.sack.iter().skip(1).collect();
        let options = &segment.options;
        let has_options = options.mss.is_some() || options.window_scale.is_some() || options.sack_permitted;
        let says_nothing = segment.payload_len == 0
            && segment.flags == Flags::ACK
            && options.sack.is_empty()
            && !has_options
            && before == Some((segment.ack, segment.window));
        if says_nothing { Answer::Nothing } else { Answer::WithoutReport }
    }

    /// Whether a report is of a copy that was found, and none of it was taken out before.
    fn take_report(&mut self, [left, right]: [SeqNumber; 2]) -> bool {
        let hides = |tracked: &&mut Tracked| {
            let copy = &tracked.copy;
            tracked.hides_report && left.since(copy.seq) < copy.len && right.since(copy.seq) <= copy.len
        };
        // Copies are one segment long.
        let mut near = self.within(SeqNumber(left.0.wrapping_sub(u32::from(u16::MAX))), 1 << 16);
        let hidden = near.find(hides);
        hidden.map(|tracked| tracked.hides_report = false).is_some()
    }
}

/// The duplicate that an ACK reports: its first block is below the acknowledgement, or within its second block (RFC 2883 §4).
fn report(segment: &Segment) -> Option<[SeqNumber; 2]> {
    let blocks = segment.options.sack.as_slice();
    let [left, right] = *blocks.first()?;
    let is_below = !right.after(segment.ack);
    let is_within = blocks.get(1).is_some_and(|[from, to]| !left.before(*from) && !right.after(*to));
    (left.before(right) && (is_below || is_within)).then_some([left, right])
}
