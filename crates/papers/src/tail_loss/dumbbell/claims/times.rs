//! Completion times of flows of four segments: panels a, b, d and e.

use super::*;
use Mechanism::{Baseline, Rtor, Tlp, Tlpr};

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    vec![
        claim("rtor-saves-an-rtt").result(restart_saves(cells, &['a', 'd'], &[("1", LAST), ("2 or 3", MORE)], 0.0)),
        claim("rtor-saves-200-ms").result(restart_saves(cells, &['e'], &ODD, LEAST_RTO)),
        claim("rtor-saves-200-ms-near").result(restart_saves(cells, &['b'], &ODD, LEAST_RTO)),
        claim("rtor-saves-200-ms-two-lost").result(restart_saves(
            cells,
            &['b', 'e'],
            &[("2", &[Tail::Two])],
            LEAST_RTO,
        )),
        probe_is_close_to_restart(cells),
        early_retransmit_costs(cells),
        delayed_ack_resets_the_probe(cells),
        probe_beats_restart(cells),
        probe_beats_restart_with_three_lost(cells),
        restarted_probe_is_best(cells),
        restarted_probe_saves_up_to(cells),
    ]
}

/// Whether RTO restart saves at least the round-trip time and `more` ms, in these panels and tails.
fn restart_saves(cells: &Cells<'_>, panels: &[char], tails: &[(&str, &[Tail])], more: f64) -> (String, ClaimVerdict) {
    let (mut shown, mut parts) = (vec![], vec![]);
    for &panel in panels {
        for (name, tail) in tails {
            let saved = cells.saved(panel, Baseline, Rtor, tail);
            let least = Cells::rtt(panel) + more;
            shown.push(format!("{panel}, {name} lost: {saved} ms of {least}"));
            parts.push(saved.above(least));
        }
    }
    (shown.join("; "), ClaimVerdict::all(parts))
}

/// The flows with an odd number of segments lost: of four, one or three.
const ODD: [(&str, &[Tail]); 2] = [("1", LAST), ("3", &[Tail::Three])];

fn probe_is_close_to_restart(cells: &Cells<'_>) -> Claim {
    let both = [Tlp, Rtor].map(|m| cells.median('d', m, LAST));
    let over = ratio(both[0], both[1]);
    claim!("tlp-is-close-to-rtor", "TLP {} ms, RTOR {} ms", both[0], both[1])
        .needs(over.below(1.1))
        .needs(over.above(0.9))
}

fn early_retransmit_costs(cells: &Cells<'_>) -> Claim {
    let slower = cells.saved('d', Tlp, Rtor, MORE);
    claim!("early-retransmit-costs-rtt-over-4", "TLP {slower} ms slower than RTOR; RTT/4: {} ms", Cells::rtt('d') / 4.0)
        .needs(slower.above(0.0))
        .needs(slower.below(Cells::rtt('d') / 2.0))
}

fn delayed_ack_resets_the_probe(cells: &Cells<'_>) -> Claim {
    let [delayed, quick] = ['e', 'd'].map(|panel| cells.median(panel, Tlp, LAST));
    let added = delayed - quick;
    let slower = cells.saved('e', Tlp, Rtor, LAST);
    claim("delayed-ack-resets-the-probe")
        .shows(list([("added", added), ("TLP less RTOR", slower)]))
        .needs(added.above(150.0))
        .needs(added.below(250.0))
        .needs(slower.above(0.0))
}

fn probe_beats_restart(cells: &Cells<'_>) -> Claim {
    let saved = cells.saved('e', Rtor, Tlp, &[Tail::Two]);
    claim!("tlp-beats-rtor-with-two-lost", "{saved} ms").needs(saved.above(0.0))
}

fn probe_beats_restart_with_three_lost(cells: &Cells<'_>) -> Claim {
    let saved = cells.saved('e', Rtor, Tlp, &[Tail::Three]);
    claim!("tlp-beats-rtor-with-three-lost", "{saved} ms").needs(saved.above(0.0))
}

fn restarted_probe_is_best(cells: &Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (vec![], vec![]);
    for panel in ['a', 'b', 'd', 'e'] {
        let median = |mechanism| cells.get(panel, mechanism).median();
        for other in [Baseline, Rtor, Tlp] {
            parts.push(median(other).above(median(Tlpr)));
        }
        let next = median(Tlp) - median(Tlpr);
        shown.push(format!("{panel} {next} ms"));
    }
    claim("tlpr-is-best").shows(shown.join(", ")).needs_all(parts)
}

fn restarted_probe_saves_up_to(cells: &Cells<'_>) -> Claim {
    let saved = cells.saved('e', Tlp, Tlpr, LAST);
    let most = Cells::rtt('e') + 200.0;
    claim!("tlpr-saves-rtt-and-200-ms", "{saved} ms of {most}").needs(saved.above(most)).needs(saved.below(1.2 * most))
}
