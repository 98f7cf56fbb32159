//! §3.1: "no variation was observed in the results and there were no spurious retransmissions".
//!
//! The hosts of the paper ran Linux 3.17, whose timers expire at ticks of a clock ([`recoup_sim::TimerModel`]). So a flow
//! depends on the moment between two ticks at which it begins. We repeat each cell with ticks of 4 ms (250 Hz, the kernel's default;
//! the paper does not give it) from random moments on, of both hosts' clocks, unless `timers` is set otherwise. The paper gives no
//! link rate: we repeat the flows without one, and at 1 Gbit/s.
//!
//! The figures are drawn from flows with exact timers and no link rate, in which nothing is random. RTOR's deadline for
//! the ninth segment then falls on the same instant as the segment's ACK, delayed by 200 ms (RTO = RTT + 200 ms). Linux breaks
//! this tie: its delayed ACK of 200 ms leaves after 50 ticks, which is up to one tick early, and a timeout is rounded up to
//! ticks (`tcp_send_delayed_ack` and `__tcp_set_rto` in net/ipv4; module `recoup_sim::timers`).

use super::{Mechanism, TailLossCell};
use crate::prelude::*;
use crate::tail_loss::cell::{Acks, bench_over};
use crate::tail_loss::tampered::{Tamper, Tampered};

/// The hosts' timers: ticks at 250 Hz.
const TICKS: &str = "linux-jiffies:250";

/// The longest tick whose phase is drawn evenly.
const PHASES: Duration = Duration::from_millis(20);

/// The difference that a reader of the figure can tell, as a share of the baseline's FCT.
const VISIBLE: f64 = 0.02;

/// Repetitions of one cell.
struct Repeated {
    /// The FCTs from establishment, in ms.
    fcts: Vec<f64>,
    /// Flows with a spurious retransmission of data.
    spurious: u64,
}

fn repeat(setup: &Setup, cell: &TailLossCell, more: &str) -> Result<Repeated> {
    let acks = Acks::ALL.into_iter().find(|acks| acks.name() == cell.ack).expect("one of the receivers");
    let held = |chains| Tampered::new(chains, Tamper::HoldSyn(Duration::ZERO));
    let mut bench = bench_over(setup, acks, cell.rtt_ms, cell.lost, cell.mechanism, more, held)?;
    let mut all = Repeated { fcts: vec![], spurious: 0 };
    for flow in 0..setup.effort.of(100, 25) {
        // "tick" in ASCII.
        let phase = Draws::new(setup.seed(), 0x74_69_63_6b, flow).uniform(0, 0);
        let tamper = Tamper::HoldSyn(PHASES.mul_f64(phase));
        bench.simulation.network_mut().change(tamper);
        let record = bench.record(flow);
        let fct = record.fct_established.map(|fct| fct.as_secs_f64() * 1e3);
        all.fcts.push(fct.unwrap_or(f64::INFINITY));
        all.spurious += u64::from(record.spurious_data > 0);
    }
    Ok(all)
}

/// Both claims about repetitions.
pub fn claims(cells: &[TailLossCell], setup: &Setup) -> Result<[Claim; 2]> {
    let ticks = format!("timers={TICKS}");
    let is_exact = setup.base.settings.get("timers").is_none_or(|timers| timers == "exact");
    let own = if is_exact { &ticks } else { "" };
    let at_a_rate = format!("{own} rate=1Gbit");
    let (mut widest, mut baseline): (f64, f64) = (0.0, NAN);
    let (mut steady, mut spurious, mut flows) = (0, 0, 0);
    for cell in cells {
        let repeated = repeat(setup, cell, own)?;
        let bounds = |of: fn(f64, f64) -> f64| repeated.fcts.iter().copied().reduce(of);
        let (most, least) = bounds(f64::max).zip(bounds(f64::min)).unwrap_or((NAN, NAN));
        if cell.mechanism == Mechanism::Baseline {
            baseline = least;
        }
        let spread = (most - least) / baseline;
        widest = widest.max(spread);
        steady += usize::from(spread < VISIBLE);
        let rated = repeat(setup, cell, &at_a_rate)?;
        spurious += repeated.spurious + rated.spurious;
        flows += repeated.fcts.len() + rated.fcts.len();
    }
    let variation = claim!("no-variation", "{steady} of {} cells; at most {:.1} %", cells.len(), 100.0 * widest)
        .holds(steady == cells.len());
    let spurious = claim!("no-spurious", "{spurious} of {flows} flows").holds(spurious == 0);
    Ok([variation, spurious])
}
