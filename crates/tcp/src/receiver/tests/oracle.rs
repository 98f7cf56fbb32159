//! The receiver against a naive one: a set of offsets.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// An operation on a receiver.
#[derive(Clone, Debug)]
enum Step {
    Arrive { start: u64, len: u64 },
    Acknowledge { room: usize },
    Read(u64),
    Discard { from: u64 },
}

/// The stream's bytes are 1..END and its FIN is at END.
const END: u64 = 120;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..=END, 1..40u64).prop_map(|(start, len)| Step::Arrive { start, len }),
        2 => (3..=4usize).prop_map(|room| Step::Acknowledge { room }),
        2 => (0..60u64).prop_map(Step::Read),
        1 => (0..=END).prop_map(|from| Step::Discard { from }),
    ];
    prop::collection::vec(step, 1..200)
}

/// The receiver as a set of offsets.
#[derive(Debug, Default)]
struct Oracle {
    has: BTreeSet<u64>,
    /// Offsets that came again.
    again: BTreeSet<u64>,
    duplicate_bytes: u64,
    latest: Option<u64>,
}

impl Oracle {
    fn next(&self) -> u64 {
        (0..).find(|at| !self.has.contains(at)).unwrap()
    }

    fn arrive(&mut self, range: Range<u64>) -> Arrival {
        let next = self.next();
        let fresh = range.clone().filter(|at| !self.has.contains(at)).count();
        let waiting = self.has.iter().any(|&at| at > next);
        let arrival = match fresh {
            _ if range.is_empty() => return Arrival::Unacceptable,
            0 => Arrival::Duplicate,
            _ if range.start > next => Arrival::OutOfOrder,
            _ if waiting => Arrival::FillsHole,
            _ => Arrival::InOrder,
        };
        for at in range.clone() {
            if !self.has.insert(at) {
                self.again.insert(at);
                self.duplicate_bytes += u64::from(at != END);
            }
        }
        self.latest = (range.start > next).then_some(range.start);
        arrival
    }

    /// Out-of-order data from `from` on is discarded.
    fn discard(&mut self, from: u64) {
        let next = self.next();
        self.has.retain(|at| *at < from.max(next));
        // Where a duplicate is not reported any more, an earlier arrival comes first.
        self.latest = None;
    }

    /// A block is right if it is a whole island of data above the first hole.
    fn is_island(&self, block: &Range<u64>) -> bool {
        block.start > self.next()
            && block.clone().all(|at| self.has.contains(&at))
            && !self.has.contains(&(block.start - 1))
            && !self.has.contains(&block.end)
    }
}

fn check_blocks(oracle: &Oracle, sent: &[Range<u64>], room: usize) -> Result<(), TestCaseError> {
    prop_assert!(sent.len() <= room, "{sent:?}");
    let duplicate = match sent {
        [] => false,
        [first, rest @ ..] => !oracle.is_island(first) || rest.first() == Some(first),
    };
    if duplicate {
        prop_assert!(sent[0].clone().all(|at| oracle.again.contains(&at)), "{sent:?}");
        // Above the cumulative ACK, the block around a duplicate follows it (RFC 2883 §4).
        if sent[0].start > oracle.next() {
            prop_assert!(sent[1].start <= sent[0].start && sent[0].end <= sent[1].end);
        }
    }
    let islands = &sent[usize::from(duplicate)..];
    for block in islands {
        prop_assert!(oracle.is_island(block), "{block:?} of {sent:?}");
    }
    // The first block holds the latest arrival, unless that moved the cumulative ACK
    // (RFC 2018 §4). The block around a duplicate not reported yet goes before it.
    let first = &islands[..islands.len().min(1 + usize::from(duplicate))];
    if let Some(latest) = oracle.latest {
        prop_assert!(first.iter().any(|b| b.contains(&latest)), "{latest} not first in {sent:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn delivers_every_byte_once_and_reports_what_it_holds(
        steps in steps(),
        buffer in 1..150u64,
        mss in 1..60u16,
    ) {
        let mut receiver = Receiver::new(buffer, mss);
        let mut oracle = Oracle::default();
        prop_assert_eq!(receiver.on_arrival(Span::new(Offset::SYN, Offset::DATA), false), oracle.arrive(0..1));
        let mut read = 0;
        let mut delivered = 0;
        for step in steps {
            let edge = receiver.edge();
            match step {
                Step::Arrive { start, len } => {
                    let end = (start + len).min(END + 1);
                    let fin = end == END + 1;
                    let expected = oracle.arrive(start..end.min(edge.0).max(start));
                    prop_assert_eq!(receiver.on_arrival(span(start..end), fin), expected);
                }
                Step::Acknowledge { room } => {
                    check_blocks(&oracle, &blocks(&mut receiver, room), room)?;
                    oracle.latest = None;
                    let window = receiver.offer_window();
                    prop_assert_eq!(receiver.next() + window, receiver.edge());
                    prop_assert!(!receiver.window_update_due());
                }
                Step::Discard { from } => {
                    receiver.discard_from(Offset(from));
                    oracle.discard(from);
                }
                Step::Read(bytes) => {
                    let bytes = bytes.min(receiver.readable());
                    receiver.read(bytes);
                    read += bytes;
                }
            }
            let next = oracle.next();
            prop_assert!(receiver.next() == Offset(next) && next >= delivered);
            delivered = next;
            prop_assert_eq!(read + receiver.readable(), next.min(END) - 1);
            prop_assert_eq!(receiver.finished(), next > END);
            prop_assert_eq!(receiver.duplicate_bytes(), oracle.duplicate_bytes);
            prop_assert!(receiver.edge() >= edge, "the window shrank");
            prop_assert!(receiver.edge() <= Offset(1 + read + buffer), "more than the buffer holds");
        }
    }
}
