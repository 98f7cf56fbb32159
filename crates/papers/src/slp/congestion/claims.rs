//! What copies do to those who send them, and to the others. No paper makes these claims.

use super::{CongestionCell, Copying, PROFILES, THINK_TIMES, difference};
use crate::claims::{Claim, ClaimVerdict, claim, ours};
use recoup_lab::stats::Estimate;

/// All claims.
pub fn all(cells: &[CongestionCell]) -> Vec<Claim> {
    let cells = Cells(cells);
    vec![
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
            cell.setup.profile == profile
                && cell.setup.think == think
                && cell.setup.copying == copying
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
    Estimate {
        mean: -estimate.mean,
        ..estimate
    }
}

/// A claim of ours that is expected to hold.
fn judged(
    id: &'static str,
    statement: &'static str,
    check: &'static str,
    (text, verdict): (String, ClaimVerdict),
) -> Claim {
    ours(Claim {
        verdict,
        ..claim(id, None, statement, check, (text, true))
    })
}

/// The verdicts about every load of a profile, and the numbers: `2.5s -3.1 ± 1.0 ms, …`.
fn by_load(
    of: impl Fn(&str) -> Estimate,
    judge: impl Fn(Estimate) -> ClaimVerdict,
) -> (String, ClaimVerdict) {
    let all = THINK_TIMES.map(|think| (think, of(think)));
    let shown = all.map(|(think, estimate)| format!("{think}: {estimate} ms"));
    let verdict = ClaimVerdict::all(all.map(|(_, estimate)| judge(estimate)));
    (shown.join(", "), verdict)
}

fn pays_for_the_group(cells: &Cells<'_>) -> Claim {
    judged(
        "copies-pay-for-those-who-send-them",
        "A group that copies is faster than if nobody copied, while the other group does not copy",
        "linux-3.17, each load: mean FCT of the copying group less that in the same worlds without copies is negative",
        by_load(
            |think| cells.longer(PROFILES[0], think, Copying::Half, 0),
            |longer| ClaimVerdict::on_positive(negative(longer)),
        ),
    )
}

fn harms_others(cells: &Cells<'_>) -> Claim {
    let think = THINK_TIMES[2];
    let longer = cells.longer(PROFILES[0], think, Copying::Half, 1);
    judged(
        "copies-harm-others-in-an-overload",
        "In an overload the group that does not copy gets slower",
        "linux-3.17, pause 250 ms: mean FCT of the other group less that without copies is positive",
        (format!("{longer} ms"), ClaimVerdict::on_positive(longer)),
    )
}

fn pays_for_nobody(cells: &Cells<'_>) -> Claim {
    let think = THINK_TIMES[2];
    let both = [0, 1].map(|group| cells.longer(PROFILES[0], think, Copying::All, group));
    judged(
        "copies-of-all-pay-for-nobody-in-an-overload",
        "In an overload in which all copy, nobody is faster than if nobody copied",
        "linux-3.17, pause 250 ms: mean FCT of neither group is less than without copies",
        (
            both.map(|longer| format!("{longer} ms")).join(", "),
            ClaimVerdict::all(both.map(ClaimVerdict::on_positive)),
        ),
    )
}

fn goodput_stays(cells: &Cells<'_>) -> Claim {
    let least = PROFILES.iter().flat_map(|profile| {
        THINK_TIMES.map(|think| cells.get(profile, think, Copying::Half).fairness())
    });
    let least = least.fold(1.0, f64::min);
    judged(
        "copies-take-little-goodput",
        "A group that copies takes little goodput from the other",
        "half copy: Jain's fairness index of both groups' goodput is above 0.99 in every load",
        (format!("{least:.4}"), ClaimVerdict::on(least > 0.99)),
    )
}
