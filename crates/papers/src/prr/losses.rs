//! §3.1, §4.3: how the rate controls react to the number of segments lost.
//!
//! Flows of the scenario `prr`: 20 segments in flight, of which the first 1 to 19 are lost. There are always more data to send, and
//! the receiver acknowledges every segment. With Reno, ssthresh is 10.
//!
//! "As envisioned" is RFC 3517 with its own loss detection (IsLost) and Reno. The paper runs it with FACK and CUBIC (§5).

mod claims;

use super::trace::{Step, Trace, flow};
use super::{NAME, finding::list};
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "losses";

/// The settings that each flow sets itself.
pub const OWN_SETTINGS: [&str; 5] = ["drop", "writes", "ack", "initial_window", "queue"];

/// Segments in flight.
const FLIGHT: u32 = 20;

choices! {
    /// The rate controls.
    enum Scheme {
        Prr = "PRR",
        Linux = "Linux",
        Rfc3517 = "RFC 3517",
        /// RFC 3517 with CUBIC, as on the paper's servers.
        Rfc3517Cubic = "RFC 3517, CUBIC",
        /// RFC 3517 with IsLost.
        AsEnvisioned = "RFC 3517 as envisioned",
    }
}

impl Scheme {
    const fn profile(self) -> &'static str {
        match self {
            Self::Prr => "linux-2.6+reno+fack+prr",
            Self::Linux => "linux-2.6+reno+fack+halving",
            Self::Rfc3517 => "linux-2.6+reno+fack+std",
            Self::Rfc3517Cubic => "linux-2.6+cubic+fack+std",
            Self::AsEnvisioned => "linux-2.6+reno+islost+std",
        }
    }
}

/// One flow.
#[derive(Clone, Debug)]
struct Cell {
    scheme: Scheme,
    lost: u32,
    trace: Trace,
}

impl Cell {
    /// The ACK of recovery that releases the most segments.
    fn burst(&self) -> Option<&Step> {
        // The first of several.
        self.trace.recovery_acks().reduce(|most, ack| if ack.sent() > most.sent() { ack } else { most })
    }

    /// The state before the ACK that ends recovery.
    fn last(&self) -> Option<&Step> {
        let (steps, end) = self.trace.recovery()?;
        end.and(steps.last())
    }

    /// pipe − ssthresh before the ACK that ends recovery.
    fn shortfall(&self) -> Option<i64> {
        self.last().map(|step| i64::from(step.pipe) - i64::from(step.ssthresh))
    }

    /// ACKs of recovery on which nothing is sent, between the first two transmissions.
    fn silent_acks(&self) -> usize {
        let sent = self.trace.sent_per_ack();
        sent.iter().skip(1).take_while(|sent| **sent == 0).count()
    }
}

/// A flow with 100 segments in flight before a short queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Segments of recovery that the queue dropped: PRR, RFC 3517.
    dropped: [u64; 2],
}

/// Flows that lose their first 50 to 95 of 100 segments before a bottleneck whose queue holds 20 packets.
fn queues(setup: &Setup) -> Result<Vec<Queue>> {
    let dropped = |scheme: Scheme, lost: u64| -> Result<u64> {
        let trace = flow(
            setup,
            scheme.profile(),
            &format!("drop=data:1-{lost} writes=600kB@0 ack=quick initial_window=100 queue=20"),
        )?;
        let (steps, _) = trace.recovery().unwrap_or_default();
        let sent: u64 = steps.iter().map(|step| u64::from(step.sent())).sum();
        // The queue drops the same segments of the first flight with both.
        Ok(trace.lost.saturating_sub(lost).min(sent))
    };
    let all = (50..100)
        .step_by(5)
        .map(|lost| Ok(Queue { dropped: [dropped(Scheme::Prr, lost)?, dropped(Scheme::Rfc3517, lost)?] }));
    all.collect()
}

/// The experiment in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let mut cells = vec![];
    for scheme in Scheme::ALL {
        for lost in 1..FLIGHT {
            let trace = flow(
                setup,
                scheme.profile(),
                &format!("drop=data:1-{lost} writes=300kB@0 ack=quick initial_window=20"),
            )?;
            cells.push(Cell { scheme, lost, trace });
        }
    }
    let columns = columns();
    let title = "The first 1 to 19 of 20 segments lost, and always more to send";
    let figure = Figure::new(NAME, ID, title, claims::all(&cells, &queues(setup)?), chart(&cells), cells);
    Ok(figure.sheet(|cells| columns.to_text(cells, &TEXT), &columns))
}

/// The columns for reading.
const TEXT: [&str; 8] =
    ["scheme", "lost", "largest_burst", "pipe_before", "pipe_at_end", "recovery_ms", "timeouts", "sent_per_ack"];

fn columns() -> Columns<Cell> {
    columns!(columns_of_figure::<Cell>(ID), c;
        scheme, "", "the server's rate control" => c.scheme.name();
        lost, "segments", "segments lost of 20";
        largest_burst, "segments", "largest number of segments sent on one ACK of recovery" => c.trace.largest_burst();
        pipe_before, "segments", "segments in flight before the largest burst", "pipe before it" => c.burst().map(Step::pipe_before_sending);
        pipe_at_end, "segments", "segments in flight before the ACK that ended recovery", "pipe at the end" => c.last().map(|step| step.pipe);
        ssthresh, "segments", "slow-start threshold" => c.last().map(|step| step.ssthresh);
        recovery_ms, "ms", "duration of recovery", "recovery" => c.trace.recovery_ms();
        timeouts, "", "retransmission timeouts" => c.trace.timeouts();
        sent_per_ack, "segments", "segments sent on each of the first 12 ACKs of recovery", "sent per ACK" => list(c.trace.sent_per_ack().into_iter().take(12));
    )
}

fn chart(cells: &[Cell]) -> LineChart {
    let drawn = [Scheme::Prr, Scheme::Linux, Scheme::Rfc3517];
    let lines = |of: fn(&Cell) -> Option<u32>| {
        drawn.map(|scheme| {
            cells
                .iter()
                .filter(move |cell| cell.scheme == scheme)
                .filter_map(move |cell| Some((f64::from(cell.lost), f64::from(of(cell)?))))
        })
    };
    LineChart::new(
        "Recovery with the first segments of 20 lost (ssthresh 10)",
        "segments lost",
        "segments",
        drawn.map(Scheme::name),
    )
    .panel("largest burst on one ACK", lines(|cell| Some(cell.trace.largest_burst())))
    .panel("pipe before the ACK that ends recovery", lines(|cell| cell.last().map(|step| step.pipe)))
}
