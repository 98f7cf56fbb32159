//! Completion times of flows of four segments: panels a, b, d and e.

use super::*;
use crate::claims::noted;

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    vec![
        restart_saves_a_round_trip(cells),
        restart_saves_the_delay(cells),
        restart_saves_the_delay_near(cells),
        restart_saves_the_delay_with_two_lost(cells),
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
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for &panel in panels {
        for (name, tail) in tails {
            let saved = cells.saved(panel, Mechanism::Baseline, Mechanism::Rtor, tail);
            let least = Cells::rtt(panel) + more;
            shown.push(format!("{panel}, {name} lost: {saved} ms of {least}"));
            parts.push(ClaimVerdict::on_positive(less(saved, least)));
        }
    }
    (shown.join("; "), ClaimVerdict::all(parts))
}

fn restart_saves_a_round_trip(cells: &Cells<'_>) -> Claim {
    judged(
        "rtor-saves-an-rtt",
        "3.2, 3.4",
        "RTO restart saves at least one RTT",
        "a, d: median FCT of the baseline less that of RTOR is more than the RTT without queueing",
        restart_saves(cells, &['a', 'd'], &[("1", LAST), ("2 or 3", MORE)], 0.0),
    )
}

/// The flows with an odd number of segments lost: of four, one or three.
const ODD: [(&str, &[Tail]); 2] = [("1", LAST), ("3", &[Tail::Three])];

/// How the claims about 200 ms are checked.
const AND_200_MS: &str = "median FCT of the baseline less that of RTOR is more than the RTT and 200 ms";

fn restart_saves_the_delay(cells: &Cells<'_>) -> Claim {
    judged(
        "rtor-saves-200-ms",
        "3.2",
        "With delayed ACKs RTO restart saves 200 ms more, if the last segment or the last three are lost (160 ms)",
        AND_200_MS,
        restart_saves(cells, &['e'], &ODD, LEAST_RTO),
    )
}

fn restart_saves_the_delay_near(cells: &Cells<'_>) -> Claim {
    judged(
        "rtor-saves-200-ms-near",
        "3.2",
        "With delayed ACKs RTO restart saves 200 ms more, if the last segment or the last three are lost (5 ms)",
        AND_200_MS,
        restart_saves(cells, &['b'], &ODD, LEAST_RTO),
    )
}

fn restart_saves_the_delay_with_two_lost(cells: &Cells<'_>) -> Claim {
    noted(
        "The receiver acknowledges the first two segments at once, because it has two. So the last ACK, which restarts the \
         baseline's timer, is not delayed, and RTOR saves the RTT alone.",
        judged(
            "rtor-saves-200-ms-two-lost",
            "3.2",
            "With delayed ACKs RTO restart saves 200 ms more, if the last two segments are lost",
            AND_200_MS,
            restart_saves(cells, &['b', 'e'], &[("2", &[Tail::Two])], LEAST_RTO),
        ),
    )
}

fn probe_is_close_to_restart(cells: &Cells<'_>) -> Claim {
    let both = [Mechanism::Tlp, Mechanism::Rtor].map(|m| cells.median('d', m, LAST));
    let over = ratio(both[0], both[1]);
    judged(
        "tlp-is-close-to-rtor",
        "3.2",
        "At a long RTT TLP is close to RTOR if only the last segment is lost",
        "d: the median FCTs differ by less than 10 %",
        (
            format!("TLP {} ms, RTOR {} ms", both[0], both[1]),
            ClaimVerdict::all([
                ClaimVerdict::on_positive(below(1.1, over)),
                ClaimVerdict::on_positive(less(over, 0.9)),
            ]),
        ),
    )
}

fn early_retransmit_costs(cells: &Cells<'_>) -> Claim {
    let slower = cells.saved('d', Mechanism::Tlp, Mechanism::Rtor, MORE);
    judged(
        "early-retransmit-costs-rtt-over-4",
        "3.2",
        "If the last two or three segments are lost RTOR is slightly faster than TLP, whose early retransmit waits for RTT/4",
        "d: RTOR is faster, by less than RTT/2",
        (
            format!("TLP {slower} ms slower than RTOR; RTT/4: {} ms", Cells::rtt('d') / 4.0),
            ClaimVerdict::all([
                ClaimVerdict::on_positive(slower),
                ClaimVerdict::on_positive(below(Cells::rtt('d') / 2.0, slower)),
            ]),
        ),
    )
}

