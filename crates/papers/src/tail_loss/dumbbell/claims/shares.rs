//! The shapes of the distributions of flows of four segments: panels a, b, d and e.

use super::*;

/// The mechanisms that probe.
const PROBES: [Mechanism; 2] = [Mechanism::Tlp, Mechanism::Tlpr];

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    vec![
        restart_saves_in_all_cases(cells),
        probes_are_fast_to_seventy_percent(cells),
        equation_1_alone_with_delayed_acks(cells),
        probes_gain_more_with_delayed_acks(cells),
        equations_converge(cells),
        last_lost_in_a_quarter(cells),
        probe_below_restart_in_many_cases(cells),
    ]
}

/// The share of completion times below Linux's least RTO.
fn fast(fcts: &[f64]) -> Share {
    let fast = fcts.iter().filter(|fct| **fct < LEAST_RTO).count();
    Share::of(fast as u64, fcts.len() as u64)
}

/// The share that is not among the hits.
fn others(share: Share) -> Share {
    Share::of(share.trials - share.hits, share.trials)
}

/// Whole distributions, whatever was lost.
fn restart_saves_in_all_cases(cells: &Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for panel in ['a', 'b', 'd', 'e'] {
        let [baseline, rtor] = [Mechanism::Baseline, Mechanism::Rtor].map(|m| cells.get(panel, m).median());
        let saved = baseline.minus(rtor);
        let more = match panel {
            'b' | 'e' => 200.0,
            _ => 0.0,
        };
        let least = Cells::rtt(panel) + more;
        shown.push(format!("{panel} {saved} ms of {least}"));
        parts.push(ClaimVerdict::on_positive(less(saved, least)));
    }
    judged(
        "rtor-saves-in-all-cases",
        "3.2",
        "In all four panels RTOR saves at least one RTT, and 200 ms more with delayed ACKs",
        "a, b, d, e: median FCT of the baseline less that of RTOR, of all selected flows, is more than the RTT without queueing (and 200 ms in b and e)",
        (shown.join("; "), ClaimVerdict::all(parts)),
    )
    .note(
        "RTOR saves nothing if all four segments are lost, because four are outstanding and no ACK restarts the timer, and no 200 ms if \
         the last two are lost, because the first two are acknowledged at once. The claims about one, two and three segments lost tell these apart",
    )
}

fn probes_are_fast_to_seventy_percent(cells: &Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for mechanism in PROBES {
        let cell = cells.get('a', mechanism);
        let [all, last, more] = [cell.fcts(), cell.fcts_of(LAST), cell.fcts_of(MORE)].map(|fcts| fast(&fcts));
        let near = between(all, 0.6, 0.8);
        parts.extend([near, above(others(last), 0.5), above(more, 0.5)]);
        shown.push(format!("{} below 200 ms: {all}; last lost: {last}; last two or three: {more}", mechanism.name()));
    }
    judged(
        "probes-are-fast-up-to-70-percent",
        "3.2",
        "At a short RTT the FCTs of TLP and TLPR are low for about 70 % of the flows; those that lost their last segment alone take longer",
        "a: 60 to 80 % of the flows take less than 200 ms, Linux's least RTO; most that lost the last two or three do, most that lost the last alone do not",
        (shown.join("; "), ClaimVerdict::all(parts)),
    )
    .paper("approximately 70 %")
}

fn equation_1_alone_with_delayed_acks(cells: &Cells<'_>) -> Claim {
    let shares = PROBES.map(|m| (m, fast(&cells.get('b', m).fcts_of(LAST))));
    let shown = shares.map(|(m, share)| format!("{}: {share}", m.name()));
    judged(
        "equation-1-alone-with-delayed-acks",
        "3.2",
        "With delayed ACKs and a short RTT equation 1 alone is used, even if only the last segment is lost",
        "b: most flows that lost the last segment alone take less than 200 ms, Linux's least RTO, which equation 2 exceeds",
        (shown.join(", "), ClaimVerdict::all(shares.map(|(_, share)| above(share, 0.5)))),
    )
}

/// How much longer the loss of the last segment alone takes than that of the last two or three, by the equations.
fn equations_converge(cells: &Cells<'_>) -> Claim {
    let over = |panel| {
        let [last, more] = [LAST, MORE].map(|tails| cells.median(panel, Mechanism::Tlp, tails));
        ratio(last, more)
    };
    let [near, far] = ['a', 'd'].map(over);
    let closer =
        Estimate { mean: (near.mean - 1.0) - 2.0 * (far.mean - 1.0).abs(), half: near.half.hypot(2.0 * far.half) };
    judged(
        "equations-converge-at-large-rtt",
        "3.2",
        "As the RTT grows the probe timeouts of the two equations differ much less",
        "TLP's median FCT with the last segment lost, over that with the last two or three: in d less than half as far from 1 as in a",
        (format!("a: {near}, d: {far} times"), ClaimVerdict::on_positive(closer)),
    )
}

fn last_lost_in_a_quarter(cells: &Cells<'_>) -> Claim {
    let cell = cells.get('d', Mechanism::Tlp);
    let last = cell.fcts_of(LAST).len() as u64;
    let share = Share::of(last, cell.fcts().len() as u64);
    judged(
        "last-lost-in-a-quarter",
        "3.2",
        "The lower part of the distribution, up to about 25 %, are flows that lost their last segment alone",
        "d, TLP: the share of the selected flows that lost their last segment alone is 15 to 35 %",
        (share.to_string(), between(share, 0.15, 0.35)),
    )
    .paper("approximately 25 %")
}

fn probe_below_restart_in_many_cases(cells: &Cells<'_>) -> Claim {
    let (mut lower, mut all) = (0, 0);
    for panel in ['a', 'b', 'd', 'e'] {
        let [tlp, rtor] = [Mechanism::Tlp, Mechanism::Rtor].map(|m| deciles(&cells.get(panel, m).fcts()));
        all += tlp.len();
        lower += tlp.iter().zip(&rtor).filter(|(tlp, rtor)| tlp < rtor).count();
    }
    claim(
        "tlp-below-rtor-in-many-cases",
        "3.2",
        "TLP already gives lower FCTs than RTOR in many cases",
        "a, b, d, e: at half of the deciles of the distributions or more, TLP's FCT is lower than RTOR's",
        (format!("{lower} of {all} deciles"), 2 * lower >= all),
    )
}

fn probes_gain_more_with_delayed_acks(cells: &Cells<'_>) -> Claim {
    let left = |panel, mechanism| {
        let [ours, baseline] = [mechanism, Mechanism::Baseline].map(|m| cells.get(panel, m).median());
        ratio(ours, baseline)
    };
    let parts = PROBES.map(|m| ClaimVerdict::on_positive(left('a', m).minus(left('b', m))));
    let shown = PROBES.map(|m| {
        let percent = |panel| 100.0 * (1.0 - left(panel, m).mean);
        format!("{}: {:.0} % in a, {:.0} % in b", m.name(), percent('a'), percent('b'))
    });
    judged(
        "probes-gain-more-with-delayed-acks",
        "3.2",
        "With delayed ACKs the relative gain of TLP and TLPR is larger",
        "what they save of the baseline's median FCT is a larger share in b than in a",
        (shown.join("; "), ClaimVerdict::all(parts)),
    )
}
