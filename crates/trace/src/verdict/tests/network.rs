//! Verdicts compared with the truth in a small simulated network. Its sender retransmits for the
//! usual reasons, its path loses and delays packets both ways, and its receiver follows the RFCs
//! and Linux.
//!
//! The seeds are fixed. Wrong verdicts are allowed where two rare events coincide, for example the
//! loss of the only ACK that shows what arrived.

use super::{super::evidence::is_before, *};
use recoup_units::SplitMix;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

const SEGMENT: u64 = 1000;
/// One way, in ms.
const DELAY: u64 = 30;
const DELAYED_ACK: u64 = 40;
const PROBE: u64 = 130;
const RTO: u64 = 260;

/// Behaviour of a path; probabilities in thousandths.
#[derive(Clone, Copy, Debug)]
struct Path {
    lose_data: u64,
    lose_acks: u64,
    /// (how many packets are delayed, by how many ms)
    hold: (u64, u64),
    /// Every two seconds, nothing moves for this many ms.
    stall: u64,
}

/// A packet in transit, or a time to send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data { span: Span, ts: u32, copy: usize },
    DelayedAck,
    Acked { cumulative: u64, echo: u32, blocks: Vec<(u64, u64)> },
    Look,
}

/// A receiver that behaves like Linux.
#[derive(Default)]
struct Receiver {
    next: u64,
    acked: u64,
    recent: u32,
    /// SACK blocks, newest first.
    blocks: Vec<(u64, u64)>,
    delayed: bool,
}

impl Receiver {
    /// Takes a segment. `Some` if it is answered at once, with the duplicate to report.
    fn take(&mut self, span: Span, ts: u32) -> Option<Option<(u64, u64)>> {
        let (from, to) = (span.start.0, span.end.0);
        let here = |&(a, b): &(u64, u64)| a <= from && to <= b;
        if is_before(ts, self.recent) {
            return Some((to <= self.next).then_some((from, to)));
        }
        if from <= self.acked {
            self.recent = ts;
        }
        if to <= self.next || self.blocks.iter().any(here) {
            return Some(Some((from, to)));
        }
        if from > self.next {
            let (mut low, mut high) = (from, to);
            self.blocks.retain(|&(a, b)| {
                let apart = b < low || high < a;
                if !apart {
                    (low, high) = (low.min(a), high.max(b));
                }
                apart
            });
            self.blocks.insert(0, (low, high));
            return Some(None);
        }
        self.next = to;
        let filled = !self.blocks.is_empty();
        while let Some(i) = self.blocks.iter().position(|&(a, _)| a <= self.next) {
            self.next = self.next.max(self.blocks.remove(i).1);
        }
        let second = std::mem::replace(&mut self.delayed, true);
        (filled || second).then_some(None)
    }

    fn answer(&mut self, duplicate: Option<(u64, u64)>) -> Event {
        self.acked = self.next;
        self.delayed = false;
        let blocks = duplicate.into_iter().chain(self.blocks.iter().copied());
        Event::Acked { cumulative: self.next, echo: self.recent, blocks: blocks.take(3).collect() }
    }
}

/// A segment of the sender.
#[derive(Default)]
struct Segment {
    /// When each copy was sent.
    sent: Vec<u64>,
    /// Whether each copy arrived.
    arrived: Vec<bool>,
    sacked: bool,
}

struct Flow {
    dice: SplitMix,
    path: Path,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    count: u64,
    segments: Vec<Segment>,
    next: usize,
    una: u64,
    moved_at: u64,
    backoff: u32,
    probed: bool,
    receiver: Receiver,
    verdicts: AckVerdicts,
    /// The segment and the copy of each retransmission.
    retransmissions: Vec<(usize, usize)>,
}

impl Flow {
    fn new(seed: u64, path: Path, options: ReceiverOptions) -> Self {
        let mut dice = SplitMix(seed);
        let length = 4 + dice.below(60) as usize;
        let begin = 1000 + dice.below(2000);
        Self {
            dice,
            path,
            events: BinaryHeap::new(),
            count: 0,
            segments: (0..length).map(|_| Segment::default()).collect(),
            next: 0,
            una: 1,
            moved_at: begin,
            backoff: 0,
            probed: false,
            receiver: Receiver { next: 1, acked: 1, ..Receiver::default() },
            verdicts: AckVerdicts::new(options),
            retransmissions: Vec::new(),
        }
    }

