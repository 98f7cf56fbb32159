use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn span(a: u64, b: u64) -> Span {
    Span::new(Offset(a), Offset(b))
}

#[test]
fn earlier_transmissions_make_it_spurious_even_if_they_arrive_later() {
    // (arrivals after retransmission 7 of 10..20, spurious retransmissions)
    let cases: [(&[(u64, Span)], u64); 8] = [
        (&[], 0),
        (&[(7, span(10, 20))], 0), // the retransmission itself
        (&[(9, span(10, 20))], 0), // a later transmission
        (&[(3, span(10, 20))], 1),
        (&[(3, span(5, 14))], 0),  // 14..20 is still missing
        (&[(3, span(12, 18))], 0), // 10..12 and 18..20 are
        (&[(3, span(12, 18)), (4, span(9, 12)), (2, span(18, 20))], 1),
        (&[(3, span(5, 14)), (8, span(14, 20)), (4, span(13, 25))], 1),
    ];
    for (arrivals, spurious) in cases {
        let mut record = SpuriousRetransmissions::default();
        record.on_retransmission(7, true, |missing| missing(span(10, 20)));
        for &(ordinal, span) in arrivals {
            record.on_arrival(ordinal, span);
        }
        assert_eq!(record.spurious().all, spurious, "{arrivals:?}");
    }
}

#[test]
fn each_retransmission_of_a_segment_is_judged_by_the_transmissions_before_it() {
    let mut record = SpuriousRetransmissions::default();
    for ordinal in [7, 9, 12] {
        record.on_retransmission(ordinal, true, |missing| missing(span(10, 20)));
        record.on_retransmission(ordinal + 1, true, |missing| missing(span(5, 10)));
    }
    // Retransmission 9 arrives: 12 was not needed, 7 and 9 were.
    record.on_arrival(9, span(10, 20));
    assert_eq!(record.spurious().all, 1);
}

#[test]
fn arrivals_of_new_data_change_nothing() {
    let mut record = SpuriousRetransmissions::default();
    assert!(!record.awaits(span(0, 1)));
    record.on_retransmission(7, true, |missing| missing(span(10, 20)));
    assert!(record.awaits(span(19, 30)));
    assert!(!record.awaits(span(20, 30)) && !record.awaits(span(15, 15)));
    record.clear();
    assert!(!record.awaits(span(0, 1)));
}

#[test]
fn retransmissions_without_payload_count_apart() {
    // (which retransmissions of SYN and data are delivered by earlier transmissions, the counts)
    for (delivered, all, data) in [(&[][..], 0, 0), (&[0], 1, 0), (&[1], 1, 1), (&[0, 1], 2, 1)] {
        let mut record = SpuriousRetransmissions::default();
        record.on_retransmission(7, false, |missing| missing(span(0, 1)));
        record.on_retransmission(8, true, |missing| missing(span(1, 9)));
        for n in delivered {
            record.on_arrival(2, [span(0, 1), span(1, 9)][*n]);
        }
        assert_eq!(record.spurious(), SpuriousCounts { all, data });
    }
}

/// The reference: looks through every part on each arrival.
#[derive(Default)]
struct EveryPart {
    open: Vec<(u64, Span)>,
    retransmissions: u64,
}

impl EveryPart {
    fn on_retransmission(&mut self, ordinal: u64, missing: impl FnOnce(&mut dyn FnMut(Span))) {
        self.retransmissions += 1;
        missing(&mut |part| self.open.push((ordinal, part)));
    }

    fn on_arrival(&mut self, ordinal: u64, span: Span) {
        for (of, part) in std::mem::take(&mut self.open) {
            if ordinal >= of || !part.overlaps(span) {
                self.open.push((of, part));
                continue;
            }
            let rest = [Span::new(part.start, span.start), Span::new(span.end, part.end)];
            let rest = rest.into_iter().filter(|rest| !rest.is_empty());
            self.open.extend(rest.map(|rest| (of, rest)));
        }
    }

    fn spurious(&self) -> u64 {
        let needed: BTreeSet<u64> = self.open.iter().map(|(ordinal, _)| *ordinal).collect();
        self.retransmissions - needed.len() as u64
    }
}

/// The next event in one direction of a flow.
#[derive(Clone, Debug)]
enum Step {
    /// This many bytes of new data are sent.
    New(u64),
    /// Bytes that were sent are sent again: how far back they begin, and how many.
    Again(u64, u64),
    /// A packet on its way arrives, by its place among them; perhaps the path has a copy of it.
    Arrival(usize, bool),
    /// A packet on its way is lost.
    Loss(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..6u64).prop_map(Step::New),
        3 => (1..40u64, 1..9u64).prop_map(|(back, len)| Step::Again(back, len)),
        // Most packets arrive in the order in which they were sent.
        4 => (0..2usize, any::<bool>()).prop_map(|(place, copied)| Step::Arrival(place, copied)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(place, copied)| Step::Arrival(place, copied)),
        2 => any::<usize>().prop_map(Step::Loss),
    ]
}

/// The parts of `span` that the receiver does not have.
fn missing_parts(span: Span, received: &BTreeSet<u64>, missing: &mut dyn FnMut(Span)) {
    let mut from = span.start;
    for byte in span.start.0..=span.end.0 {
        if byte == span.end.0 || received.contains(&byte) {
            let part = Span::new(from, Offset(byte));
            if !part.is_empty() {
                missing(part);
            }
            from = Offset(byte + 1);
        }
    }
}

/// The spurious retransmissions of these steps, by both implementations.
fn count(steps: &[Step]) -> (u64, u64) {
    let mut ordered = SpuriousRetransmissions::default();
    let mut every = EveryPart::default();
    let mut received = BTreeSet::new();
    let mut on_the_way: Vec<(u64, Span)> = Vec::new();
    let (mut next, mut ordinal) = (1, 0);
    for step in steps {
        match *step {
            Step::New(len) => {
                on_the_way.push((ordinal, Span::at(Offset(next), len)));
                ordinal += 1;
                next += len;
            }
            Step::Again(back, len) => {
                let start = next.saturating_sub(back).max(1);
                let again = span(start, next.min(start + len));
                if !again.is_empty() {
                    let parts = |f: &mut dyn FnMut(Span)| missing_parts(again, &received, f);
                    ordered.on_retransmission(ordinal, true, parts);
                    every.on_retransmission(ordinal, parts);
                    on_the_way.push((ordinal, again));
                    ordinal += 1;
                }
            }
            Step::Arrival(place, copied) if !on_the_way.is_empty() => {
                let place = place % on_the_way.len();
                let (which, span) = on_the_way[place];
                if !copied {
                    on_the_way.remove(place);
                }
                received.extend(span.start.0..span.end.0);
                ordered.on_arrival(which, span);
                every.on_arrival(which, span);
            }
            Step::Loss(place) if !on_the_way.is_empty() => {
                on_the_way.remove(place % on_the_way.len());
            }
            Step::Arrival(..) | Step::Loss(_) => {}
        }
    }
    (ordered.spurious().all, every.spurious())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40 * ProptestConfig::default().cases) })]

    #[test]
    fn the_order_of_parts_does_not_change_the_result(
        steps in prop::collection::vec(any_step(), 0..80)
    ) {
        let (ordered, every) = count(&steps);
        prop_assert_eq!(ordered, every);
    }
}
