use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn packet(at: u64, until: u64) -> GivenUpPacket {
    GivenUpPacket {
        at: Offset(at),
        number: at as u32,
        sent_at: Instant::from_millis(at),
        until: Instant::from_millis(until),
    }
}

/// The packets remembered, by offset, each with the instant until which it counts.
#[derive(Default)]
struct Model {
    packets: BTreeMap<u64, u64>,
    most: usize,
}

impl Model {
    fn remember(&mut self, at: u64, until: u64) {
        if self.most > 0 && self.packets.len() == self.most {
            self.packets.pop_first();
        }
        if self.most > 0 {
            self.packets.insert(at, until);
        }
    }

    /// Returns how many were late, and the earliest of them.
    fn take(&mut self, now: u64, ranges: &[(u64, u64)]) -> (u32, Option<u64>) {
        while let Some(first) = self.packets.first_entry()
            && *first.get() < now
        {
            first.remove();
        }
        let mut late = Vec::new();
        for (start, end) in ranges {
            let covered = |at: u64| (*start..*end).contains(&at);
            let found = self.packets.iter().filter(|(at, _)| covered(**at));
            late.extend(found.filter(|(_, until)| **until >= now).map(|(at, _)| *at));
            self.packets.retain(|at, _| !covered(*at));
        }
        (late.len() as u32, late.iter().min().copied())
    }
}

proptest! {
    /// Memory that grows and memory that is lent both do what a map does.
    #[test]
    fn the_ring_behaves_as_a_map(
        lent in proptest::option::of(0usize..12),
        steps in prop::collection::vec(
            (prop::collection::vec((0u64..400, 0u64..40), 0..6), prop::collection::vec((0u64..400, 0u64..60), 0..3)),
            1..60,
        ),
    ) {
        let mut ring = match lent {
            Some(slots) => GivenUp::stored_in(vec![GivenUpPacket::default(); slots].leak()),
            None => GivenUp::default(),
        };
        let mut model = Model { most: lent.unwrap_or(MOST), ..Model::default() };
        for (now, (given_up, ranges)) in (100u64..).zip(steps) {
            for (at, lasts) in given_up {
                if !model.packets.contains_key(&at) {
                    model.remember(at, now + lasts);
                    ring.remember(packet(at, now + lasts));
                }
            }
            ring = if now % 16 == 0 && lent.is_none() { ring.clone() } else { ring };
            let ranges: Vec<(u64, u64)> = ranges.iter().map(|(at, len)| (*at, at + len)).collect();
            let spans: Vec<Span> = ranges.iter().map(|(from, to)| Span::new(Offset(*from), Offset(*to))).collect();
            let mut summary = AckSummary::default();
            ring.take_late(Instant::from_millis(now), &spans, &mut summary);
            let (late, earliest) = model.take(now, &ranges);
            prop_assert_eq!(summary.late.0, late);
            prop_assert_eq!(ring.earliest_late().map(|l| u64::from(l.number)), earliest);
            let left: Vec<u64> = ring.iter().map(|packet| packet.at.0).collect();
            prop_assert_eq!(left, model.packets.keys().copied().collect::<Vec<_>>());
        }
    }
}

#[test]
fn no_more_than_the_most_are_remembered() {
    let mut ring = GivenUp::default();
    for at in 0..3000 {
        ring.remember(packet(at, 9999));
    }
    assert_eq!((ring.len(), ring.slots.len()), (MOST, MOST));
    assert_eq!(ring.iter().next().map(|packet| packet.at), Some(Offset(3000 - MOST as u64)));
}
