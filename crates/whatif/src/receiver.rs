//! The receiver: when it acknowledges, and which window it announces.
//!
//! In a rerun the receiver acknowledges the arrivals of the capture as it did there. Of other arrivals it
//! acknowledges every second full segment, or every one, as it mostly did (RFC 5681 §4.2).

use crate::{
    record::Record,
    recorded::Recorded,
    transmission::{MOST_ACK_DELAY, Transmission},
};
use recoup_units::{Instant, Offset};
use std::{collections::BTreeMap, time::Duration};

/// How the receiver acknowledges data in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckHabit {
    /// Whether it mostly waits for a second full segment.
    pub delays: bool,
    /// How long it waits.
    pub delay: Duration,
    /// How long at most a segment waited for an ACK that the receiver did not send for it: the delay is no
    /// shorter.
    waited: Duration,
    /// Whether the connection, or another one of the same path, shows the delay.
    is_seen: bool,
}

/// How long receivers wait: Linux at least (TCP_DELACK_MIN), FreeBSD and macOS, Windows.
const USUAL_DELAYS: [Duration; 3] = [Duration::from_millis(40), Duration::from_millis(100), Duration::from_millis(200)];

/// The shortest delay that a timer of the receiver explains.
const LEAST_DELAY: Duration = Duration::from_millis(10);

impl AckHabit {
    /// Habit shown by these transmissions. `wait`: how long at most a segment waited for an ACK that the receiver
    /// did not send for it.
    pub(crate) fn new(all: &[Transmission], wait: Duration, segment_size: u16) -> Self {
        let arrivals = all.iter().filter_map(|sent| Some((sent.span.len(), sent.arrival()?)));
        let mut delays = AckDelays::default();
        let (mut waited, mut at_once) = (0_u32, 0_u32);
        for (len, arrival) in arrivals.filter(|(_, arrival)| arrival.in_order && !arrival.ack_lost) {
            let is_full = len >= u64::from(segment_size);
            match arrival.ack {
                Some(delay) if delay >= LEAST_DELAY => delays.add(delay),
                Some(_) => at_once += u32::from(is_full),
                None => waited += u32::from(is_full),
            }
        }
        let wait = wait.min(MOST_ACK_DELAY);
        let seen = delays.median(Duration::ZERO);
        let usual = USUAL_DELAYS.into_iter().find(|delay| *delay >= wait);
        Self {
            // Of two segments that one ACK covers, one waited.
            delays: (waited > 0 && waited * 3 >= at_once) || seen.is_some(),
            delay: seen.or(usual).unwrap_or(MOST_ACK_DELAY).max(wait),
            waited: wait,
            is_seen: seen.is_some(),
        }
    }

    /// The delay of a connection that does not show it is the usual one of others that may have the same
    /// receiver. What it learns first counts.
    pub(crate) fn learn(&mut self, others: &AckDelays) {
        if let Some(usual) = others.median(self.waited).filter(|_| !self.is_seen) {
            self.delay = usual;
            self.is_seen = true;
        }
    }
}

/// How long receivers delayed ACKs, in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckDelays {
    /// How often each delay was seen.
    seen: BTreeMap<u16, u32>,
}

impl AckDelays {
    /// The delays that a connection shows.
    pub fn of(recorded: &Recorded) -> Self {
        let arrivals = recorded.transmissions.iter().filter_map(Transmission::arrival);
        let delays = arrivals.filter_map(|arrival| arrival.ack.filter(|_| arrival.in_order));
        let mut all = Self::default();
        delays.filter(|delay| *delay >= LEAST_DELAY).for_each(|delay| all.add(delay));
        all
    }

    fn add(&mut self, delay: Duration) {
        let ms = u16::try_from(delay.as_millis()).unwrap_or(u16::MAX);
        *self.seen.entry(ms).or_default() += 1;
    }

    /// Adds those of others.
    pub fn merge(&mut self, others: &Self) {
        for (ms, count) in &others.seen {
            let mine = self.seen.entry(*ms).or_default();
            *mine = mine.saturating_add(*count);
        }
    }

    /// The median of the delays that are no shorter than `least`.
    fn median(&self, least: Duration) -> Option<Duration> {
        let longer = || self.seen.range(least.as_millis().min(u16::MAX.into()) as u16..);
        let all: u64 = longer().map(|(_, count)| u64::from(*count)).sum();
        let mut before = 0;
        let middle = longer().find(|(_, count)| {
            before += u64::from(**count);
            before * 2 >= all
        });
        middle.map(|(ms, _)| Duration::from_millis((*ms).into()))
    }
}

/// A window that the receiver announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The cumulative ACK that announced it.
    pub ack: Offset,
    /// Its right edge.
    pub edge: Offset,
    /// How long after the first ACK of this offset it came.
    pub after: Duration,
}

/// The windows that the receiver announced, by its cumulative ACKs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    windows: Vec<Window>,
}

impl Windows {
    pub fn new(record: &Record) -> Self {
        let mut windows: Vec<Window> = Vec::new();
        let mut first = (Offset::SYN, Instant::ZERO);
        for packet in record.packets.iter().filter(|packet| !packet.is_sent) {
            let (Some(ack), Some(edge)) = (packet.ack, packet.edge) else {
                continue;
            };
            let highest = windows.last().map_or(Offset::SYN, |last| last.edge);
            if ack < first.0 || (edge <= highest && ack <= first.0) {
                continue;
            }
            if ack > first.0 || windows.is_empty() {
                first = (ack, packet.at);
            }
            let after = packet.at.since(first.1);
            windows.push(Window { ack, edge: edge.max(highest), after });
        }
        Self { windows }
    }

    /// The window that an ACK of `ack` announces at once. An ACK that the capture does not hold announces what
    /// the receiver had announced by the ACK before, updates included, so that no update is missing.
    pub fn at(&self, ack: Offset) -> Option<Offset> {
        let next = self.windows.partition_point(|window| window.ack <= ack);
        let known = &self.windows[..next];
        let at_once = known.iter().rev().find(|window| window.ack < ack || window.after.is_zero());
        at_once.map(|window| window.edge)
    }

    /// The window updates that follow the first ACK of `ack`.
    pub fn updates(&self, ack: Offset) -> impl Iterator<Item = &Window> {
        let first = self.windows.partition_point(|window| window.ack < ack);
        let of_it = self.windows[first..].iter().take_while(move |window| window.ack == ack);
        of_it.filter(|window| !window.after.is_zero())
    }
}
