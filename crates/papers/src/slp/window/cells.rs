//! The flows.

use super::WindowCell;
use crate::flow::SenderState;
use crate::prelude::*;
use crate::slp::micro::{fct_ms, run};

const WITHOUT: &str = "linux-3.17";
const WITH: &str = "linux-3.17+slp";

/// Windows in segments.
const WINDOWS: std::ops::RangeInclusive<u64> = 3..=12;

/// The payload of a full segment, in bytes.
const MSS: u64 = 1448;

/// q for every data segment.
const ALL_DATA: &str = "first:1,psh:1,tail:1,other:1";

/// A congestion window that is no limit, in segments.
const WIDE: &str = "40";

/// Queues that the burst of eight segments overflows, in packets.
const QUEUES: std::ops::RangeInclusive<u64> = 1..=6;

/// All that the claims need.
#[derive(Debug, Default)]
pub struct Cells {
    /// One flow per window and length.
    pub rule: Vec<WindowCell>,
    /// Instants at which data waited, and those of them at which the flight was not `win`.
    pub formula: (usize, usize),
    /// Segments sent before the first ACK, without and with a copy: where the congestion window is the limit.
    pub first_flight: [u64; 2],
    /// Segments sent before the first ACK, without and with a copy: where the receiver's window is the limit.
    pub first_flight_offered: [u64; 2],
    /// The numbers sent up to each ACK from that of the copied segment on: ACKs compared, and those that differ.
    pub grown_back: (usize, usize),
    /// Copies of a flow whose every segment is worth one, and the most that were unacknowledged at once.
    pub one_at_a_time: (usize, usize),
    /// The shortest and the longest gap between an original and its copy, in ms.
    pub gaps_ms: [f64; 2],
    /// Bursts whose last segment the queue dropped, and those of them whose copy it dropped too.
    pub bursts: (usize, usize),
    /// Bursts without a gap between original and copy, counted as in `bursts`.
    pub bursts_without_gap: (usize, usize),
    /// Copied bytes, bytes that arrived twice, and whether the offered windows and the completion time are those
    /// without copies.
    pub discarded: (u64, u64, bool),
    /// Copies and withheld copies: if the arbitrator does not favour one, if it does and the window has room, and if
    /// it has none.
    pub order: [(u64, u64); 3],
}

impl Cells {
    /// Runs all flows.
    pub fn run(setup: &Setup) -> Result<Self> {
        let mut cells = Self { rule: rule(setup)?, ..Self::default() };
        cells.windows(setup)?;
        cells.bursts = bursts(setup, None)?;
        cells.bursts_without_gap = bursts(setup, Some("0"))?;
        cells.copies(setup)?;
        Ok(cells)
    }

    fn windows(&mut self, setup: &Setup) -> Result<()> {
        let within = |profile, segments, q, window, buffer| {
            flow(setup, profile, segments, q, &format!("receive_buffer={buffer} initial_window={window}"))
        };
        let offered = &*(8 * MSS).to_string();
        let both = |window, buffer| -> Result<[Log; 2]> {
            let [without, with] = [WITHOUT, WITH].map(|profile| within(profile, 30, "first:1", window, buffer));
            Ok([without?, with?])
        };
        let [without, with] = &both("10", "64MiB")?;
        self.first_flight = [without, with].map(first_flight);
        self.grown_back = grown_back(without, with);
        self.first_flight_offered = both(WIDE, offered)?.each_ref().map(first_flight);
        for (q, window, buffer) in [
            ("first:1", "10", "64MiB"),
            ("psh:1", "10", "64MiB"),
            (ALL_DATA, "10", "64MiB"),
            (ALL_DATA, "4", "64MiB"),
            (ALL_DATA, WIDE, offered),
        ] {
            let (instants, wrong) = formula(&within(WITH, 60, q, window, buffer)?);
            self.formula.0 += instants;
            self.formula.1 += wrong;
        }
        Ok(())
    }

    fn copies(&mut self, setup: &Setup) -> Result<()> {
        let plain = flow(setup, WITHOUT, 200, ALL_DATA, "")?;
        let log = flow(setup, WITH, 200, ALL_DATA, "")?;
        let copies = log.copies(Host::Server);
        self.one_at_a_time = (copies.len(), most_out(&log));
        let gaps = copies.iter().map(|(_, original, copy)| ms(copy.since(*original)));
        self.gaps_ms = gaps.fold([f64::INFINITY, 0.0], |[least, most], gap| [least.min(gap), most.max(gap)]);
        let least = |log: &Log| log.packets_at(Direction::Up, Point::Sent).map(|seen| seen.segment.window).min();
        let record = &log.record;
        let same = least(&log) == least(&plain) && fct_ms(record) == fct_ms(&plain.record);
        self.discarded = (record.counters.copied_bytes, record.unnecessary_bytes, same);
        for (place, (q, segments)) in [("syn:0", 8), ("tail:1", 8), ("tail:1", 9)].into_iter().enumerate() {
            let record = flow(setup, WITH, segments, q, "")?.record;
            self.order[place] = (record.counters.copies, record.counters.copies_withheld);
        }
        Ok(())
    }
}