fn delayed_ack_resets_the_probe(cells: &Cells<'_>) -> Claim {
    let [delayed, quick] = ['e', 'd'].map(|panel| cells.median(panel, Mechanism::Tlp, LAST));
    let added = delayed.minus(quick);
    let slower = cells.saved('e', Mechanism::Tlp, Mechanism::Rtor, LAST);
    judged(
        "delayed-ack-resets-the-probe",
        "3.2",
        "With delayed ACKs the ACK of the third segment resets TLP's timer, which adds about 200 ms, and TLP becomes slower than RTOR",
        "TLP, last segment lost: e less d is 150 to 250 ms; in e RTOR is faster",
        (
            list([("added", added), ("TLP less RTOR", slower)]),
            ClaimVerdict::all([
                ClaimVerdict::on_positive(less(added, 150.0)),
                ClaimVerdict::on_positive(below(250.0, added)),
                ClaimVerdict::on_positive(slower),
            ]),
        ),
    )
}

fn probe_beats_restart(cells: &Cells<'_>) -> Claim {
    let saved = cells.saved('e', Mechanism::Rtor, Mechanism::Tlp, &[Tail::Two]);
    judged(
        "tlp-beats-rtor-with-two-lost",
        "3.2",
        "With delayed ACKs TLP is faster than RTOR if the last two segments are lost",
        "e: median FCT of RTOR less that of TLP",
        (format!("{saved} ms"), ClaimVerdict::on_positive(saved)),
    )
}

fn probe_beats_restart_with_three_lost(cells: &Cells<'_>) -> Claim {
    let saved = cells.saved('e', Mechanism::Rtor, Mechanism::Tlp, &[Tail::Three]);
    noted(
        "TLP retransmits the fourth segment first. Early retransmit then waits for RTT/4 and sends the second, and the third follows \
         a round trip later. RTOR sends the second segment when its timer expires, and the other two after its ACK. Figure 2 says \
         the same for 80 ms.",
        judged(
            "tlp-beats-rtor-with-three-lost",
            "3.2",
            "With delayed ACKs TLP is faster than RTOR if the last three segments are lost",
            "e: median FCT of RTOR less that of TLP",
            (format!("{saved} ms"), ClaimVerdict::on_positive(saved)),
        ),
    )
}

fn restarted_probe_is_best(cells: &Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for panel in ['a', 'b', 'd', 'e'] {
        let median = |mechanism| cells.get(panel, mechanism).median();
        for other in [Mechanism::Baseline, Mechanism::Rtor, Mechanism::Tlp] {
            parts.push(ClaimVerdict::on_positive(median(other).minus(median(Mechanism::Tlpr))));
        }
        let next = median(Mechanism::Tlp).minus(median(Mechanism::Tlpr));
        shown.push(format!("{panel} {next} ms"));
    }
    judged(
        "tlpr-is-best",
        "3.2, 3.4",
        "With four segments TLPR is the fastest",
        "a, b, d, e: its median FCT is less than each other's; shown: what it saves compared with TLP",
        (shown.join(", "), ClaimVerdict::all(parts)),
    )
}

fn restarted_probe_saves_up_to(cells: &Cells<'_>) -> Claim {
    let saved = cells.saved('e', Mechanism::Tlp, Mechanism::Tlpr, LAST);
    let most = Cells::rtt('e') + 200.0;
    judged(
        "tlpr-saves-rtt-and-200-ms",
        "3.2",
        "With delayed ACKs TLPR saves up to an RTT and 200 ms compared with TLP",
        "e, last segment lost: median FCT of TLP less that of TLPR is at least that, and at most 20 % more because of queueing",
        (
            format!("{saved} ms of {most}"),
            ClaimVerdict::all([
                ClaimVerdict::on_positive(less(saved, most)),
                ClaimVerdict::on_positive(below(1.2 * most, saved)),
            ]),
        ),
    )
}
