//! What copies do to the network, to those who send them, and to the others. Only the first claim is the paper's.

use super::{CongestionCell, Copying, PROFILES, THINK_TIMES, difference};
use crate::claims::{Claim, ClaimVerdict, claim, ours};
use recoup_support::stats::Estimate;

/// All claims.
pub fn all(cells: &[CongestionCell]) -> Vec<Claim> {
    let cells = Cells(cells);
    vec![
        no_congestion(&cells),
        does_nothing_without_losses(&cells),
        pays_for_the_group(&cells),
        harms_others(&cells),
        pays_for_nobody(&cells),
        goodput_stays(&cells),
    ]
}

struct Cells<'a>(&'a [CongestionCell]);

impl Cells<'_> {
    fn get(&self, profile: &str, think: &str, copying: Copying) -> &CongestionCell {
        let is_it = |cell: &&CongestionCell| {
            cell.setup.profile == profile && cell.setup.think == think && cell.setup.copying == copying
        };
        self.0.iter().find(is_it).expect("a cell of the grid")
    }

    /// What a group's mean FCT is longer than in the worlds in which nobody copies, in ms.
    fn longer(&self, profile: &str, think: &str, copying: Copying, group: usize) -> Estimate {
        let of = |copying| &self.get(profile, think, copying).groups[group].fct_ms;
        difference(of(copying), of(Copying::None))
    }
}

fn negative(estimate: Estimate) -> Estimate {
    Estimate { mean: -estimate.mean, ..estimate }
}

/// A claim of ours that is expected to hold.
fn judged(
    id: &'static str,
    statement: &'static str,
    check: &'static str,
    (text, verdict): (String, ClaimVerdict),
) -> Claim {
    ours(Claim { verdict, ..claim(id, None, statement, check, (text, true)) })
}

/// The loads whose queue drops packets: their pauses.
const LOSING: [&str; 2] = [THINK_TIMES[1], THINK_TIMES[2]];

/// The load that the link cannot carry.
const OVERLOAD: &str = THINK_TIMES[2];

/// The verdicts about both loads with losses, and the numbers: `1s -5.4 ± 4.7 ms, …`.
fn with_losses(of: impl Fn(&str) -> Estimate, judge: impl Fn(Estimate) -> ClaimVerdict) -> (String, ClaimVerdict) {
    let all = LOSING.map(|think| (think, of(think)));
    let shown = all.map(|(think, estimate)| format!("{think}: {estimate} ms"));
    let verdict = ClaimVerdict::all(all.map(|(_, estimate)| judge(estimate)));
    (shown.join(", "), verdict)
}

fn pays_for_the_group(cells: &Cells<'_>) -> Claim {
    judged(
        "copies-pay-those-who-send-them",
        "Where the queue drops packets, a group that copies is faster than if nobody copied, while the other group does not",
        "linux-3.17, pauses of 1 s and 250 ms: mean FCT of the copying group less that without copies is negative",
        with_losses(
            |think| cells.longer(PROFILES[0], think, Copying::Half, 0),
            |longer| ClaimVerdict::on_positive(negative(longer)),
        ),
    )
}

fn does_nothing_without_losses(cells: &Cells<'_>) -> Claim {
    let longer = cells.longer(PROFILES[0], THINK_TIMES[0], Copying::Half, 0);
    let less_than_two = Estimate { mean: 2.0 - longer.mean.abs(), ..longer };
    judged(
        "copies-do-nothing-in-a-light-load",
        "In a light load copies neither help nor harm those who send them",
        "linux-3.17, pause of 2.5 s: mean FCT of the copying group differs by less than 2 ms",
        (format!("{longer} ms"), ClaimVerdict::on_positive(less_than_two)),
    )
}

fn harms_others(cells: &Cells<'_>) -> Claim {
    judged(
        "copies-harm-others",
        "Where the queue drops packets, the group that does not copy gets slower",
        "linux-3.17, pauses of 1 s and 250 ms: mean FCT of the other group less that without copies is positive",
        with_losses(|think| cells.longer(PROFILES[0], think, Copying::Half, 1), ClaimVerdict::on_positive),
    )
}

fn pays_for_nobody(cells: &Cells<'_>) -> Claim {
    let alone = cells.longer(PROFILES[0], OVERLOAD, Copying::Half, 0);
    let both = [0, 1].map(|group| cells.longer(PROFILES[0], OVERLOAD, Copying::All, group));
    let verdicts = both.map(|longer| {
        ClaimVerdict::on_positive(longer.minus(Estimate { mean: alone.mean / 2.0, half: alone.half / 2.0 }))
    });
    judged(
        "copies-of-all-pay-nobody",
        "In an overload in which all copy, nobody gains what a group gains that copies alone",
        "linux-3.17, pause of 250 ms: each group saves less than half of what the copying group saves alone",
        (format!("alone {alone} ms; all: {} ms, {} ms", both[0], both[1]), ClaimVerdict::all(verdicts)),
    )
}

/// The largest increase of the share of dropped packets that counts as none.
const NO_INCREASE: f64 = 0.001;

fn no_congestion(cells: &Cells<'_>) -> Claim {
    let more = THINK_TIMES.map(|think| {
        let loss = |copying| &cells.get(PROFILES[0], think, copying).loss;
        (think, difference(loss(Copying::All), loss(Copying::None)))
    });
    let shown =
        more.map(|(think, more)| format!("{think}: {:.2} ± {:.2} points", 100.0 * more.mean, 100.0 * more.half));
    let none = more.map(|(_, more)| ClaimVerdict::on_positive(Estimate { mean: NO_INCREASE - more.mean, ..more }));
    claim(
        "duplicates-do-not-congest",
        "Abstract, I, II-C2",
        "Duplicates do not congest the network, because they take their share of the sender's window",
        "linux-3.17, all copy: in every load the queue drops at most 0.1 percentage points more of the packets than if nobody copies, with 95 % confidence",
        (shown.join(", "), true),
    )
    .verdict(ClaimVerdict::all(none))
    .note("the window of these fetches of 34 kB rarely fills, and copies of SYN, SYN-ACK and request are sent without regard to it: where the queue is full, they come on top")
}

fn goodput_stays(cells: &Cells<'_>) -> Claim {
    let least = PROFILES
        .iter()
        .flat_map(|profile| THINK_TIMES.map(|think| cells.get(profile, think, Copying::Half).fairness()));
    let least = least.fold(1.0, f64::min);
    judged(
        "copies-take-little-goodput",
        "A group that copies takes little goodput from the other",
        "half copy: Jain's fairness index of both groups' goodput is above 0.99 in every load",
        (format!("{least:.4}"), ClaimVerdict::on(least > 0.99)),
    )
}
