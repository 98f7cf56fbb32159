//! The shapes of the distributions of flows of four segments: panels a, b, d and e.

use super::*;
use Mechanism::{Baseline, Rtor, Tlp, Tlpr};

/// The mechanisms that probe.
const PROBES: [Mechanism; 2] = [Tlp, Tlpr];

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

/// Whole distributions, whatever was lost.
fn restart_saves_in_all_cases(cells: &Cells<'_>) -> Claim {
    claim("rtor-saves-in-all-cases").each(
        "; ",
        ['a', 'b', 'd', 'e'].map(|panel| {
            let [baseline, rtor] = [Baseline, Rtor].map(|m| cells.get(panel, m).median());
            let saved = baseline - rtor;
            let more = match panel {
                'b' | 'e' => 200.0,
                _ => 0.0,
            };
            let least = Cells::rtt(panel) + more;
            (format!("{panel} {saved} ms of {least}"), saved.above(least))
        }),
    )
}

fn probes_are_fast_to_seventy_percent(cells: &Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (vec![], vec![]);
    for mechanism in PROBES {
        let cell = cells.get('a', mechanism);
        let [all, last, more] = [cell.fcts(), cell.fcts_of(LAST), cell.fcts_of(MORE)].map(|fcts| fast(&fcts));
        parts.extend([all.within(0.6..0.8), last.below(0.5), more.above(0.5)]);
        shown.push(format!("{} below 200 ms: {all}; last lost: {last}; last two or three: {more}", mechanism.name()));
    }
    claim("probes-are-fast-up-to-70-percent").shows(shown.join("; ")).needs_all(parts)
}

fn equation_1_alone_with_delayed_acks(cells: &Cells<'_>) -> Claim {
    let shares = PROBES.map(|m| (m, fast(&cells.get('b', m).fcts_of(LAST))));
    let shown = shares.map(|(m, share)| format!("{}: {share}", m.name()));
    claim("equation-1-alone-with-delayed-acks")
        .shows(shown.join(", "))
        .needs_all(shares.map(|(_, share)| share.above(0.5)))
}

/// How much longer the loss of the last segment alone takes than that of the last two or three, by the equations.
fn equations_converge(cells: &Cells<'_>) -> Claim {
    let over = |panel| {
        let [last, more] = [LAST, MORE].map(|tails| cells.median(panel, Tlp, tails));
        ratio(last, more)
    };
    let [near, far] = ['a', 'd'].map(over);
    let closer =
        Estimate { mean: (near.mean - 1.0) - 2.0 * (far.mean - 1.0).abs(), half: near.half.hypot(2.0 * far.half) };
    claim!("equations-converge-at-large-rtt", "a: {near}, d: {far} times").needs(closer.above(0.0))
}

fn last_lost_in_a_quarter(cells: &Cells<'_>) -> Claim {
    let cell = cells.get('d', Tlp);
    let last = cell.fcts_of(LAST).len() as u64;
    let share = Share::of(last, cell.fcts().len() as u64);
    claim("last-lost-in-a-quarter").shows(share.to_string()).needs(share.within(0.15..0.35))
}

fn probe_below_restart_in_many_cases(cells: &Cells<'_>) -> Claim {
    let (mut lower, mut all) = (0, 0);
    for panel in ['a', 'b', 'd', 'e'] {
        let [tlp, rtor] = [Tlp, Rtor].map(|m| deciles(&cells.get(panel, m).fcts()));
        all += tlp.len();
        lower += tlp.iter().zip(&rtor).filter(|(tlp, rtor)| tlp < rtor).count();
    }
    claim!("tlp-below-rtor-in-many-cases", "{lower} of {all} deciles").holds(2 * lower >= all)
}

fn probes_gain_more_with_delayed_acks(cells: &Cells<'_>) -> Claim {
    let left = |panel, mechanism| {
        let [ours, baseline] = [mechanism, Baseline].map(|m| cells.get(panel, m).median());
        ratio(ours, baseline)
    };
    let parts = PROBES.map(|m| left('a', m).above(left('b', m)));
    let shown = PROBES.map(|m| {
        let percent = |panel| 100.0 * (1.0 - left(panel, m).mean);
        format!("{}: {:.0} % in a, {:.0} % in b", m.name(), percent('a'), percent('b'))
    });
    claim("probes-gain-more-with-delayed-acks").shows(shown.join("; ")).needs_all(parts)
}