/// Runs a flow of so many segments with these likelihoods.
fn flow(setup: &Setup, profile: &str, segments: u64, q: &str, more: &str) -> Result<Log> {
    let segments = if setup.is_mutated("one-segment") { 1 } else { segments };
    let own = format!("segments={segments} initial_window=10 slp.p=0.5 slp.q={q}");
    run(setup, profile, &format!("{own} {more}"))
}

/// One flow per window and length.
fn rule(setup: &Setup) -> Result<Vec<WindowCell>> {
    let flows = [None, Some(WIDE)]
        .into_iter()
        .flat_map(|wide| WINDOWS.flat_map(move |window| (1..=window).map(move |segments| (wide, window, segments))));
    let cell = |(wide, window, segments): (Option<&str>, u64, u64)| {
        let (initial, buffer) = (window.to_string(), (window * MSS).to_string());
        let [initial, buffer] = wide.map_or([&*initial, "64MiB"], |wide| [wide, &buffer]);
        let counters =
            flow(setup, WITH, segments, "tail:1", &format!("initial_window={initial} receive_buffer={buffer}"))?
                .record
                .counters;
        let cwnd = initial.parse().unwrap_or_default();
        // The last segment is `next`: all before it are outstanding.
        let next = segments - 1;
        Ok(WindowCell {
            cwnd,
            rwnd: wide.map(|_| window),
            segments,
            permitted: next + 2 < cwnd && (wide.is_none() || next + 1 < window),
            copies: counters.copies,
            withheld: counters.copies_withheld,
        })
    };
    flows.map(cell).collect()
}

/// Segments sent before the first ACK of data.
fn first_flight(log: &Log) -> u64 {
    log.states(Host::Server)
        .filter(|state| state.una == Offset::DATA)
        .map(|state| state.nxt.since(Offset::DATA) / state.mss)
        .max()
        .unwrap_or(0)
}

/// Compares what had been sent after each ACK, from that of the first segment on.
fn grown_back(without: &Log, with: &Log) -> (usize, usize) {
    let after = |log: &Log| -> Vec<SenderState> {
        log.states(Host::Server).filter(|state| state.una > Offset::DATA && state.nxt < state.limit).copied().collect()
    };
    let (without, with) = (after(without), after(with));
    let pairs = without.iter().filter_map(|state| Some((state, with.iter().find(|other| other.una == state.una)?)));
    (pairs.clone().count(), pairs.filter(|(state, other)| other.nxt != state.nxt).count())
}

/// Instants at which data waited, and those at which the flight was not `win`.
fn formula(log: &Log) -> (usize, usize) {
    let copies = log.copies(Host::Server);
    let waiting = log.states(Host::Server).filter(|state| state.una >= Offset::DATA && state.nxt < state.limit);
    let is_wrong = |state: &&SenderState| {
        // A copy counts from its decision, which is made with the original, to the ACK of its segment.
        let dup = copies.iter().any(|(span, original, _)| *original <= state.at && state.una < span.end);
        let congestion = (u64::from(state.cwnd) - u64::from(dup)) * state.mss;
        // Only whole segments are sent.
        let win = congestion.min(state.offered) / state.mss * state.mss;
        state.nxt.since(state.una) != win
    };
    (waiting.clone().count(), waiting.filter(is_wrong).count())
}

/// The most copies that were unacknowledged at once.
fn most_out(log: &Log) -> usize {
    let copies = log.copies(Host::Server);
    let acked_at = |end: Offset| log.states(Host::Server).find(|state| state.una >= end).map(|state| state.at);
    let is_out = |now, end, copy| copy <= now && acked_at(end).is_none_or(|acked| acked > now);
    let out_at = |now| copies.iter().filter(|(span, _, copy)| is_out(now, span.end, *copy)).count();
    copies.iter().map(|(_, _, copy)| out_at(*copy)).max().unwrap_or(0)
}

/// Bursts of eight segments into a short queue: those whose last segment it dropped, and those of them whose copy it
/// dropped too.
fn bursts(setup: &Setup, gap: Option<&str>) -> Result<(usize, usize)> {
    let (mut lost, mut both) = (0, 0);
    for queue in QUEUES {
        let gap = gap.map_or(String::new(), |gap| format!("slp.gap={gap}"));
        let log = flow(setup, WITH, 8, "tail:1", &format!("rate=12Mbit queue={queue} initial_window=20 {gap}"))?;
        // The tail has the highest sequence number; its first two transmissions are original and copy.
        let sent = log.packets_at(Direction::Down, Point::Sent);
        let Some(isn) = sent.clone().next().map(|first| first.segment.seq) else {
            continue;
        };
        let place = |seen: &Seen| seen.segment.seq.since(isn);
        let highest = sent.clone().map(place).max();
        let tail = sent.filter(|seen| Some(place(seen)) == highest);
        let arrives =
            |seen: &Seen| log.packets_at(Direction::Down, Point::Arrived).any(|other| other.ordinal == seen.ordinal);
        let arrived: Vec<bool> = tail.map(arrives).take(2).collect();
        if let [false, copy] = arrived[..]
            && !log.copies(Host::Server).is_empty()
        {
            lost += 1;
            both += usize::from(!copy);
        }
    }
    Ok((lost, both))
}
