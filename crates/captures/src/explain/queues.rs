//! Losses by a full queue, and others.

use super::facts::Facts;
use crate::wording::{count, millis};
use recoup_support::stats::Durations;
use recoup_trace::finding::Direction;
use serde_json::{Value, json};

/// Lost segments by whether a queue was full, and the round trips of the senders whose segments a full queue dropped.
#[derive(Clone, Debug, Default)]
pub struct QueueFacts {
    /// Lost with a full queue.
    pub full: u64,
    /// Lost without one.
    pub not_full: u64,
    /// The capture does not show it.
    pub unknown: u64,
    /// Each such sender's median round trip beside these losses.
    full_rtt: Durations,
    /// Each such sender's shortest round trip.
    least_rtt: Durations,
}

crate::merge_fields!(QueueFacts: full, not_full, unknown, full_rtt, least_rtt);

impl QueueFacts {
    /// Adds what one end of a connection sent.
    pub fn add(&mut self, direction: &Direction) {
        let losses = &direction.queue_losses;
        self.full += losses.full;
        self.not_full += losses.not_full;
        self.unknown += losses.unknown;
        if let (Some(full), Some(rtt)) = (losses.full_rtt, direction.rtt) {
            self.full_rtt.add(full);
            self.least_rtt.add(rtt.min);
        }
    }

    /// The counts and round trips as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "full": self.full,
            "not_full": self.not_full,
            "unknown": self.unknown,
            "full_rtt_ms": median(&self.full_rtt),
            "least_rtt_ms": median(&self.least_rtt),
        })
    }
}

/// How many losses came with a full queue, as far as round trips show it.
pub fn sentence(facts: &Facts) -> Option<String> {
    let QueueFacts { full, not_full, unknown, .. } = facts.queues;
    if full + not_full == 0 {
        return None;
    }
    let all = count(full + not_full + unknown, "lost segment");
    let round_trips = match (median(&facts.queues.full_rtt), median(&facts.queues.least_rtt)) {
        (Some(full), Some(least)) => format!(" (round trips of {}, at least {})", millis(full), millis(least)),
        _ => String::new(),
    };
    let without = match (full, not_full) {
        (0, n) => format!("Of {all}, {n} came without a full queue"),
        (full, n) => format!("{full} of {all} came with a full queue{round_trips}, {n} without"),
    };
    let open = match unknown {
        0 => String::new(),
        n => format!("; for {n} the round trips do not tell"),
    };
    Some(format!("{without}{open}."))
}

/// In ms.
fn median(times: &Durations) -> Option<f64> {
    times.summary().map(|times| times.p50)
}

/// Why no loss is told apart, if nothing shows it.
pub fn unknown(facts: &Facts) -> Option<String> {
    let QueueFacts { full, not_full, unknown, .. } = facts.queues;
    (unknown > 0 && full + not_full == 0).then(|| {
        format!(
            "whether a full queue dropped the {}: their round trips vary too little, or the capture point does not show them",
            count(unknown, "lost segment")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_trace::finding::{QueueLosses, RttQuantiles};
    use std::time::Duration;

    fn direction(full: u64, not_full: u64, unknown: u64) -> Direction {
        let full_rtt = (full > 0).then_some(Duration::from_millis(140));
        let rtt = RttQuantiles { min: Duration::from_millis(50), ..RttQuantiles::default() };
        let queue_losses = QueueLosses { full, not_full, unknown, full_rtt };
        Direction { queue_losses, rtt: Some(rtt), ..Direction::default() }
    }

    fn facts(directions: &[Direction]) -> Facts {
        let mut facts = Facts::default();
        directions.iter().for_each(|direction| facts.queues.add(direction));
        facts
    }

    #[test]
    fn losses_are_told_apart_in_one_sentence() {
        let both = facts(&[direction(147, 40, 0), direction(0, 8, 0)]);
        assert_eq!(
            sentence(&both).as_deref(),
            Some(
                "147 of 195 lost segments came with a full queue (round trips of 140 ms, at least 50 ms), 48 without."
            )
        );
        assert_eq!(unknown(&both), None);
        let random = facts(&[direction(0, 3, 1)]);
        assert_eq!(
            sentence(&random).as_deref(),
            Some("Of 4 lost segments, 3 came without a full queue; for 1 the round trips do not tell.")
        );
    }

    #[test]
    fn what_no_round_trip_shows_is_not_known() {
        let open = facts(&[direction(0, 0, 2)]);
        assert_eq!(sentence(&open), None);
        assert!(unknown(&open).unwrap().starts_with("whether a full queue dropped the 2 lost segments"));
        assert_eq!((sentence(&facts(&[])), unknown(&facts(&[]))), (None, None));
    }
}
