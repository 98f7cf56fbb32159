//! §2 and §4: data that is merely delayed, and the minimum RTO.
//!
//! The RTT is 10 ms, so that the minimum RTO decides. As in Linux, it is a minimum of the term that is added to SRTT.

use super::Mechanism;
use crate::flow::{run, run_many};
use crate::prelude::*;

/// A sender that does not undo what a spurious timeout did.
const WITHOUT_UNDO: &str = "linux-3.17+noundo+nofrto";

pub fn claims(setup: &Setup) -> Result<Vec<Claim>> {
    Ok(vec![
        delayed_data_is_not_repeated(setup)?,
        spurious_timeouts_cost_time(setup)?,
        lower_minimum_is_more_spurious(setup)?,
        minimum_rto_decides(setup)?,
    ])
}

/// Flows of one segment on a path that loses nothing, and delays each segment with a probability of one half.
fn delayed(setup: &Setup, extra_ms: u64, least_rto: Option<&str>, flows: u64) -> Result<Vec<Log>> {
    let extra_ms = if setup.is_mutated("nothing-delayed") { 0 } else { extra_ms };
    let least_rto = least_rto.map_or(String::new(), |least| format!("rto.min_of=rttvar rto.min={least}"));
    run_many(
        setup,
        Mechanism::Baseline.profile(),
        &format!("rtt=10ms drop=none ack=quick segments=1 reorder=down:50%:{extra_ms}ms {least_rto}"),
        flows,
    )
}

/// The flows with a timeout of data.
fn with_timeouts(traces: &[Log]) -> u64 {
    let has = |trace: &&Log| trace.record.counters.retransmissions.of(Trigger::Rto) > 0;
    traces.iter().filter(has).count() as u64
}

fn delayed_data_is_not_repeated(setup: &Setup) -> Result<Claim> {
    let flows = setup.effort.of(2000, 400);
    let traces = delayed(setup, 150, None, flows)?;
    let is_late = |trace: &&Log| trace.fct_ms().is_some_and(|fct| fct > 100.0);
    let late = traces.iter().filter(is_late).count();
    let timeouts = with_timeouts(&traces);
    Ok(claim!("delayed-data-is-not-repeated", "{timeouts} timeouts in {late} late flows")
        .holds(late > 0 && timeouts == 0))
}

/// The ACK of the first segment is delayed. The data that follows finds the window as the timeout left it.
fn spurious_timeouts_cost_time(setup: &Setup) -> Result<Claim> {
    let (mut shown, mut holds) = (vec![], true);
    for (rtt, rtt_ms) in [("10ms", 10.0), ("20ms", 20.0), ("40ms", 40.0)] {
        let fct = |least_rto| -> Result<(f64, u64)> {
            let trace = run(
                setup,
                WITHOUT_UNDO,
                &format!(
                    "rtt={rtt} drop=none ack=delayed:150ms writes=1kB@0,100kB@500ms rto.min_of=rttvar rto.min={least_rto}"
                ),
            )?;
            Ok((trace.fct_ms().unwrap_or(NAN), trace.record.spurious_data))
        };
        let ((hasty, many), (patient, none)) = (fct("20ms")?, fct("200ms")?);
        holds &= many > 0 && none == 0 && hasty - patient >= rtt_ms;
        shown.push(format!("{:.0} ms longer at {rtt}", hasty - patient));
    }
    Ok(claim("spurious-timeouts-cost-time").shows(shown.join(", ")).holds(holds))
}

fn lower_minimum_is_more_spurious(setup: &Setup) -> Result<Claim> {
    let flows = setup.effort.of(1000, 200);
    let (mut shown, mut shares) = (vec![], vec![]);
    for least_rto in ["200ms", "100ms", "50ms", "20ms"] {
        let (mut spurious, mut all) = (0, 0);
        for extra_ms in [20, 40, 80, 160] {
            let traces = delayed(setup, extra_ms, Some(least_rto), flows)?;
            all += traces.len() as u64;
            spurious += with_timeouts(&traces);
        }
        let share = Share::of(spurious, all);
        shown.push(format!("{least_rto}: {share}"));
        shares.push(share);
    }
    let grows = shares.windows(2).map(|pair| pair[1].above(pair[0]));
    Ok(claim("lower-minimum-is-more-spurious").shows(shown.join("; ")).needs_all(grows))
}

fn minimum_rto_decides(setup: &Setup) -> Result<Claim> {
    let fct = |least_rto| -> Result<f64> {
        let own = format!("rtt=10ms drop=tail:1 ack=quick rto.min_of=rttvar rto.min={least_rto}");
        let trace = run(setup, Mechanism::Baseline.profile(), &own)?;
        Ok(trace.fct_ms().unwrap_or(NAN))
    };
    let fcts = [fct("1000ms")?, fct("200ms")?, fct("20ms")?];
    Ok(claim!("minimum-rto-decides", "{:.0}, {:.0} and {:.0} ms", fcts[0], fcts[1], fcts[2])
        .holds(fcts.windows(2).all(|pair| pair[1] < 0.5 * pair[0])))
}
