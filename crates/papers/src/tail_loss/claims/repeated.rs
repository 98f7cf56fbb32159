//! §3.1: "no variation was observed in the results and there were no spurious retransmissions".
//!
//! The hosts of the paper ran Linux 3.17, whose timers expire at the first tick of a clock after a deadline. So a flow
//! depends on the moment between two ticks at which it begins. We repeat each cell with ticks of 4 ms (250 Hz, our choice)
//! from random moments on, unless `timers` is set otherwise. The paper gives no link rate: we repeat the flows without
//! one, and at 1 Gbit/s.
//!
//! The figures are drawn from flows with exact timers and no link rate, in which nothing is random. RTOR's deadline for
//! the ninth segment then falls on the same instant as the segment's ACK, delayed by 200 ms (RTO = RTT + 200 ms).
//!
//! Deviation: the receiver's delayed ACKs are exact. In Linux they wait for a tick, too.

use super::{Claim, Mechanism, SettingsError, Setup, TailLossCell, claim};
use crate::tail_loss::cell::{Acks, settings};
use crate::tail_loss::tampered::{Tamper, Tampered};
use recoup_path::draws::Draws;
use recoup_sim::{Chains, NoObserver, Simulation};
use recoup_units::FlowId;
use std::time::Duration;

/// The hosts' timers: ticks at 250 Hz.
const TICKS: &str = "granularity:4ms";

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

fn repeat(setup: &Setup, cell: &TailLossCell, more: &[(&str, &str)]) -> Result<Repeated, SettingsError> {
    let acks = Acks::ALL.into_iter().find(|acks| acks.name() == cell.ack);
    let acks = acks.expect("one of the receivers");
    let settings = settings(setup, acks, cell.rtt_ms, cell.lost, more)?;
    let spec = settings.flow(&setup.profile(cell.mechanism.profile()));
    let chains = Chains::new(&settings.path()?).map_err(|e| SettingsError::Path(e.to_string()))?;
    let network = Tampered::new(chains, Tamper::HoldSyn(Duration::ZERO));
    let mut simulation = Simulation::over(network);
    let mut all = Repeated { fcts: Vec::new(), spurious: 0 };
    for flow in 0..setup.effort.of(100, 25) {
        // "tick" in ASCII.
        let phase = Draws::new(setup.seed(), 0x74_69_63_6b, flow).uniform(0, 0);
        let tamper = Tamper::HoldSyn(PHASES.mul_f64(phase));
        simulation.network_mut().change(tamper);
        let record = simulation.run(&spec, setup.seed(), FlowId(flow), &mut NoObserver);
        let fct = record.fct_established.map(|fct| fct.as_secs_f64() * 1e3);
        all.fcts.push(fct.unwrap_or(f64::INFINITY));
        all.spurious += u64::from(record.spurious_data > 0);
    }
    Ok(all)
}

/// Both claims about repetitions.
pub fn claims(cells: &[TailLossCell], setup: &Setup) -> Result<[Claim; 2], SettingsError> {
    let ticks = [("timers", TICKS)];
    let is_exact = setup.base.settings.get("timers").is_none_or(|timers| timers == "exact");
    let own: &[(&str, &str)] = if is_exact { &ticks } else { &[] };
    let at_a_rate: Vec<(&str, &str)> = own.iter().copied().chain([("rate", "1Gbit")]).collect();
    let (mut widest, mut baseline): (f64, f64) = (0.0, f64::NAN);
    let (mut steady, mut spurious, mut flows) = (0, 0, 0);
    for cell in cells {
        let repeated = repeat(setup, cell, own)?;
        let bounds = |of: fn(f64, f64) -> f64| repeated.fcts.iter().copied().reduce(of);
        let range = bounds(f64::max).zip(bounds(f64::min));
        let (most, least) = range.unwrap_or((f64::NAN, f64::NAN));
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
    let variation = claim(
        "no-variation",
        "3.1",
        "The results do not vary between runs",
        "timer ticks of 4 ms from random moments on: the FCTs of a cell differ by less than 2 % of the baseline's, which is what a reader can tell in the figure",
        (format!("{steady} of {} cells; at most {:.1} %", cells.len(), 100.0 * widest), steady == cells.len()),
    );
    let spurious = claim(
        "no-spurious",
        "3.1",
        "No retransmission is spurious",
        "timer ticks of 4 ms from random moments on, without a link rate and at 1 Gbit/s: flows with a spurious retransmission of data",
        (format!("{spurious} of {flows} flows"), spurious == 0),
    );
    let spurious = spurious.note(
        "RTOR's deadline for the ninth segment and the segment's ACK, delayed by 200 ms, fall on the same instant, because RTO = RTT + \
         200 ms. At a link rate the ACK is a little later: at 1 Gbit/s by 0.1 ms, so that it is late if a tick comes between. With exact \
         timers it is always late, and RTOR then retransmits the ninth segment without need",
    );
    Ok([variation, spurious])
}