    fn span(&self, segment: usize) -> Span {
        Span::at(Offset(1 + segment as u64 * SEGMENT), SEGMENT)
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    /// When a packet sent at `now` arrives; `None` if it is lost.
    fn cross(&mut self, now: u64, lose: u64) -> Option<u64> {
        let held = self.dice.below(1000) < self.path.hold.0;
        let lost = self.dice.below(1000) < lose;
        let mut at = now + DELAY + if held { self.path.hold.1 } else { 0 };
        if at % 2000 < self.path.stall {
            at += self.path.stall - at % 2000;
        }
        (!lost).then_some(at)
    }

    fn send(&mut self, now: u64, segment: usize) {
        let span = self.span(segment);
        let copy = self.segments[segment].sent.len();
        if copy > 0 {
            let original = super::copy(self.segments[segment].sent[0]);
            let index = self.retransmissions.len() as u32;
            (self.verdicts).on_retransmission(index, span, super::copy(now), Some(original));
            self.retransmissions.push((segment, copy));
        }
        self.segments[segment].sent.push(now);
        self.segments[segment].arrived.push(false);
        if let Some(at) = self.cross(now, self.path.lose_data) {
            let ts = now as u32;
            self.schedule(at, Event::Data { span, ts, copy });
        }
    }

    /// Sends new data, and retransmits what seems lost.
    fn send_all(&mut self, now: u64) {
        let first = (self.una / SEGMENT) as usize;
        let sacked: Vec<bool> = self.segments.iter().map(|s| s.sacked).collect();
        for segment in first..self.next {
            let above = (segment + 1..self.next).filter(|&s| sacked[s]).count();
            if !sacked[segment] && above >= 3 && self.segments[segment].sent.len() == 1 {
                self.send(now, segment);
            }
        }
        while self.next < self.segments.len() && self.next - first < 12 {
            self.next += 1;
            self.send(now, self.next - 1);
        }
        if first < self.next && now >= self.moved_at + (RTO << self.backoff.min(4)) {
            self.backoff += 1;
            self.moved_at = now;
            self.send(now, first);
        } else if first < self.next && !self.probed && now >= self.moved_at + PROBE {
            self.probed = true;
            if let Some(last) = (first..self.next).rev().find(|&s| !sacked[s]) {
                self.send(now, last);
            }
        }
    }

    fn on_ack(&mut self, now: u64, cumulative: u64, echo: u32, blocks: &[(u64, u64)]) {
        let spans = blocks.iter().map(|&(a, b)| span(a, b));
        let ack = Ack::new(Offset(cumulative), 65_535).with_blocks(spans);
        (self.verdicts).on_ack(at(now), Offset(self.una), &ack, Some(echo), &|_| None);
        for segment in 0..self.next {
            let span = self.span(segment);
            self.segments[segment].sacked |= ack.sack_blocks().iter().any(|b| b.covers(span));
        }
        if cumulative > self.una {
            (self.una, self.moved_at, self.backoff, self.probed) = (cumulative, now, 0, false);
        }
        self.send_all(now);
    }

    /// Plays the flow to its end. Returns each verdict, and whether the retransmission was needed.
    fn play(mut self) -> Vec<(Verdict, bool)> {
        self.schedule(self.moved_at, Event::Look);
        let mut now = 0;
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            now = at;
            match event {
                Event::Look => {
                    self.send_all(now);
                    if self.una <= self.segments.len() as u64 * SEGMENT && now < 60_000 {
                        self.schedule(now + 10, Event::Look);
                    }
                }
                Event::Data { span, ts, copy } => {
                    let segment = (span.start.0 / SEGMENT) as usize;
                    self.segments[segment].arrived[copy] = true;
                    match self.receiver.take(span, ts) {
                        Some(duplicate) => self.answer(now, duplicate),
                        None => self.schedule(now + DELAYED_ACK, Event::DelayedAck),
                    }
                }
                Event::DelayedAck if self.receiver.delayed => self.answer(now, None),
                Event::DelayedAck => {}
                Event::Acked { cumulative, echo, blocks } => self.on_ack(now, cumulative, echo, &blocks),
            }
        }
        let end = super::at(now + 1000);
        let found = super::finish(&mut self.verdicts, end, RTT).into_iter();
        let verdicts: BTreeMap<_, _> = found.map(|(index, verdict, _)| (index, verdict)).collect();
        let truth = (0..).zip(&self.retransmissions).map(|(index, &(segment, copy))| {
            let needed = !self.segments[segment].arrived[..copy].contains(&true);
            (verdicts[&index], needed)
        });
        truth.collect()
    }

    fn answer(&mut self, now: u64, duplicate: Option<(u64, u64)>) {
        let ack = self.receiver.answer(duplicate);
        if let Some(at) = self.cross(now, self.path.lose_acks) {
            self.schedule(at, ack);
        }
    }
}

/// Verdicts on many flows, compared with the truth.
#[derive(Debug, Default)]
struct Count {
    right: u64,
    wrong: u64,
    unknowable: u64,
}

fn count(path: Path, options: ReceiverOptions) -> Count {
    let mut count = Count::default();
    for seed in 0..2000 {
        for (verdict, needed) in Flow::new(seed * 7919, path, options).play() {
            match (verdict, needed) {
                (Verdict::Unknowable, _) => count.unknowable += 1,
                (Verdict::Needed, true) | (Verdict::Spurious, false) => count.right += 1,
                _ => count.wrong += 1,
            }
        }
    }
    count
}

#[test]
fn verdicts_match_the_truth() {
    let calm = Path { lose_data: 0, lose_acks: 0, hold: (0, 0), stall: 0 };
    // (name, path, receiver options, most wrong verdicts in 10,000, fewest verdicts in 100)
    let cases = [
        ("losses", Path { lose_data: 30, ..calm }, BOTH, 0, 99),
        ("stalls", Path { stall: 500, ..calm }, BOTH, 0, 99),
        ("delays", Path { hold: (20, 45), ..calm }, BOTH, 0, 99),
        ("lost ACKs", Path { lose_acks: 100, ..calm }, BOTH, 0, 85),
        ("losses both ways", Path { lose_data: 20, lose_acks: 20, ..calm }, BOTH, 10, 99),
        ("all", Path { lose_data: 20, lose_acks: 20, hold: (10, 40), stall: 300 }, BOTH, 60, 97),
        ("all, no timestamps", Path { lose_data: 20, lose_acks: 20, hold: (10, 40), stall: 300 }, SACK, 100, 95),
    ];
    for (what, path, options, most_wrong, least_given) in cases {
        let count = count(path, options);
        let given = count.right + count.wrong;
        let all = given + count.unknowable;
        assert!(all >= 200, "{what}: {count:?}");
        assert!(count.wrong * 10_000 <= given * most_wrong, "{what}: {count:?}");
        assert!(given * 100 >= all * least_given, "{what}: {count:?}");
    }
}
