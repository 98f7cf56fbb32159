//! §1, §2.1: how the length of a response decides how its losses are repaired.
//!
//! Flows of 1 to 500 segments from the paper's servers (Linux 2.6, CUBIC, an initial window of ten). Each segment is lost with a
//! probability of 3 %, independently of the others. RTT 100 ms, 10 Mbit/s; the receiver acknowledges every segment.
//!
//! The paper measures this on its users; the shares depend on them, the order does not.

mod claims;

use super::NAME;
use super::trace::Trace;
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "lengths";

/// The settings that each flow sets itself.
pub const OWN_SETTINGS: [&str; 6] = ["drop", "writes", "ack", "segments", "rate", "queue"];

const PROFILE: &str = "linux-2.6+cubic+fack";

/// Segments of a flow. The paper's mean response has five to six.
const LENGTHS: [u64; 9] = [1, 2, 4, 6, 10, 20, 50, 200, 500];

/// Flows of one length.
#[derive(Clone, Debug, Default)]
struct Cell {
    segments: u64,
    flows: u64,
    /// Flows that lost a segment.
    lossy: u64,
    /// Lossy flows without a fast retransmit.
    without_fast: u64,
    /// Retransmissions by trigger.
    fast: u64,
    timeout: u64,
    slow_start: u64,
    other: u64,
    /// Timeouts in Open, and in any other state.
    open: u64,
    not_open: u64,
    /// Timeouts in Open while a part of the latest flight had been acknowledged.
    open_after_progress: u64,
    /// Timeouts after which cwnd was one.
    window_of_one: u64,
    /// Latencies in RTTs of flows without a loss.
    clean_rtts: f64,
}

impl Cell {
    fn retransmissions(&self) -> u64 {
        self.fast + self.timeout + self.slow_start + self.other
    }

    fn timeouts(&self) -> u64 {
        self.open + self.not_open
    }

    /// The share of fast retransmits.
    fn share_of_fast(&self) -> Share {
        Share::of(self.fast, self.retransmissions())
    }

    fn add(&mut self, trace: &Trace) {
        self.flows += 1;
        let is_lossy = trace.lost > 0;
        self.lossy += u64::from(is_lossy);
        let mut fast = 0;
        for (_, _, trigger) in trace.retransmissions() {
            let kind = match trigger {
                Trigger::Fast | Trigger::Early => &mut fast,
                Trigger::Rto => &mut self.timeout,
                Trigger::SlowStart => &mut self.slow_start,
                _ => &mut self.other,
            };
            *kind += 1;
        }
        self.fast += fast;
        self.without_fast += u64::from(is_lossy && fast == 0);
        if !is_lossy {
            let latency = trace.acked_ms(self.segments).unwrap_or(NAN);
            self.clean_rtts += latency / RTT_MS;
        }
        self.add_timeouts(trace);
    }

    fn add_timeouts(&mut self, trace: &Trace) {
        // Segments in flight after the latest transmission of new data.
        let mut flight = 0;
        for (i, step) in trace.steps.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| &trace.steps[i]);
            if let Some(before) = before.filter(|_| step.timeout) {
                match before.state {
                    State::Open => {
                        self.open += 1;
                        self.open_after_progress += u64::from(before.pipe < flight);
                    }
                    _ => self.not_open += 1,
                }
                self.window_of_one += u64::from(step.cwnd == 1);
            }
            if step.new > 0 {
                flight = step.pipe;
            }
        }
    }
}

/// The round-trip propagation delay.
const RTT_MS: f64 = 100.0;

/// The experiment in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let cells = in_parallel(LENGTHS.len(), cores(), |i| run(setup, LENGTHS[i]))?;
    let columns = columns();
    let title = "How losses are repaired, by the length of a response";
    let figure = Figure::new(NAME, ID, title, claims::all(&cells), chart(&cells), cells);
    Ok(figure.sheet(|cells| columns.to_text(cells, &TEXT), &columns))
}

fn run(setup: &Setup, segments: u64) -> Result<Cell> {
    let length = segments.to_string();
    let mut flows = Bench::new(
        setup,
        PROFILE,
        &format!("writes=none segments={length} drop=bernoulli:0.03 ack=quick rate=10Mbit queue=100"),
    )?;
    let mut cell = Cell { segments, ..Cell::default() };
    // Each length sends equally many segments, within bounds.
    let number = (setup.effort.of(400_000, 80_000) / segments).clamp(400, 20_000);
    for flow in 0..number {
        cell.add(&flows.trace(flow));
    }
    Ok(cell)
}

/// The columns for reading.
const TEXT: [&str; 9] =
    ["segments", "flows", "lossy", "without_fast", "fast", "timeout", "slow_start", "open", "not_open"];

fn columns() -> Columns<Cell> {
    columns!(columns_of_figure::<Cell>(ID), c;
        segments, "segments", "length of the flows";
        flows, "", "flows";
        lossy, "", "flows that lost a segment", "with a loss";
        without_fast, "", "those without a fast retransmit", "no fast retransmit";
        fast, "", "fast retransmits";
        timeout, "", "timeout retransmits";
        slow_start, "", "slow start retransmits";
        open, "", "timeouts in Open", "timeouts in Open";
        not_open, "", "timeouts in other states", "in other states";
        open_after_progress, "", "timeouts in Open after a part of the latest flight was acknowledged";
        clean_rtts, "RTTs", "mean latency of flows that lost nothing" => {
            let clean = c.flows - c.lossy;
            (clean > 0).then(|| c.clean_rtts / clean as f64)
        };
    )
}

fn chart(cells: &[Cell]) -> LineChart {
    let line = |of: fn(&Cell) -> u64| {
        cells.iter().map(move |cell| {
            let share = of(cell) as f64 / cell.retransmissions().max(1) as f64;
            (cell.segments as f64, 100.0 * share)
        })
    };
    LineChart::new(
        "Kinds of retransmissions by the length of the flow, 3 % of the segments lost",
        "segments of the flow",
        "share of the retransmissions (%)",
        ["fast retransmits", "timeout retransmits", "slow start retransmits"],
    )
    .logarithmic()
    .up_to(100.0)
    .panel("", [line(|cell| cell.fast), line(|cell| cell.timeout), line(|cell| cell.slow_start)])
}
